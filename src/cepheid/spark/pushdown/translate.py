"""Conditions of the query language as predicates on one row."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cepheid.pattern import expressions as ex
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind, plain
from cepheid.pattern.uses import uses
from cepheid.spark.pushdown.constants import exact_value, literal_of, why_computed
from cepheid.spark.pushdown.predicate import (
    FALSE,
    TRUE,
    AllOf,
    CompareColumns,
    CompareConstant,
    IsNull,
    NotPushable,
    OneOf,
    Predicate,
    all_of,
    any_of,
)

MISSING_IS_NOT_NULL = "types are declared, and a missing attribute is not NULL"

_NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SWAPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARED_COLUMNS = frozenset({Kind.INT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DECIMAL})  # no floats: NaN


class Translator:
    """Translates conditions over events of a schema. Every method raises `NotPushable` if that is not possible.

    collated: string columns that Spark does not compare byte by byte.
    """

    def __init__(self, schema: Schema, collated: frozenset[str]) -> None:
        self.schema = schema
        self.collated = collated

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
            case ex.Attribute(name=name) if self.schema.columns[name].kind is Kind.BOOL:
                return CompareConstant(name, "=", not negated, self.schema.columns[name])
            case ex.IsNull(operand=ex.Attribute(name=name)):
                if self.schema.columns[name].kind in (Kind.NULL, Kind.OPAQUE):
                    raise NotPushable(f"column {name} does not have scalar values")
                return IsNull(name, negated=node.negated is not negated)
            case ex.Compare(operator=operator, left=left, right=right):
                return self.compare(_NEGATED[operator] if negated else operator, left, right)
            case ex.Between(operand=operand, low=low, high=high):
                ends = [ex.Compare(">=", operand, low), ex.Compare("<=", operand, high)]
                return self.translate(ex.And(tuple(ends)), negated=node.negated is not negated)
            case ex.In(operand=operand, choices=choices):
                return self.one_of(operand, choices, negated=node.negated is not negated)
            case ex.Like():
                raise NotPushable("it contains LIKE")
            case ex.RLike():
                raise NotPushable("it contains RLIKE")
            case ex.Case():
                raise NotPushable("it contains CASE")
        raise NotPushable(why_computed(node))

    def compare(self, operator: str, left: ex.Expression, right: ex.Expression) -> Predicate:
        """Translate a comparison of a column with a constant or with another column."""
        if isinstance(right, ex.Attribute) and not isinstance(left, ex.Attribute):
            left, right, operator = right, left, _SWAPPED[operator]
        if not isinstance(left, ex.Attribute):
            raise NotPushable(why_computed(left))
        type_ = self.schema.columns[left.name]
        collated = [e.name for e in (left, right) if isinstance(e, ex.Attribute) and e.name in self.collated]
        if collated:
            raise NotPushable(f"Spark compares {collated[0]} by its collation, or pads it")
        if isinstance(right, ex.Attribute):
            return self.compare_columns(operator, left.name, right.name)
        literal = literal_of(right)
        if literal.value is None:
            return FALSE
        value = exact_value(literal, type_)
        if type_.kind is Kind.BOOL and operator not in ("=", "!="):
            raise NotPushable("it orders booleans")
        if type_.kind is Kind.FLOAT and value == 0 and operator == "=":
            # To the engine 0.0 equals -0.0, but Parquet readers that look up an equal value in a dictionary differ.
            return AllOf((CompareConstant(left.name, ">=", 0.0, type_), CompareConstant(left.name, "<=", 0.0, type_)))
        return CompareConstant(left.name, operator, 0.0 if type_.kind is Kind.FLOAT and value == 0 else value, type_)

    def compare_columns(self, operator: str, left: str, right: str) -> Predicate:
        """Translate a comparison of two columns of the same type."""
        first, second = self.schema.columns[left], self.schema.columns[right]
        if first.kind is not second.kind or first.kind not in _COMPARED_COLUMNS:
            raise NotPushable(f"it compares {first} with {second}")
        if first.kind is not Kind.INT and plain(first) != plain(second):
            raise NotPushable(f"it compares {first} with {second}")
        if pa.types.is_uint64(plain(first)) is not pa.types.is_uint64(plain(second)):
            raise NotPushable(f"it compares {first} with {second}")
        return CompareColumns(left, operator, right)

    def one_of(self, operand: ex.Expression, choices: Sequence[ex.Expression], *, negated: bool) -> Predicate:
        """Translate IN or NOT IN."""
        tests = [self.compare("!=" if negated else "=", operand, choice) for choice in choices]
        if negated:
            return all_of(tests)
        equal = [t for t in tests if isinstance(t, CompareConstant) and t.type.kind in (Kind.STRING, Kind.INT)]
        if len(equal) > 1 and len(equal) == len(tests):
            return OneOf(equal[0].column, tuple(t.value for t in equal), equal[0].type)
        return any_of(tests)
