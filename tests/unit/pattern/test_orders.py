"""AND is the union of its operands' sequences in all orders: against these, written out, and against counting."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from math import prod
from random import Random

import pytest

from cepheid import Query
from cepheid.front.sase import analyse
from cepheid.pattern.tree.layout import Layout, lay_out
from cepheid.pattern.tree.nodes import AnyOrder, Either, PatternTree, Seq, Strategy
from cepheid.pattern.tree.walk import rewrite

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Row = Mapping[str, object]


def write_out(pattern: PatternTree) -> PatternTree:
    """The pattern with each AND as an OR of sequences."""

    def change(node: PatternTree) -> PatternTree:
        if not isinstance(node, AnyOrder):
            return node
        return Either(tuple(Seq(order) for order in permutations(node.parts)), span=node.span)

    return rewrite(pattern, change)


def lay_out_in_full(pattern: PatternTree) -> Layout:
    return lay_out(write_out(pattern))


def stream(seed: int, size: int = 7, types: str = "ABCDX") -> list[Row]:
    random = Random(seed)
    times = sorted(random.randrange(size) for _ in range(size))
    return [{"ts": t, "type": random.choice(types), "k": random.randrange(2), "v": random.randrange(4)} for t in times]


@pytest.mark.parametrize("strategy", [*(strategy.value for strategy in Strategy), "mixed"])
@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("AND(A a, B b, C c, D d)", "a.v <= b.v AND c.v >= d.v"),
        ("AND(A a, SEQ(B b, C c), D d)", "a.v <= c.v"),
        ("SEQ(A a, AND(B b, C c), D d)", "a.v < b.v"),
        ("AND(A+ a[], B b, C c)", "a[i].v >= a[i-1].v AND a.LEN > b.v"),
        ("AND(A{1,2} a[], B+ b[], C c)", "a[a.LEN].v <= b[1].v"),
        ("AND(A? a, B b, C? c)", "a.v <= b.v AND c.v != a.v"),
        ("AND(A* a[], B? b, C* c[], D d)", "a.LEN >= c.LEN AND count(c[].v) <= d.v"),
        ("SEQ(AND(A* a[], B* b[], C? c), D d)", "a.LEN <= b.LEN"),
        ("AND(A? a, B? b, C? c)", "a.v < b.v"),
        ("AND(A a, SEQ(B b, !(X x), C c), D d)", "x.v <= a.v"),
        ("AND(SEQ(!(X x), A? a), B b, SEQ(!(D d), C* c[]))", "x.v < 3"),
        ("AND(SEQ(A a, !(X x)), B+ b[], C c)", "x.v = c.v"),
        ("AND(AND(A a, B? b), OR(C c, SEQ(D d, A e)))", "a.v <= c.v"),
        ("AND((SEQ(A a, B b))+, C c)", "a.v <= b.v AND a.LEN > c.v"),
        ("(AND(A a, B? b, C* c[]))+", "a.v <= b.v"),
        ("SEQ((AND(A a, SEQ(B b, !(X x), C c))){1,2}, D d)", "x.v >= b.v"),
    ],
)
def test_that_sharing_changes_no_match(
    pattern: str, where: str, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = dict.fromkeys(c for c in pattern.replace("!(X x)", "").replace("!(D d)", "") if c in "abcde")
    named = f"skip_till_next_match({first}), skip_till_any_match({', '.join(others)})"
    strategy = named if strategy == "mixed" else strategy
    same = "[k] AND " if strategy == "partition_contiguity" else ""
    for ties in ("ORDERED", "SIMULTANEOUS"):
        text = f"PATTERN {pattern} WHERE {strategy} {{ {same}{where} }} WITHIN 7 TIES {ties}"
        shared = Query(text)
        with monkeypatch.context() as patch:
            patch.setattr(analyse, "lay_out", lay_out_in_full)
            in_full = Query(text)
        for seed in range(2):
            events = stream(seed)
            expected = in_full.match(events, engine="reference").to_pylist()
            assert shared.match(events, engine="reference").to_pylist() == expected
            assert shared.match(events, engine="interpreted").to_pylist() == expected


def choices(events: Sequence[Row], types: str) -> int:
    """How many ways there are to take an event of each type, each v no less than that of the type before."""
    by_type = [[row for row in events if row["type"] == t] for t in types]
    return sum(all(x["v"] <= y["v"] for x, y in pairwise(c)) for c in product(*by_type))  # type: ignore[operator]


@pytest.mark.parametrize("types", ["ABCDEF", "ABCDEFGH"])
def test_and_of_many_events_against_counting(types: str) -> None:
    names = types.lower()
    pattern = f"AND({', '.join(f'{t} {t.lower()}' for t in types)})"
    rising = " AND ".join(f"{a}.v <= {b}.v" for a, b in pairwise(names))
    for seed in range(2):
        events = stream(seed, 8, types)
        events += [{"ts": 9, "type": t, "k": 0, "v": k // 2} for k, t in enumerate(types)]
        found = Query(f"PATTERN {pattern}").match(events, engine="reference")
        assert len(found) == prod(Counter(row["type"] for row in events)[t] for t in types)
        found = Query(f"PATTERN {pattern} WHERE {rising}").match(events, engine="reference")
        assert len(found) == choices(events, types)


def test_every_order_of_six_events_is_found() -> None:
    query = Query("PATTERN AND(A a, B b, C c, D d, E e, F f)")
    random = Random(1)
    for _ in range(20):
        order = random.sample("ABCDEF", 6)
        assert len(query.match([{"ts": t, "type": name} for t, name in enumerate(order)], engine="reference")) == 1


@pytest.mark.parametrize("operand", ["{0} {1}", "{0}? {1}", "{0}+ {1}[]", "{0}* {1}[]"])
def test_the_largest_and_is_not_written_out(operand: str) -> None:
    parts = ", ".join(operand.format(name.upper(), name) for name in "abcdefgh")
    lengths = operand.endswith("[]")
    pairs = combinations("abcdefgh", 2)
    where = " AND ".join(f"{a}.LEN <= {b}.LEN" if lengths else f"{a}.v <= {b}.v" for a, b in pairs)
    query = Query(f"PATTERN SEQ(AND({parts}), Z z) WHERE {where} WITHIN 9")
    (analysed,) = query._compiled.queries
    assert len(analysed.layout.places) <= 8 * 2**8 + 1  # and not the 8! orders
