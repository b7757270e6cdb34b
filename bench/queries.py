"""The queries of the papers, in our language.

W1 is the template of SASE+ section 6. Its Table 1 prints p3 as `a[i].price > aggr(a[i-1].price)`; Experiment 1 takes
the minimum of the events selected before, which is `min(a[..i-1].price)`.
"""

from __future__ import annotations

from itertools import pairwise

STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
PREDICATES = {"p1": "", "p2": "AND a[i].price > a[i-1].price", "p3": "AND a[i].price > min(a[..i-1].price)"}


def w1(predicate: str, strategy: str, window: int = 500, output: str = "ALL", volume: int = 150) -> str:
    """A trend of one symbol from a round price on, until an event of little volume."""
    return f"""
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE {STRATEGIES[strategy]}(a[], b) {{
            [symbol] AND a[1].price % 500 = 0 {PREDICATES[predicate]} AND b.volume < {volume}
        }}
        WITHIN {window} events
        OUTPUT {output}
    """


def w1_star(strategy: str, window: int = 500) -> str:
    """p3* of Experiment 4: one component more, which few runs pass."""
    return f"""
        PATTERN SEQ(Stock+ a[], Stock b, Stock c)
        WHERE {STRATEGIES[strategy]}(a[], b, c) {{
            [symbol] AND a[1].price % 500 = 0 {PREDICATES["p3"]} AND b.volume < 150
            AND c.price > a[1].price AND c.price < a[a.LEN].price
        }}
        WITHIN {window} events
        OUTPUT NON_OVERLAP
    """


def typed(length: int = 3, attributes: str = "attr1", window: int = 10_000) -> str:
    """W2: the template of SASE section 5: different types in sequence, with one or two equivalence tests."""
    components = ", ".join(f"E{k} {name}" for k, name in enumerate("abcdef"[:length], start=1))
    return f"PATTERN SEQ({components}) WHERE [{attributes}] WITHIN {window} milliseconds"


W2_WINDOW = 10_000

# W3: DEBS'15, section 7, with the rare C at any place. There the conditions are correlations of price histories; here
# the prices rise along the sequence.
W3 = {
    place: f"PATTERN SEQ({x.upper()} {x}, {y.upper()} {y}, {z.upper()} {z}) "
    f"WHERE {x}.price < {y}.price AND {y}.price < {z}.price WITHIN 1000 milliseconds"
    for place, (x, y, z) in {"last": (*"abc",), "first": (*"cab",), "middle": (*"acb",)}.items()
}
W3_WINDOW = 1000

# Where the rates switch: a shorter window, so that those that have the rates of two phases, in which none of the three
# is rare, do not outweigh all others.
SWITCHING = W3["last"].replace("1000 milliseconds", "300 milliseconds")

# SASE Query 1.
W4 = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag_id] WITHIN 12 hours"
W4_WINDOW = 12 * 3600 * 1000

# Q1 of AFA (VLDB'10, Example 1) with its parameters: a drop of more than 0.25, two Vs, as many rises as falls in them.
# Each run emits at most once, and carries what AFA keeps in its register: the lengths of the legs.
W5_BALANCED = """
    PATTERN SEQ(Tick drop, Tick+ a[], Tick+ b[], Tick+ c[], Tick+ d[])
    WHERE strict_contiguity {
        drop.change < -0.25 AND a[].change < 0 AND b[].change > 0 AND c[].change < 0 AND d[].change > 0
        AND a.LEN + c.LEN = b.LEN + d.LEN
    }
    WITHIN 2000 events
"""

# The same shape told by prices, each compared with the event before; `e` ends the second V, so that a run emits once.
W5_PRICES = """
    PATTERN SEQ(Tick+ a[], Tick+ b[], Tick+ c[], Tick+ d[], Tick e)
    WHERE strict_contiguity {
        a[1].change < -1.0 AND a[i].price < a[i-1].price
        AND b[1].price > a[a.LEN].price AND b[i].price > b[i-1].price
        AND c[1].price < b[b.LEN].price AND c[i].price < c[i-1].price
        AND d[1].price > c[c.LEN].price AND d[i].price > d[i-1].price
        AND e.price < d[d.LEN].price
    }
    WITHIN 2000 events
"""
W5_WINDOW = 2000

