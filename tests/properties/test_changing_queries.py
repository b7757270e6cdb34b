"""Whole queries that come, go and change while a session runs (S17): every way to run them gives what the log says."""

from collections import Counter
from itertools import combinations
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import CepheidError, Query, add_query, remove_query, replace_query
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, GeneratedQuery, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
EXAMPLES = settings.default.max_examples
Rows = dict[str, Counter[str]]
REFUSED = ("CEP229", "CEP608")

# Queries whose WHERE changes: by constants, by other conditions, and with what each of them is tested on.
PATTERNS = [
    "SEQ(A a, B b)",
    "SEQ(A a, !(C n), B b)",
    "SEQ(A a, B b, !(C n))",
    "SEQ(!(C n), A a, B b)",
    "SEQ(A a, B+ b[])",
    "SEQ(A a, B+ b[], C c)",
    "AND(A a, B b)",
    "OR(A a, SEQ(C c, B b))",
    "SEQ(A a, B? b, C c)",
]
CONDITIONS = {
    "a": ["a.x > {k}", "a.y != {k}", "a.x = a.y"],
    "b": ["b.x > {k}", "b.x >= a.x", "b.y != a.y"],
    "b[]": ["b[1].x > {k}", "b[i].x >= b[i-1].x", "sum(b[].x) > {k}", "b[].y != a.y", "b[i].x > avg(b[..i-1].x)"],
    "c": ["c.x > {k}", "c.y = a.y"],
    "n": ["n.x > {k}", "n.y = a.y"],
}
STRATEGIES = ["skip_till_any_match", "skip_till_next_match", "strict_contiguity"]
OUTPUTS = ["", "", "", "OUTPUT NON_OVERLAP", "OUTPUT LONGEST"]


def variables(pattern: str) -> list[str]:
    return [name for name in CONDITIONS if f" {name}" in pattern or f"+ {name}" in pattern]


def written(pattern: str, chance: Random, shape: tuple[str, str, str]) -> str:
    """A query with some conditions."""
    strategy, within, output = shape
    known = [c for name in variables(pattern) for c in CONDITIONS[name]]
    if "b[]" in pattern:
        known = [c for c in known if not c.startswith("b.")]
    chosen = [c.format(k=chance.randint(-1, 2)) for c in chance.sample(known, chance.randint(0, 2))]
    return f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(chosen)} }} {within} {output}"


def shape(pattern: str, chance: Random) -> tuple[str, str, str]:
    within = "WITHIN 6 milliseconds"
    if "(C n))" not in pattern and "(!(C n)" not in pattern:  # absences at the ends need it
        within = chance.choice([within, within, "WITHIN 4 events", ""])
    return chance.choice(STRATEGIES), within, chance.choice(OUTPUTS)


SCHEMA = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64()), ("y", pa.int64())])


