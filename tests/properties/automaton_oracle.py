"""What an automaton accepts, by trying every stretch and every path: S18 of the semantics page, written a second time.

There are no runs here that go on from event to event. For each event that may be the first and each that may be the
last, the stretch between them is walked along every path from the start, and what the paths end with is collected.
What expressions give is not in question: that is asked of `values.evaluate`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from cepheid import Matches, Query
from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Fires, Ties
from cepheid.testing.outcomes import to_json
from cepheid.values.bindings import Bindings
from cepheid.values.columns import column_values
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event, read_events
from cepheid.values.user_functions import UserTime

Instant = tuple[Event, ...]
Register = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A match: (first, last, register)."""

    first: Event
    last: Event
    register: Register

    @property
    def name(self) -> tuple[Any, ...]:
        """S18.3: what equal matches have in common, NaN equal to NaN."""
        return self.first.position, self.last.position, *map(_shown, self.register.values())


def oracle_rows(query: Query, table: pa.Table, frontier: int | None = None) -> list[str]:
    """The rows of an automaton on a table, in the order of end and start.

    frontier: F of S15, in the unit of the time column; None: it is past everything.
    """
    program = query.compiled
    [bound] = program.bind(make_schema(table.schema, program.roles))
    return AutomatonOracle(bound, frontier).rows(table)


