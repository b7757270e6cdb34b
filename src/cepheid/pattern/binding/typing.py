"""Types of expressions: every node is checked once; constants take the type of the other operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import singledispatchmethod

import pyarrow as pa

from cepheid.errors import BindError, did_you_mean
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.aggregates import Aggregate
from cepheid.pattern.expressions.calls import MATCHING, unknown_function
from cepheid.pattern.expressions.casts import CAST_FUNCTIONS, can_cast, cast_type, read_type_name
from cepheid.pattern.expressions.common_types import (
    arithmetic_type,
    common_type,
    comparable,
    converted,
    mismatch,
    shown,
    widest,
)
from cepheid.pattern.expressions.constants import read_as
from cepheid.pattern.expressions.functions import BUILT_IN, PARTS, SAME, UNITS_OF, Signature
from cepheid.pattern.expressions.nested import field_names, field_type, key_type, span_after, value_type
from cepheid.pattern.expressions.paths import read_path, resolve_path, spell
from cepheid.pattern.expressions.regular import NotTheSame, compile_regular
from cepheid.pattern.expressions.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NULL,
    NUMERIC,
    STRING,
    Kind,
    Type,
    duration,
    finest_unit,
    is_unknown,
    plain,
    timestamp,
    zone_of,
)
from cepheid.pattern.tree.components import Component

Typed = tuple[ex.Expression, Type]
_TRUTHS = (Kind.BOOL, Kind.NULL, Kind.ANY)
UserFunctions = Mapping[str, Callable[..., object]]
_ORDERED = frozenset(Kind) - {Kind.OPAQUE}


@dataclass(frozen=True, slots=True)
class Typer:
    """Checks expressions against a schema, the user's functions, and the register of an automaton."""

    schema: Schema
    components: Mapping[str, Component]
    functions: UserFunctions
    registers: Mapping[str, Type] = field(default_factory=dict)

    def condition(self, node: ex.Expression) -> ex.Expression:
        """A checked predicate."""
        checked, type_ = self.check(node)
        if type_.kind not in _TRUTHS:
            remedy = "write a comparison: a condition is TRUE, FALSE or NULL"
            raise BindError("CEP308", f"this expression is {shown(type_)}, not a condition", remedy, node.span)
        return checked

    @singledispatchmethod
    def check(self, node: ex.Expression) -> Typed:
        """The node with its constants adapted, and its type."""
        raise TypeError(f"no type for {type(node).__name__}")

    @check.register
    def _(self, node: ex.Literal) -> Typed:
        return node, node.type

    @check.register
    def _(self, node: ex.Attribute) -> Typed:
        columns = self.schema.columns
        if node.name not in columns:
            raise BindError("CEP301", f"unknown column '{node.name}'", self.column_remedy(node), node.span)
        return node, columns[node.name]

    @check.register
    def _(self, node: ex.RegisterField) -> Typed:
        return node, node.type or self.registers[node.name]

    def column_remedy(self, node: ex.Attribute) -> str:
        if node.name.upper() == "LEN":
            return f"LEN is the length of a Kleene variable; {node.variable} is a single event"
        if not node.variable and node.name in self.components:
            return f"'{node.name}' is a variable: write the column alone"
        remedy = did_you_mean(node.name, self.schema.columns, "columns")
        bare = node.span is not None and "." not in node.span.excerpt and not remedy.startswith("did")
        return f"{remedy}; or, for a parameter, pass params={{'{node.name}': …}}" if bare else remedy

    @check.register
    def _(self, node: ex.Field) -> Typed:
        operand, type_ = self.check(node.operand)
        if type_.kind is Kind.NULL:  # a column that has had no value yet
            return replace(node, operand=operand), NULL
        if value_type(type_) is not None and key_type(type_) is not None:
            return self.check(ex.Element(operand, ex.Literal(node.name, STRING), span=node.span))
        place = span_after(node)
        names = field_names(type_)
        if names is None:
            remedy = "only a struct has fields; write [0] for an element of a list, ['k'] for a key of a map"
            raise BindError("CEP305", f"{shown(type_)} has no field '{node.name}'", remedy, place)
        if names.count(node.name) != 1:
            remedy = did_you_mean(node.name, names, "fields") if node.name not in names else "rename one of them"
            twice = f"two fields are named '{node.name}'" if node.name in names else f"unknown field '{node.name}'"
            raise BindError("CEP301", twice, remedy, place)
        return replace(node, operand=operand), field_type(type_, node.name)

    @check.register
    def _(self, node: ex.Element) -> Typed:
        operand, type_ = self.check(node.operand)
        if type_.kind is Kind.NULL:
            return replace(node, operand=operand, index=self.check(node.index)[0]), NULL
        found = value_type(type_)
        if field_names(type_) is not None and isinstance(node.index, ex.Literal) and isinstance(node.index.value, str):
            return self.check(ex.Field(operand, node.index.value, span=node.span))
        if found is None:
            remedy = "only a list has elements, and a map keys"
            raise BindError("CEP305", f"{shown(type_)} has no elements", remedy, span_after(node))
        index, given = self.check(node.index)
        wanted = key_type(type_) or INT
        if isinstance(index, ex.Literal):
            index, given = read_as((index, given), wanted)
        if wanted.kind not in (Kind.INT, Kind.STRING) or given.kind not in (wanted.kind, Kind.NULL, Kind.ANY):
            what = (
                "a list is read by a number" if key_type(type_) is None else f"the keys of the map are {shown(wanted)}"
            )
            remedy = "write [0] for the first element of a list, ['k'] for a key that is a string"
            raise BindError("CEP305", f"{what}, not by {shown(given)}", remedy, node.index.span)
        return replace(node, operand=operand, index=index), found

    @check.register
    def _(self, node: ex.Rows) -> Typed:
        return node, INT

    @check.register
    def _(self, node: ex.MatchId) -> Typed:
        return node, STRING

    def result(self, node: ex.Expression) -> Typed:
        """A column of RETURN, which may also be an event or a list of events."""
        if not isinstance(node, ex.Rows):
            return self.check(node)
        event = pa.struct(list(self.schema.arrow))
        return node, Type(Kind.OPAQUE, pa.list_(event) if node.index is ex.Index.EACH else event)

    @check.register
    def _(self, node: ex.Length) -> Typed:
        return node, INT

    @check.register
    def _(self, node: ex.AggregateCall) -> Typed:
        name = node.function
        own = isinstance(self.functions.get(name), Aggregate)
        if name not in ex.AGGREGATES and not own:
            remedy = did_you_mean(name, ex.AGGREGATES, "aggregates")
            message = f"DISTINCT and FILTER need an aggregate, and '{name}' is none"
            raise BindError("CEP303", message, remedy, node.span)
        argument, type_ = self.check(node.argument)
        if node.filter is not None:
            # Aggregates ignore NULL, so a value that the filter leaves out is NULL from here on.
            argument = ex.CaseWhen(None, (ex.When(self.condition(node.filter), argument),), None, span=node.filter.span)
        checked = replace(node, argument=argument, filter=None, share=self.share(node))
        if node.distinct:
            self.require(node, type_, _ORDERED, f"{name}(DISTINCT …) can't be applied to {shown(type_)}")
        if own:
            return checked, ANY
        if name == "count":
            return checked, INT
        if name in ("first", "last"):
            return checked, type_
        if name == "collect":
            return checked, ANY if type_.kind is Kind.ANY else Type(Kind.OPAQUE, pa.list_(plain(type_)))
        if name in ("min", "max"):
            self.require(node, type_, _ORDERED, f"{name} can't be applied to {shown(type_)}")
            return checked, type_
        self.require(node, type_, NUMERIC, f"{name} can't be applied to {shown(type_)}")
        if name == "sum":
            return checked, type_ if type_.kind in (Kind.ANY, Kind.NULL) else widest(type_)
        return checked, FLOAT

    def share(self, node: ex.AggregateCall) -> ex.Literal | None:
        """Which part of the sorted values a percentile is at."""
        if node.share is None:
            return None
        value = node.share.value if isinstance(node.share, ex.Literal) else None
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool) or not 0 <= value <= 1:
            remedy = f"write a number from 0 to 1, or a parameter: {node.function}(a[].price, 0.9)"
            raise BindError("CEP306", f"{node.function} needs a constant from 0 to 1", remedy, node.share.span)
        return ex.Literal(float(value), FLOAT, span=node.share.span)

    @check.register
    def _(self, node: ex.Quantified) -> Typed:
        if isinstance(node.condition, ex.Attribute):
            _, type_ = self.check(node.condition)
            a, x = node.condition.variable, node.condition.name
            remedy = f"write the comparison inside: {node.quantifier}({a}{node.condition.index.value}.{x} = b.{x})"
            if type_.kind not in _TRUTHS:
                message = f"{node.quantifier} needs a condition, and this is {shown(type_)}"
                raise BindError("CEP308", message, remedy, node.condition.span)
        return replace(node, condition=self.condition(node.condition)), BOOL

    @check.register
    def _(self, node: ex.Call) -> Typed:
        checked = [self.check(argument) for argument in node.arguments]
        if node.function in self.functions:
            return replace(node, arguments=tuple(c[0] for c in checked)), ANY
        name = node.function.lower()
        if name in CAST_FUNCTIONS and len(node.arguments) == 1:
            return self.check(ex.Cast(node.arguments[0], read_type_name(name), span=node.span))
        if name in MATCHING and len(node.arguments) == 2:
            return self.check(ex.RLike(*node.arguments, span=node.span))
        if name not in BUILT_IN:
            raise unknown_function(node, self.functions)
        function = BUILT_IN[name]
        self.check_count(node, function)
        if name in UNITS_OF:
            checked = self.with_unit(node, name, checked)
        if name in ("date_part", "datepart"):
            return self.part(node, checked)
        same = [pair for pair, accepts in zip(checked, _accepted(function, checked), strict=True) if accepts is SAME]
        unified, common = self.unify(node, same) if same else ([], ANY)
        arguments, given, position = [], [], iter(unified)
        for (argument, type_), accepts in zip(checked, _accepted(function, checked), strict=True):
            if accepts is not SAME:
                wanted = " or ".join(sorted(k.value for k in accepts))
                self.require(argument, type_, accepts, f"{name} takes {wanted}, not {shown(type_)}")
            arguments.append(next(position) if accepts is SAME else argument)
            given.append(type_)
        result = common if function.result is None else function.result
        return (
            replace(node, function=name, arguments=tuple(arguments)),
            result(given) if callable(result) else result,
        )

    def with_unit(self, node: ex.Call, name: str, arguments: list[Typed]) -> list[Typed]:
        """The arguments of a function that takes a unit of time as a constant, which gets its canonical name."""
        place, units = UNITS_OF[name]
        unit, given = arguments[place]
        if not isinstance(unit, ex.Literal) or not isinstance(unit.value, str):
            example = f"write it in quotes: {name}('{next(iter(units)).lower()}', …)"
            raise BindError("CEP305", f"the unit of {name} must be a constant", example, node.arguments[place].span)
        word = units.get(unit.value.upper())
        if word is None:
            remedy = did_you_mean(unit.value.upper(), units, "units")
            raise BindError("CEP305", f"'{unit.value}' is not a unit of {name}", remedy, node.arguments[place].span)
        return [(replace(unit, value=word), given) if k == place else pair for k, pair in enumerate(arguments)]

    def part(self, node: ex.Call, arguments: list[Typed]) -> Typed:
        """`extract`: mostly one of the functions of a moment; but seconds come with their fraction."""
        (unit, _), (moment, type_) = arguments
        assert isinstance(unit, ex.Literal)
        function = PARTS[str(unit.value)]
        if function in BUILT_IN and function != "second":
            return self.check(ex.Call(function, (moment,), span=node.span))
        accepts = frozenset({Kind.TIMESTAMP} if function == "second" else {Kind.TIMESTAMP, Kind.DATE})
        self.require(node, type_, accepts, f"{unit.value} can't be extracted from {shown(type_)}")
        result = Type(Kind.DECIMAL, pa.decimal128(8, 6)) if function == "second" else INT
        return replace(node, function="date_part", arguments=(unit, moment)), result

    def check_count(self, node: ex.Call, function: Signature) -> None:
        count, most = len(node.arguments), len(function.parameters)
        if count < function.least or (count > most and not function.variadic):
            takes = f"{function.least}" if function.least == most else f"{function.least} to {most}"
            takes = f"{function.least} or more" if function.variadic else takes
            raise BindError("CEP306", f"{node.function} got {count} arguments", f"it takes {takes}", node.span)

    @check.register
    def _(self, node: ex.Minus) -> Typed:
        operand, type_ = self.check(node.operand)
        self.require(node, type_, NUMERIC | {Kind.DURATION}, f"minus can't be applied to {shown(type_)}")
        return replace(node, operand=operand), type_ if type_.kind is Kind.DURATION else widest(type_)

    @check.register
    def _(self, node: ex.Arithmetic) -> Typed:
        (left, right), (first, second) = self.adapt(node, self.check(node.left), self.check(node.right))
        checked = replace(node, left=left, right=right)
        kinds = first.kind, second.kind
        if Kind.ANY in kinds or Kind.NULL in kinds:
            known = next((t for t in (first, second) if t.kind not in (Kind.ANY, Kind.NULL)), first)
            if known.kind in NUMERIC or known.kind in (Kind.ANY, Kind.NULL):
                return checked, ANY if Kind.ANY in kinds else (FLOAT if node.operator == "/" else known)
            if known.kind in (Kind.TIMESTAMP, Kind.DURATION) and Kind.NULL in kinds and node.operator in "+-":
                return checked, known
        if first.kind in NUMERIC and second.kind in NUMERIC:
            return checked, arithmetic_type(node.operator, first, second)
        return checked, self.time_arithmetic(node, first, second)

    def time_arithmetic(self, node: ex.Arithmetic, first: Type, second: Type) -> Type:
        unit = finest_unit(first, second)
        match node.operator, first.kind, second.kind:
            case "-", Kind.TIMESTAMP, Kind.TIMESTAMP if zone_of(first) == zone_of(second) or (
                zone_of(first) and zone_of(second)
            ):
                return duration(unit)
            case "+" | "-", Kind.TIMESTAMP, Kind.DURATION:
                return timestamp(zone_of(first), unit)
            case "+", Kind.DURATION, Kind.TIMESTAMP:
                return timestamp(zone_of(second), unit)
            case "+" | "-", Kind.DURATION, Kind.DURATION:
                return duration(unit)
        raise BindError(
            "CEP305",
            f"{node.operator} can't be applied to {shown(first)} and {shown(second)}",
            "use numbers; timestamps can be subtracted, and a duration such as 5 minutes added or subtracted",
            node.span,
        )

    @check.register
    def _(self, node: ex.Compare) -> Typed:
        left, right = self.comparable(node, node.left, node.right)
        return replace(node, left=left, right=right), BOOL

    @check.register
    def _(self, node: ex.And) -> Typed:
        return replace(node, operands=tuple(map(self.condition, node.operands))), BOOL

    @check.register
    def _(self, node: ex.Or) -> Typed:
        return replace(node, operands=tuple(map(self.condition, node.operands))), BOOL

    @check.register
    def _(self, node: ex.Not) -> Typed:
        return replace(node, operand=self.condition(node.operand)), BOOL

    @check.register
    def _(self, node: ex.IsNull) -> Typed:
        return replace(node, operand=self.check(node.operand)[0]), BOOL

    @check.register
    def _(self, node: ex.In) -> Typed:
        pairs = [self.comparable(node, node.operand, choice) for choice in node.choices]
        operand = pairs[0][0] if pairs else self.check(node.operand)[0]
        return replace(node, operand=operand, choices=tuple(choice for _, choice in pairs)), BOOL

    @check.register
    def _(self, node: ex.Between) -> Typed:
        operand, low = self.comparable(node, node.operand, node.low)
        operand, high = self.comparable(node, operand, node.high)
        return replace(node, operand=operand, low=low, high=high), BOOL

    @check.register
    def _(self, node: ex.Like) -> Typed:
        operand, pattern = self.texts(node, "LIKE")
        return replace(node, operand=operand, pattern=pattern), BOOL

    def texts(self, node: ex.Like | ex.RLike, word: str) -> tuple[ex.Expression, ex.Expression]:
        """A text and its pattern."""
        (operand, type_), (pattern, of_pattern) = self.check(node.operand), self.check(node.pattern)
        self.require(node, type_, frozenset({Kind.STRING}), f"{word} can't be applied to {shown(type_)}")
        self.require(
            node, of_pattern, frozenset({Kind.STRING}), f"{word} can't have {shown(of_pattern)} as its pattern"
        )
        return operand, pattern

    @check.register
    def _(self, node: ex.RLike) -> Typed:
        operand, pattern = self.texts(node, "RLIKE")
        if not isinstance(pattern, ex.Literal):
            remedy = "write it in quotes, or pass it as a parameter"
            raise BindError("CEP305", "the pattern of RLIKE must be a constant", remedy, node.pattern.span)
        if pattern.value is not None:
            try:
                compile_regular(str(pattern.value))
            except NotTheSame as reason:
                message = f"the regular expression can't be used: {reason}"
                raise BindError("CEP313", message, "docs/language.md lists what is read", node.pattern.span) from None
        return replace(node, operand=operand, pattern=pattern), BOOL

    @check.register
    def _(self, node: ex.Cast) -> Typed:
        operand, type_ = self.check(node.operand)
        target = cast_type(node.type, zone_of(self.schema.columns[self.schema.roles.time]))
        if not can_cast(type_.kind, target.kind):
            remedy = "cast numbers, strings, booleans, dates and timestamps"
            if type_.kind is Kind.DATE and target.kind in NUMERIC:
                remedy = "Spark gives NULL for it; use year(…), month(…), day(…), or cast it to TIMESTAMP first"
            raise BindError("CEP305", f"{shown(type_)} can't be cast to {node.type}", remedy, node.span)
        return replace(node, operand=operand), target

    @check.register
    def _(self, node: ex.When) -> Typed:
        result, type_ = self.check(node.result)
        return replace(node, condition=self.condition(node.condition), result=result), type_

    @check.register
    def _(self, node: ex.CaseWhen) -> Typed:
        if node.subject is not None:
            # CASE x WHEN v is CASE WHEN x = v.
            subject = node.subject
            arms = [replace(arm, condition=ex.Compare("=", subject, arm.condition, span=arm.span)) for arm in node.arms]
            return self.check(replace(node, subject=None, arms=tuple(arms)))
        conditions = [self.condition(arm.condition) for arm in node.arms]
        results = [self.check(arm.result) for arm in node.arms]
        if node.otherwise is not None:
            results.append(self.check(node.otherwise))
        unified, type_ = self.unify(node, results)
        arms = [
            replace(arm, condition=condition, result=result)
            for arm, condition, result in zip(node.arms, conditions, unified, strict=False)
        ]
        otherwise = unified[-1] if node.otherwise is not None else None
        return replace(node, arms=tuple(arms), otherwise=otherwise), type_

    @check.register
    def _(self, node: ex.SameValue) -> Typed:
        attribute = read_path(resolve_path(node.path, self.schema.columns), "", node.span)
        _, type_ = self.check(attribute)
        self.require(node, type_, _ORDERED, f"[{spell(node.path)}] can't be applied to {shown(type_)}")
        if node.value is None:
            return node, BOOL
        _, value = self.comparable(node, attribute, node.value)
        return replace(node, value=value), BOOL

    def require(self, node: ex.Expression, type_: Type, accepts: frozenset[Kind], message: str) -> None:
        """Raise unless a value of the type can be one of the kinds."""
        if type_.kind not in accepts and type_.kind not in (Kind.ANY, Kind.NULL):
            wanted = (
                " or ".join(sorted(k.value for k in accepts))
                if len(accepts) < 6
                else "a simple value, not a nested one"
            )
            remedy = "cast the column to string or integer before" if is_unknown(type_) else f"it needs {wanted}"
            raise BindError("CEP305", message, remedy, node.span)

    def comparable(
        self, node: ex.Expression, left: ex.Expression, right: ex.Expression
    ) -> tuple[ex.Expression, ex.Expression]:
        """Both sides of a comparison, with constants in the type of the other side."""
        (one, other), (first, second) = self.adapt(node, self.check(left), self.check(right))
        if not comparable(first, second):
            raise mismatch(node, first, second, one, other)
        return one, other

    def unify(self, node: ex.Expression, pairs: Sequence[Typed]) -> tuple[list[ex.Expression], Type]:
        """Possible results of one expression, converted to their common type."""
        given = (type_ for value, type_ in pairs if not isinstance(value, ex.Literal) and type_.kind is not Kind.NULL)
        wanted = next(given, None)
        if wanted is not None:
            pairs = [read_as(pair, wanted) if isinstance(pair[0], ex.Literal) else pair for pair in pairs]
        common = pairs[0][1]
        for _, type_ in pairs[1:]:
            if not comparable(common, type_) and common != type_:
                remedy = "give all results one type"
                raise BindError(
                    "CEP305", f"the results have two types, {shown(common)} and {shown(type_)}", remedy, node.span
                )
            common = common_type(common, type_)
        return [converted(value, type_, common) for value, type_ in pairs], common

    def adapt(
        self, node: ex.Expression, left: Typed, right: Typed
    ) -> tuple[tuple[ex.Expression, ex.Expression], tuple[Type, Type]]:
        """A constant takes the type of the other side where it can be read as such."""
        left_literal = isinstance(left[0], ex.Literal)
        right_literal = isinstance(right[0], ex.Literal)
        if right_literal and not left_literal:
            right = read_as(right, left[1])
        elif left_literal and not right_literal:
            left = read_as(left, right[1])
        return (left[0], right[0]), (left[1], right[1])


def _accepted(function: Signature, arguments: Sequence[Typed]) -> list[frozenset[Kind]]:
    return [function.parameters[min(k, len(function.parameters) - 1)] for k in range(len(arguments))]
