"""Prints a case as text, to keep a generated example."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.testing.cases import Case
from cepheid.testing.headers import OPTIONS
from cepheid.testing.tables import print_table


def print_case(case: Case) -> str:
    """The text of a case.

    >>> print(print_case(Case("a pair", "PATTERN SEQ(A a, B b)", rule="S9", options={"order_by": ("id", "n")})))
    === a pair
    rule: S9
    order_by: id, n
    --- query
    PATTERN SEQ(A a, B b)
    """
    return "\n".join(_lines(case))


def _lines(case: Case) -> Iterator[str]:
    yield f"=== {case.title}"
    if case.rule:
        yield f"rule: {case.rule}"
    yield from (f"source: {source}" for source in case.sources)
    yield from (f"{key}: {_option(case.options[key])}" for key in OPTIONS if key in case.options)
    if case.op:
        yield f"op: {case.op}"
    if case.warns:
        yield f"warns: {case.warns}"
    yield from (f"not_on: {path}: {reason}" for path, reason in case.not_on.items())
    yield from (f"note: {note}" for note in case.notes)
    if case.events is not None:
        yield "--- events"
        yield from print_table(case.events)
    yield "--- query"
    yield case.query
    if case.expected is not None:
        yield f"--- {case.expected.section}"
        yield from case.expected.lines


def _option(value: object) -> str:
    match value:
        case None:
            return "none"
        case str():
            return value
        case tuple() | list():
            return ", ".join(value)
        case dict() if value and all(map(callable, value.values())):
            return ", ".join(value)
    return repr(value)
