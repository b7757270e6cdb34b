"""S10: a complete run is dropped when a witness of a negated component exists."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Ties
from cepheid.pattern.tree.uses import uses
from cepheid.reference.runs import Gap, Run, Runner
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event


class Absence:
    """The negated components of a query."""

    def __init__(self, query: Runnable, runner: Runner) -> None:
        self.query = query
        self.runner = runner
        compiler = Compiler(query)
        self.conditions = {
            number: [compiler.conjunct(c) for c in tests] for number, tests in query.placement.of_witness.items()
        }

    def holds(self, run: Run) -> bool:
        """Whether nothing that must be absent was there."""
        for gap in run.gaps:
            for event in self.candidates(run, gap):
                if self.is_witness(run, gap, event):
                    self.runner.watcher.refuted(run, gap.negation, event)
                    return False
        return True

    def is_known(self, run: Run, horizon: int | None) -> bool:
        """Whether no event to come can be a witness at the end of a complete run; None: no event is to come.

        horizon: all events before this time are in, in nanoseconds.
        """
        last = len(run.selected)
        return horizon is None or all(self.is_over(run, gap, horizon) for gap in run.gaps if gap.after == last)

    def is_over(self, run: Run, gap: Gap, horizon: int) -> bool:
        """Whether the time of an absence at the end is over (S10, S26); of n events, whether there were so many."""
        period, within = self.query.periods[gap.negation], self.query.within
        if period is not None:
            return horizon >= run.selected[-1].time + period
        assert within is not None  # else the query was refused
        if within.nanoseconds is not None:
            return horizon >= run.selected[0].time + within.nanoseconds
        assert within.events is not None
        return self.runner.distance(run.key, run.selected[0], self.runner.stream.events[-1]) >= within.events - 1

    def is_refuted(self, run: Run, gap: Gap) -> bool:
        """Whether a witness came after the last event of a run, whatever its next event will be."""
        conditions = self.query.placement.of_witness.get(gap.negation, ())
        variable = self.query.layout.negations[gap.negation].variable
        if any(u.variable not in (variable, *run.bindings.all) for c in conditions for u in uses(c)):
            return False  # it is compared with what is to come
        stream, types = self.runner.stream, self.query.layout.negations[gap.negation].event.types
        if self.query.schema.roles.type is not None and types:
            stream = stream.of_types(frozenset(types))
        before = run.selected[-1]
        later = stream.events[stream.after(before.position) :]
        return any(not self.touches(before, event) and self.is_witness(run, gap, event) for event in later)

    def is_witness(self, run: Run, gap: Gap, event: Event) -> bool:
        """Right type (of all candidates), `[attr]`, and every conjunct that mentions the variable."""
        if self.runner.agreement.join(run.key, event) is None:
            return False
        variable = self.query.layout.negations[gap.negation].variable
        at_hand = run.bindings.now if gap.now is None else gap.now
        bindings = Bindings(run.bindings.all, {**at_hand, variable: event})
        return all(holds(bindings) for holds in self.conditions.get(gap.negation, ()))

    def candidates(self, run: Run, gap: Gap) -> Iterator[Event]:
        """Events of the negated type between the neighbours; at an end of the pattern, in the window."""
        stream = self.runner.stream
        types = self.query.layout.negations[gap.negation].event.types
        if self.query.schema.roles.type is not None and types:
            stream = stream.of_types(frozenset(types))
        before = run.selected[gap.after - 1] if gap.after > 0 else None
        after = run.selected[gap.after] if gap.after < len(run.selected) else None
        begin = stream.after(before.position) if before else 0
        end = stream.before(after.position) if after else len(stream.events)
        for event in stream.events[begin:end]:
            if self.touches(before, event) or self.touches(event, after):
                continue
            if (before is None or after is None) and not self.in_reach(run, gap, event, at_end=after is None):
                continue
            yield event

    def touches(self, earlier: Event | None, later: Event | None) -> bool:
        """Simultaneous events (S2), or composite events that overlap (S13), are not one after the other."""
        if earlier is None or later is None:
            return False
        if self.query.schema.start is not None:
            return later.start <= earlier.time
        return self.query.ties is Ties.SIMULTANEOUS and later.time <= earlier.time

    def in_reach(self, run: Run, gap: Gap, event: Event, *, at_end: bool) -> bool:
        """At an end of the pattern: FOR counts from the selected event there (S26), WITHIN from the other end (S10)."""
        first, last, period = run.selected[0], run.selected[-1], self.query.periods[gap.negation]
        if period is not None:
            return event.time - last.time < period if at_end else 0 < first.time - event.time < period
        return self.inside(run, first, event) if at_end else self.inside(run, event, last)

    def inside(self, run: Run, first: Event, last: Event) -> bool:
        """`time > time(last) - T` at the start, `time < time(first) + T` at the end: both strict, like S8."""
        within = self.query.within
        assert within is not None  # else the query was refused
        if within.nanoseconds is not None:
            return last.time - first.time < within.nanoseconds
        assert within.events is not None
        return self.runner.distance(run.key, first, last) < within.events