# The same two as automata: the register has what AFA keeps in it.
W5_BALANCED_AUTOMATON = """
    AUTOMATON start -> found
    REGISTER balance INT = 0
    ARC start -> drop WHEN e.change < -0.25
    ARC drop -> a WHEN e.change < 0 SET balance = 1
    ARC a -> a WHEN e.change < 0 SET balance = r.balance + 1
    ARC a -> b WHEN e.change > 0 SET balance = r.balance - 1
    ARC b -> b WHEN e.change > 0 SET balance = r.balance - 1
    ARC b -> c WHEN e.change < 0 SET balance = r.balance + 1
    ARC c -> c WHEN e.change < 0 SET balance = r.balance + 1
    ARC c -> d WHEN e.change > 0 SET balance = r.balance - 1
    ARC d -> d WHEN e.change > 0 SET balance = r.balance - 1
    EPSILON d -> found WHEN r.balance = 0
    WITHIN 2000 events
"""
W5_PRICES_AUTOMATON = """
    AUTOMATON start -> e
    REGISTER price DOUBLE = NULL
    ARC start -> a WHEN e.change < -1.0 SET price = e.price
    ARC a -> a WHEN e.price < r.price SET price = e.price
    ARC a -> b WHEN e.price > r.price SET price = e.price
    ARC b -> b WHEN e.price > r.price SET price = e.price
    ARC b -> c WHEN e.price < r.price SET price = e.price
    ARC c -> c WHEN e.price < r.price SET price = e.price
    ARC c -> d WHEN e.price > r.price SET price = e.price
    ARC d -> d WHEN e.price > r.price SET price = e.price
    ARC d -> e WHEN e.price < r.price
    WITHIN 2000 events
"""


def q1(k: int, drop: float, window: str, *, ignores: bool) -> str:
    """Q1 of AFA with k Vs as an automaton. ignores: ticks without a change are skipped, as by its ignorable arcs."""
    legs = ["start", "drop", *(f"{leg}{n}" for n in range(1, k + 1) for leg in ("fall", "rise"))]
    arcs = [f"ARC start -> drop WHEN e.change < -{drop}"]
    for number, (before, leg) in enumerate(pairwise(legs[1:])):
        asks, step = ("e.change < 0", "+ 1") if number % 2 == 0 else ("e.change > 0", "- 1")
        arcs += [f"ARC {state} -> {leg} WHEN {asks} SET balance = r.balance {step}" for state in (before, leg)]
    skips = [f"IGNORE {leg} WHEN e.change = 0" for leg in legs[1:]] if ignores else []
    last = "WHEN e.change > 0 AND r.balance = 1 SET balance = 0"  # no EPSILON, which would follow what is skipped too
    lines = "\n".join([*arcs, *(f"ARC {leg} -> found {last}" for leg in legs[-2:]), *skips])
    return f"AUTOMATON start -> found\nREGISTER balance INT = 0\n{lines}\nWITHIN {window}"


def q3(arcs: int) -> str:
    """Q3 of AFA: arcs in a line, each with a condition of its own and a name."""
    lines = "\n".join(f"ARC a{k}: q{k} -> q{k + 1} WHEN {q3_condition(k, 0.05)}" for k in range(arcs))
    return f"AUTOMATON q0 -> q{arcs}\n{lines}\nWITHIN 500 events"


def q3_condition(number: int, least: float) -> str:
    """What an arc of Q3 asks: falls and rises in turn."""
    return f"e.change < -{least:.4f}" if number % 2 == 0 else f"e.change > {least:.4f}"


