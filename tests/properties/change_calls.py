"""What is done with a change session, and what whoever reads its changes may rely on."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
from change_oracle import Row, shown
from hypothesis import strategies as st

from cepheid import Changes, Session
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, GeneratedQuery, merges, programs, scenarios, streams
from cepheid.testing.strategies.schemas import TIME

Scenario = tuple[GeneratedQuery, pa.Table]
SIGMA = st.sampled_from([0, 1, 3, "all", "all"])
ENGINES = st.sampled_from(["auto", "plain", "interpreted"])
INSERT, RETRACT = ("+", "+I", "+U"), ("-", "-D", "-U")
CHANCE = st.randoms(use_true_random=False)


def has_matches(scenario: Scenario) -> bool:
    query, events = scenario
    return any(map(len, query.make().match(events).outputs.values()))


_QUERIES = scenarios(schema=PLAIN)
_PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, min_size=2, max_size=6))
ANY = _QUERIES.filter(has_matches) | _PROGRAMS.filter(has_matches) | _QUERIES | _QUERIES.filter(has_matches)
"""Left to itself Hypothesis finds mostly queries without a match, and nothing changes."""


def plain(value: Any) -> Any:
    """A row without negative zeros: whether one equals the other zero is not what is tested here."""
    match value:
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return type(value)(map(plain, value))
    return 0.0 if isinstance(value, float) and value == 0 else value


def table(of: Sequence[Row], schema: pa.Schema = PLAIN) -> pa.Table:
    return pa.Table.from_pylist(list(of), schema=schema)


def with_op(inserted: Sequence[Row], retracted: Sequence[Row], chance: Random) -> pa.Table:
    """A change feed: insertions and retractions in any order, the column that says which at any place."""
    both = [{**row, "op": chance.choice(INSERT)} for row in inserted]
    both += [{**row, "op": chance.choice(RETRACT)} for row in retracted]
    chance.shuffle(both)
    columns = list(PLAIN)
    columns.insert(chance.randint(0, len(columns)), pa.field("op", pa.string()))
    return pa.Table.from_pylist(both, schema=pa.schema(columns))


@dataclass(frozen=True)
class Call:
    """Rows that come and go in one call, or a watermark."""

    inserted: tuple[Row, ...] = ()
    retracted: tuple[Row, ...] = ()
    time: int | None = None

    def on(self, session: Session, schema: pa.Schema = PLAIN) -> Any:
        if self.time is not None:
            return session.advance(self.time)
        inserted, retracted = table(self.inserted, schema), table(self.retracted, schema)
        if not self.retracted:
            return session.push(inserted)
        return session.revise(retracted, inserted) if self.inserted else session.retract(retracted)


Script = list[Call]


def script(events: pa.Table, chance: Random, *, retractions: bool = True, watermarks: bool = True) -> Script:
    """The events in any order and any batches, and others that come and go, or go and come. Nothing is late."""
    given = [plain(row) for row in events.to_pylist()]
    steps = [("+", row) for row in given]
    for row in given if retractions else ():
        if chance.random() > 0.6:
            other = {**row, "x": chance.choice([row["x"], 1, None]), TIME: chance.choice([row[TIME], 5, 12])}
            steps += [("+", other), ("-", other)]
    disorder = chance.choice([1, 4, 20])
    steps.sort(key=lambda step: step[1][TIME] + chance.randint(0, disorder))
    calls, watermark = [Call()], 0
    while steps:
        size = chance.randint(1, 3)
        some, steps = steps[:size], steps[size:]
        calls.append(Call(*(tuple(row for op, row in some if op == wanted) for wanted in "+-")))
        if watermarks and steps and chance.random() > 0.6:
            watermark = max(watermark, min(row[TIME] for _, row in steps) - chance.randint(0, 1))
            calls.append(Call(time=watermark))
    return calls


def play(session: Session, calls: Script) -> Iterator[Any]:
    """What each call gives, and the end."""
    for call in calls:
        yield call.on(session)
    yield session.close()


def total(changes: Sequence[Changes]) -> Counter[str]:
    """What stands after these changes; nothing is taken back that does not stand."""
    found = Counter[str]()
    for one in changes:
        removed = Counter(shown(one.removed))
        assert removed <= found
        found = found - removed + Counter(shown(one.added))
    return found


def same(one: Changes, other: Changes) -> bool:
    """Equal rows of every query. Which of equal rows is meant is not said, and so neither is their order."""
    if one.outputs.keys() != other.outputs.keys():
        return False
    pairs = [(one, other), *((one.outputs[name], other.outputs[name]) for name in one.outputs)]
    return all(sorted(shown(a)) == sorted(shown(b)) for a, b in pairs)


@dataclass
class Reader:
    """Whoever reads the changes of a query: `final` and identifiers must keep their promise."""

    final: Any = None
    standing: frozenset[str] = frozenset()
    named: dict[str, str] = field(default_factory=dict)  # the row of each identifier that ever was

    def read(self, changes: Changes) -> None:
        removed, added = changes.removed.to_pylist(), changes.added.to_pylist()
        assert all(self.final is None or row["match_end"] >= self.final for row in removed + added)
        if changes.final is not None:
            assert self.final is None or changes.final >= self.final
            self.final = changes.final
        listed = [{"op": "-", **row} for row in removed] + [{"op": "+", **row} for row in added]
        assert shown(changes) == list(map(to_json, listed))
        assert len(changes) == len(listed)
        assert bool(changes) == bool(listed)
        with_ids = changes.to_arrow(ids=True)
        self.keep_by_identifier(with_ids)
        for identifier, row in zip(with_ids["match_id"].to_pylist(), removed + added, strict=True):
            assert self.named.setdefault(identifier, to_json(row)) == to_json(row)

    def keep_by_identifier(self, changes: pa.Table) -> None:
        """A table that is kept by MERGE: each identifier at most once a call, only what stands is deleted."""
        assert changes.column_names[:4] == ["op", "match_id", "match_start", "match_end"]
        of_op: dict[str, list[str]] = {"-": [], "+": []}
        for op, identifier in zip(changes["op"].to_pylist(), changes["match_id"].to_pylist(), strict=True):
            of_op[op].append(identifier)
        gone, come = frozenset(of_op["-"]), frozenset(of_op["+"])
        assert len(gone) + len(come) == changes.num_rows
        assert not gone & come
        assert gone <= self.standing
        assert not come & self.standing
        self.standing = self.standing - gone | come
