"""Punctuations (S17a): what a session gives in total does not depend on promises, and nothing of it is undone."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from change_calls import CHANCE, ENGINES, SIGMA, Reader, plain, same, table
from change_oracle import Row, is_in_order, shown
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import InputError, Session
from cepheid.engine.stream import partition_replay, speculation
from cepheid.language import parse
from cepheid.pattern.tree.nodes import Output
from cepheid.testing.strategies import (
    EVERYTHING,
    PLAIN,
    GeneratedQuery,
    automata,
    automaton_programs,
    merges,
    programs,
    scenarios,
    streams,
)
from cepheid.testing.strategies.schemas import KEY, TIME, TYPE

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
EXAMPLES = settings.default.max_examples
Scenario = tuple[GeneratedQuery, pa.Table]
KEYED = replace(EVERYTHING, partitions=("[attr]", "PARTITION BY", "PARTITION BY"), declared_types=False)
BY_PARTITIONS = replace(KEYED, outputs=(Output.ALL,))

_MORE = streams(PLAIN, max_size=8)
SCENARIOS = (
    scenarios(schema=PLAIN)
    | scenarios(KEYED, schema=PLAIN)
    | scenarios(BY_PARTITIONS, schema=PLAIN)
    | st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))
    | st.tuples(automata(PLAIN, BY_PARTITIONS) | automaton_programs(PLAIN), _MORE)
)


@dataclass(frozen=True)
class Promise:
    """What a test knows of a promise: how it is written, and which rows it is about."""

    where: Any
    about: Callable[[Row], bool]
    before: int = 0

    def breaks(self, row: Row) -> bool:
        return self.about(row) and bool(row[TIME] < self.before)


def of_columns(**values: Any) -> Promise:
    return Promise(values, lambda row: all(row[name] == value for name, value in values.items()))


def _is(value: Any, test: Callable[[Any], bool]) -> bool:
    return value is not None and test(value)


PROMISES = (
    *(of_columns(**{KEY: key}) for key in (0, 0, 1, 1, None)),
    *(of_columns(**{TYPE: kind}) for kind in ("A", "B", "C")),
    *(of_columns(**{KEY: key, TYPE: kind}) for key in (0, 1) for kind in ("A", "B", "C")),
    of_columns(x=1),
    Promise("e.type = 'A'", lambda row: row[TYPE] == "A"),
    Promise("e.type IN ('A', 'B')", lambda row: row[TYPE] in ("A", "B")),
    Promise("e.type != 'C'", lambda row: _is(row[TYPE], lambda kind: kind != "C")),
    Promise("e.type IS NOT NULL", lambda row: row[TYPE] is not None),
    Promise("e.k <= 0", lambda row: _is(row[KEY], lambda key: key <= 0)),
    Promise("e.k >= 0", lambda row: _is(row[KEY], lambda key: key >= 0)),
    Promise("e.k = 1 AND e.type IN ('A', 'B')", lambda row: row[KEY] == 1 and row[TYPE] in ("A", "B")),
    Promise("e.k IS NULL OR e.k >= 0", lambda row: True),
    Promise("e.ts >= 0", lambda row: True),
    Promise("e.x >= 1", lambda row: _is(row["x"], lambda x: x >= 1)),
    Promise("e.x < 2", lambda row: _is(row["x"], lambda x: x < 2)),
    Promise("e.b", lambda row: bool(row["b"])),
)


@dataclass
class Model:
    """What a session was given, and what it must have done with it."""

    late: str
    lateness: int | None
    watermark: int | None = None
    promises: list[Promise] = field(default_factory=list)
    taken: list[Row] = field(default_factory=list)
    refused: int = 0

    def is_late(self, row: Row) -> bool:
        return (self.watermark is not None and row[TIME] < self.watermark) or any(p.breaks(row) for p in self.promises)

    def push(self, rows: Sequence[Row]) -> list[Row]:
        good = [row for row in rows if not self.is_late(row)]
        self.refused += len(rows) - len(good)
        self.taken += good
        if self.lateness is not None and good:
            self.advance(max(row[TIME] for row in good) - self.lateness)
        return good

    def advance(self, watermark: int) -> None:
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)


@dataclass
class Played:
    """A session and one that is promised nothing, and what both have given after each call."""

    query: GeneratedQuery
    model: Model
    session: Session
    other: Session
    chance: Random
    found: dict[str, Counter[str]] = field(default_factory=dict)
    waited: dict[str, Counter[str]] = field(default_factory=dict)
    calls: list[dict[str, list[str]]] = field(default_factory=list)

    def give(self, rows: Sequence[Row]) -> None:
        late = [row for row in rows if self.model.is_late(row)]
        if late and self.model.late == "error":
            with pytest.raises(InputError, match="CEP408"):
                self.session.push(table(rows))
            rows = [row for row in rows if row not in late]
        given_ = self.session.push(table(rows))
        self.receive(given_, self.other.push(table(self.model.push(rows))))

    def advance(self, to: int) -> None:
        self.model.advance(to)
        assert self.model.watermark is not None
        self.receive(self.session.advance(self.model.watermark), self.other.advance(self.model.watermark))

    def punctuate(self, promise: Promise) -> None:
        self.model.promises.append(promise)
        self.receive(self.session.punctuate(promise.before, promise.where), None)

    def receive(self, given_: Any, waited: Any) -> None:
        for found, matches in ((self.found, given_), (self.waited, waited)):
            for name, one in () if matches is None else matches.outputs.items():
                found.setdefault(name, Counter()).update(shown(one))
        self.calls.append({name: shown(one) for name, one in given_.outputs.items()})
        for name, waiting in self.waited.items():
            assert waiting <= self.found[name]
        if self.chance.random() < 0.2:
            self.session = self.query.make().restore(self.session.snapshot())

    def close(self) -> None:
        given_, waited = self.session.close(), self.other.close()
        for found, matches in ((self.found, given_), (self.waited, waited)):
            for name, one in matches.outputs.items():
                found.setdefault(name, Counter()).update(shown(one))
        assert self.found == self.waited, self.model
        expected = self.query.make().match(table(self.model.taken), engine="reference")
        for name, one in expected.outputs.items():
            rows = shown(one)
            assert self.found[name].total() == len(rows), self.model
            if self.found[name] != Counter(rows):
                continue  # of a pattern with OR that binds nothing, sessions may show another of equal matches (S9)
            assert all(is_in_order(call.get(name, []), rows) for call in self.calls), self.calls
        assert self.session.stats.late == (0 if self.model.late == "error" else self.model.refused)


def draw_promise(chance: Random, model: Model, coming: Sequence[Row], *, kept: bool) -> Promise:
    """A promise that what is to come keeps, and that goes as far as it can; or any."""
    promise = chance.choice(PROMISES)
    times = [row[TIME] for row in coming if promise.about(row)]
    before = min(times, default=20) if kept else chance.randint(0, 13)
    return replace(promise, before=before)


def in_disorder(events: pa.Table, chance: Random) -> list[Row]:
    disorder = chance.choice([1, 4, 20])
    rows = sorted(map(plain, events.to_pylist()), key=itemgetter(TIME))
    return sorted(rows, key=lambda row: row[TIME] + chance.randint(0, disorder))


@settings(max_examples=EXAMPLES)
@given(
    SCENARIOS,
    ENGINES,
    st.sampled_from(["error", "drop", "collect"]),
    st.sampled_from([None, None, None, 2, 5]),
    st.booleans(),
    CHANCE,
)
def test_that_promises_change_only_when_a_match_is_given(
    scenario: Scenario, engine: str, late: str, lateness: int | None, kept: bool, chance: Random
) -> None:
    query, events = scenario
    coming = in_disorder(events, chance)
    sessions = [query.make().session(engine=engine, late=late, lateness=lateness) for _ in range(2)]
    played = Played(query, Model(late, lateness), *sessions, chance)
    while coming:
        size = chance.randint(1, 4)
        some, coming = coming[:size], coming[size:]
        played.give(some)
        for _ in range(chance.randint(0, 2) if played.session.stats.events else 0):
            played.punctuate(draw_promise(chance, played.model, coming, kept=kept))
        if chance.random() < 0.3:
            played.advance(min([row[TIME] for row in coming], default=13) - chance.randint(0, 3))
    played.close()


FEW = speculation.FEW_EVENTS, partition_replay.FEW, speculation.BYTES_PER_EVENT


@pytest.fixture
def long_streams() -> Any:
    """With few events, states are kept and events are forgotten as they are in long streams."""
    speculation.FEW_EVENTS = partition_replay.FEW = 2
    speculation.BYTES_PER_EVENT = 2**30
    yield
    speculation.FEW_EVENTS, partition_replay.FEW, speculation.BYTES_PER_EVENT = FEW


@pytest.mark.usefixtures("long_streams")
@settings(max_examples=EXAMPLES)
@given(SCENARIOS, ENGINES, SIGMA, st.sampled_from([None, None, 3]), st.booleans(), CHANCE)
def test_that_changes_are_those_of_the_reference(
    scenario: Scenario, engine: str, speculate: int | str, lateness: int | None, retracts: bool, chance: Random
) -> None:
    query, events = scenario
    coming = in_disorder(events, chance)

    def make(engine: str) -> Session:
        return query.make().session(engine=engine, speculate=speculate, lateness=lateness, late="drop")

    session, reference = make(engine), make("reference")
    readers: dict[str, Reader] = {}

    def both(call: Callable[[Session], Any]) -> None:
        found, expected = call(session), call(reference)
        assert same(found, expected)
        for name, one in found.outputs.items():
            readers.setdefault(name, Reader()).read(one)

    taken: list[Row] = []
    while coming:
        size = chance.randint(1, 4)
        some, coming = coming[:size], coming[size:]
        both(lambda own, some=some: own.push(table(some)))  # type: ignore[misc]
        taken += some
        if retracts and chance.random() < 0.2:
            row = chance.choice(taken)
            both(lambda own, row=row: own.revise(table([row]), table([{**row, "x": 1}])))  # type: ignore[misc]
        for _ in range(chance.randint(0, 2) if session.stats.events else 0):
            promise = draw_promise(chance, Model("drop", None), coming, kept=chance.random() < 0.7)
            both(lambda own, promise=promise: own.punctuate(promise.before, promise.where))  # type: ignore[misc]
        if session.stats.events and chance.random() < 0.3:
            to = max(min([row[TIME] for row in coming], default=13) - chance.randint(0, 3), 0)
            to = to if session.engine.clock.watermark is None else max(to, session.engine.clock.watermark)
            both(lambda own, to=to: own.advance(to))  # type: ignore[misc]
        assert session.stats.late == reference.stats.late
        if chance.random() < 0.2:
            session = query.make().restore(session.snapshot())
    both(lambda own: own.close())


QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 4 milliseconds",
    "PATTERN SEQ(A a, !(C n), B b) WHERE skip_till_next_match(a, b) { [k] } WITHIN 5 milliseconds",
    "PATTERN SEQ(A a, !(C n)) WHERE [k] WITHIN 4 milliseconds",
    "PATTERN SEQ(A a, !(C n) FOR 3 milliseconds) WHERE [k]",
    "PATTERN SEQ(!(C n), A a, B b) WHERE [k] AND a.x >= 1 WITHIN 5 milliseconds",
    "PATTERN SEQ(A a, A+ b[], B c) WHERE skip_till_next_match { [k] AND b[i].x >= b[i-1].x } WITHIN 6 milliseconds",
    "PATTERN SEQ(A a, B+ b[]) WHERE partition_contiguity(a, b[]) { [k] } WITHIN 4 events",
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity { b.x >= 1 } PARTITION BY k",
    "PATTERN SEQ(A a, B b) WHERE [k] PARTITION BY x WITHIN 5 milliseconds",
    "PATTERN SEQ(A a, B b) PARTITION BY k WITHIN 6 milliseconds TIES SIMULTANEOUS",
    "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6 milliseconds OUTPUT NON_OVERLAP",
    "PATTERN SEQ(A a, A* b[], B c) WHERE skip_till_next_match { [k] } WITHIN 4 milliseconds OUTPUT LONGEST",
    "PATTERN SEQ(A a, B b) WHERE [k = 1] AND a.x >= 2 AND b.x >= 1 WITHIN 8 milliseconds",
    "FROM stream(A, B) WHERE x >= 1 PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [k] }",
    """AUTOMATON p -> q, z REGISTER n INT = 0
       ARC p -> q ON A SET n = e.x ARC q -> q ON B WHEN e.x >= 1 SET n = r.n + 1 ARC q -> z AT END
       PARTITION BY k WITHIN 4 milliseconds""",
    """PATTERN SEQ(A a, B b) WHERE [k] WITHIN 6 milliseconds RETURN a.k AS k INTO Pair;
       FROM Pair PATTERN SEQ(Pair p, Pair q) WHERE [k] WITHIN 9 milliseconds""",
)


@st.composite
def crowded(draw: st.DrawFn) -> tuple[list[Row], Random]:
    """Many events of few keys, so that most calls find something."""
    chance = draw(CHANCE)
    blank = dict.fromkeys(PLAIN.names)
    size, keys = draw(st.integers(1, 30)), draw(st.sampled_from([(0, 1), (0, 1, 1, 2, None)]))
    rows = [
        {**blank, TIME: chance.randint(0, 20), TYPE: chance.choice("AABBC"), KEY: chance.choice(keys), "x": at % 3}
        for at in range(size)
    ]
    return rows, chance


@pytest.mark.parametrize("text", QUERIES)
@settings(max_examples=max(EXAMPLES // 4, 10))
@given(crowded(), ENGINES, st.sampled_from([None, None, 4]), st.booleans())
def test_that_partitions_go_on_by_themselves(
    text: str, stream: tuple[list[Row], Random], engine: str, lateness: int | None, kept: bool
) -> None:
    rows, chance = stream
    query = GeneratedQuery(parse(text))
    coming = in_disorder(table(rows), chance)
    sessions = [query.make().session(engine=engine, late="drop", lateness=lateness) for _ in range(2)]
    played = Played(query, Model("drop", lateness), *sessions, chance)
    while coming:
        size = chance.randint(1, 6)
        some, coming = coming[:size], coming[size:]
        played.give(some)
        for _ in range(chance.randint(0, 3) if played.session.stats.events else 0):
            played.punctuate(draw_promise(chance, played.model, coming, kept=kept))
        if chance.random() < 0.2:
            played.advance(min([row[TIME] for row in coming], default=20) - chance.randint(0, 3))
    played.close()