def vs(k: int, window: str) -> str:
    """Q1 of AFA with k Vs. Ticks without a change are not seen, as by its ignorable arcs (appendix D)."""
    falls, rises = "aceg"[:k], "bdfh"[:k]
    legs = ", ".join(f"Tick+ {a}[], Tick+ {b}[]" for a, b in zip(falls, rises, strict=True))
    signs = " AND ".join(f"{a}[].change < 0 AND {b}[].change > 0" for a, b in zip(falls, rises, strict=True))
    fallen, risen = (" + ".join(f"{name}.LEN" for name in names) for names in (falls, rises))
    return f"""
        FROM stream WHERE change <> 0
        PATTERN SEQ(Tick drop, {legs})
        WHERE strict_contiguity {{ drop.change < -0.25 AND {signs} AND {fallen} = {risen} }}
        WITHIN {window}
    """


# Q2 of AFA: a drop of more than 0.25, then Vs, of which the first begins with a fall, until the price before the drop
# is reached. Whatever lies between are Vs, as every tick falls or rises. AFA counts them.
Q2 = """
    PATTERN SEQ(Tick drop, Tick+ a[], Tick b)
    WHERE strict_contiguity {
        drop.change < -0.25 AND a[1].change < 0
        AND a[].price < drop.price - drop.change AND b.price >= drop.price - drop.change
    }
    WITHIN 500 events
"""
Q2_WINDOW = 500


def kleene(window: int) -> str:
    """Every subset of the Bs between an A and a C."""
    return f"PATTERN SEQ(A a, B+ b[], C c) WITHIN {window} events"


# Expressions of Cayuga. In a result of Query 5, a step is an event later, so what lasts long has risen often.


def query5(stream: str, least: int, same: str = "TRUE") -> str:
    """Query 5: prices that rise without an end between, for so long at least."""
    return f"""
        CESAR
          LET S1, S2 := {stream}
          SELECT[DUR >= {least}](ITERATE[SELECT[S2.price > S2.price.last], {same}](S1, S2))
    """


def cesar_benchmark(template: str) -> str:
    """Filter or NonDetAgg of the technical benchmark, with the constants that `native/cesar.cpp` has.

    Both equalities of a step are on the primary attribute, as they may be: one query else has no match in a million
    events.
    """

    def asks(number: int, *ranges: tuple[str, int]) -> str:
        of = f"S{number}"
        lows = [(f"{of}.{name}", low * 0.012) for name, low in ranges]
        return " AND ".join([f"{of}.d0 = 0", *(f"{x} >= {low:.3f} AND {x} < {low + 0.7:.3f}" for x, low in lows)])

    theta = asks(1, ("c0", 0), ("c1", 3)), asks(2, ("c0", 1), ("c2", 0)), asks(3, ("c1", 2), ("c3", 5))
    waits = "DUR <= 20 AND S2.d0 = 0", "DUR <= 20 AND S3.d0 = 0"
    begin = f"SELECT[{theta[0]}](S1)"
    if template == "filter":
        whole = f"SELECT[{theta[2]}](SELECT[{theta[1]}]({begin} ;[{waits[0]}] S2) ;[{waits[1]}] S3)"
    else:
        second = f"SELECT[{theta[1]}](ITERATE[ID, {waits[0]}]({begin}, S2))"
        sums = (f"(S{k}.c0 + S{k}.c1 + S{k}.c2 + S{k}.c3)" for k in (1, 2, 3))
        whole = f"ADD[total := {' + '.join(sums)}](SELECT[{theta[2]}](ITERATE[ID, {waits[1]}]({second}, S3)))"
    return f"CESAR LET S1, S2, S3 := Event\n{whole}"


def double_top(*, five: bool = False) -> str:
    """Double-Top by μ, one for each monotonic sequence between its extrema; before the first minimum is a single fall.

    five: also one for the fall to the first minimum, as the paper says: then each start of that fall has results.
    """

    def run(direction: str, before: str) -> str:
        return f"ITERATE[SELECT[price {direction} price.last], company = name]({before}, Stock)"

    at = "PROJECT[company, before](ADD[company := name, before := price](Stock))"
    at = f"ADD[a := price](SELECT[price < before](THEN[company = name]({at}, Stock)))"
    if five:
        at = f"ADD[a := price]({run('<', 'ADD[company := name](Stock)')})"
    at = f"ADD[b := price](SELECT[price >= 1.2 * a]({run('>', at)}))"
    at = f"ADD[c := price](SELECT[0.9 * a <= price AND price <= 1.1 * a]({run('<', at)}))"
    at = f"ADD[d := price](SELECT[0.9 * b <= price AND price <= 1.1 * b]({run('>', at)}))"
    return f"CESAR PROJECT[company, a, b, c, d, price](SELECT[price <= a]({run('<', at)}))"


