"""Filters and columns that stay in the JVM: what a query can't see never crosses to Python.

First a small tree of predicates is made, then it is translated twice, for Spark and for pyarrow, so that both keep the
same rows. A row that is dropped is in no match, no witness of an absence, and ends no wait: the matches stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.api import Query
from cepheid.language.printer import print_expression
from cepheid.pattern import expressions as ex
from cepheid.pattern.analysis import columns_read
from cepheid.pattern.bind import Bound, bind
from cepheid.pattern.durations import ARROW_UNITS
from cepheid.pattern.placement import When
from cepheid.pattern.schema import make_schema
from cepheid.pattern.timestamps import print_timestamp
from cepheid.pattern.tree import Event, Strategy
from cepheid.pattern.types import Kind, Type, plain, zone_of
from cepheid.pattern.uses import uses
from cepheid.spark.names import column_named

Constant = bool | int | float | Decimal | str


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one row. There is no NOT above the leaves, so NULL and FALSE are the same to the whole."""


@dataclass(frozen=True, slots=True)
class Test(Predicate):
    """A column compared with a constant of its own kind; times are in the unit of the column."""

    column: str
    operator: str
    value: Constant
    type: Type


@dataclass(frozen=True, slots=True)
class Pair(Predicate):
    """Two columns of one kind compared."""

    left: str
    operator: str
    right: str


