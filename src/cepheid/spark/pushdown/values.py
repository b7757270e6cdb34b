"""Expressions on one event as values that Spark computes."""

from __future__ import annotations

from pyspark.sql import functions as F

from cepheid.front.runnable import Runnable
from cepheid.language.printer import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.nested import field_names, key_type
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.pattern.tree.walk import substitute
from cepheid.spark.names import column_named
from cepheid.spark.pushdown import moments
from cepheid.spark.pushdown.casts import OF_TIME_ZONES, cast
from cepheid.spark.pushdown.computed import Computed, Operand
from cepheid.spark.pushdown.constants import why_computed
from cepheid.spark.pushdown.predicate import NotPushable
from cepheid.spark.pushdown.regular import found_in
from cepheid.spark.schemas import spark_type
from cepheid.values.calls import calendar_field
from cepheid.values.functions import CALENDAR, FIELDS_OF


class Values:
    """What expressions are in Spark. Every method raises `NotPushable` where Spark may have another value.

    collated: columns with strings that Spark does not compare byte by byte.
    """

    def __init__(self, query: Runnable, collated: frozenset[str]) -> None:
        self.query = query
        self.collated = collated

    def type_of(self, node: ex.Expression) -> Type:
        """The type of an expression."""
        return self.query.typer.check(node)[1]

    def of(self, node: ex.Expression) -> Operand:
        """What a predicate tests; a timestamp that is computed is in microseconds."""
        if isinstance(node, ex.Attribute):
            if node.name in self.collated:
                raise NotPushable(f"Spark compares {node.name} by its collation, or pads it")
            return node.name
        is_path = isinstance(node, ex.Field | ex.Element)
        return self.micros(node) if self.type_of(node).kind is Kind.TIMESTAMP and not is_path else self.value(node)

    def value(self, node: ex.Expression) -> Computed:
        """A value in the type that it has in Spark."""
        text, type_ = self._text(node), self.type_of(node)
        match node:
            case ex.Attribute(name=name):
                self.of(node)
                return Computed(text, type_, lambda: column_named(name))
            case ex.Field(operand=operand, name=name):
                return self._field(operand, name, text, type_)
            case ex.Element(operand=operand, index=ex.Literal(value=index)):
                return self._element(operand, index, text, type_)
            case ex.RLike(operand=operand, pattern=ex.Literal(value=str(pattern))):
                return found_in(self.value(operand), pattern, text)
            case ex.Cast(operand=operand, type=name):
                if type_.kind is Kind.DATE and self.type_of(operand).kind is Kind.TIMESTAMP:
                    return moments.date(self.local(operand), text)
                return cast(self.value(operand), type_, name, text)
            case ex.Call(function=name) if name not in self.query.functions:
                return self._part_of_time(node, text, type_)
        raise NotPushable(why_computed(node))

    def _text(self, node: ex.Expression) -> str:
        """An expression without its variable: of equal columns the value is equal."""
        return print_expression(substitute(node, lambda n: ex.Name(n.name) if isinstance(n, ex.Attribute) else None))

    # Parts of nested columns.

    def _field(self, operand: ex.Expression, name: str, text: str, type_: Type) -> Computed:
        of = self.value(operand)
        names = field_names(of.type) or []
        if sum(other.lower() == name.lower() for other in names) > 1:
            raise NotPushable(f"Spark may not tell the fields named {name} apart: they differ only in case")
        return Computed(text, type_, lambda: of.column().getField(name), of.doubts)

    def _element(self, operand: ex.Expression, index: object, text: str, type_: Type) -> Computed:
        of = self.value(operand)
        key = key_type(of.type)
        if key is not None and isinstance(index, int | str):
            if isinstance(index, int) and not _fits(index, plain(key).bit_width):
                raise NotPushable(f"the key {index} does not fit into {key}")
            as_key = spark_type(plain(key))
            return Computed(text, type_, lambda: F.try_element_at(of.column(), F.lit(index).cast(as_key)), of.doubts)
        if not isinstance(index, int) or not _fits(index, 32):
            raise NotPushable("the index is not a constant of 32 bits")
        return Computed(text, type_, lambda: F.get(of.column(), F.lit(index)), of.doubts)

    # Times.

    def _part_of_time(self, node: ex.Call, text: str, type_: Type) -> Computed:
        if node.function in CALENDAR or node.function in FIELDS_OF:
            is_field = node.function in FIELDS_OF
            name, moment = (calendar_field(node), node.arguments[1]) if is_field else (node.function, node.arguments[0])
            of = self.value(moment) if self.type_of(moment).kind is Kind.DATE else self.local(moment)
            return moments.part(name, of, type_, text)
        match node:
            case ex.Call(function="trunc", arguments=(day, ex.Literal(value=str(unit)))):
                return moments.first_day(unit, self.value(day), text)
        raise NotPushable(why_computed(node))

    def local(self, node: ex.Expression) -> Computed:
        """A time that the clock on the wall shows, in microseconds since 1970."""
        moments.require_utc(self.type_of(node))
        return self.micros(node)

    def micros(self, node: ex.Expression) -> Computed:
        """A timestamp in microseconds since 1970."""
        text, type_ = f"micros({self._text(node)})", self.type_of(node)
        match node:
            case ex.Call(function="date_trunc", arguments=(ex.Literal(value=str(unit)), moment)):
                if node.function not in self.query.functions:
                    return moments.truncated(unit, self.micros(moment), type_, text)
            case ex.Cast(operand=operand):
                moments.require_utc(type_)
                if self.type_of(operand).kind is Kind.DATE:
                    return moments.midnight(self.value(operand))
                if self.type_of(operand).kind is Kind.TIMESTAMP:
                    return self.local(operand)
                raise NotPushable(OF_TIME_ZONES)
            case ex.Attribute() | ex.Field() | ex.Element():
                return moments.micros(self.value(node))
        raise NotPushable(why_computed(node))


def _fits(number: int, bits: int) -> bool:
    return -(1 << (bits - 1)) <= number < 1 << (bits - 1)
