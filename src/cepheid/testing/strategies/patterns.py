"""Valid patterns: every operator, distinct variables, negations where they are allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st

from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Maybe, Negation, PatternTree, Repeat, Seq, Window
from cepheid.testing.strategies.features import EVERYTHING, Features
from cepheid.testing.strategies.streams import LONGEST, kinds

MOST_EVENTS = 5
"""A longer pattern has very many matches and shows nothing new."""

_TIMES: tuple[tuple[int, int | None], ...] = ((1, None), (1, None), (0, None), (2, None), (1, 2), (2, 2), (0, 2))


@dataclass(slots=True)
class _Drawer:
    """Draws the nodes of a pattern in the order of the text, and counts the events."""

    draw: st.DrawFn
    event_types: Sequence[str]
    features: Features
    names: Iterator[int]
    unit: str | None
    left: int = MOST_EVENTS

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(1, one_in)) == one_in

    def event(self) -> EventPattern:
        """`A a`, `ANY(A, B) a`; now and then without a variable, so that it is named by its type."""
        self.left -= 1
        types = [self.draw(kinds(self.event_types))]
        if self.chance(5):
            types.append(self.draw(kinds(self.event_types)))
        elif self.features.any_type and self.chance(15):
            types = []
        name = None if self.chance(10) else "abcdefgh"[next(self.names)]
        return EventPattern(tuple(dict.fromkeys(types)), name)

    def part(self, depth: int) -> PatternTree:
        """Any pattern that binds events."""
        if depth == 0 or self.left < 2 or self.chance(2):
            return self.event()
        makers = ([_Drawer.repeat] * 3 if self.features.repetition else []) + (
            [_Drawer.maybe, _Drawer.either, _Drawer.any_order, _Drawer.sequence] if self.features.composition else []
        )
        return self.draw(st.sampled_from(makers))(self, depth - 1) if makers else self.event()

    def repeat(self, depth: int) -> PatternTree:
        """`A+ a[]`, `(SEQ(A a, B b))*`."""
        group = self.features.composition and self.chance(3)
        body = self.group(depth) if group else self.event()
        return Repeat(body, *self.draw(st.sampled_from(_TIMES)))

    def group(self, depth: int) -> PatternTree:
        return self.part(depth) if self.chance(4) else self.sequence(depth)

    def maybe(self, depth: int) -> PatternTree:
        """`A? a`, `(SEQ(A a, B b))?`."""
        return Maybe(self.group(depth) if self.chance(2) else self.event())

    def either(self, depth: int) -> PatternTree:
        return Either((self.part(depth), self.part(depth)))

    def any_order(self, depth: int) -> PatternTree:
        return AnyOrder((self.part(depth), self.part(depth)))

    def sequence(self, depth: int) -> PatternTree:
        """SEQ of parts with negations before, between and after them, but never of negations alone."""
        parts: list[PatternTree] = []
        for _ in range(self.draw(st.integers(1, 3))):
            parts += self.absence()
            parts.append(self.part(depth))
            if self.left < 2:
                break
        return Seq((*parts, *self.tail()))

    def tail(self) -> list[PatternTree]:
        """Negations at the end, now and then with an event after them that may be left out."""
        absent = self.absence()
        if not absent or self.left < 1 or not self.features.composition or not self.chance(3):
            return absent
        again = self.absence() if self.left > 1 else []
        event = self.event()
        return [
            *absent,
            *again,
            Maybe(event) if self.chance(2) else Repeat(event, 0, self.draw(st.sampled_from((None, 2)))),
        ]

    def absence(self) -> list[PatternTree]:
        return [Negation(self.event())] if self.features.negation and self.chance(self.features.negations) else []

    def with_periods(self, pattern: PatternTree) -> PatternTree:
        """Some negations at the ends last for a while, whatever the window is (S26)."""
        if not isinstance(pattern, Seq) or self.unit is None:
            return pattern
        parts = list(pattern.parts)
        for at in (0, -1):
            node = parts[at]
            if isinstance(node, Negation) and self.chance(2):
                amount = literal(self.draw(st.integers(1, LONGEST)))
                parts[at] = Negation(node.event, Window(amount, self.unit))
        return Seq(tuple(parts))


@st.composite
def patterns(
    draw: st.DrawFn, event_types: Sequence[str], features: Features = EVERYTHING, unit: str | None = None
) -> PatternTree:
    """Patterns of few events over some types, each with a variable of its own or named by its type.

    unit: in which absences for a while are counted; None: there are none.
    """
    drawer = _Drawer(draw, event_types, features, count(), unit)
    return drawer.with_periods(drawer.part(2) if drawer.chance(6) else drawer.sequence(2))
