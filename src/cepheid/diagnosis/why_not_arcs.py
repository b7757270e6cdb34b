"""Why an automaton of the user's own does not match from one event to another (S18): where its runs stop."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.diagnosis.arcs import arc_name
from cepheid.diagnosis.expected import Expected, WhyNot
from cepheid.errors import Span
from cepheid.front.automata.bound import BoundArc, automaton_in
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.nodes import Fires
from cepheid.pattern.tree.walk import conjuncts
from cepheid.reference.own_automata import Accepted, OwnAutomaton, OwnAutomatonRun, instants, match_bindings, passing
from cepheid.reference.watching_arcs import ArcWatcher
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Missing
from cepheid.values.rows import Event


class ExpectedStretch(Expected):
    """The first and the last event of what ought to be a match."""

    def answer(self) -> WhyNot:
        """The first rule that refuses."""
        (_, first), (_, last) = self.pairs
        if first.position > last.position:
            return WhyNot("S18", f"{self.say(first)} is the first event, and comes after the last, {self.say(last)}")
        return self.unseen() or self.apart() or self.followed(first, last)

    def followed(self, first: Event, last: Event) -> WhyNot:
        """Follow the runs that begin with the first event, up to the last one."""
        watcher = _Refusals(self)
        automaton = OwnAutomaton(self.query, watcher)
        steps = list(instants(self.query, self.partition().events))
        begin = next(k for k, instant in enumerate(steps) if first in instant)
        end = next(k for k, instant in enumerate(steps) if last in instant)
        if steps[begin][0] is not first or steps[end][-1] is not last:
            ends = f"{self.say(steps[begin][0])} to {self.say(steps[end][-1])}"
            return WhyNot("S18", f"events of one time are taken together, so that a match is from {ends}")
        runs: list[OwnAutomatonRun] = []
        number, before = sum(map(len, steps[:begin])), last
        for instant in steps[begin : end + 1]:
            watcher.clear(first)
            if self.query.schema.start is not None and runs and instant[0].start <= before.time:
                return WhyNot("S13", f"{self.say(instant[0])} starts before the event before it has ended")
            if runs and not automaton.inside(runs[0], instant, number):
                span = None if self.written.within is None else self.written.within.span
                why = self.reasons.window(first, instant[0])
                return WhyNot("S8", f"{self.say(instant[0])} is {why}", span)
            after = automaton.consume(runs, instant, number)
            runs = [run for run in after if run.first is first and (runs or instant is steps[begin])]
            if not runs:
                return self.stopped(watcher, instant)
            number, before = number + len(instant), instant[-1]
        accepted = automaton.accepted(runs, last)
        late = [run for run in runs if any(True for _ in automaton.leaving(run.state, Fires.END))]
        if late and not passing(self.query, accepted):
            following = steps[end + 1] if end + 1 < len(steps) else None
            if following is None or not automaton.inside(late[0], following, number):
                watcher.clear(first)
                accepted += automaton.at_end(runs, last)
            elif not accepted:
                message = f"AT END: {self.say(following[0])} is in the window too, so that it does not end here"
                return WhyNot("S18", message, self.span_of(next(automaton.leaving(late[0].state, Fires.END)).arc))
        return self.given(accepted) if accepted else self.open(watcher, runs)

    def stopped(self, watcher: _Refusals, instant: Sequence[Event]) -> WhyNot:
        """No arc takes an event."""
        said = self.say(instant[0])
        if watcher.found:
            arc, condition, why = watcher.found[0]
            return WhyNot("S18", f"{said}: {arc_name(arc)} asks for {why}", condition.span)
        states = " or ".join(dict.fromkeys(watcher.states))
        types = dict.fromkeys(name for arc in watcher.arcs for name in arc.types)
        wanted = f"; {' or '.join(types)} would be" if types else ""
        span = self.span_of(watcher.arcs[0]) if watcher.arcs else None
        return WhyNot("S18", f"{said} is taken by no arc from {states}{wanted}", span)

    def open(self, watcher: _Refusals, runs: Sequence[OwnAutomatonRun]) -> WhyNot:
        """No run is in a final state."""
        states = " or ".join(dict.fromkeys(run.state for run in runs))
        finals = " or ".join(automaton_in(self.query).finals)
        message = f"after the last event it is in {states}, and a match ends in {finals}"
        closing = [refusal for refusal in watcher.found if refusal[0].fires in (Fires.NOTHING, Fires.END)]
        if closing:
            arc, condition, why = closing[0]
            return WhyNot("S18", f"{message}; {arc_name(arc)} asks for {why}", condition.span)
        return WhyNot("S18", message)

    def given(self, accepted: Sequence[Accepted]) -> WhyNot:
        """Say that the events are a match, or that HAVING refuses them."""
        if passing(self.query, accepted):
            return WhyNot(None, "these events are a match")
        having = self.query.having
        assert having is not None
        why = self.reasons.writer.explain(having, match_bindings(self.query, accepted[0]))
        return WhyNot("S12", f"HAVING {why}", having.span)

    def span_of(self, arc: BoundArc) -> Span | None:
        """Where an arc is written."""
        written = getattr(self.written.pattern, "arcs", ())
        ends = arc.source, arc.target, arc.fires
        return next(
            (
                arc_clause.span
                for arc_clause in written
                if (arc_clause.source, arc_clause.target, arc_clause.fires) == ends
            ),
            None,
        )


class _Refusals(ArcWatcher):
    """Remembers which arcs refused the event at hand, of runs that began with an event."""

    def __init__(self, case: ExpectedStretch) -> None:
        self.writer = case.reasons.writer
        self.typed = case.query.schema.roles.type is not None
        self.clear(None)

    def clear(self, first: Event | None) -> None:
        """Called before each event: what was refused before no longer counts."""
        self.first = first
        self.states: list[str] = []
        self.arcs: list[BoundArc] = []
        self.found: list[tuple[BoundArc, Expression, str]] = []

    def stuck(self, run: OwnAutomatonRun, instant: Sequence[Event]) -> None:
        if run.first is self.first:
            self.states.append(run.state)

    def tried(self, run: OwnAutomatonRun | None, arc: BoundArc, bindings: Bindings, events: Sequence[Event]) -> None:
        """Which condition is not TRUE."""
        if run is not None and run.first is not self.first:
            return
        self.arcs.append(arc)
        if arc.condition is None or (self.typed and arc.types and not all(e.type in arc.types for e in events)):
            return
        for condition in conjuncts(arc.condition):
            try:
                holds = self.writer.evaluate(condition, bindings) is True
            except Missing:
                continue
            if not holds:
                self.found.append((arc, condition, self.writer.explain(condition, bindings)))
                return