def events_of(chance: Random, count: int) -> pa.Table:
    rows = [
        {
            "ts": chance.randint(0, 2 * count // 3),
            "type": chance.choice("AABBBC"),
            "x": chance.choice([-1, 0, 1, 2, 3, None]),
            "y": chance.randint(0, 1),
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def rows(found: Any) -> Rows:
    """What is given, by the name of the query."""
    return {name: Counter(map(to_json, one.to_pylist())) for name, one in found.outputs.items()}


class Stands:
    """The matches that stand, by the name of the query."""

    def __init__(self) -> None:
        self.rows: Rows = {}

    def note(self, given: Any, changes: bool) -> None:
        for name, one in given.outputs.items():
            own = self.rows.setdefault(name, Counter())
            if changes:
                own.update(map(to_json, one.added.to_pylist()))
                own.subtract(map(to_json, one.removed.to_pylist()))
                assert not [row for row, count in own.items() if count < 0]
            else:
                own.update(map(to_json, one.to_pylist()))

    @property
    def now(self) -> Rows:
        return {name: +own for name, own in self.rows.items() if +own}


def standing(found: Rows) -> Rows:
    return {name: own for name, own in found.items() if own}


def run(query: Query, events: pa.Table, chance: Random, draw: Any, engine: str, speculate: Any) -> None:
    """Push events in parts, change what runs in between, and compare with what the log of changes says."""
    if not events.num_rows:
        return
    lateness = chance.choice([0, 2, 5])
    order = sorted(range(events.num_rows), key=lambda k: events[TIME][k].as_py() + chance.randint(0, lateness))
    options = {} if speculate is None else {"speculate": speculate}
    session: Any = query.session(engine=engine, lateness=lateness, **options)
    same: Any = query.session(engine="reference", lateness=lateness, speculate=speculate or 0)
    stands, others = Stands(), Stands()
    came: list[int] = []
    latest = -1
    for call, at in enumerate(range(0, len(order), 3)):
        part = order[at : at + 3]
        came += part
        stands.note(session.push(events.take(part)), speculate is not None)
        others.note(same.push(events.take(part)), True)
        latest = max(latest, *(events[TIME][k].as_py() for k in part))
        for change in draw(call, range(latest - lateness - 1, latest + 4)):
            try:
                given_ = session.change(change)
            except CepheidError as error:
                if error.code not in REFUSED:
                    raise
            else:
                stands.note(given_, speculate is not None)
                others.note(same.change(change), True)
        if chance.random() < 0.3:
            session = query.restore(session.snapshot(), engine=engine)
        if speculate == "all" and chance.random() < 0.5 and len(came) > 1:
            gone = [came.pop(chance.randrange(len(came)))]
            if events[TIME][gone[0]].as_py() >= latest - lateness:
                stands.note(session.retract(events.take(gone)), True)
                others.note(same.retract(events.take(gone)), True)
            else:
                came += gone
        assert stands.now == others.now
        if speculate == "all":
            assert stands.now == standing(
                rows(query.match(events.take(came), engine="reference", changes=same.changes))
            )
    log = session.changes
    stands.note(session.close(), speculate is not None)
    expected = query.match(events.take(came), engine="reference", changes=log)
    assert stands.now == standing(rows(expected))
    assert standing(rows(query.match(events.take(came), engine=engine, changes=log))) == standing(rows(expected))


@settings(max_examples=EXAMPLES)
@given(
    st.sampled_from(PATTERNS),
    st.randoms(use_true_random=False),
    st.sampled_from(["auto", "plain", "interpreted"]),
    st.sampled_from([None, None, "all", "all", 0, 3]),
)
def test_that_conditions_change(pattern: str, chance: Random, engine: str, speculate: Any) -> None:
    """S17.4 and S17.5: with replaced conditions, queries that come and go, late events, retractions and snapshots."""
    own, more = shape(pattern, chance), chance.choice(PATTERNS)
    other = shape(more, chance)
    query = Query(written(pattern, chance, own))

    def draw(call: int, times: range) -> list[Any]:
        found = []
        for _ in range(chance.choice([0, 1, 1, 2])):
            at = chance.choice([None, chance.choice(times)])
            kind = chance.random()
            if kind < 0.5:
                found.append(replace_query("query 1", written(pattern, chance, own), at=at))
            elif kind < 0.65:
                until = None if at is None or chance.random() < 0.5 else at + chance.randint(1, 6)
                found.append(add_query(f"more{call % 3}", written(more, chance, other), at=at, until=until))
            elif kind < 0.8:
                found.append(replace_query(f"more{call % 3}", written(more, chance, other), at=at))
            else:
                found.append(remove_query(chance.choice(["query 1", "more0", "more1", "more2"]), at=at))
        return found

    run(query, events_of(chance, chance.randint(3, 14)), chance, draw, engine, speculate)


OWN = scenarios(schema=PLAIN)
PROGRAMS = st.tuples(programs(PLAIN), streams(PLAIN, min_size=2, max_size=8))


@given(
    OWN,
    OWN | PROGRAMS,
    st.randoms(use_true_random=False),
    st.sampled_from(["plain", "interpreted"]),
    st.sampled_from([None, "all", 3]),
)
def test_that_queries_come_and_go(
    first: tuple[GeneratedQuery, pa.Table],
    second: tuple[GeneratedQuery, pa.Table],
    chance: Random,
    engine: str,
    speculate: Any,
) -> None:
    """S17.2, of generated queries and programs."""
    query, other = first[0].make(), second[0].make()

    def draw(call: int, times: range) -> list[Any]:
        at = chance.choice([None, chance.choice(times)])
        if chance.random() < 0.5:
            return [add_query(f"more{call}", other, at=at)]
        return [remove_query(chance.choice(["query 1", *(f"more{k}" for k in range(call))]), at=at)]

    run(query, first[1], chance, draw, engine, speculate)


@given(st.randoms(use_true_random=False), st.sampled_from(["reference", "plain", "interpreted", "auto"]))
def test_that_each_step_tests_the_conditions_of_its_time(chance: Random, engine: str) -> None:
    """S17.4 by brute force: pairs of events, and each condition by the time of the event that completes it."""
    events = events_of(chance, 10)
    limits = [(chance.randint(-1, 2), chance.randint(-1, 1)) for _ in range(3)]
    times = sorted(chance.sample(range(8), 2))

    def text(own: tuple[int, int]) -> str:
        return f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ a.x > {own[0]} AND b.x >= a.x + {own[1]} }}"

    query = Query(text(limits[0]))
    log = [replace_query("query 1", text(own), at=at) for own, at in zip(limits[1:], times, strict=True)]

    def valid(time: int) -> tuple[int, int]:
        return limits[sum(time > at for at in times)]

    pairs = Counter[str]()
    found = sorted(events.to_pylist(), key=lambda e: (e["ts"], e["type"]))
    for a, b in combinations(found, 2):
        if a["type"] == "A" and b["type"] == "B" and a["x"] is not None and b["x"] is not None:
            least, rise = valid(a["ts"])[0], valid(b["ts"])[1]
            if a["x"] > least and b["x"] >= a["x"] + rise:
                pairs[to_json({"match_start": a["ts"], "match_end": b["ts"], "a": a, "b": b})] += 1
    assert rows(query.match(events, engine=engine, changes=log))["query 1"] == pairs
