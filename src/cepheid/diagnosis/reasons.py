"""Why a step is not taken, in words."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.written import ConditionWriter, write_value
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.expressions.nodes import Literal, SameValue
from cepheid.pattern.tree.layout import Move
from cepheid.pattern.tree.nodes import Strategy
from cepheid.reference.partition import UNSET
from cepheid.reference.runs import Run
from cepheid.reference.watching import Refusal, Why
from cepheid.values.comparison import equal
from cepheid.values.rows import Event
from cepheid.values.value import Value


class Reasons:
    """Says why, for one query."""

    def __init__(self, query: Runnable) -> None:
        self.query = query
        self.writer = ConditionWriter(query)

    def component(self, move: Move) -> str | None:
        """The variable that a move binds."""
        return None if move.target is None else self.query.layout.places[move.target].variable

    def refusal(self, run: Run, event: Event | None, refusal: Refusal) -> str:
        """Why an event was not bound, or a repetition not left."""
        if refusal.why is Why.CONDITION:
            assert refusal.condition is not None
            assert refusal.bindings is not None
            return self.writer.explain(refusal.condition, refusal.bindings)
        if refusal.why is Why.KEY and event is not None:
            return self.key(run, event)
        if refusal.why is Why.WINDOW and event is not None and run.selected:
            return self.window(run.selected[0], event)
        return str(refusal.why.value)

    def key(self, run: Run, event: Event) -> str:
        """The `[attr]` that an event does not agree on, with the values."""
        test = self.other_key(run, event)
        if test is None:
            return "another key"
        name, value = test.attribute, event.values[test.attribute]
        if value is None:
            return f"[{name}]: NULL agrees with nothing"
        type_ = self.query.schema.columns.get(name)
        value_text, wanted_text = (
            str(key_value) if type_ is None else write_value(key_value, type_)
            for key_value in (value, self._wanted(run, test))
        )
        return f"[{name}]: {value_text} is not {wanted_text}"

    def other_key(self, run: Run, event: Event) -> SameValue | None:
        """The first `[attr]` that an event does not agree on."""
        for test in self.query.same:
            if self.query.schema.has(event.type, test.attribute):
                value, wanted = event.values[test.attribute], self._wanted(run, test)
                if value is None or (wanted is not None and not equal(value, wanted)):
                    return test
        return None

    def _wanted(self, run: Run, test: SameValue) -> Value:
        """What a test asks for; None if that is any value."""
        if isinstance(test.value, Literal):
            return test.value.value
        known = run.key[self.query.same.index(test)]
        return None if known is UNSET else known

    def window(self, first: Event, event: Event) -> str:
        """By how much an event is too late."""
        within = self.query.within
        assert within is not None
        if within.nanoseconds is None:
            return f"not within {within.events} events of the first one"
        apart = event.time - first.time
        late = apart - within.nanoseconds
        by = f"{near(late)} too late" if late else "it must be less"
        return f"{near(apart)} after the first event, WITHIN {spell(within.nanoseconds)}: {by}"

    def strategy(self, move: Move, instant: Sequence[Event]) -> str:
        """Why events can't be ignored (S6)."""
        variable = self.component(move)
        strategy = self.query.strategies[str(variable)]
        kind = instant[0].type or "event"
        if strategy is Strategy.STRICT:
            return f"{strategy.value}: {variable} must come next, and this {kind} is in between"
        if strategy is Strategy.PARTITION:
            return f"{strategy.value}: {variable} must come next in its partition, and this {kind} is in between"
        return f"{strategy.value}: an event that fits is not skipped"
