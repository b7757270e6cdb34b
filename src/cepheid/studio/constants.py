"""The numbers of a query that a slider can move, with their places and sensible ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10

from cepheid.errors import Span
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS
from cepheid.pattern.tree.nodes import Negation, PatternTree, Program, QueryTree, Window
from cepheid.pattern.tree.walk import children, expressions, walk
from cepheid.studio.describing import ColumnFacts, Facts

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_STEPS = 200
_FEW = 10


@dataclass(frozen=True, slots=True)
class EditorNumber:
    """A number in the editor. start, end: its place. label: what it is compared with. unit: of a duration."""

    start: int
    end: int
    value: float
    whole: bool
    label: str
    unit: str | None
    low: float
    high: float
    step: float


def constants(program: Program, facts: Facts | None) -> list[EditorNumber]:
    """The numbers of the windows and conditions of a program, in the order of its text or code.

    >>> from cepheid.language import parse
    >>> found = constants(parse("EVENT A a WHERE a.x > 5 WITHIN 2 hours"), None)
    >>> [(one.label, one.value, one.unit) for one in found]
    [('a.x >', 5.0, None), ('WITHIN', 2.0, 'hours')]
    """
    numbers = [number for query in program.queries for number in _of_query(query, facts)]
    unique = {number.start: number for number in reversed(numbers)}
    return [unique[start] for start in sorted(unique)]


def _of_query(query: QueryTree, facts: Facts | None) -> Iterator[EditorNumber]:
    for label, window in _windows(query):
        number = _window(label, window, facts)
        if number is not None:
            yield number
    for expression in expressions(query):
        for node in walk(expression):
            for child in children(node):
                if isinstance(child, ex.Literal):
                    number = _literal(child, node, facts)
                    if number is not None:
                        yield number


def _windows(query: QueryTree) -> Iterator[tuple[str, Window]]:
    if query.within is not None:
        yield "WITHIN", query.within
    if query.cooldown is not None:
        yield "COOLDOWN", query.cooldown
    nodes: Iterator[PatternTree] = walk(query.pattern)
    for node in nodes:
        if isinstance(node, Negation) and node.period is not None:
            yield "FOR", node.period


def _window(label: str, window: Window, facts: Facts | None) -> EditorNumber | None:
    place = _place(window.amount.span)
    if place is None or not isinstance(window.amount, ex.Literal) or window.span is None:
        return None
    value = float(place[2])
    unit = _unit(window.span.text[place[1] : window.span.end]) or window.unit
    # Of a few hours, a slider of whole hours would have a few places. Times can be no finer than milliseconds.
    parted = unit in NANOSECONDS and NANOSECONDS[unit] >= NANOSECONDS["seconds"] and value <= _FEW
    whole = "." not in place[2] and not parted
    high, extent = value * 4, None if facts is None else facts.extent
    if unit in NANOSECONDS and extent:
        high = min(high, max(value * 2, extent / NANOSECONDS[unit]))
    low = 1.0 if whole else _nice(high / _STEPS)
    high = max(high, low + 1)
    step = _step(low, high, whole)
    return EditorNumber(*place[:2], value, whole, label, unit, min(value, max(low, step)), high, step)


def _unit(after: str) -> str | None:
    """The unit that is written after a number."""
    word = re.match(r"\s*([A-Za-z]+)", after)
    return None if word is None else UNITS.get(word[1].lower())


def _literal(literal: ex.Literal, above: ex.Expression, facts: Facts | None) -> EditorNumber | None:
    if isinstance(literal.value, bool) or not isinstance(literal.value, int | float):
        return None
    place = _place(literal.span)
    if place is None:
        return None
    value, whole = float(place[2]), "." not in place[2]
    span = literal.span
    assert span is not None
    unit = _unit(span.text[place[1] : span.end])
    low, high = _range(value, _compared(literal, above), facts, whole=whole)
    return EditorNumber(*place[:2], value, whole, _label(literal, above), unit, low, high, _step(low, high, whole))


def _place(span: Span | None) -> tuple[int, int, str] | None:
    """Where the number of a constant is, and how it is written; None for other constants."""
    digits = None if span is None else _NUMBER.match(span.excerpt)
    if span is None or digits is None or (digits.end() < len(span.excerpt) and span.excerpt[digits.end()] in "eE."):
        return None
    return span.start, span.start + digits.end(), digits[0]


def _compared(literal: ex.Literal, above: ex.Expression) -> str | None:
    """The attribute that a constant is directly compared with."""
    match above:
        case (
            ex.Compare(left=ex.Attribute() | ex.Name() as other) | ex.Compare(right=ex.Attribute() | ex.Name() as other)
        ):
            return other.name
        case (
            ex.Between(operand=ex.Attribute() | ex.Name() as other) | ex.In(operand=ex.Attribute() | ex.Name() as other)
        ):
            return other.name
    return None


def _label(literal: ex.Literal, above: ex.Expression) -> str:
    """The text around a constant, on the side that is nearer."""
    outer, span = above.span, literal.span
    if outer is None or span is None:
        return "constant"
    before = " ".join(outer.text[outer.start : span.start].split())
    after = " ".join(outer.text[span.end : outer.end].split())
    label = before or after
    return label if len(label) <= 28 else "…" + label[-27:]


def _range(value: float, attribute: str | None, facts: Facts | None, *, whole: bool) -> tuple[float, float]:
    column = None if attribute is None or facts is None else facts.column(attribute)
    low, high = _numbers(column)
    if low is None or high is None or low == high:
        low, high = (0.0, value * 2) if value > 0 else (value * 2, 0.0) if value < 0 else (-10.0, 10.0)
        if whole and high - low < 4:
            high = low + 10
    return min(low, value), max(high, value)


def _numbers(column: ColumnFacts | None) -> tuple[float | None, float | None]:
    if column is None or column.low is None or column.high is None:
        return None, None
    return float(column.low), float(column.high)


def _step(low: float, high: float, whole: bool) -> float:
    size = _nice((high - low) / _STEPS)
    return max(1.0, float(round(size))) if whole else size


def _nice(size: float) -> float:
    """A power of ten times 1, 2 or 5, not above a size.

    >>> _nice(0.37), _nice(7)
    (0.2, 5.0)
    """
    if size <= 0:
        return 1.0
    power = 10.0 ** floor(log10(size))
    first = size / power
    return float(f"{(5 if first >= 5 else 2 if first >= 2 else 1) * power:.12g}")
