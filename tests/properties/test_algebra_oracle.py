"""CESAR expressions (S19-S22) on every engine, against set comprehensions that share nothing with the package."""

import math
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from algebra_generator import Generator, rows, scenario
from algebra_oracle import (
    NAN,
    TRUE,
    Add,
    Base,
    Copy,
    Event,
    Expr,
    Iterate,
    Project,
    Rename,
    Select,
    Then,
    Union,
    World,
    evaluate,
)
from hypothesis import settings

from cepheid import CepheidError, Matches, Query

SEEDS = settings.default.max_examples
STEP = 20  # scenarios in one test
TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
SECONDS = {"ms": 0.001, "s": 1, "min": 60}
EPOCH = datetime(1970, 1, 1)
Rows = Counter[tuple[Any, ...]]


def table(events: list[dict[str, Any]], world: World) -> pa.Table:
    """The events as columns, with those of the roles that the world has."""
    data: dict[str, pa.Array] = {}
    for name, key in [("ts", "end"), ("began", "start")][: 1 + world.durations]:
        times = [e[key] for e in events]
        if world.fine:
            ticks = [int(t * SECONDS[world.unit] * 1_000_000) for t in times]
            data[name] = pa.array(ticks, pa.int64()).cast(pa.timestamp("us"))
        else:
            data[name] = pa.array(times, pa.int64())
    if world.typed:
        data["type"] = pa.array([e["kind"] for e in events], pa.string())
    return pa.table(data | {c: pa.array([e[c] for e in events], TYPES[t]) for c, t in world.columns.items()})


def cell(value: Any, world: World) -> Any:
    """A value as the oracle has it: times in ticks, one NaN."""
    if isinstance(value, datetime):
        return (value - EPOCH).total_seconds() / SECONDS[world.unit]
    return NAN if isinstance(value, float) and math.isnan(value) else value


def expected(tree: Any, world: World) -> tuple[list[str], Rows]:
    found = evaluate(tree, world)
    names = ["match_start", "match_end", *(n.replace(".", "_") for n in found.types)]
    return names, Counter((start, end, *values) for values, start, end in found.events)


def given(world: World, *results: Matches) -> tuple[list[str], Rows]:
    rows = Counter(tuple(cell(v, world) for v in r.values()) for m in results for r in m.to_pylist())
    return results[0].to_arrow().column_names, rows


def made(text: str, world: World) -> Query:
    start = "began" if world.durations else None
    return Query(text, type="type" if world.typed else None, unit=world.unit, start=start)


def run_session(query: Query, world: World, engine: str, chance: Random) -> list[Matches]:
    """Events late by a little, in batches of any size, with snapshots between them."""
    lateness = chance.choice([0, 1, 2, 4])
    coming = sorted(world.rows, key=lambda e: e["end"] + chance.randint(0, lateness))
    session = query.session(engine=engine, lateness=lateness)
    found = [session.push(table([], world))]
    while coming:
        size = chance.randint(1, 5)
        found.append(session.push(table(coming[:size], world)))
        coming = coming[size:]
        if chance.random() < 0.3:
            session = query.restore(session.snapshot())
        if coming and chance.random() < 0.2:
            reached = min(e["end"] for e in coming)
            session_time = EPOCH + timedelta(seconds=reached * SECONDS[world.unit]) if world.fine else reached
            found.append(session.advance(session_time))
    return [*found, session.close()]


def check_match(seed: int, engine: str) -> None:
    tree, text, world = scenario(seed)
    chance = Random(seed)
    repeated = [*world.rows, *chance.choices(world.rows, k=2 if world.rows else 0)]  # equal rows are one event
    chance.shuffle(repeated)
    found = made(text, world).match(table(repeated, world), engine=engine)
    assert given(world, found) == expected(tree, world), f"seed {seed}\n{text}"


@pytest.mark.parametrize("engine", ["reference", "interpreted", "plain"])
@pytest.mark.parametrize("first", range(0, SEEDS, STEP))
def test_every_engine_gives_what_the_oracle_gives(first: int, engine: str) -> None:
    for seed in range(first, first + STEP):
        check_match(seed, engine)


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))  # a kernel takes a second or two to compile
def test_compiled_kernels_give_what_the_oracle_gives(seed: int) -> None:
    check_match(seed, "compiled")


