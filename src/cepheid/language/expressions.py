"""From parse tree to expression nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from lark import Token, Transformer, v_args
from lark.tree import Meta

from cepheid.errors import ParseError, Span
from cepheid.language.lexis import name_of, text_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.casts import read_type_name
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS
from cepheid.pattern.expressions.intervals import read_interval, total
from cepheid.pattern.expressions.timestamps import read_timestamp
from cepheid.pattern.tree.nodes import KeyColumn

Parts = list[Any]
"""What the rules of a node's parts have made, in the order of the text: Lark knows no types."""

_COMPARISONS = {"==": "=", "<>": "!=", "≠": "!=", "^neq": "!=", "≤": "<=", "≥": ">="}
_LATEX = {"neq": "!=", "ne": "!=", "leq": "<=", "le": "<=", "geq": ">=", "ge": ">="}


@v_args(meta=True)
class ExpressionBuilder(Transformer[Token, Any]):
    """Builds expression nodes bottom-up: every method gets the children and returns the node."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def span(self, meta: Meta | Token) -> Span:
        """The text that a parse tree's node or a token covers."""
        if isinstance(meta, Token):
            return Span(self.text, meta.start_pos or 0, meta.end_pos or 0)
        return Span(self.text, meta.start_pos, meta.end_pos) if not meta.empty else Span(self.text, 0, 0)

    def or_(self, meta: Meta, operands: list[ex.Expression]) -> ex.Expression:
        return ex.Or(tuple(operands), span=self.span(meta))

    def and_(self, meta: Meta, operands: list[ex.Expression]) -> ex.Expression:
        return ex.And(tuple(operands), span=self.span(meta))

    def not_(self, meta: Meta, operands: list[ex.Expression]) -> ex.Expression:
        return ex.Not(operands[0], span=self.span(meta))

    def compare(self, meta: Meta, parts: Parts) -> ex.Expression:
        left, operator, right = parts
        word = str(operator).strip("$").lstrip("\\")
        spelled = _LATEX.get(word) if "\\" in operator else _COMPARISONS.get(word, word)
        return ex.Compare(str(spelled), left, right, span=self.span(meta))

    def is_null(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.IsNull(parts[0], parts[1] is not None, span=self.span(meta))

    def in_list(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.In(parts[0], tuple(parts[2:]), parts[1] is not None, span=self.span(meta))

    def in_set(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.InSet(parts[0], parts[2], parts[1] is not None, span=self.span(meta))

    def set_name(self, meta: Meta, parts: list[Token]) -> str:
        return name_of(parts[0])

    def between(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Between(parts[0], parts[2], parts[3], parts[1] is not None, span=self.span(meta))

    def like(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Like(parts[0], parts[2], parts[1] is not None, span=self.span(meta))

    def rlike(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.RLike(parts[0], parts[2], parts[1] is not None, span=self.span(meta))

    def cast(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Cast(parts[0], parts[1], span=self.span(meta))

    def cast_type(self, meta: Meta, parts: list[Token | None]) -> str:
        name, *sizes = (str(part) for part in parts if part is not None)
        text = f"{name}({','.join(sizes)})" if sizes else name
        try:
            return read_type_name(text)
        except ValueError as reason:
            raise ParseError("CEP113", f"unknown type '{text}'", str(reason), self.span(meta)) from None

    def extract(self, meta: Meta, parts: Parts) -> ex.Expression:
        field = ex.Literal(name_of(parts[0]), types.STRING, span=self.span(parts[0]))
        return ex.Call("date_part", (field, parts[1]), span=self.span(meta))

    def arithmetic(self, meta: Meta, parts: Parts) -> ex.Expression:
        right = parts[2]
        if isinstance(right, ex.Literal) and right.value == 2**63 and right.type is types.INT:
            raise _too_large(right.value, right.span)  # whose minus subtracts it
        return ex.Arithmetic(str(parts[1]), parts[0], right, span=self.span(meta))

    def concat(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Call("concat", tuple(parts), span=self.span(meta))

    def minus(self, meta: Meta, parts: Parts) -> ex.Expression:
        operand = parts[1]
        if isinstance(operand, ex.Literal) and operand.type in (types.INT, types.FLOAT):
            return self.number_literal(-operand.value, operand.type, self.span(meta))  # type: ignore[operator]
        return ex.Minus(operand, span=self.span(meta))

    def number_literal(self, value: float, type_: types.Type, span: Span) -> ex.Literal:
        if type_ is types.INT and not -(2**63) <= value <= 2**63 - (not self.has_minus(span)):
            raise _too_large(value, span)
        return ex.Literal(value, type_, span=span)

    def has_minus(self, span: Span) -> bool:
        """Whether a minus comes before: 9223372036854775808 fits into 64 bits only with one."""
        return self.text[: span.start].rstrip(" \t\r\n(").endswith("-")

    def integer(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return self.number_literal(read_integer(parts[0], self.span(meta)), types.INT, self.span(meta))

    def number(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return self.number_literal(float(parts[0]), types.FLOAT, self.span(meta))

    def percentage(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return self.number_literal(float(Decimal(parts[0][:-1]) / 100), types.FLOAT, self.span(meta))

    def duration(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return self.duration_of(Decimal(parts[0]) * NANOSECONDS[UNITS[parts[1].casefold()]], meta)

    def interval_text(self, meta: Meta, parts: Parts) -> ex.Expression:
        units = [str(part) for part in parts[1:] if part is not None]
        try:
            return self.duration_of(read_interval(text_of(parts[0]), *units), meta)
        except ValueError as reason:
            raise ParseError("CEP105", "the interval can't be read", str(reason), self.span(meta)) from None

    def interval_parts(self, meta: Meta, parts: Parts) -> ex.Expression:
        try:
            length = total(parts[1:])
        except ValueError as reason:
            raise ParseError("CEP105", "the interval can't be read", str(reason), self.span(meta)) from None
        return self.duration_of(-length if parts[0] is not None else length, meta)

    def quantity(self, meta: Meta, parts: list[Token]) -> tuple[str, str]:
        return str(parts[0]), str(parts[1])

    def duration_of(self, nanoseconds: Decimal, meta: Meta) -> ex.Expression:
        if nanoseconds < 0:  # as the text of a query has it: a duration is never negative
            return ex.Minus(self.duration_of(-nanoseconds, meta), span=self.span(meta))
        if nanoseconds >= 2**63 or nanoseconds != int(nanoseconds):
            raise ParseError(
                "CEP105",
                "the duration is not a whole number of nanoseconds, or too long",
                "use fewer digits",
                self.span(meta),
            )
        return ex.Literal(int(nanoseconds), types.duration(types.unit_for(int(nanoseconds))), span=self.span(meta))

    def string(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return ex.Literal(text_of(parts[0]), types.STRING, span=self.span(meta))

    def date(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        try:
            day = date.fromisoformat(text_of(parts[0]))
        except ValueError:
            message = f"'{text_of(parts[0])}' is not a date"
            raise ParseError("CEP105", message, "write DATE '2024-12-31'", self.span(meta)) from None
        return ex.Literal((day - date(1970, 1, 1)).days, types.DATE, span=self.span(meta))

    def timestamp(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        try:
            nanoseconds, zoned = read_timestamp(text_of(parts[0]))
        except (ValueError, OverflowError):
            remedy = "write TIMESTAMP '2024-12-31 23:59:59'"
            raise ParseError("CEP105", f"'{text_of(parts[0])}' is not a timestamp", remedy, self.span(meta)) from None
        return ex.Literal(
            nanoseconds, types.timestamp("UTC" if zoned else None, types.unit_for(nanoseconds)), span=self.span(meta)
        )

    def true(self, meta: Meta, _: Sequence[Token]) -> ex.Expression:
        return ex.Literal(True, types.BOOL, span=self.span(meta))

    def false(self, meta: Meta, _: Sequence[Token]) -> ex.Expression:
        return ex.Literal(False, types.BOOL, span=self.span(meta))

    def null(self, meta: Meta, _: Sequence[Token]) -> ex.Expression:
        return ex.Literal(None, types.NULL, span=self.span(meta))

    def name(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return ex.Name(name_of(parts[0]), span=self.span(meta))

    def match_id(self, meta: Meta, _: Sequence[Token]) -> ex.Expression:
        return ex.MatchId(span=self.span(meta))

    def attribute(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return ex.Attribute(name_of(parts[0]), ex.Index.ONE, name_of(parts[1]), span=self.span(meta))

    def indexed(self, meta: Meta, parts: Parts) -> ex.Expression:
        if isinstance(parts[1], ex.Literal):
            return ex.Field(self.rows(meta, parts), name_of(parts[2]), span=self.span(meta))
        return ex.Attribute(
            name_of(parts[0]), self.own_index(parts[0], parts[1]), name_of(parts[2]), span=self.span(meta)
        )

    def field(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Field(parts[0], name_of(parts[1]), span=self.span(meta))

    def element(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Element(parts[0], parts[1], span=self.span(meta))

    def rows(self, meta: Meta, parts: Parts) -> ex.Expression:
        if isinstance(parts[1], ex.Literal):
            return ex.Element(ex.Name(name_of(parts[0]), span=self.span(parts[0])), parts[1], span=self.span(meta))
        return ex.Rows(name_of(parts[0]), self.own_index(parts[0], parts[1]), span=self.span(meta))

    def own_index(self, variable: Token, index: ex.AnyIndex | Token) -> ex.AnyIndex:
        """The index, which must belong to the variable: `a[a.LEN]` does, `a[b.LEN]` does not."""
        if isinstance(index, Token):
            if name_of(index) != name_of(variable):
                raise self.bad_index(self.span(index))
            return ex.Index.LAST
        return index

    def bad_index(self, span: Span) -> ParseError:
        before = re.search(r"(\w+|`[^`]+`)\s*\[?\s*\Z", self.text[: span.start])
        a = before[1] if before else "a"
        return ParseError(
            "CEP107",
            f"'{span.excerpt}' is not a valid index",
            f"use {a}[1], {a}[2], {a}[i], {a}[i-1], {a}[i-2], {a}[..i-1], {a}[], or {a}[{a}.LEN] for the last event",
            span,
        )

    def each(self, meta: Meta, _: Sequence[Token]) -> ex.Index:
        return ex.Index.EACH

    def nth(self, meta: Meta, parts: list[Token]) -> ex.AnyIndex:
        number = read_integer(parts[0], self.span(meta), "write a smaller number")
        return ex.Index.FIRST if number == 1 else ex.Nth(number)

    def key(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        return self.string(meta, parts)

    def current(self, meta: Meta, parts: list[Token]) -> ex.Index:
        if parts[0].lower() != "i":
            raise self.bad_index(self.span(meta))
        return ex.Index.CURRENT

    def back(self, meta: Meta, parts: list[Token]) -> ex.AnyIndex:
        steps = read_integer(parts[2], self.span(meta), "write a smaller number")
        if parts[0].lower() != "i" or steps == 0:
            raise self.bad_index(self.span(meta))
        return ex.Index.PREVIOUS if steps == 1 else ex.Back(steps)

    def before(self, meta: Meta, parts: list[Token]) -> ex.Index:
        if parts[0].lower() != "i" or parts[2] != "1":
            raise self.bad_index(self.span(meta))
        return ex.Index.BEFORE

    def last(self, meta: Meta, parts: list[Token]) -> Token:
        if parts[1].upper() != "LEN":
            raise self.bad_index(self.span(meta))
        return parts[0]

    def call(self, meta: Meta, parts: Parts) -> ex.Expression:
        arguments, condition = tuple(p for p in parts[1:-1] if p is not None), parts[-1]
        if condition is None and name_of(parts[0]).lower() not in ex.AGGREGATES:
            return ex.Call(name_of(parts[0]), arguments, span=self.span(meta))
        return self.aggregate(parts[0], arguments, condition, self.span(meta))

    def distinct_call(self, meta: Meta, parts: Parts) -> ex.Expression:
        aggregate = self.aggregate(parts[0], tuple(parts[1:-1]), parts[-1], self.span(meta))
        return replace(aggregate, distinct=True)

    def filter(self, meta: Meta, parts: list[ex.Expression]) -> ex.Expression:
        return parts[0]

    def aggregate(
        self, name: Token, arguments: tuple[ex.Expression, ...], condition: ex.Expression | None, span: Span
    ) -> ex.AggregateCall:
        function = name_of(name)
        if function.lower() in ex.AGGREGATES:
            function = function.lower()
        wanted = 2 if function == "percentile" else 1
        if len(arguments) != wanted:
            example = f"{function}(a[].price{', 0.9' * (wanted == 2)})"
            raise ParseError(
                "CEP110",
                f"{name} takes {'two arguments' if wanted == 2 else 'one argument'}, not {len(arguments)}",
                f"write {example} or {example.replace('[]', '[..i-1]')}",
                span,
            )
        share = arguments[1] if wanted == 2 else None
        return ex.AggregateCall(function, arguments[0], filter=condition, share=share, span=span)

    def for_all(self, meta: Meta, parts: Parts) -> ex.Expression:
        return ex.Quantified(parts[0].upper(), parts[1], span=self.span(meta))

    def case(self, meta: Meta, parts: Parts) -> ex.Expression:
        arms = tuple(p for p in parts[1:-1])
        return ex.CaseWhen(parts[0], arms, parts[-1], span=self.span(meta))

    def arm(self, meta: Meta, parts: Parts) -> ex.When:
        return ex.When(parts[0], parts[1], span=self.span(meta))

    def column(self, meta: Meta, parts: list[Token]) -> KeyColumn:
        name, *fields = map(name_of, parts)
        return KeyColumn(name, tuple(fields), span=self.span(meta))

    def test(self, meta: Meta, parts: Parts) -> ex.SameValue:
        return ex.SameValue(parts[0].name, parts[1], parts[0].fields, span=self.span(meta))

    def same_value(self, meta: Meta, tests: list[ex.SameValue]) -> ex.Expression:
        return tests[0] if len(tests) == 1 else ex.And(tuple(tests), span=self.span(meta))


def read_integer(token: Token, span: Span, remedy: str = "write it with a decimal point") -> int:
    """Read an integer. Python itself refuses to read more than a few thousand digits."""
    if len(token) > 30:
        raise ParseError("CEP105", f"{token[:12]}… does not fit into 64 bits", remedy, span)
    return int(token)


def _too_large(value: object, span: Span | None) -> ParseError:
    return ParseError("CEP105", f"{value} does not fit into 64 bits", "write it with a decimal point", span)
