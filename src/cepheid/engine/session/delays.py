"""How late events may be, and how far a session goes ahead of the watermark: `lateness` and `speculate`."""

from __future__ import annotations

from contextlib import suppress

from cepheid.engine.matches.changes import OP
from cepheid.engine.program import CompiledProgram
from cepheid.errors import CepheidError, PatternError, UsageError
from cepheid.pattern.expressions.durations import NANOSECONDS, spell
from cepheid.pattern.expressions.parameters import literal, read_window, window_nanoseconds
from cepheid.pattern.expressions.types import Kind

ALL = "all"


def read_delay(name: str, value: object, unit: str) -> int:
    """How late events may be, in nanoseconds: a whole number of the unit, the text of a duration, or a timedelta.

    >>> read_delay("lateness", "10 minutes", "milliseconds") == read_delay("lateness", 600_000, "milliseconds")
    True
    """
    delay: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        delay = value * NANOSECONDS[unit]
    elif isinstance(value, str):
        with suppress(CepheidError):
            window = read_window(value, name, None)
            delay = None if window.unit == "events" else window_nanoseconds(window, unit)
    else:
        with suppress(CepheidError):
            constant = literal(value)
            delay = constant.value if constant.type.kind is Kind.DURATION else None  # type: ignore[assignment]
    if delay is None or delay < 0:
        remedy = "pass a duration such as '10 minutes', a timedelta, or a whole number in the unit of the query"
        raise UsageError("CEP603", f"{name} can't be {value!r}", remedy)
    return delay


def read_speculation(value: object, unit: str) -> int | None:
    """How far a session goes ahead of the watermark, in nanoseconds; None: as far as there are events."""
    if value is None:
        return 0
    if isinstance(value, str) and value == ALL:
        return None
    try:
        return read_delay("speculate", value, unit)
    except UsageError as error:
        remedy = 'pass "all", a duration such as "10 minutes", a timedelta, or a whole number in the unit of the query'
        raise UsageError(error.code, error.message, remedy) from None


def spelt_speculation(value: object, unit: str) -> str | None:
    """The one spelling of all values that mean the same: "all", or a duration.

    >>> spelt_speculation(600_000, "milliseconds"), spelt_speculation("10 min", "seconds")
    ('10 minutes', '10 minutes')
    """
    ahead = read_speculation(value, unit)
    return None if value is None else ALL if ahead is None else spell(ahead)


def check_columns(program: CompiledProgram) -> None:
    """Refuse matches with a column of the name that the column of changes has."""
    for analysed in program.queries:
        places = {result.name: result.span for result in analysed.query.returns}
        remedy = "rename it with AS"
        if not places:
            places = {component.variable: component.span for component in analysed.positive}
            remedy = "rename the variable"
        if OP in places:
            raise PatternError("CEP212", f"every change already has a column '{OP}'", remedy, places[OP])
