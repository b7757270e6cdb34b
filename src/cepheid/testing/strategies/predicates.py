"""Makers of conditions: comparisons, membership, LIKE, NULL tests, and what joins them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import SIGNS
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.uses import RANGES
from cepheid.testing.strategies.literals import NULL
from cepheid.testing.strategies.operators import COMMON, call, cast
from cepheid.testing.strategies.scope import SETS
from cepheid.testing.strategies.sorts import NUMBERS, Sort
from cepheid.testing.strategies.writer import ExpressionWriter


def compare(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """A comparison of two values of a sort; numbers also across sorts, and moments with a text that reads as one."""
    sort = writer.sort()
    left = writer.reading(sort)
    return ex.Compare(writer.one_of(tuple(SIGNS)), left, _other(writer, sort, left))


def _other(writer: ExpressionWriter, sort: Sort, left: ex.Expression) -> ex.Expression:
    if writer.chance(12):
        return NULL
    if sort in (Sort.DATE, Sort.LOCAL) and isinstance(left, ex.Attribute) and writer.chance(3):
        return _spelled(writer, sort)
    return writer.value(writer.one_of(NUMBERS) if sort in NUMBERS else sort)


def _spelled(writer: ExpressionWriter, sort: Sort) -> ex.Literal:
    constant = writer.one_of((0, 1, 2))
    if sort is Sort.DATE:
        return literal(str(date(2024, 2, 28) + timedelta(days=constant)))
    return literal(str(datetime(2024, 2, 28, 23, 59, 59) + timedelta(seconds=constant)))


def between(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """`x BETWEEN low AND high`."""
    sort = writer.sort()
    return ex.Between(writer.reading(sort), writer.value(sort), writer.value(sort), writer.chance(3))


def in_list(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """`x IN (…)`, with a NULL among the choices now and then."""
    sort = writer.sort()
    choices = [writer.value(sort) for _ in range(writer.one_of((1, 2)))]
    choices += [NULL] if writer.chance(5) else []
    return ex.In(writer.reading(sort), tuple(choices), writer.chance(3))


def in_set(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """`x IN Hi-Tech`: the set is a parameter."""
    name, (sort, _members) = writer.one_of(list(SETS.items()))
    if not writer.scope.parameters or sort not in writer.scope.columns:
        return in_list(writer, Sort.BOOL)
    return ex.InSet(writer.reading(sort), name, writer.chance(3))


def like(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    return ex.Like(writer.reading(Sort.STRING), writer.value(Sort.STRING), writer.chance(3))


_REGULAR = ("a", "^a$", "^.$", "[ab]+$", r"\w", "(?i)^A", "b|é", "")


def rlike(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """`x RLIKE '^a'`; the pattern is a constant."""
    return ex.RLike(writer.reading(Sort.STRING), literal(writer.one_of(_REGULAR)), writer.chance(3))


def is_null(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    return ex.IsNull(writer.reading(writer.sort()), writer.chance(2))


def and_(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    return ex.And((writer.value(Sort.BOOL), writer.value(Sort.BOOL)))


def or_(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    return ex.Or((writer.value(Sort.BOOL), writer.value(Sort.BOOL)))


def not_(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    return ex.Not(writer.value(Sort.BOOL))


def quantified(writer: ExpressionWriter, _: Sort) -> ex.Expression:
    """`ALL(a[].x > b.x)`, `ANY(…)`."""
    references = [reference for reference in writer.scope.ranges if reference[1] in RANGES]
    if not references or writer.scope.quantified:
        return compare(writer, Sort.BOOL)
    reference = writer.one_of(references)
    inside, sort = writer.for_each(reference), writer.one_of(list(writer.scope.columns))
    element = ex.Attribute(*reference, inside.one_of(inside.scope.columns[sort]))
    test: ex.Expression = ex.Compare(inside.one_of(tuple(SIGNS)), element, _other(inside, sort, element))
    if inside.chance(3):
        test = inside.one_of((ex.And, ex.Or))((test, inside.value(Sort.BOOL)))
    return ex.Quantified(inside.one_of(ex.QUANTIFIERS), test)


PREDICATES: tuple[Callable[[ExpressionWriter, Sort], ex.Expression], ...] = (
    *(compare, compare, compare, quantified, between, in_list, in_set, like, rlike, is_null),
    *(or_, not_, and_, call, cast, *COMMON),
)
"""What a condition can be, besides a boolean attribute or constant."""