@dataclass(frozen=True, slots=True)
class Among(Predicate):
    """A column of strings or integers that is one of some constants."""

    column: str
    values: tuple[Constant, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Null(Predicate):
    """`x IS NULL`, `x IS NOT NULL`."""

    column: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class All(Predicate):
    """Conjunction; of nothing: TRUE."""

    parts: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Any_(Predicate):  # noqa: N801  `Any` is taken
    """Disjunction; of nothing: FALSE."""

    parts: tuple[Predicate, ...] = ()


TRUE, FALSE = All(), Any_()


def all_of(parts: Sequence[Predicate]) -> Predicate:
    """A conjunction in its shortest form."""
    if FALSE in parts:
        return FALSE
    kept = tuple(dict.fromkeys(p for part in parts for p in (part.parts if isinstance(part, All) else (part,))))
    return kept[0] if len(kept) == 1 else All(kept)


def _implies(one: Predicate, other: Predicate) -> bool:
    """Whether a predicate is another with something added."""
    terms = [set(p.parts) if isinstance(p, All) else {p} for p in (one, other)]
    return terms[0] > terms[1]


def any_of(parts: Sequence[Predicate]) -> Predicate:
    """A disjunction in its shortest form."""
    if TRUE in parts:
        return TRUE
    kept = tuple(dict.fromkeys(p for part in parts for p in (part.parts if isinstance(part, Any_) else (part,))))
    return kept[0] if len(kept) == 1 else Any_(kept)


@dataclass(frozen=True, slots=True)
class Pushdown:
    """What crosses to Python: the columns, in the order of the schema, and the rows for which `where` is TRUE.

    `pushed` and `refused` say in words what stays below and what can't, with the reason.
    """

    columns: tuple[str, ...]
    where: Predicate | None
    pushed: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def condition(self) -> Column | None:
        """For `DataFrame.filter`; None keeps every row."""
        return None if self.where is None else to_spark(self.where)

    @property
    def arrow(self) -> pc.Expression | None:
        """The same for rows in memory; for what can be skipped of a Parquet file, see `groups`."""
        return None if self.where is None else to_arrow(self.where)

    @property
    def groups(self) -> pc.Expression | None:
        """What a Parquet row group must allow, by its statistics, to have a row that crosses.

        They tell nothing of NaN, and pyarrow believes a group whose least and greatest value are one to have no other:
        so tests of floats are left out.
        """
        where = TRUE if self.where is None else _without_floats(self.where)
        return None if where == TRUE else to_arrow(where)

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch that cross."""
        if self.where is None:
            return batch
        found = to_arrow(self.where, batch.column)
        if isinstance(found, pc.Expression):  # it asks for nothing of the row
            return batch if self.where == TRUE else batch.slice(0, 0)
        return batch if found.true_count == len(found) else batch.filter(found)


def push(query: Query, schema: pa.Schema, *, enabled: bool = True, odd: frozenset[str] = frozenset()) -> Pushdown:
    """What of a query's input must cross, and what can be left behind without a change of its matches.

    odd: columns of strings that Spark compares by rules of its own.
    """
    if not enabled:
        return Pushdown(tuple(schema.names), None, (), ("all rows and columns cross: pushdown is off",))
    pairs = zip(query._analysed, query._sources, strict=True)
    base = [analysed for analysed, source in pairs if source is None]
    made = make_schema(schema, query._roles)
    names = tuple(schema.names)
    if all(analysed.query.returns for analysed in base):
        read = {name for analysed in base for name in columns_read(analysed)}
        columns, kept = _columns(names, read)
    else:
        columns, kept = names, ["all columns cross: without RETURN a match holds whole events"]
    where, pushed, refused = _rows([bind(analysed, made, query._functions) for analysed in base], odd)
    if where is not None and schema.field(query._roles.time).nullable:
        where = any_of([where, Null(query._roles.time)])  # it is an error, and must stay one
    left = [f"column {name} stays behind: nothing reads it" for name in names if name not in columns]
    return Pushdown(columns, where, (*left, *pushed), (*kept, *refused))


def _columns(names: Sequence[str], read: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """Ties of time are broken by the content of the row (S1): only what stands after all that is read can go."""
    last = max(k for k, name in enumerate(names) if name in read)
    why = f"it stands before {names[last]}, and ties of time are broken by it"
    return tuple(names[: last + 1]), [f"column {n} crosses: {why}" for n in names[:last] if n not in read]


def _rows(queries: Sequence[Bound], odd: frozenset[str]) -> tuple[Predicate | None, tuple[str, ...], tuple[str, ...]]:
    """A row crosses if any query may look at it."""
    found = [_Filter(query, odd) for query in queries]
    where = any_of([each.where for each in found])
    refused = tuple(dict.fromkeys(reason for each in found for reason in each.refused))
    if where == TRUE:
        open_ = next(each for each in found if each.where == TRUE)
        return None, (), refused if open_.refused else (*refused, open_.nothing)
    return where, tuple(dict.fromkeys(text for each in found for text in each.pushed)), refused


class _Filter:
    """Which rows one query may look at, and in words what it is made of."""

    def __init__(self, query: Bound, odd: frozenset[str]) -> None:
        self.query = query
        self.odd = odd
        self.schema = query.schema
        self.pushed: list[str] = []
        self.refused: list[str] = []
        self.nothing = "no row stays behind: some component takes any event"
        if Strategy.STRICT in query.strategies.values():
            variable = next(v for v, s in query.strategies.items() if s is Strategy.STRICT)
            self.refused.append(f"no row stays behind: strict_contiguity of {variable} sees every event between")
            self.where: Predicate = TRUE
            return
        shared = self.agreed()
        contiguous = self.contiguous()
        if contiguous is not None:
            self.refused.append(contiguous)
            self.where = all_of(shared)
        else:
            self.where = all_of([*shared, self.components()])

    def contiguous(self) -> str | None:
        """Why only tests of the partition may be pushed: an event of another partition is neither seen nor counted."""
        for variable, strategy in self.query.strategies.items():
            if strategy is Strategy.PARTITION:
                return f"types and conditions: partition_contiguity of {variable} sees every event of its partition"
        if self.query.within is not None and self.query.within.events is not None:
            return f"types and conditions: WITHIN {self.query.within.events} events counts all events of a partition"
        return None

    def agreed(self) -> list[Predicate]:
        """`[attr]`: an event whose attribute is NULL, or not the value that is asked for, agrees with no run (S3)."""
        found: list[Predicate] = []
        for test in self.query.same:
            name, text = test.attribute, print_expression(test)
            kind = self.schema.columns[name].kind
            if self.schema.roles.types is not None:
                self.refused.append(f"{text}: types are declared, and an attribute that is missing is not NULL")
                continue
            if kind is Kind.NULL:
                self.refused.append(f"{text}: the column has no type")
                continue
            found.append(Null(name, negated=True))
            if test.value is None:
                self.pushed.append(f"{name} IS NOT NULL, by {text}")
                continue
            try:
                attribute = ex.Attribute("", ex.Index.ONE, name)
                found[-1] = self.translate(ex.Compare("=", attribute, test.value))
                self.pushed.append(text)
            except _Refused as reason:
                self.pushed.append(f"{name} IS NOT NULL, by {text}")
                self.refused.append(f"{text}: {reason}")
        return found

    def components(self) -> Predicate:
        """A row matters if it can be bound at some place, or be a witness of an absence (S10)."""
        placement, layout = self.query.placement, self.query.layout
        by_conditions: dict[Predicate, list[str]] = {}
        for number, place in enumerate(layout.places):
            array = self.query.components[place.variable].array
            tests = placement.at_place.get(number, ())
            # An event of an array is its first or a later one, and each has conditions of its own.
            for wanted in (When.FIRST, When.LATER) if array else (When.ALWAYS,):
                conditions = [c for when, c in tests if when in (When.ALWAYS, wanted)]
                by_conditions.setdefault(self.conjunction(place.event, conditions), []).extend(place.event.types)
        for number, absent in enumerate(layout.negations):
            tests_of_witness = placement.of_witness.get(number, ())
            where = self.conjunction(absent.event, tests_of_witness)
            by_conditions.setdefault(where, []).extend(absent.event.types)
        self.note_conditions(by_conditions)
        role = self.schema.roles.type
        if role is None:
            return any_of(list(by_conditions))
        if self.schema.columns[role].kind is Kind.NULL:
            self.refused.append(f"types: the column {role} has no type")
            return any_of(list(by_conditions))
        names = tuple(dict.fromkeys(name for types in by_conditions.values() for name in types))
        self.pushed.insert(0, f"{role} IN ({', '.join(map(repr, names))})")
        parts: list[Predicate] = []
        for condition, types in by_conditions.items():
            # What another place admits anyway needs no mention.
            wider = {name for other in by_conditions if _implies(condition, other) for name in by_conditions[other]}
            own = tuple(dict.fromkeys(name for name in types if name not in wider))
            if own:
                parts.append(all_of([Among(role, own, self.schema.columns[role]), condition]))
        return any_of(parts)

    def note_conditions(self, by_conditions: dict[Predicate, list[str]]) -> None:
        """Say of each condition what becomes of it, once although it may sit at several places."""
        placement = self.query.placement
        placed = [(when, c) for found in placement.at_place.values() for when, c in found]
        placed += [
            (When.ALWAYS, c) for found in (*placement.of_witness.values(), *placement.at_exit.values()) for c in found
        ]
        for when, condition in dict.fromkeys(placed):
            text = print_expression(condition)
            try:
                self.single(condition)
            except _Refused as reason:
                self.refused.append(f"{text}: {reason}")
                continue
            variable = uses(condition)[0].variable
            if when is not When.ALWAYS and not self.has_both(variable):
                only = "the first event" if when is When.FIRST else "the second and later events"
                self.refused.append(f"{text}: it is asked of {only} of {variable} only")
            else:
                self.pushed.append(text)

    def has_both(self, variable: str) -> bool:
        """Whether the first and the later events of an array both have a condition that can be pushed."""
        found = set()
        for number, place in enumerate(self.query.layout.places):
            if place.variable == variable:
                for when, condition in self.query.placement.at_place.get(number, ()):
                    found |= {when} if self.can_push(condition) else set()
        return {When.FIRST, When.LATER} <= found

    def can_push(self, condition: ex.Expression) -> bool:
        try:
            self.single(condition)
        except _Refused:
            return False
        return True

    def conjunction(self, event: Event, conditions: Sequence[ex.Expression]) -> Predicate:
        """Those conditions of an event that can be pushed."""
        return all_of([self.single(c) for c in conditions if self.can_push(c)])

    def single(self, condition: ex.Expression) -> Predicate:
        """A condition that one event decides, whichever of its variable's events that is."""
        found = uses(condition)
        if self.schema.roles.types is not None:
            raise _Refused("types are declared, and an attribute that is missing is not NULL")
        names = dict.fromkeys(use.variable for use in found)
        if len(names) > 1:
            raise _Refused(f"it compares {' and '.join(names)}")
        if any(use.whole or use.counts for use in found) or len({use.index for use in found}) > 1:
            raise _Refused(f"it looks at several events of {next(iter(names))}")
        if found[0].index in (ex.Index.PREVIOUS, ex.Index.BEFORE):
            raise _Refused(f"it looks at several events of {next(iter(names))}")
        return self.translate(condition)

    def translate(self, node: ex.Expression, *, negated: bool = False) -> Predicate:
        """A condition of one event as a predicate, or why not. NOT is moved to the leaves, where NULL stays NULL."""
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
                return Test(name, "=", not negated, self.schema.columns[name])
            case ex.IsNull(operand=ex.Attribute(name=name)):
                if self.schema.columns[name].kind in (Kind.NULL, Kind.OPAQUE):
                    raise _Refused(f"{name} is of no single values")
                return Null(name, negated=node.negated is not negated)
            case ex.Compare(operator=operator, left=left, right=right):
                return self.compare(_INVERSE[operator] if negated else operator, left, right)
            case ex.Between(operand=operand, low=low, high=high):
                ends = [ex.Compare(">=", operand, low), ex.Compare("<=", operand, high)]
                return self.translate(ex.And(tuple(ends)), negated=node.negated is not negated)
            case ex.In(operand=operand, choices=choices):
                return self.among(operand, choices, negated=node.negated is not negated)
            case ex.Like():
                raise _Refused("it has LIKE")
            case ex.Case():
                raise _Refused("it has CASE")
        raise _Refused(_computes(node))

    def compare(self, operator: str, left: ex.Expression, right: ex.Expression) -> Predicate:
        if isinstance(right, ex.Attribute) and not isinstance(left, ex.Attribute):
            left, right, operator = right, left, _SWAPPED[operator]
        if not isinstance(left, ex.Attribute):
            raise _Refused(_computes(left))
        type_ = self.schema.columns[left.name]
        strange = next((e.name for e in (left, right) if isinstance(e, ex.Attribute) and e.name in self.odd), None)
        if strange is not None:
            raise _Refused(f"Spark compares {strange} by its collation, or pads it")
        if isinstance(right, ex.Attribute):
            return self.pair(operator, left.name, right.name)
        constant = _constant(right)
        if constant.value is None:
            return FALSE
        value = _as_kind(constant, type_)
        if type_.kind is Kind.BOOL and operator not in ("=", "!="):
            raise _Refused("it orders truth values")
        if type_.kind is Kind.FLOAT and value == 0 and operator == "=":
            # Readers of Parquet tell 0.0 from -0.0 when they look for equals in a dictionary; ours are equal.
            return All((Test(left.name, ">=", 0.0, type_), Test(left.name, "<=", 0.0, type_)))
        return Test(left.name, operator, 0.0 if type_.kind is Kind.FLOAT and value == 0 else value, type_)

    def pair(self, operator: str, left: str, right: str) -> Predicate:
        first, second = self.schema.columns[left], self.schema.columns[right]
        if first.kind is not second.kind or first.kind not in _PAIRED:
            raise _Refused(f"it compares {first} with {second}")
        if first.kind is not Kind.INT and plain(first) != plain(second):
            raise _Refused(f"it compares {first} with {second}")
        if pa.types.is_uint64(plain(first)) is not pa.types.is_uint64(plain(second)):
            raise _Refused(f"it compares {first} with {second}")
        return Pair(left, operator, right)

    def among(self, operand: ex.Expression, choices: Sequence[ex.Expression], *, negated: bool) -> Predicate:
        tests = [self.compare("!=" if negated else "=", operand, choice) for choice in choices]
        if negated:
            return all_of(tests)
        plain_ = [t for t in tests if isinstance(t, Test) and t.type.kind in (Kind.STRING, Kind.INT)]
        if len(plain_) > 1 and len(plain_) == len(tests):
            return Among(plain_[0].column, tuple(t.value for t in plain_), plain_[0].type)
        return any_of(tests)


class _Refused(Exception):  # noqa: N818  a signal, not an error
    """Why a condition can't be pushed."""


_INVERSE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SWAPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PAIRED = frozenset({Kind.INT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DECIMAL})  # NaN is pyarrow's own affair


def _computes(node: ex.Expression) -> str:
    match node:
        case ex.Call(function=name):
            return f"it calls {name}"
        case ex.Arithmetic() | ex.Minus():
            return "it computes, and what a computation gives depends on spark.sql.ansi.enabled"
    return "only a column compared with a constant or a column is"


def _constant(node: ex.Expression) -> ex.Literal:
    if isinstance(node, ex.Minus) and isinstance(node.operand, ex.Literal):
        value = node.operand.value
        if isinstance(value, int | float | Decimal) and node.operand.type.kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
            return replace(node.operand, value=-value)
    if isinstance(node, ex.Literal):
        return node
    raise _Refused(_computes(node))


_BIG = 2**53
"""Below it a double that is a whole number equals one integer only."""


def _as_kind(constant: ex.Literal, column: Type) -> Constant:
    """A constant as a value of the column's kind, if that is exact."""
    value: Any = constant.value
    match column.kind, constant.type.kind:
        case Kind.INT, Kind.INT if not pa.types.is_uint64(plain(column)):
            return int(value)
        case Kind.INT, Kind.FLOAT | Kind.DECIMAL if abs(value) < _BIG and value == int(value):
            return int(value)
        case Kind.FLOAT, Kind.INT | Kind.FLOAT | Kind.DECIMAL if math.isfinite(value):
            return float(value)
        case Kind.DECIMAL, Kind.INT | Kind.DECIMAL if pa.types.is_decimal128(plain(column)):
            exact = _decimal(Decimal(value), plain(column))
            if exact is not None:
                return exact
        case (Kind.STRING, Kind.STRING) | (Kind.BOOL, Kind.BOOL):
            return value  # type: ignore[no-any-return]
        case Kind.DATE, Kind.DATE if pa.types.is_date32(plain(column)):
            return int(value)
        case Kind.TIMESTAMP, Kind.TIMESTAMP:
            count, finer = divmod(value, ARROW_UNITS[plain(column).unit])
            if not finer and -(2**63) < count < 2**63:
                return int(count)
    raise _Refused(f"the constant is no exact value of {column}")


def _decimal(value: Decimal, arrow: pa.DataType) -> Decimal | None:
    try:
        return pa.scalar(value, arrow).as_py()  # type: ignore[no-any-return]
    except (pa.ArrowInvalid, ValueError):
        return None


def to_spark(where: Predicate) -> Column:
    """A predicate as a condition of Spark."""
    match where:
        case All(parts=parts) | Any_(parts=parts):
            empty = F.lit(isinstance(where, All))
            return reduce(and_ if isinstance(where, All) else or_, map(to_spark, parts)) if parts else empty
        case Null(column=name, negated=negated):
            return column_named(name).isNotNull() if negated else column_named(name).isNull()
        case Pair(left=left, operator=operator, right=right):
            paired: Column = _SPARK[operator](column_named(left), column_named(right))
            return paired
        case Among(column=name, values=values):
            return column_named(name).isin(list(values))
        case Test(column=name, operator=operator, value=value, type=type_):
            found: Column = _SPARK[operator](column_named(name), _spark_constant(value, type_))
            # NaN is greater than all, but the least and greatest of a row group leave it out, and readers that skip
            # groups by them would lose it: they can't skip by a condition that has isnan in it.
            return found | F.isnan(column_named(name)) if _admits_nan(where) else found
    raise TypeError(f"no condition for {type(where).__name__}")


def _admits_nan(test: Test) -> bool:
    return test.type.kind is Kind.FLOAT and test.operator in (">", ">=", "!=")


def _spark_constant(value: Constant, type_: Type) -> Column:
    if type_.kind is Kind.DATE:
        return F.date_from_unix_date(F.lit(value))  # Java's own dates before 1582 are of another calendar
    if type_.kind is Kind.TIMESTAMP:
        assert isinstance(value, int)
        nanoseconds = value * ARROW_UNITS[plain(type_).unit]
        if zone_of(type_) is not None:
            return F.timestamp_micros(F.lit(nanoseconds // 1000))
        return F.lit(print_timestamp(nanoseconds, zoned=False)).cast("timestamp_ntz")
    return F.lit(value)


def _without_floats(where: Predicate) -> Predicate:
    match where:
        case All(parts=parts):
            return all_of([_without_floats(part) for part in parts])
        case Any_(parts=parts):
            return any_of([_without_floats(part) for part in parts])
        case Test(type=type_) if type_.kind is Kind.FLOAT:
            return TRUE
    return where


def to_arrow(where: Predicate, column: Callable[[str], Any] = pc.field) -> Any:
    """A predicate as an expression of pyarrow; or, where `column` gives a column's values, as its truth values."""
    match where:
        case All(parts=parts) | Any_(parts=parts):
            join = pc.and_kleene if isinstance(where, All) else pc.or_kleene
            empty = pc.scalar(isinstance(where, All))
            return reduce(join, (to_arrow(part, column) for part in parts)) if parts else empty
        case Null(column=name, negated=negated):
            return pc.is_valid(column(name)) if negated else pc.is_null(column(name))
        case Pair(left=left, operator=operator, right=right):
            return _ARROW[operator](column(left), column(right))
        case Among(column=name, values=values, type=type_):
            found, choices = column(name), pa.array(values, _arrow_type(type_))
            if isinstance(found, pa.DictionaryArray):
                return pc.is_in(found.dictionary, value_set=choices).take(found.indices)
            return pc.is_in(found, value_set=choices)
        case Test(column=name, operator=operator, value=value, type=type_):
            found = column(name)
            if pa.types.is_floating(plain(type_)) and plain(type_) != pa.float64():
                found = found.cast(pa.float64())  # as a double, or 0.1 would equal a float
            test = _ARROW[operator](found, pa.scalar(value, _arrow_type(type_)))
            return pc.or_kleene(test, pc.is_nan(column(name))) if _admits_nan(where) else test
    raise TypeError(f"no expression for {type(where).__name__}")


def _arrow_type(type_: Type) -> pa.DataType:
    """The type of a constant: a number is not squeezed into a narrow column."""
    wide = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.STRING: pa.string()}
    return wide.get(type_.kind, plain(type_))


_SPARK: dict[str, Any] = {
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}

_ARROW: dict[str, Any] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
