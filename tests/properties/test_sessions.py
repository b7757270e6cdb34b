"""Sessions as machines: whatever is done with one, it gives the matches of the events that it took."""

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from operator import itemgetter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cepheid import InputError, Matches
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, merges, programs, rows, scenarios, streams
from cepheid.testing.strategies.schemas import TIME

Row = dict[str, Any]
Scenario = tuple[GeneratedQuery, pa.Table]


@dataclass
class Model:
    """What a session was given, what it must have done with it, and what is still to come."""

    late: str
    lateness: int | None
    coming: list[Row]
    watermark: int | None = None
    taken: list[Row] = field(default_factory=list)
    refused: list[Row] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)

    def is_late(self, row: Row) -> bool:
        return self.watermark is not None and row[TIME] < self.watermark

    def push(self, rows: list[Row]) -> None:
        self.refused += filter(self.is_late, rows)
        self.taken += [row for row in rows if not self.is_late(row)]
        if self.lateness is not None and self.taken:
            self.advance(max(row[TIME] for row in self.taken) - self.lateness)

    def advance(self, watermark: int) -> None:
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)


class Sessions(RuleBasedStateMachine):
    """A session beside its model. At its end the matches are those of the reference on the events that were taken."""

    @initialize(
        scenario=scenarios(schema=PLAIN) | st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6)),
        engine=st.sampled_from(["auto", "plain", "interpreted"]),
        late=st.sampled_from(["error", "drop", "collect"]),
        lateness=st.sampled_from([None, None, 0, 2]),
    )
    def start(self, scenario: Scenario, engine: str, late: str, lateness: int | None) -> None:
        self.query, events = scenario
        self.model = Model(late, lateness, sorted(events.to_pylist(), key=itemgetter(TIME)))
        self.room = events.num_rows + 3  # events that the reference can bear
        self.session = self.query.make().session(engine=engine, late=late, lateness=lateness)
        self.kept: tuple[bytes, Model] | None = None
        self.give([])  # a watermark is a time of a column that is known

    def receive(self, matches: Matches) -> None:
        self.model.found.update(map(to_json, matches.to_pylist()))

    def give(self, batch: list[Row]) -> None:
        table = pa.Table.from_pylist(batch, schema=PLAIN)
        if self.model.late == "error" and any(map(self.model.is_late, batch)):
            with pytest.raises(InputError, match="before the watermark"):
                self.session.push(table)
            return
        self.receive(self.session.push(table))
        self.model.push(batch)

    @rule(places=st.lists(st.integers(0, 2), max_size=4))
    def push(self, places: list[int]) -> None:
        """The next events, not quite in order."""
        coming = self.model.coming
        self.give([coming.pop(min(place, len(coming) - 1)) for place in places if coming])

    @precondition(lambda self: len(self.model.taken) < self.room)
    @rule(row=rows(PLAIN))
    def push_any(self, row: Row) -> None:
        self.give([row])

    @precondition(lambda self: self.model.taken and len(self.model.taken) < self.room)
    @rule(data=st.data())
    def push_again(self, data: st.DataObject) -> None:
        """A row that was there before is another event."""
        self.give([data.draw(st.sampled_from(self.model.taken))])

    @rule(by=st.sampled_from([0, 0, 1, 3]))
    def advance(self, by: int) -> None:
        """To the next event, or beyond it, so that it will be late."""
        earliest = self.model.coming[0][TIME] if self.model.coming else 0
        watermark = max(earliest, self.model.watermark or 0) + by
        self.receive(self.session.advance(watermark))
        self.model.advance(watermark)

    @rule()
    def restart(self) -> None:
        """As another process would: with a query that was made again."""
        self.session = self.query.make().restore(self.session.snapshot())

    @rule()
    def keep(self) -> None:
        self.kept = self.session.snapshot(), deepcopy(self.model)

    @precondition(lambda self: self.kept is not None)
    @rule()
    def go_back(self) -> None:
        assert self.kept is not None
        blob, model = self.kept
        self.session, self.model = self.query.make().restore(blob), deepcopy(model)

    @invariant()
    def late_events_are_not_lost(self) -> None:
        late = [] if self.model.late == "error" else self.model.refused
        assert self.session.stats.late == len(late)
        if self.model.late == "collect":
            assert sorted(map(to_json, self.session.late_events.to_pylist())) == sorted(map(to_json, late))

    def teardown(self) -> None:
        if not hasattr(self, "session"):
            return
        for row in self.model.coming:
            self.give([row])
        self.receive(self.session.close())
        events = pa.Table.from_pylist(self.model.taken, schema=PLAIN)
        expected = self.query.make().match(events, engine="reference").to_pylist()
        assert self.model.found == Counter(map(to_json, expected)), self.model.taken
        assert self.session.stats.events == len(self.model.taken)


@pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
@settings(max_examples=settings.default.max_examples * 2)
@given(scenarios(Features(negations=2), schema=PLAIN), st.randoms(use_true_random=False))
def test_that_nothing_to_come_undoes_what_was_given(scenario: Scenario, chance: Random) -> None:
    """S10, S26: also where an event after a negation may be left out, and at the very time that a window ends."""
    query, events = scenario
    expected = Counter(map(to_json, query.make().match(events, engine="reference").to_pylist()))
    session, found = query.make().session(), Counter[str]()
    session.push(events.slice(0, 0))
    coming = sorted(events.to_pylist(), key=itemgetter(TIME))
    while coming:
        some = [coming.pop(min(chance.randint(0, 2), len(coming) - 1)) for _ in range(chance.randint(1, len(coming)))]
        session.push(pa.Table.from_pylist(some, schema=PLAIN))
        if coming and chance.randint(0, 3):
            found.update(map(to_json, session.advance(min(row[TIME] for row in coming)).to_pylist()))
            assert found <= expected
    assert found + Counter(map(to_json, session.close().to_pylist())) == expected


TestSessions = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")(Sessions.TestCase)
TestSessions.settings = settings(max_examples=settings.default.max_examples * 2, stateful_step_count=12)
