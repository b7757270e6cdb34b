"""What a condition may use of each variable of a pattern, derived from the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from cepheid.pattern.tree.nodes import AnyOrder, Either, EventPattern, Maybe, Negation, PatternTree, Repeat, Seq
from cepheid.pattern.tree.walk import walk


@dataclass(frozen=True, slots=True)
class DrawnVariable:
    """A variable. `loops`: the repetitions around it, outermost first; `before`: what is bound earlier, if ever."""

    name: str
    negated: bool
    indexed: bool  # it is repeated itself: `A+ a[]`
    loops: tuple[int, ...]
    before: frozenset[str]

    @property
    def array(self) -> bool:
        """Whether it may be bound many times."""
        return bool(self.loops)


def variables(pattern: PatternTree) -> tuple[DrawnVariable, ...]:
    """All variables of a pattern whose events all have one.

    >>> a, b = variables(Seq((Repeat(EventPattern(("A",), "a"), 1, None), EventPattern(("B",), "b"))))
    >>> a.indexed, b.before
    (True, frozenset({'a'}))
    """
    return tuple(_find(pattern, (), frozenset(), count()))


def _find(
    node: PatternTree, loops: tuple[int, ...], before: frozenset[str], numbers: Iterator[int]
) -> Iterator[DrawnVariable]:
    match node:
        case EventPattern(variable=str(name)):
            yield DrawnVariable(name, False, False, loops, before)
        case Negation(event=EventPattern(variable=str(name))):
            yield DrawnVariable(name, True, False, (), before)
        case Repeat(body=EventPattern(variable=str(name))):
            yield DrawnVariable(name, False, True, (*loops, next(numbers)), before)
        case Repeat(body=body):
            yield from _find(body, (*loops, next(numbers)), before, numbers)
        case Maybe(body=body):
            yield from _find(body, loops, before, numbers)
        case Seq(parts=parts):
            for part in parts:
                yield from _find(part, loops, before, numbers)
                before |= _bound(part)
        case Either(parts=parts) | AnyOrder(parts=parts):
            for part in parts:
                yield from _find(part, loops, before, numbers)
        case _:
            raise TypeError(f"no variables in {type(node).__name__}")


def _bound(node: PatternTree) -> frozenset[str]:
    absent = {n.event.variable for n in walk(node) if isinstance(n, Negation)}
    return frozenset(n.variable for n in walk(node) if isinstance(n, EventPattern) and n.variable is not None) - absent
