"""Conditions of the query language as predicates on one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from cepheid.front.runnable import Runnable
from cepheid.language.printer import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import negate, swap
from cepheid.pattern.expressions.types import BOOL, Kind, Type, plain
from cepheid.pattern.tree.uses import uses
from cepheid.spark.pushdown.computed import Operand
from cepheid.spark.pushdown.constants import exact_value, literal_of, why_computed
from cepheid.spark.pushdown.predicate import (
    FALSE,
    TRUE,
    AllOf,
    CompareColumns,
    CompareConstant,
    NotPushable,
    NullTest,
    OneOf,
    Predicate,
    all_of,
    any_of,
)
from cepheid.spark.pushdown.times import compare_times
from cepheid.spark.pushdown.values import Values

MISSING_IS_NOT_NULL = "types are declared, and a missing attribute is not NULL"

_COMPARED_COLUMNS = frozenset({Kind.INT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DECIMAL})  # no floats: NaN


class PredicateTranslator:
    """Translates conditions of a query. Every method raises `NotPushable` if that is not possible.

    collated: columns with strings that Spark does not compare byte by byte.
    """

    def __init__(self, query: Runnable, collated: frozenset[str]) -> None:
        self.schema = query.schema
        self.values = Values(query, collated)

    def can_push(self, condition: ex.Expression) -> bool:
        """Tell whether a condition can be decided by one event, and has a predicate."""
        try:
            self.of_one_event(condition)
        except NotPushable:
            return False
        return True

    def of_one_event(self, condition: ex.Expression) -> Predicate:
        """Translate a condition that reads one event of one variable."""
        reads = uses(condition)
        if self.schema.roles.types is not None:
            raise NotPushable(MISSING_IS_NOT_NULL)
        variables = dict.fromkeys(use.variable for use in reads)
        if len(variables) > 1:
            raise NotPushable(f"it compares {' and '.join(variables)}")
        if any(use.whole or use.counts for use in reads) or len({use.index for use in reads}) > 1:
            raise NotPushable(f"it reads several events of {next(iter(variables))}")
        if reads[0].index in (ex.Index.PREVIOUS, ex.Index.BEFORE) or not isinstance(reads[0].index, ex.Index):
            raise NotPushable(f"it reads several events of {next(iter(variables))}")
        return self.translate(condition)

    def translate(self, node: ex.Expression, *, negated: bool = False) -> Predicate:
        """Translate a condition. NOT is moved down to the leaves, where the negation of NULL is NULL."""
        match node:
            case ex.And(operands=operands) | ex.Or(operands=operands):
                parts = [self.translate(operand, negated=negated) for operand in operands]
                return all_of(parts) if isinstance(node, ex.And) is not negated else any_of(parts)
            case ex.Not(operand=operand):
                return self.translate(operand, negated=not negated)
            case ex.Literal(value=None):
                return FALSE
            case ex.Literal(value=bool(value)):
                return TRUE if value is not negated else FALSE
            case ex.IsNull(operand=operand) if not isinstance(operand, ex.Literal):
                if self.values.type_of(operand).kind in (Kind.NULL, Kind.OPAQUE):
                    raise NotPushable(f"{print_expression(operand)} does not have scalar values")
                tested = operand.name if isinstance(operand, ex.Attribute) else self.values.of(operand)
                return NullTest(tested, negated=node.negated is not negated)
            case ex.RLike(pattern=ex.Literal(value=None)):
                return FALSE
            case ex.RLike():
                tested_text = self.values.of(replace(node, negated=False))
                return CompareConstant(tested_text, "=", node.negated is negated, BOOL)
            case ex.Compare(operator=operator, left=left, right=right):
                return self.compare(negate(operator) if negated else operator, left, right)
            case ex.Between(operand=operand, low=low, high=high):
                ends = [ex.Compare(">=", operand, low), ex.Compare("<=", operand, high)]
                return self.translate(ex.And(tuple(ends)), negated=node.negated is not negated)
            case ex.In(operand=operand, choices=choices):
                return self.one_of(operand, choices, negated=node.negated is not negated)
            case ex.Like():
                raise NotPushable("it contains LIKE")
            case ex.CaseWhen():
                raise NotPushable("it contains CASE")
            case ex.Attribute() | ex.Field() | ex.Element() | ex.Cast():
                type_ = self.values.type_of(node)
                if type_.kind is Kind.BOOL:
                    return CompareConstant(self.values.of(node), "=", not negated, type_)
        raise NotPushable(why_computed(node))

    def compare(self, operator: str, left: ex.Expression, right: ex.Expression) -> Predicate:
        """Translate a comparison of a value with a constant or with another value."""
        if _is_constant(left) and not _is_constant(right):
            left, right, operator = right, left, swap(operator)
        if isinstance(right, ex.Literal) and right.value is None:
            return FALSE
        type_ = self.values.type_of(left)
        if type_.kind in (Kind.TIMESTAMP, Kind.DURATION) and not (
            _is_path(left) and (_is_path(right) or _is_constant(right))
        ):
            return compare_times(self.values, operator, left, right)
        tested = self.values.of(left)
        if not _is_constant(right):
            return self.compare_values(operator, (tested, type_), (self.values.of(right), self.values.type_of(right)))
        value = exact_value(literal_of(right), type_)
        if type_.kind is Kind.BOOL and operator not in ("=", "!="):
            raise NotPushable("it orders booleans")
        if type_.kind is Kind.FLOAT and value == 0 and operator == "=":
            # To the engine 0.0 equals -0.0, but Parquet readers that look up an equal value in a dictionary differ.
            return AllOf((CompareConstant(tested, ">=", 0.0, type_), CompareConstant(tested, "<=", 0.0, type_)))
        return CompareConstant(tested, operator, 0.0 if type_.kind is Kind.FLOAT and value == 0 else value, type_)

    def compare_values(self, operator: str, left: tuple[Operand, Type], right: tuple[Operand, Type]) -> Predicate:
        """Translate a comparison of two values of the same type."""
        (tested, first), (other, second) = left, right
        if first.kind is not second.kind or first.kind not in _COMPARED_COLUMNS:
            raise NotPushable(f"it compares {first} with {second}")
        if first.kind is not Kind.INT and plain(first) != plain(second):
            raise NotPushable(f"it compares {first} with {second}")
        if pa.types.is_uint64(plain(first)) is not pa.types.is_uint64(plain(second)):
            raise NotPushable(f"it compares {first} with {second}")
        return CompareColumns(tested, operator, other)

    def one_of(self, operand: ex.Expression, choices: Sequence[ex.Expression], *, negated: bool) -> Predicate:
        """Translate IN or NOT IN."""
        tests = [self.compare("!=" if negated else "=", operand, choice) for choice in choices]
        if negated:
            return all_of(tests)
        equal = [t for t in tests if isinstance(t, CompareConstant) and t.type.kind in (Kind.STRING, Kind.INT)]
        if len(equal) > 1 and len(equal) == len(tests) and len({t.tested for t in equal}) == 1:
            return OneOf(equal[0].tested, tuple(t.value for t in equal), equal[0].type)
        return any_of(tests)


def _is_constant(node: ex.Expression) -> bool:
    return isinstance(node, ex.Literal) or (isinstance(node, ex.Minus) and isinstance(node.operand, ex.Literal))


def _is_path(node: ex.Expression) -> bool:
    return isinstance(node, ex.Attribute | ex.Field | ex.Element)
