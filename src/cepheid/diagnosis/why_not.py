"""`q.why_not(events, a=…, b=[…])`: the first rule that refuses some rows as a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from cepheid.diagnosis.expected import Expected, WhyNot
from cepheid.diagnosis.named_rows import read_ends, read_named
from cepheid.diagnosis.tracing import emit
from cepheid.diagnosis.why_not_arcs import ExpectedStretch
from cepheid.errors import Span, UsageError
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.layout import Move
from cepheid.pattern.tree.nodes import EventPattern, Language, Output, QueryTree, Ties
from cepheid.reference.negation import Absence
from cepheid.reference.runs import Run, Runner, Waiting
from cepheid.reference.watching import Dropped, Refusal, Watcher, Why
from cepheid.values.bindings import NOTHING
from cepheid.values.rows import Event, read_events


def why_not(query: Runnable, written: QueryTree, table: pa.Table, named: Mapping[str, object]) -> WhyNot:
    """The first rule against some rows as a match."""
    return _REASONS[query.language](query, written, table, named)


def _of_automaton(query: Runnable, written: QueryTree, table: pa.Table, named: Mapping[str, object]) -> WhyNot:
    rows, events = read_ends(table, named), read_events(table, query.schema)
    by_row = {event.row: event for event in events}
    return ExpectedStretch(query, written, events, [(name, by_row[row]) for name, [row] in rows.items()]).answer()


def _of_pattern(query: Runnable, written: QueryTree, table: pa.Table, named: Mapping[str, object]) -> WhyNot:
    rows, events = read_named(query, table, named), read_events(table, query.schema)
    by_row = {event.row: event for event in events}
    pairs = sorted(
        ((variable, by_row[row]) for variable, found in rows.items() for row in found),
        key=lambda pair: pair[1].position,
    )
    return _Case(query, written, events, pairs).answer()


def _of_cesar(query: Runnable, written: QueryTree, table: pa.Table, named: Mapping[str, object]) -> WhyNot:
    check_rows(written)
    raise AssertionError("which raises")


_NO_ROWS: Mapping[Language, str] = {
    Language.PATTERN: "",
    Language.AUTOMATON: "",
    Language.CESAR: "a result of a CESAR expression is an event of its own, and no rows of the input",
}


def check_rows(query: QueryTree) -> None:
    """Refuse a query whose matches have no rows that could be named."""
    if why := _NO_ROWS[query.language]:
        raise UsageError("CEP617", why, "trace(events) tells which condition refused which event, with its values")


_REASONS: Mapping[Language, Callable[[Runnable, QueryTree, pa.Table, Mapping[str, object]], WhyNot]] = {
    Language.PATTERN: _of_pattern,
    Language.AUTOMATON: _of_automaton,
    Language.CESAR: _of_cesar,
}


class _Case(Expected):
    """Some events that ought to be a match of a PATTERN."""

    best: tuple[int, WhyNot] | None = None

    def answer(self) -> WhyNot:
        """The first rule that refuses."""
        why = self.unseen() or self.twice() or self.of_another_type() or self.apart()
        if why is not None:
            return why
        for condition in self.query.placement.constant:
            if self.reasons.writer.evaluate(condition, NOTHING) is not True:
                return WhyNot("S5", self.reasons.writer.explain(condition, NOTHING), condition.span)
        partition = self.partition()
        watcher = _Recorder()
        runner = Runner(self.query, partition, watcher)
        complete = list(self.complete(runner, watcher))
        if not complete:
            assert self.best is not None  # else a run would have got to the end
            return self.best[1]
        emitted_runs = [run for run in complete if self.is_given(runner, watcher, run)]
        if not emitted_runs:
            assert self.best is not None
            return self.best[1]
        return WhyNot(None, "these events are a match")

    def refuse(self, depth: int, rule: str, message: str, span: Span | None = None) -> None:
        """A rule that refuses, after so many events."""
        self.keep(depth, WhyNot(rule, message, span))

    def keep(self, depth: int, answer: WhyNot) -> None:
        """Keep the answer of the run that came furthest."""
        if self.best is None or depth > self.best[0]:
            self.best = depth, answer

    def of_another_type(self) -> WhyNot | None:
        """Told before the keys: an event of the wrong type is most likely another row than the one that is meant."""
        for variable, event in self.pairs if self.query.schema.roles.type is not None else ():
            types = self.query.components[variable].types
            if types and event.type not in types:
                places = (place.event for place in self.query.layout.places if place.variable == variable)
                return self.is_no(variable, event, next(places))
        return None

    def is_no(self, variable: str | None, event: Event, wanted: EventPattern) -> WhyNot:
        """An event of another type than its component."""
        return WhyNot(
            "S4", f"{self.say(event)} is no {' or '.join(wanted.types)}, which {variable} must be", wanted.span
        )

    def twice(self) -> WhyNot | None:
        """One event can't be bound twice; nor are simultaneous ones one after the other (S2)."""
        for (variable, event), (next_variable, next_) in zip(self.pairs, self.pairs[1:], strict=False):
            if event is next_:
                return WhyNot(
                    "S1",
                    f"{self.say(event)} can't be both {variable} and {next_variable}: one must come after the other",
                )
            if self.query.ties is Ties.SIMULTANEOUS and event.time == next_.time:
                return WhyNot(
                    "S2", f"{self.say(event)} and {self.say(next_)} are simultaneous: none comes after the other"
                )
        return None

    # Runs that bind these events and no others.

    def complete(self, runner: Runner, watcher: _Recorder) -> Iterator[Run]:
        """The runs that get to the end."""
        starts = [(move, blank) for move, blank in runner.starts() if self.binds(move, 0)]
        if not starts:
            variable, event = self.pairs[0]
            self.refuse(0, "S1", f"{self.say(event)} comes first, and a match can't begin with {variable}")
        stack: list[tuple[Run, int]] = []
        for move, blank in starts:
            begun = runner.attempt(blank, move, self.pairs[0][1])
            if isinstance(begun, Refusal):
                self.refused(0, blank, move, self.pairs[0][1], begun)
            else:
                stack.append((begun, 1))
        while stack:
            run, depth = stack.pop()
            if depth == len(self.pairs):
                yield from self.finished(runner, watcher, run, depth)
            else:
                stack += [(new, depth + 1) for new in self.onward(runner, watcher, run, depth)]

    def binds(self, move: Move, depth: int) -> bool:
        """Whether a move binds the variable of the next event."""
        return move.target is not None and self.reasons.component(move) == self.pairs[depth][0]

    def finished(self, runner: Runner, watcher: _Recorder, run: Run, depth: int) -> Iterator[Run]:
        """A run that may be complete."""
        watcher.refusals = []
        done = list(runner.finish(run))
        for move, refusal in watcher.refusals:
            self.refused(depth, run, move, None, refusal)
        if not done and not watcher.refusals:
            last = self.pairs[-1][0]
            self.refuse(depth, "S9", f"a match does not end with {last}: more must come after it")
        yield from done

    def onward(self, runner: Runner, watcher: _Recorder, run: Run, depth: int) -> Iterator[Run]:
        """The run with the next event, by each move that binds it and that nothing in between forbids."""
        variable, event = self.pairs[depth]
        known = False
        watcher.refusals = []
        for waiting in list(runner.waiting(run)):
            for move in waiting.wait.moves:
                if not self.binds(move, depth):
                    continue
                known = True
                onward = runner.attempt(waiting.passed[move], move, event)
                if isinstance(onward, Refusal):
                    self.refused(depth, run, move, event, onward)
                elif self.is_skipped(runner, watcher, waiting, move, event, depth):
                    yield onward
        for move, refusal in watcher.refusals if not known else ():
            if self.binds(move, depth):
                known = True
                self.refused(depth, run, move, event, refusal)
        if not known and any(
            wait.take is not None and self.binds(wait.take, depth) for wait in runner.waits[run.place]
        ):
            span = self.query.layout.places[run.place].event.span
            self.refuse(depth, "S7", f"{self.say(event)}: {Why.TOO_MANY.value}", span)
        elif not known:
            before = self.pairs[depth - 1]
            message = f"{variable} ({self.say(event)}) can't come after {before[0]} ({self.say(before[1])})"
            self.refuse(depth, "S1", f"{message} in this pattern")

    def is_skipped(
        self, runner: Runner, watcher: _Recorder, waiting: Waiting, move: Move, event: Event, depth: int
    ) -> bool:
        """S6: whether all events in between may be ignored."""
        unbound = Waiting(waiting.run, waiting.wait, waiting.passed, waiting.may_take, waiting.may_move)
        for instant in runner.instants(waiting.run, waiting.wait.moves):
            if instant[-1].position >= event.position:
                return True
            runner.meet(unbound, instant)
            if move not in unbound.moves:
                strategy = self.query.strategies[str(self.reasons.component(move))]
                spans = [s.span for s in self.written.strategies if s.strategy is strategy]
                why = self.reasons.strategy(move, instant)
                self.refuse(depth, "S6", f"{why}: {self.say(instant[0])}", spans[0] if spans else None)
                return False
        return True

    def refused(self, depth: int, run: Run, move: Move, event: Event | None, refusal: Refusal) -> None:
        """Why an event is not bound."""
        why = self.reasons.refusal(run, event, refusal)
        variable = self.reasons.component(move)
        place = None if move.target is None else self.query.layout.places[move.target].event
        if refusal.why is Why.CONDITION and refusal.condition is not None:
            self.refuse(depth, "S5", why, refusal.condition.span)
        elif refusal.why is Why.TYPE and event is not None and place is not None:
            self.keep(depth, self.is_no(variable, event, place))
        elif refusal.why is Why.WINDOW:
            span = None if self.written.within is None else self.written.within.span
            self.refuse(depth, "S8", why if event is None else f"{self.say(event)} is {why}", span)
        elif refusal.why is Why.OVERLAP and event is not None:
            self.refuse(depth, "S13", f"{self.say(event)}: {why}", None if place is None else place.span)
        elif refusal.why in (Why.TOO_FEW, Why.TOO_MANY):
            self.refuse(depth, "S7", why, self.query.layout.places[run.place].event.span if run.selected else None)
        else:
            test = None if event is None else self.reasons.other_key(run, event)
            self.refuse(depth, "S5", why, None if test is None else test.span)

    # Complete runs that are not given.

    def is_given(self, runner: Runner, watcher: _Recorder, run: Run) -> bool:
        """Whether absences, HAVING and OUTPUT let a complete run stand."""
        depth = len(self.pairs) + 1
        if not Absence(self.query, runner).holds(run):
            negation, witness = watcher.witness
            absent = self.query.layout.negations[negation]
            rule = "S10" if absent.period is None else "S26"
            message = f"!{absent.variable}: {self.say(witness)} must be absent"
            self.refuse(depth, rule, message, absent.event.span)
            return False
        having = self.query.having
        emit(self.query, [run], watcher)
        if having is not None and watcher.dropped_by is Dropped.HAVING:
            self.refuse(depth, "S12", f"HAVING {self.reasons.writer.explain(having, run.bindings)}", having.span)
            return False
        return self.query.output is Output.ALL or self.is_chosen(runner, watcher, run, depth)

    def is_chosen(self, runner: Runner, watcher: _Recorder, run: Run, depth: int) -> bool:
        """Whether no other match is given in the place of this one."""
        absence = Absence(self.query, runner)
        every = [complete_run for complete_run in runner.complete() if absence.holds(complete_run)]
        chosen = emit(self.query, every, watcher)
        if any(complete_run.bindings.all == run.bindings.all for complete_run in chosen):
            return True
        rule = "S12" if self.query.output is Output.NON_OVERLAP else "S24"
        start, end = run.selected[0].position, run.selected[-1].position
        near = [m for m in chosen if m.selected[0].position <= end and m.selected[-1].position >= start]
        before = [m for m in chosen if m.selected[-1].position < start]
        other = near[0] if near else before[-1]
        rows = ", ".join(str(event.row) for event in other.selected)
        word = f"OUTPUT {self.query.output.name}" if near else "COOLDOWN"
        self.refuse(depth, rule, f"{word}: the match of rows {rows} is given instead")
        return False


class _Recorder(Watcher):
    """Keeps the last refusal that the runner reported."""

    def __init__(self) -> None:
        self.refusals: list[tuple[Move, Refusal]] = []
        self.witness: tuple[int, Event]
        self.dropped_by: Dropped | None = None

    def refused(self, before: Run, move: Move, event: Event | None, refusal: Refusal) -> None:
        """A repetition that can't be left."""
        if event is None:
            self.refusals.append((move, refusal))

    def refuted(self, run: Run, negation: int, witness: Event) -> None:
        self.witness = negation, witness

    def dropped(self, run: Run, by: Dropped, other: Run | None = None) -> None:
        self.dropped_by = by