@pytest.mark.parametrize("engine", ["interpreted", "plain"])
@pytest.mark.parametrize("first", range(0, SEEDS, STEP))
def test_sessions_give_what_the_oracle_gives(first: int, engine: str) -> None:
    for seed in range(first, first + STEP):
        tree, text, world = scenario(seed)
        found = run_session(made(text, world), world, engine, Random(seed))
        assert given(world, *found) == expected(tree, world), f"seed {seed}\n{text}"


def test_few_scenarios_are_trivial() -> None:
    sizes = [len(evaluate(tree, world).events) for tree, _, world in map(scenario, range(80))]
    assert sum(size > 0 for size in sizes) > 60
    assert sum(size > 4 for size in sizes) > 15


# What was wrong once: the text to the rows that it gives.

FOUND = [(1, "A", 1, "a"), (2, "B", 2, "b"), (3, "A", 3, "a"), (4, "A", 4, "c"), (5, "B", 9, "b")]
EVENTS = [{"ts": t, "type": k, "x": x, "y": float(x), "s": s} for t, k, x, s in FOUND]
ONCE: dict[str, list[tuple[Any, ...]]] = {
    "LET S1 := B\n(S1 ;[TRUE] PROJECT[s](A))": [(2, 3, 2, 2.0, "b", "a")],
    "LET S1 := PROJECT[x](B)\n(S1 UNION S1)": [(2, 2, 2), (5, 5, 9)],
    "LET c := x > 1\nPROJECT[x]((A UNION SELECT[c](A)))": [(1, 1, 1), (3, 3, 3), (4, 4, 4)],
    "LET S2 := A ITERATE[RENAME[S2.y -> q], TRUE](PROJECT[x](B), S2)": [(2, 3, 2, 3, 3.0, "a"), (2, 4, 2, 4, 4.0, "c")],
    "LET S2 := A PROJECT[x, q](ITERATE[RENAME[S2.y -> q], S2.y > S2.y.last](B, S2))": [(2, 3, 2, 3.0), (2, 4, 2, 4.0)],
    "LET S2 := A PROJECT[x, q](ITERATE[SELECT[x >= 1] . RENAME[S2.x -> q], TRUE](B, S2))": [(2, 3, 2, 3), (2, 4, 2, 4)],
    "LET S1, S2 := A PROJECT[S1.x, q](ITERATE[SELECT[x >= 1] . RENAME[S2.x -> q], S2.x.last > 0](S1, S2))": [
        (1, 3, 1, 3),
        (1, 4, 1, 4),
        (3, 4, 3, 4),
    ],
    "LET S2 := A PROJECT[x, S2.x](ITERATE[SELECT[S2.x.last > 0], TRUE](A, THEN[TRUE](S2, B)))": [
        (1, 5, 9, 3),
        (1, 5, 9, 4),
        (3, 5, 9, 4),
    ],
    "LET S1, S2, S3 := A PROJECT[S1.x, S2.x, S3.x](ITERATE[S3.x > S3.x.last, TRUE](THEN[TRUE](S1, S2), S3))": [
        (1, 4, 1, 3, 4)
    ],
    "LET S1 := A LET S2 := B PROJECT[S1.x, S2.x](ITERATE[S2.x > S2.x.last, TRUE](S1, S2))": [
        (1, 2, 1, 2),
        (1, 5, 1, 9),
        (3, 5, 3, 9),
        (4, 5, 4, 9),
    ],
    "PROJECT[x](A)": [(1, 1, 1), (3, 3, 3), (4, 4, 4)],
    "SELECT[x > 1](PROJECT[x](A))": [(3, 3, 3), (4, 4, 4)],
    "PROJECT[x](A UNION B)": [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 9)],
    "PROJECT[x](THEN[TRUE](A, A UNION B))": [(1, 2, 2), (3, 4, 4), (4, 5, 9)],
    "PROJECT[x, y, n](ITERATE[ADD[n := y, y := 3], TRUE](A, PROJECT[x](A)))": [
        (1, 3, 3, 3.0, 1.0),
        (1, 4, 4, 3.0, 3.0),
        (3, 4, 4, 3.0, 3.0),
    ],
}


