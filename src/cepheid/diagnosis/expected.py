"""Events that ought to be a match, and what is asked of them before any run: whether the query sees them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.diagnosis.reasons import Reasons
from cepheid.diagnosis.said_events import describe
from cepheid.errors import Span
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.reference.partition import Substream, substreams
from cepheid.values.bindings import Bindings
from cepheid.values.comparison import equal
from cepheid.values.keys import group_key
from cepheid.values.partitions import partition_key
from cepheid.values.rows import Event
from cepheid.values.scope import sight_of


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why some events are not a match. `rule`: its number on the semantics page; None: they are a match."""

    rule: str | None
    message: str
    span: Span | None = None

    @property
    def is_match(self) -> bool:
        """Whether they are a match after all."""
        return self.rule is None

    def __str__(self) -> str:
        if self.rule is None:
            return self.message
        place = "" if self.span is None else f"\n{self.span.caret()}"
        return f"not a match, by {self.rule}: {self.message}{place}"

    def __repr__(self) -> str:
        return str(self)


class Expected:
    """Some events that ought to be a match, in their order, each with its variable."""

    def __init__(
        self, query: Runnable, written: QueryTree, events: Sequence[Event], pairs: Sequence[tuple[str, Event]]
    ) -> None:
        self.query, self.written, self.events, self.pairs = query, written, events, pairs
        self.reasons = Reasons(query)

    def say(self, event: Event) -> str:
        """An event and its row."""
        return f"{describe(self.query, event)} (row {event.row})"

    def unseen(self) -> WhyNot | None:
        """FROM lets an event not through (S25)."""
        sees = sight_of(self.query)
        for _, event in self.pairs:
            if not sees(event):
                condition = self.query.scope.condition if self.query.scope is not None else None
                bindings = Bindings({"": (event,)}, {"": event})
                why = "" if condition is None else f": {self.reasons.writer.explain(condition, bindings)}"
                span = None if condition is None else condition.span
                return WhyNot("S25", f"FROM does not let {self.say(event)} through{why}", span)
        return None

    def apart(self) -> WhyNot | None:
        """Events of different partitions, or with a key that is NULL."""
        first = self.pairs[0][1]
        for number, name in enumerate(self.query.partition_by):
            span = self.written.partition_by[number].span if number < len(self.written.partition_by) else None
            for _, event in self.pairs[1:]:
                if group_key(event.values[name]) != group_key(first.values[name]):
                    both = f"{self.say(first)} and {self.say(event)}"
                    return WhyNot("S6", f"PARTITION BY {name}: {both} are of different partitions", span)
        for test in self.query.same:
            for _, event in self.pairs:
                if not self.query.schema.has(event.type, test.attribute):
                    continue
                value = event.values[test.attribute]
                if value is None:
                    message = f"[{test.attribute}] of {self.say(event)} is NULL, which agrees with nothing"
                    return WhyNot("S3", message, test.span)
                has_key = self.query.schema.has(first.type, test.attribute)
                if has_key and not equal(value, first.values[test.attribute]):
                    message = f"{self.say(first)} and {self.say(event)} do not agree on [{test.attribute}]"
                    return WhyNot("S5", message, test.span)
        return None

    def partition(self) -> Substream:
        """The events that a run with these can see."""
        wanted = partition_key(self.query.partitions, self.pairs[0][1])
        members = [event for event in self.events if partition_key(self.query.partitions, event) == wanted]
        return next(substreams(self.query, members))
