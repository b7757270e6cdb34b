"""Change sessions as machines: whatever is done with one, it gives the changes that the semantics page defines."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from random import Random
from typing import Any

import pytest
from change_calls import ANY, CHANCE, ENGINES, Call, Reader, Scenario, plain, table, with_op
from change_oracle import Answer, Oracle, RefusedError, Row, differences, is_in_order, shown
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cepheid import Changes, InputError, Matches
from cepheid.engine.stream import partition_replay, speculation
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, rows
from cepheid.testing.strategies.schemas import TIME

FEW = speculation.FEW_EVENTS, partition_replay.FEW, speculation.BYTES_PER_EVENT
BEGINNINGS: Mapping[str, st.SearchStrategy[Any]] = {
    "engine": ENGINES,
    "speculate": st.sampled_from(["all", "all", "all", 3, 1, 0, None]),
    "late": st.sampled_from(["error", "drop", "collect"]),
    "lateness": st.sampled_from([None, None, 0, 2, 5]),
    "op": st.booleans(),
    "early": st.booleans(),
    "few": st.sampled_from([0, 3, 4096]),
    "first": st.integers(0, 9),
    "chance": CHANCE,
}
"""How a session may be made."""


@dataclass
class State:
    """What a session was given, what it must have done with it, and what is still to come."""

    oracle: Oracle
    coming: list[Row]
    readers: dict[str, Reader] = field(default_factory=dict)

    def copy(self) -> "State":
        readers = {name: replace(reader) for name, reader in self.readers.items()}
        return State(self.oracle, list(self.coming), readers)


class ChangeSessions(RuleBasedStateMachine):
    """A session beside the oracle, with the same calls."""

    @initialize(scenario=ANY, **BEGINNINGS)
    def start(self, scenario: Scenario, **how: Any) -> None:
        self.begin(scenario, **how)

    def begin(
        self,
        scenario: Scenario,
        engine: str,
        speculate: int | str | None,
        late: str,
        lateness: int | None,
        op: bool,
        early: bool,
        few: int,
        first: int,
        chance: Random,
    ) -> None:
        # With few events, states are kept and events are forgotten as they are in long streams.
        speculation.FEW_EVENTS = partition_replay.FEW = few
        speculation.BYTES_PER_EVENT = FEW[2] if few == FEW[1] else 2**30  # however large a state is
        self.query, events = scenario
        coming = sorted(map(plain, events.to_pylist()), key=itemgetter(TIME))
        self.state = State(Oracle(self.query.make(), speculate, late, lateness), coming)
        self.room = events.num_rows + 3  # events that the reference can bear
        self.op = "op" if op or speculate is None else None
        self.session = self.query.make().session(
            engine=engine, late=late, lateness=lateness, speculate=speculate, op=self.op
        )
        self.early, self.chance = early, chance  # early: it is closed before all has come
        self.kept: tuple[bytes, State] | None = None
        self.give([], [])  # a watermark is a time of a column that is known
        self.give(self.next_rows([0] * first), [])

    def do(self, call: Callable[[], Any], after: Callable[[], Oracle]) -> None:
        """A call, and what it must give; or else it must be refused, and change nothing."""
        self.sound = False  # until it has been
        try:
            expected = after()
        except RefusedError:
            with pytest.raises(InputError, match="CEP408"):
                call()
        else:
            self.receive(call(), expected)
        self.sound = True

    def receive(self, given: Any, after: Oracle) -> None:
        before, self.state.oracle = self.state.oracle, after
        waits = after.speculate is None
        assert isinstance(given, Matches if waits else Changes)
        for name, difference in differences(before.answer, after.answer).items():
            one = given.outputs[name]
            added, removed = (shown(one), []) if waits else (shown(one.added), shown(one.removed))
            told = f"{name} of {after}"
            assert (Counter(removed), Counter(added)) == (difference.removed, difference.added), told
            assert self.in_order(removed, before.answer, name), told
            assert self.in_order(added, after.answer, name), told
        if not waits:
            for name, one in given.outputs.items():
                self.state.readers.setdefault(name, Reader()).read(one)
            assert shown(given) == shown([*given.outputs.values()][-1])

    def in_order(self, some: Sequence[str], answer: Answer, name: str) -> bool:
        """S15.2: each in the order of S9."""
        return is_in_order(some, answer.get(name, ()))

    def give(self, inserted: Sequence[Row], retracted: Sequence[Row]) -> None:
        mixed = with_op(inserted, retracted, self.chance)
        call = Call(tuple(inserted), tuple(retracted))
        self.do(
            lambda: self.session.push(mixed) if self.op else call.on(self.session),
            lambda: self.state.oracle.change(inserted, retracted),
        )

    def retract(self, gone: Sequence[Row]) -> None:
        self.do(lambda: self.session.retract(table(gone)), lambda: self.state.oracle.change((), gone))

    def next_rows(self, places: Sequence[int]) -> list[Row]:
        """The next events, not quite in order."""
        coming = self.state.coming
        return [coming.pop(min(place, len(coming) - 1)) for place in places if coming]

    def some_events(self, data: st.DataObject) -> list[Row]:
        """Some that have come, seldom late ones, and perhaps one of them twice."""
        oracle = self.state.oracle
        on_time = [row for row in oracle.events if not oracle.is_late(row)]
        of = oracle.events if data.draw(st.integers(0, 5)) == 5 or not on_time else on_time
        return data.draw(st.lists(st.sampled_from(of), min_size=1, max_size=2)) if of else []

    @rule(places=st.lists(st.integers(0, 2), min_size=1, max_size=4))
    def push(self, places: list[int]) -> None:
        self.give(self.next_rows(places), [])

    @precondition(lambda self: len(self.state.oracle.events) < self.room)
    @rule(row=rows(PLAIN).map(plain), data=st.data())
    def push_any(self, row: Row, data: st.DataObject) -> None:
        """Also a row that was there before: it is another event."""
        self.give([data.draw(st.sampled_from([row, *self.state.oracle.events]))], [])

    @precondition(lambda self: self.state.oracle.events)
    @rule(data=st.data(), alone=st.booleans())
    def retract_some(self, data: st.DataObject, alone: bool) -> None:
        gone = self.some_events(data)
        self.retract(gone) if alone else self.give([], gone)

    @rule(row=rows(PLAIN).map(plain), data=st.data())
    def retract_any(self, row: Row, data: st.DataObject) -> None:
        """Also what is still to come."""
        self.give([], [data.draw(st.sampled_from([row, *self.state.coming]))])

    @precondition(lambda self: self.state.oracle.debts)
    @rule(data=st.data())
    def pay(self, data: st.DataObject) -> None:
        self.give([data.draw(st.sampled_from(self.state.oracle.debts))], [])

    @rule(data=st.data(), places=st.lists(st.integers(0, 2), min_size=1, max_size=2))
    def revise(self, data: st.DataObject, places: list[int]) -> None:
        self.give(self.next_rows(places), self.some_events(data))

    @precondition(lambda self: self.state.oracle.events)
    @rule(data=st.data(), other=rows(PLAIN).map(plain))
    def correct(self, data: st.DataObject, other: Row) -> None:
        """Another value for some columns of an event."""
        (old, *_) = self.some_events(data)
        names = data.draw(st.sets(st.sampled_from(PLAIN.names), max_size=3))
        self.give([{**old, **{name: other[name] for name in names}}], [old])

    @rule(by=st.sampled_from([-2, -1, 0, 1, 3]))
    def advance(self, by: int) -> None:
        """To the next event, or beyond it, so that it will be late."""
        earliest = self.state.coming[0][TIME] if self.state.coming else 0
        to = max(earliest + by, self.state.oracle.watermark or 0)
        self.do(lambda: self.session.advance(to), lambda: self.state.oracle.advance(to))

    @rule()
    def restart(self) -> None:
        """As another process would: with a query that was made again."""
        self.session = self.query.make().restore(self.session.snapshot())

    @rule()
    def keep(self) -> None:
        self.kept = self.session.snapshot(), self.state.copy()

    @precondition(lambda self: self.kept is not None)
    @rule()
    def go_back(self) -> None:
        assert self.kept is not None
        blob, state = self.kept
        self.session, self.state = self.query.make().restore(blob), state.copy()

    @invariant()
    def what_is_late_is_not_lost(self) -> None:
        oracle = self.state.oracle
        assert self.session.stats.late == len(oracle.set_aside)
        if oracle.late == "collect":
            found = [{name: row[name] for name in PLAIN.names} for row in self.session.late_events.to_pylist()]
            assert sorted(map(to_json, found)) == sorted(map(to_json, oracle.set_aside))

    def teardown(self) -> None:
        speculation.FEW_EVENTS, partition_replay.FEW, speculation.BYTES_PER_EVENT = FEW
        if not getattr(self, "sound", False):
            return
        while self.state.coming and not self.early:
            self.give([self.state.coming.pop(0)], [])
        if self.state.oracle.debts:
            self.do(lambda: self.session.close(), lambda: self.state.oracle.close())
            if not self.state.oracle.closed:
                self.give(self.state.oracle.debts, [])
        if not self.state.oracle.closed:
            self.do(lambda: self.session.close(), lambda: self.state.oracle.close())
        assert self.state.oracle.closed


TestChangeSessions = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")(ChangeSessions.TestCase)
TestChangeSessions.settings = settings(stateful_step_count=12)