@pytest.mark.parametrize("engine", ["reference", "interpreted", "plain"])
@pytest.mark.parametrize("text", ONCE)
def test_what_was_wrong_once(text: str, engine: str) -> None:
    found = Query("CESAR " + text).match(EVENTS, engine=engine).to_pylist()
    assert [tuple(row.values()) for row in found] == ONCE[text]
    assert [type(v) for row in found for v in row.values()] == [type(v) for row in ONCE[text] for v in row]


# What is refused: the text to the code of its error.

LASTING = [
    {"ts": 1, "began": 0, "type": "A", "x": 1, "s": "a"},
    {"ts": 2, "began": 2, "type": "B", "x": 2, "s": "b"},
]
AT_ONCE = {
    "LET E := THEN[TRUE](A, G) LET G := SELECT[TRUE](E) E": "CEP231",
    "LET E := SELECT[TRUE](E) E": "CEP231",
    "LET E := A LET E := B E": "CEP230",
    "LET c := x > 1 THEN[TRUE](A, c)": "CEP230",
    "SELECT[x > 1(A)": "CEP101",
    "LET S := A": "CEP102",
}
ON_EVENTS = {
    "SELECT[z > 1](A)": "CEP317",
    "LET S1 := A SELECT[S1.z > 1](S1)": "CEP317",
    "LET S1, S2 := A SELECT[S2.x > 1](S1)": "CEP317",
    "LET S1, S2 := A THEN[x > 1](S1, S2)": "CEP318",
    "PROJECT[z](A)": "CEP317",
    "SELECT[x > 1](PROJECT[s](A))": "CEP317",
    "RENAME[x -> s](A)": "CEP320",
    "RENAME[x -> q, s -> q](A)": "CEP320",
    "RENAME[x -> q, x -> r](A)": "CEP320",
    "RENAME[z -> q](A)": "CEP317",
    "RENAME[ts -> q](A)": "CEP317",
    "PROJECT[ts](A)": "CEP317",
    "SELECT[ts > 1](A)": "CEP317",
    "SELECT[began > 1](A)": "CEP317",
    "SELECT[type = 'A'](A)": "CEP317",
    "ADD[m := 1, m := 2](A)": "CEP320",
    "A UNION PROJECT[x](A)": "CEP321",
    "LET S1, S2 := A S1 UNION S2": "CEP321",
    "PROJECT[x](A) UNION RENAME[s -> x](PROJECT[s](A))": "CEP321",
    "SELECT[x.last > 1](A)": "CEP319",
    "THEN[x.last > 1](A, A)": "CEP319",
    "ITERATE[SELECT[m.last > 1] . ADD[m := 1], TRUE](A, A)": "CEP319",
    "LET S1, S2 := A ITERATE[S2.x > S2.x.last, TRUE](PROJECT[S1.s](S1), S2)": "CEP319",
    "LET S := A SELECT[S](A)": "CEP317",
    "SELECT[x + 1](A)": "CEP308",
    "SELECT[s > 1](A)": "CEP305",
    "SELECT[DUR > 'a'](A)": "CEP305",
    "LET S1, S2 := A ITERATE[RENAME[S1.x -> q], TRUE](S1, S2)": "CEP322",
    "LET S1, S2 := A ITERATE[PROJECT[S1.x], TRUE](S1, S2)": "CEP322",
    "LET S2 := A ITERATE[SELECT[S2.x >= 1] . RENAME[S2.x -> q], TRUE](B, S2)": "CEP317",
    "LET S := A RENAME[S.x -> S_s](S)": "CEP320",
    "ITERATE[x.last > 1, TRUE](RENAME[s -> x](PROJECT[s](A)), PROJECT[x](A))": "CEP305",
    "LET S1, S2 := A ITERATE[S2.x.last.last > 1, TRUE](S1, S2)": "CEP305",
}
WRONG_EVENTS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a start after the end": ([{"ts": 1, "began": 2, "type": "A", "x": 1}], "CEP414"),
    "no start": ([{"ts": 1, "began": None, "type": "A"}, {"ts": 1, "began": 1, "type": "A"}], "CEP402"),
    "no column of starts": ([{"ts": 1, "type": "A", "x": 1}], "CEP309"),
    "starts that are no times": ([{"ts": 1, "began": "1", "type": "A", "x": 1}], "CEP309"),
}


@pytest.mark.parametrize("text", AT_ONCE)
def test_what_no_events_could_save_is_refused_at_once(text: str) -> None:
    with pytest.raises(CepheidError) as caught:
        Query("CESAR " + text, start="began")
    assert caught.value.code == AT_ONCE[text]