class AutomatonOracle:
    """An automaton that is bound to a schema."""

    def __init__(self, query: Runnable, frontier: int | None = None) -> None:
        self.query, self.automaton = query, automaton_in(query)
        self.frontier = None if frontier is None else frontier * query.schema.tick
        self.compiler = Compiler(query)

    def rows(self, table: pa.Table) -> list[str]:
        events = [e for e in read_events(table, self.query.schema) if self.is_seen(e)]
        if self.frontier is not None:
            events = [e for e in events if e.time < self.frontier]
        found: dict[tuple[Any, ...], Found] = {}
        for partition in self.partitions(events):
            for match in self.matches(partition):
                found.setdefault(match.name, match)
        kept = [match for match in found.values() if self.is_kept(match)]
        kept.sort(key=lambda match: (match.last.position, match.first.position))
        listed = table.to_pylist()
        return [self.row(match, listed) for match in kept]

    def is_seen(self, event: Event) -> bool:
        """S25."""
        scope = self.query.scope
        if scope is None:
            return True
        if scope.types and event.type not in scope.types:
            return False
        return scope.condition is None or self.holds(scope.condition, Bindings({"": (event,)}, {"": event}))

    def partitions(self, events: Sequence[Event]) -> list[list[Event]]:
        """S3: NULLs are a group of PARTITION BY, and are in no match of [attr]."""
        agreed = [test.attribute for test in self.query.same]
        found: dict[str, list[Event]] = {}
        for event in events:
            if all(event.values[name] is not None for name in agreed):
                keys = [event.values[name] for name in (*self.query.partition_by, *agreed)]
                found.setdefault(str(list(map(_shown, keys))), []).append(event)
        return list(found.values())

    def instants(self, partition: Sequence[Event]) -> list[Instant]:
        """S18.5: what is consumed in one step, an event or all events of a time."""
        if self.query.ties is not Ties.SIMULTANEOUS:
            return [(event,) for event in partition]
        times = dict.fromkeys(event.time for event in partition)
        return [tuple(event for event in partition if event.time == time) for time in times]

    def matches(self, partition: Sequence[Event]) -> Iterator[Found]:
        steps = self.instants(partition)
        for begin in range(len(steps)):
            for end in range(begin + 1, len(steps) + 1):
                stretch = steps[begin:end]
                if not self.is_inside(stretch):
                    break
                over = end == len(steps) or not self.is_inside(steps[begin : end + 1])
                yield from self.accepted(stretch, at_end=over and self.is_over(stretch, steps[end:]))

    def is_inside(self, stretch: Sequence[Instant]) -> bool:
        """S8, of all that is consumed."""
        within = self.query.within
        if within is None:
            return True
        first, last = stretch[0][0], stretch[-1][-1]
        if within.nanoseconds is not None:
            return last.time - first.time < within.nanoseconds
        assert within.events is not None
        return sum(map(len, stretch)) <= within.events

    def is_over(self, stretch: Sequence[Instant], rest: Sequence[Instant]) -> bool:
        """S18.4: whether F has reached the end of the window."""
        within = self.query.within
        if within is None:
            return False
        if self.frontier is None:
            return True
        if within.nanoseconds is not None:
            return stretch[0][0].time + within.nanoseconds <= self.frontier
        assert within.events is not None
        return bool(rest) or sum(map(len, stretch)) == within.events

    def accepted(self, stretch: Sequence[Instant], *, at_end: bool) -> Iterator[Found]:
        """What the paths over a stretch end with in a final state."""
        initial = {slot.name: slot.initial.value for slot in self.automaton.slots}
        for state, register in self.paths(self.automaton.start, initial, stretch):
            ends = [(state, register)]
            if at_end:
                ends += self.ended(state, register)
            for target, left in ends:
                if target in self.automaton.finals:
                    yield Found(stretch[0][0], stretch[-1][-1], left)

    def paths(self, state: str, register: Register, stretch: Sequence[Instant]) -> Iterator[tuple[str, Register]]:
        """Every path that consumes all of a stretch: where it ends, with what."""
        if not stretch:
            yield state, register
        for arc in self.automaton.arcs:
            if arc.source != state:
                continue
            if arc.fires is Fires.NOTHING:
                after = self.fired(arc, Bindings({}, {}, register))
                if after is not None:
                    yield from self.paths(arc.target, after, stretch)
            elif stretch and arc.fires in (Fires.EVENT, Fires.INSTANT):
                for here in self.readings(arc, stretch[0], register):
                    after = self.fired(arc, here)
                    if after is not None:
                        yield from self.paths(arc.target, after, stretch[1:])

    def readings(self, arc: BoundArc, instant: Instant, register: Register) -> Iterator[Bindings]:
        """What an arc reads: all of an instant together, or one member after the other."""
        if arc.fires is Fires.INSTANT:
            yield Bindings({"e": instant}, {}, register)
            return
        for event in instant:
            if not arc.types or event.type in arc.types:
                yield Bindings({"e": (event,)}, {"e": event}, register)

    def ended(self, state: str, register: Register) -> Iterator[tuple[str, Register]]:
        """AT END: one arc, and what needs no event after it."""
        for arc in self.automaton.arcs:
            if arc.source == state and arc.fires is Fires.END:
                after = self.fired(arc, Bindings({}, {}, register))
                if after is not None:
                    yield from self.paths(arc.target, after, ())

    def fired(self, arc: BoundArc, here: Bindings) -> Register | None:
        """The register after an arc: transfers read the old values. None if its fence is not TRUE."""
        if arc.condition is not None and not self.holds(arc.condition, here):
            return None
        compiler = Compiler(self.query, output=True)  # S3: what is missing is TRUE in an atom; here it is no atom
        assigned = {name: compiler.compile(value)(here) for name, value in arc.assigns.items()}
        plain = {name: int(value) if isinstance(value, UserTime) else value for name, value in assigned.items()}
        return {**here.register, **plain}

    def holds(self, condition: Any, here: Bindings) -> bool:
        return self.compiler.condition(condition)(here)

    def bindings(self, match: Found) -> Bindings:
        ends = {"first": match.first, "last": match.last}
        return Bindings({name: (event,) for name, event in ends.items()}, ends, match.register)

    def is_kept(self, match: Found) -> bool:
        return self.query.having is None or self.holds(self.query.having, self.bindings(match))

    def row(self, match: Found, listed: list[dict[str, Any]]) -> str:
        """S18.3: start, end, `valid_until`, then the fields or RETURN."""
        here, output = self.bindings(match), Compiler(self.query, output=True)
        time = self.query.schema.roles.time
        values = [
            listed[here.now[item.expression.variable].row]
            if isinstance(item.expression, ex.Rows)
            else output.result(item.expression)(here)
            for item in self.query.returns
        ]
        return ", ".join(map(_shown, [match.first.values[time], match.last.values[time], *values]))


def shown_rows(matches: Matches) -> list[str]:
    """What was found, in the spelling of the oracle."""
    table = matches.to_arrow()
    columns = [column_values(column) for column in table.columns]
    return [", ".join(map(_shown, row)) for row in zip(*columns, strict=True)] if columns else []


def _shown(value: Any) -> str:
    """Equal values are equal texts, NaN too; zeros are equal (S3a)."""
    match value:
        case float() if value == 0:
            return "0.0"
        case Decimal():
            return str(value.normalize())
    return to_json(value)
