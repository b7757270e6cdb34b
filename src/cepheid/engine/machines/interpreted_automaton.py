"""An automaton of the user's own on the steps of the reference, made incremental: what no kernel can run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import time
from decimal import Decimal
from typing import Any

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.machines.interpreted import Interpreted
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.machines.without_codes import WithoutCodes
from cepheid.engine.matches.match_table import MatchTable, from_matches
from cepheid.engine.stream.lane_times import LaneTimes
from cepheid.pattern.binding.bind import Bound
from cepheid.pattern.lints.subsets import too_many_runs
from cepheid.pattern.tree.nodes import Fires
from cepheid.plan.spec import AUTOMATON
from cepheid.reference.own_automata import Accepted, Lane, OwnAutomaton, Run, given, instants
from cepheid.values.lanes import lane_key
from cepheid.values.rows import Event, read_rows
from cepheid.values.value import Value

Key = tuple[Value, ...]
MOST = 200_000
"""Runs of one partition at once, beyond which a query ends with an error before it takes all the memory."""


class InterpretedAutomaton(WithoutCodes):
    """One automaton over a stream that comes in parts."""

    kind = mode = Interpreted.kind
    tests = merged = 0  # not counted
    plan = str(AUTOMATON)
    replans = 0

    def __init__(self, query: Bound) -> None:
        assert query.automaton is not None
        self.query = query
        self.automaton = OwnAutomaton(query)
        self.tick = query.schema.tick
        self.lanes: dict[Key, Lane] = {}
        self.found: list[Accepted] = []
        self.ahead: LaneTimes | None = None
        self.waits = {arc.source for arc in query.automaton.arcs if arc.fires is Fires.END}

    @property
    def runs(self) -> int:
        """How many runs are alive."""
        return sum(len(lane.runs) for lane in self.lanes.values())

    def reserve(self, events: int) -> None:
        """Nothing is made beforehand."""

    def feed(self, batch: Batch) -> None:
        """The next events."""
        events = (
            replace(e, row=batch.first + e.row, position=batch.first + e.row)
            for e in read_rows(batch.table, self.query.schema)
        )
        report = batch.report or (lambda events: None)
        for moment in instants(self.query, list(events)):
            lanes: dict[Key, list[Event]] = {}
            for event in moment:
                key = lane_key(self.query.lanes, event)
                if key is not None:
                    lanes.setdefault(key, []).append(event)
            for key, own in lanes.items():
                lane = self.lanes.setdefault(key, Lane(self.automaton))
                self.found += lane.consume(own)
                if len(lane.runs) > MOST:
                    found = f"more than {MOST:,} runs at once in one partition"
                    raise too_many_runs(self.query.pattern, {}, found)
            report(len(moment))

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable:
        """The matches that are certain when all events before a time (None: all) are in."""
        for key, lane in self.lanes.items():
            reached = now if now is None or self.ahead is None else self.ahead.at(now, key)
            limit = horizon if reached is None else reached
            self.found += lane.end(None if limit is None else limit * self.tick)
            if reached is not None:
                self._prune(lane, reached * self.tick)
        self.lanes = {key: lane for key, lane in self.lanes.items() if lane.runs}
        found, self.found = self.found, []
        return from_matches(self.query, given(self.query, found), rows.base)

    def run_by_lanes(self, now: int, rows: KeptRows) -> bool:
        """A run sees the events of its lane alone."""
        return True

    def reach_lanes(self, ahead: LaneTimes | None) -> None:
        """Some lanes are ahead."""
        self.ahead = ahead

    def end_runs(self, before: int) -> None:
        """Matches may end with any event."""

    def _prune(self, lane: Lane, now: int) -> None:
        """Drop runs whose window no event to come is in."""
        within = self.query.within
        if within is not None and within.nanoseconds is not None:
            lane.runs = [run for run in lane.runs if now - run.first.time < within.nanoseconds]

    def unsettled(self) -> int | None:
        """The first event at which a match may end that comes when a window is over."""
        ends = (lane.last for lane in self.lanes.values() if any(run.state in self.waits for run in lane.runs))
        return min((last.position for last in ends if last is not None), default=None)

    def compact(self, now: int) -> int | None:
        """The first event that a match to come can have."""
        firsts = (run.first.position for lane in self.lanes.values() for run in lane.runs)
        lasts = (lane.last.position for lane in self.lanes.values() if lane.last is not None)
        return min((*firsts, *lasts), default=None)

    def state_bytes(self) -> int:
        """An estimate: Python objects are not counted one by one."""
        return 400 * self.runs

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """Runs by their states, their registers, and the positions of their first events."""
        lanes = [
            {
                "seen": lane.seen,
                "last": lane.last.position,
                "runs": [
                    [run.state, list(map(written, run.register)), run.first.position, run.number] for run in lane.runs
                ],
            }
            for lane in self.lanes.values()
            if lane.last is not None
        ]
        return {"lanes": lanes}, []

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Take up a state that was dumped."""
        base = rows.base
        kept = read_rows(rows.kept, self.query.schema)
        events = [replace(e, row=base + e.row, position=base + e.row) for e in kept]
        for saved in facts["lanes"]:
            lane = Lane(self.automaton)
            lane.seen, lane.last = saved["seen"], events[saved["last"] - base]
            lane.runs = [
                Run(state, tuple(map(read, register)), events[first - base], number)
                for state, register, first, number in saved["runs"]
            ]
            key = lane_key(self.query.lanes, lane.last)
            assert key is not None
            self.lanes[key] = lane


def written(value: Value) -> Any:
    """A value as a header can hold it, exactly."""
    match value:
        case float():
            return ["float", value.hex()]
        case Decimal():
            return ["decimal", str(value)]
        case bytes():
            return ["bytes", value.hex()]
        case time():
            return ["time", value.isoformat()]
        case list() | tuple():
            return ["list" if isinstance(value, list) else "tuple", list(map(written, value))]
        case dict():
            return ["struct", [[written(name), written(part)] for name, part in value.items()]]
    return value


def read(value: Any) -> Value:
    """A value that was written."""
    if not isinstance(value, list):
        return value
    kind, held = value
    return _READ[kind](held)


_READ: Mapping[str, Callable[[Any], Value]] = {
    "float": float.fromhex,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "time": time.fromisoformat,
    "list": lambda held: list(map(read, held)),
    "tuple": lambda held: tuple(map(read, held)),
    "struct": lambda held: {read(name): read(part) for name, part in held},
}