@pytest.mark.parametrize("text", ON_EVENTS)
def test_what_the_attributes_do_not_allow_is_refused(text: str) -> None:
    query = Query("CESAR " + text, start="began")
    with pytest.raises(CepheidError) as caught:
        query.match(LASTING)
    assert caught.value.code == ON_EVENTS[text]


@pytest.mark.parametrize("name", WRONG_EVENTS)
def test_events_without_a_right_start_are_refused(name: str) -> None:
    events, code = WRONG_EVENTS[name]
    with pytest.raises(CepheidError) as caught:
        Query("CESAR A", start="began").match(events)
    assert caught.value.code == code


# The oracle itself: the tables of the paper.

STOCK = Base("Stock")
S1, S2, S3 = (Copy(f"S{i}", STOCK) for i in (1, 2, 3))
PAPER = {"name": "str", "price": "int", "vol": "int"}


def quotes(events: list[tuple[Any, ...]]) -> World:
    """A world of quotes: a name, a price, now and then a volume, then the time."""
    columns = list(PAPER)[: len(events[0]) - 1]
    rows = [dict(zip(columns, e, strict=False)) | {"start": e[-1], "end": e[-1], "kind": "Stock"} for e in events]
    return World({c: PAPER[c] for c in columns}, rows)


def attr(name: str) -> Expr:
    return ("attr", name)


def test_paper_2_2_the_next_event_is_the_one_that_ends_first() -> None:
    lasting = [("e1", 1, 3, "P"), ("e2", 2, 5, "Q"), ("e3", 4, 9, "Q"), ("e4", 5, 7, "Q")]
    world = World({"k": "str"}, [{"k": k, "start": a, "end": b, "kind": t} for k, a, b, t in lasting])
    found = evaluate(Then(TRUE, Copy("a", Base("P")), Copy("b", Base("Q"))), world)
    assert found.events == {(("e1", "e4"), 1, 7)}


def test_paper_2_3_rising_prices_of_a_name() -> None:
    prices = [("IBM", 10, 1), ("Dell", 22, 2), ("IBM", 19, 3), ("Dell", 24, 4), ("IBM", 22, 5), ("Dell", 22, 6)]
    same, rises = ("=", attr("S1.name"), attr("S2.name")), (">", attr("S2.price"), ("last", "S2.price"))
    found = evaluate(Iterate((Select(rises, None),), same, S1, S2), quotes(prices))
    assert list(found.types) == ["S1.name", "S1.price", "S2.name", "S2.price"]
    assert found.events == {
        (("IBM", 10, "IBM", 19), 1, 3),
        (("Dell", 22, "Dell", 24), 2, 4),
        (("IBM", 19, "IBM", 22), 3, 5),
        (("IBM", 10, "IBM", 22), 1, 5),
    }


def test_paper_2_4_an_average_by_iteration() -> None:
    prices = [("IBM", 10, 1), ("Dell", 5, 2), ("IBM", 19, 3), ("IBM", 22, 5)]
    more = ("+", ("last", "COUNT"), ("const", 1))
    mean = ("/", ("+", ("*", ("last", "COUNT"), ("last", "AVG")), attr("price")), more)
    of = Select(("=", attr("name"), ("const", "IBM")), STOCK)
    first = Add((("AVG", attr("price")), ("COUNT", ("const", 1))), of)
    found = evaluate(Iterate((Add((("AVG", mean), ("COUNT", more)), None),), TRUE, first, of), quotes(prices))
    assert found.types == {"name": "str", "price": "int", "AVG": "float", "COUNT": "int"}
    assert found.events == {(("IBM", 19, 14.5, 2), 1, 3), (("IBM", 22, 17.0, 3), 1, 5), (("IBM", 22, 20.5, 2), 3, 5)}


