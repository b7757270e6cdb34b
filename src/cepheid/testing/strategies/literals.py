"""Constants of a query."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import strategies as st

from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.pattern.expressions.nodes import Literal
from cepheid.pattern.expressions.parameters import literal
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.values import DAY, MOMENT

_SECOND = NANOSECONDS["seconds"]
NULL = Literal(None, types.NULL)


def _duration(nanoseconds: int) -> Literal:
    # Like the parser: in nanoseconds only if necessary.
    return Literal(nanoseconds, types.duration("ns" if nanoseconds % 1000 else "us"))


def literals(sort: Sort) -> st.SearchStrategy[Literal]:
    """Constants as a query can spell them, near the values of the streams.

    The language has no decimal constants: a number takes the type of the other operand.
    """
    match sort:
        case Sort.INT:
            return st.integers(-2, 4).map(literal)
        case Sort.FLOAT | Sort.DECIMAL:
            return st.sampled_from([0.0, 0.5, 1.0, 1.25, 2.0, -1.5, 1e300]).map(literal)
        case Sort.STRING:
            return st.sampled_from(["a", "b", "", "ab", "A", "a%", "%b", "_", "é"]).map(literal)
        case Sort.BOOL:
            return st.booleans().map(literal)
        case Sort.DATE:
            return st.integers(-1, 3).map(lambda n: literal(DAY + timedelta(days=n)))
        case Sort.LOCAL:
            return st.integers(-1, 3).map(lambda n: literal(MOMENT + timedelta(seconds=n)))
        case Sort.ZONED:
            return st.integers(-1, 3).map(lambda n: literal((MOMENT + timedelta(seconds=n)).replace(tzinfo=UTC)))
        case Sort.DURATION:
            return st.integers(0, 3).map(lambda n: _duration(n * _SECOND))


def any_literals() -> st.SearchStrategy[Literal]:
    """Every constant that the language can spell."""
    moments = st.datetimes(datetime.min + timedelta(days=1), datetime.max - timedelta(days=1))
    return st.one_of(
        st.just(NULL),
        st.booleans().map(literal),
        st.integers(-(2**63), 2**63 - 1).map(literal),
        st.floats(allow_nan=False).map(literal),
        st.text(max_size=6).map(literal),
        st.dates(date.min, date.max).map(literal),
        moments.map(literal),
        moments.map(lambda m: literal(m.replace(tzinfo=UTC))),
        st.integers(0, 2**63 - 1).map(_duration),
    )