def double_top_again() -> str:
    """Double-Top by resubscription, as it is printed: extrema of three quotes each, then five of these."""

    def extrema(relation: str) -> str:
        two = f"SELECT[S2.price {relation} S1.price](S1 ;[S2.name = S1.name] S2)"
        three = f"SELECT[S2.price {relation} S3.price]({two} ;[S3.name = S1.name] S3)"
        return f"RENAME[S2.name -> name, S2.price -> price](PROJECT[S2.name, S2.price]({three}))"

    asks = (
        "E2.price >= 1.2 * E1.price",
        "0.9 * E1.price <= E3.price AND E3.price <= 1.1 * E1.price",
        "0.9 * E2.price <= E4.price AND E4.price <= 1.1 * E2.price",
        "E5.price <= E1.price",
    )
    whole = "E1"
    for number, condition in enumerate(asks, start=2):
        whole = f"SELECT[{condition}]({whole} ;[E{number}.name = E1.name] E{number})"
    return f"""
        CESAR
          LET S1, S2, S3 := Stock
          LET E := {extrema(">")} UNION {extrema("<")}
          LET E1, E2, E3, E4, E5 := E
          {whole}
    """


# Expressions that have a SASE+ query with the same results, in the same columns: the next event that passes (";θ" on
# points of distinct times), events one after the other, and Query 5.
def _returned(*variables: tuple[str, str], columns: str) -> str:
    return ", ".join(f"{v}.{c} AS {name}_{c}" for v, name in variables for c in columns.split())


CESAR_AND_SASE = {
    "the next that passes": (
        "CESAR LET S1, S2 := Stock\n"
        "SELECT[S1.volume < 100](S1) ;[DUR <= 500 AND S1.symbol = S2.symbol AND S2.price > S1.price + 3] S2",
        "PATTERN SEQ(Stock S1, Stock S2) WHERE skip_till_next_match {"
        "S1.volume < 100 AND S1.symbol = S2.symbol AND S2.price > S1.price + 3} WITHIN 500 milliseconds RETURN "
        + _returned(("S1", "S1"), ("S2", "S2"), columns="symbol price volume"),
    ),
    "one after the other": (
        "CESAR LET S1, S2, S3 := Tick\nSELECT[S3.price > S2.price + 0.5]("
        "SELECT[S2.price > S1.price + 0.5](SELECT[S1.change < -1.0](S1) ; S2) ; S3)",
        "PATTERN SEQ(Tick S1, Tick S2, Tick S3) WHERE strict_contiguity {"
        "S1.change < -1.0 AND S2.price > S1.price + 0.5 AND S3.price > S2.price + 0.5} RETURN "
        + _returned(("S1", "S1"), ("S2", "S2"), ("S3", "S3"), columns="price change"),
    ),
    "Query 5": (
        query5("Tick", 10),
        "PATTERN SEQ(Tick a, Tick+ b[]) WHERE strict_contiguity {"
        "b[1].price > a.price AND b[i].price > b[i-1].price AND b[b.LEN].ts - a.ts >= 9} RETURN "
        + _returned(("a", "S1"), ("b[b.LEN]", "S2"), columns="price change"),
    ),
    "Query 5, 24 names": (
        query5("Stock", 240, "S1.symbol = S2.symbol"),
        "PATTERN SEQ(Stock a, Stock+ b[]) WHERE partition_contiguity {"
        "[symbol] AND b[1].price > a.price AND b[i].price > b[i-1].price AND b[b.LEN].ts - a.ts >= 239} RETURN "
        + _returned(("a", "S1"), ("b[b.LEN]", "S2"), columns="symbol price volume"),
    ),
}