TABLE_1 = [
    ("IBM", 90, 15000, 550),
    ("IBM", 85, 7000, 555),
    ("Dell", 40, 11000, 557),
    ("IBM", 81, 8000, 561),
    ("MSFT", 25, 6000, 563),
    ("IBM", 91, 9000, 564),
]


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ([], {(("IBM", 90, 81, 91), 550, 564)}),
        ([("IBM", 80, 8000, 564)], {(("IBM", 90, 81, 91), 550, 564)}),  # e6', beside e6
        ([("IBM", 99, 8000, 557)], set()),  # e3' ends I1
    ],
)
def test_paper_table_1_query_7(more: list[tuple[Any, ...]], given: set[Event]) -> None:
    def renamed(of: Any, price: str) -> Rename:
        return Rename((("name", "company"), ("price", price)), Project(("name", "price"), of))

    top = renamed(Select((">", attr("vol"), ("const", 10000)), STOCK), "maxP")
    same = ("=", attr("company"), ("last", "company"))
    falls = ("and", same, ("<", attr("minP"), ("last", "minP")))
    down = Iterate((Select(falls, None),), same, top, renamed(STOCK, "minP"))
    final = Rename((("company", "c3"),), renamed(STOCK, "finalP"))  # outside of μ equal names need one of their own
    both = Then(("=", attr("company"), attr("c3")), Select((">=", ("dur",), ("const", 10)), down), final)
    up = Select((">", attr("finalP"), ("*", ("const", 1.05), attr("minP"))), both)
    assert evaluate(Project(("company", "maxP", "minP", "finalP"), up), quotes(TABLE_1 + more)).events == given


def test_paper_3_5_a_sequence_inside_a_sequence() -> None:
    tree = Then((">", attr("S3.price"), attr("S1.price")), S1, Then(TRUE, S2, S3))
    prices = [("IBM", 10, 1), ("Dell", 22, 2), ("IBM", 9, 3), ("Dell", 24, 4), ("IBM", 11, 5)]
    assert (("IBM", 10, "IBM", 9, "Dell", 24), 1, 4) in evaluate(tree, quotes(prices)).events
    found = evaluate(tree, quotes([*prices, ("Dell", 23, 3)])).events
    assert (("IBM", 10, "Dell", 23, "Dell", 24), 1, 4) not in found
    assert (("IBM", 10, "Dell", 22, "Dell", 23), 1, 3) in found


# The oracle itself: laws of the algebra, on points one after another and on events that last.

COLUMNS = {"x": "int", "s": "str"}
A, B, C = (Copy(k.lower(), Base(k)) for k in "ABC")


def worlds(seed: int) -> tuple[World, World]:
    chance = Random(seed)
    points = [dict(e, start=t, end=t) for t, e in enumerate(rows(chance, COLUMNS, ["A", "B", "C"], False))]
    return World(COLUMNS, points), World(COLUMNS, rows(chance, COLUMNS, ["A", "B", "C"], True))


def test_unary_operators_go_into_a_union() -> None:
    more = ("m", ("+", attr("x"), ("const", 1)))
    for seed in range(SEEDS):
        condition = Generator(Random(seed), COLUMNS, ["A", "B"]).condition(COLUMNS)
        others = partial(Project, ("s",)), partial(Rename, (("x", "p"),)), partial(Add, (more,))
        for world in worlds(seed):
            for of in (partial(Select, condition), *others):
                whole, parts = of(Union(Base("A"), Base("B"))), Union(of(Base("A")), of(Base("B")))
                assert evaluate(whole, world) == evaluate(parts, world)


def test_sequences_of_points_of_one_stream_are_associative() -> None:
    for seed in range(SEEDS):
        one = World(COLUMNS, worlds(seed)[0].rows, typed=False)  # of B, B, C both Bs have the same next C
        assert evaluate(Then(TRUE, Then(TRUE, A, B), C), one) == evaluate(Then(TRUE, A, Then(TRUE, B, C)), one)


def test_an_iteration_is_the_union_of_sequences() -> None:
    scope = {"a.x": "int", "a.s": "str", "b.x": "int", "b.s": "str"}
    for seed in range(SEEDS):
        condition = Generator(Random(seed), COLUMNS, ["A", "B"]).condition(scope)
        for world in worlds(seed):
            found, step = set[Event](), A
            for _ in range(14):
                step = Then(condition, step, B)
                found |= evaluate(step, world).events
            assert evaluate(Iterate((), condition, A, B), world).events == found


def test_a_condition_on_the_next_event_alone_goes_into_its_stream() -> None:
    one = ("=", attr("b.x"), ("const", 1))
    for seed in range(SEEDS):
        for world in worlds(seed):
            assert evaluate(Then(one, A, B), world) == evaluate(Then(TRUE, A, Select(one, B)), world)
