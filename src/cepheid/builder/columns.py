"""Column expressions: Python's operators make the nodes of conditions and results."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from math import isnan
from typing import NoReturn

from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.errors import BindError
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.casts import read_type_name
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.walk import MAX_DEPTH, depth


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A value that a query computes. Operators and methods make new ones; Python values become constants.

    >>> from cepheid import builder as cep
    >>> a, b = cep.var("a"), cep.var("b")
    >>> (a.price * 2 > b.price) & ~b.symbol.is_in(["IBM", "DELL"])
    <Column a.price * 2 > b.price AND b.symbol NOT IN ('IBM', 'DELL')>
    """

    expression: ex.Expression

    def __repr__(self) -> str:
        shallow = depth(self.expression) <= MAX_DEPTH
        return f"<Column {print_expression(self.expression) if shallow else '…'}>"

    def __bool__(self) -> NoReturn:
        raise misuse(
            "a query condition has no truth value in Python",
            "use & | ~ instead of and, or, not, and (1 < x) & (x < 5) instead of 1 < x < 5",
        )

    def __add__(self, other: object) -> Column:
        return _arithmetic("+", self, other)

    def __radd__(self, other: object) -> Column:
        return _arithmetic("+", other, self)

    def __sub__(self, other: object) -> Column:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: object) -> Column:
        return _arithmetic("-", other, self)

    def __mul__(self, other: object) -> Column:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: object) -> Column:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: object) -> Column:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: object) -> Column:
        return _arithmetic("/", other, self)

    def __mod__(self, other: object) -> Column:
        return _arithmetic("%", self, other)

    def __rmod__(self, other: object) -> Column:
        return _arithmetic("%", other, self)

    def __neg__(self) -> Column:
        node = self.expression
        # -5 is one constant, as it is in the text.
        if isinstance(node, ex.Literal) and node.type in (types.INT, types.FLOAT):
            return lit(-node.value)  # type: ignore[operator]
        return Column(ex.Minus(node))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return _compare("=", self, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return _compare("!=", self, other)

    def __lt__(self, other: object) -> Column:
        return _compare("<", self, other)

    def __le__(self, other: object) -> Column:
        return _compare("<=", self, other)

    def __gt__(self, other: object) -> Column:
        return _compare(">", self, other)

    def __ge__(self, other: object) -> Column:
        return _compare(">=", self, other)

    def __and__(self, other: object) -> Column:
        return Column(joined(ex.And, self, other))

    def __rand__(self, other: object) -> Column:
        return Column(joined(ex.And, other, self))

    def __or__(self, other: object) -> Column:
        return Column(joined(ex.Or, self, other))

    def __ror__(self, other: object) -> Column:
        return Column(joined(ex.Or, other, self))

    def __invert__(self) -> Column:
        """NOT; on `is_in`, `between`, `like` and `is_null` it makes NOT IN, NOT BETWEEN, NOT LIKE and IS NOT NULL."""
        match self.expression:
            case ex.In() | ex.InSet() | ex.Between() | ex.Like() | ex.RLike() | ex.IsNull() as node:
                # Not the same as NOT (x IN …): where x is missing, x NOT IN … is an atom and therefore TRUE (S3).
                return Column(replace(node, negated=not node.negated))
            case node:
                return Column(ex.Not(node))

    def field(self, name: str) -> Column:
        """`a.payload.amount`: a field of a struct.

        >>> from cepheid import builder as cep
        >>> cep.var("a").payload.field("amount") > 5
        <Column a.payload.amount > 5>
        """
        return Column(ex.Field(self.expression, check_name(name, "a field", "write a.payload.field('amount')")))

    def __getattr__(self, name: str) -> Column:
        """`a.payload.amount`, where no method has the name of the field."""
        if name.startswith("_"):
            raise AttributeError(f"write .field({name!r}) for a field whose name begins with an underscore")
        return self.field(name)

    def __getitem__(self, key: object) -> Column:
        """`a.tags[0]`: an element of a list, counted from 0; `a.props['k']`: the value of a key of a map.

        >>> from cepheid import builder as cep
        >>> cep.var("a").tags[0], cep.var("a").props["k"]
        (<Column a.tags[0]>, <Column a.props['k']>)
        """
        if isinstance(key, slice):
            raise misuse("a list in a query can't be sliced", "read one element: a.tags[0]")
        return Column(ex.Element(self.expression, operand(key)))

    def __iter__(self) -> NoReturn:
        raise misuse("a query column can't be iterated over", "read one element: a.tags[0]")

    def is_null(self) -> Column:
        """`x IS NULL`: TRUE where the value is missing, else FALSE."""
        return Column(ex.IsNull(self.expression))

    def is_not_null(self) -> Column:
        """`x IS NOT NULL`: FALSE where the value is missing, else TRUE."""
        return Column(ex.IsNull(self.expression, negated=True))

    def is_in(self, values: Collection[object] | Column) -> Column:
        """Whether the value is in a list, or in a set that is a parameter.

        >>> from cepheid import builder as cep
        >>> cep.var("a").ticker.is_in(cep.param("Hi-Tech"))
        <Column a.ticker IN Hi-Tech>
        """
        if isinstance(values, Column) and isinstance(values.expression, ex.Name):
            return Column(ex.InSet(self.expression, values.expression.name))
        return Column(ex.In(self.expression, _choices(values)))

    def between(self, low: object, high: object) -> Column:
        """`x BETWEEN low AND high`, both ends included."""
        return Column(ex.Between(self.expression, operand(low), operand(high)))

    def like(self, pattern: str | Column) -> Column:
        """`x LIKE 'a%'`: % is any text, _ is one character."""
        return Column(ex.Like(self.expression, operand(pattern)))

    def rlike(self, pattern: str | Column) -> Column:
        """`x RLIKE '^a+'`: whether a regular expression is found somewhere in the text."""
        return Column(ex.RLike(self.expression, operand(pattern)))

    def cast(self, type: str) -> Column:
        """`CAST(x AS INT)`: the value as another type, named as in Spark SQL.

        >>> from cepheid import builder as cep
        >>> cep.var("a").price.cast("decimal(10, 2)")
        <Column CAST(a.price AS DECIMAL(10, 2))>
        """
        try:
            return Column(ex.Cast(self.expression, read_type_name(type)))
        except (ValueError, TypeError, AttributeError) as reason:
            raise misuse(f"{shown(type)} is not a type", str(reason)) from None


def lit(value: object) -> Column:
    """A constant with the methods of a column. Next to a column, Python values become constants by themselves.

    >>> from cepheid import builder as cep
    >>> cep.lit(5).between(cep.var("a").low, cep.var("a").high)
    <Column 5 BETWEEN a.low AND a.high>
    """
    return Column(operand(value))


def param(name: str) -> Column:
    """A parameter, whose value is given when the query is made: `cep.Query(…, params={"T": 3})`.

    >>> param("T") * 2
    <Column T * 2>
    """
    return Column(ex.Name(check_name(name, "a parameter", "write cep.param('T')")))


def col(name: str) -> Column:
    """An attribute in a pattern of a single event. With several events, write `cep.var("a").price`.

    >>> col("category") == "food"
    <Column category = 'food'>
    """
    check_name(name, "a column", "write cep.col('price')")
    variable, dot, attribute = name.partition(".")
    if dot:
        raise misuse(f"col({name!r}) names a variable and an attribute", f"write cep.var({variable!r})[{attribute!r}]")
    return Column(ex.Name(name))


def operand(value: object) -> ex.Expression:
    """The node of a column, or of a Python value as a constant."""
    if isinstance(value, Column):
        return value.expression
    if isinstance(value, timedelta) and value < timedelta(0):
        return ex.Minus(operand(-value))  # the text has no negative durations
    try:
        constant = literal(value)
    except BindError:
        raise misuse(
            f"{shown(value)} can't be used in an expression",
            "use an attribute such as cep.var('a').price, or pass a number of at most 64 bits, a string, a boolean, "
            "a date, a datetime, a timedelta or None",
        ) from None
    if not _has_spelling(constant):
        remedy = "write cep.param('x') and pass the value with cep.Query(…, params={'x': …})"
        raise misuse(f"{shown(value)} can't be written in a query", remedy)
    return constant


def _has_spelling(constant: ex.Literal) -> bool:
    match constant.type.kind, constant.value:
        case Kind.DECIMAL, _:
            return False
        case Kind.FLOAT, float(value):
            return not isnan(value)
    return True


def _choices(values: object) -> tuple[ex.Expression, ...]:
    if not isinstance(values, Collection) or isinstance(values, str | bytes) or len(values) == 0:
        remedy = "pass a list with at least one value, or cep.param('Name') for a set parameter"
        raise misuse(f"is_in got {shown(values)}, not a list of values", remedy)
    # A set has no order of its own, and a query must print the same everywhere.
    ordered = sorted(values, key=repr) if isinstance(values, set | frozenset) else values
    return tuple(map(operand, ordered))


def condition(value: object) -> ex.Expression:
    """The node of a condition. A Python value is refused: it is most likely a mistake."""
    if isinstance(value, Column):
        return value.expression
    raise misuse(
        f"{shown(value)} is not a condition",
        "compare an attribute, and put each comparison in parentheses: (a.price > 1) & (b.price > 2)",
    )


def joined(kind: type[ex.And] | type[ex.Or], *conditions: object) -> ex.Expression:
    """One condition of several; `x & y & z` is one AND of three, as it is in the text."""
    operands: list[ex.Expression] = []
    for node in map(condition, conditions):
        operands += node.operands if isinstance(node, kind) else (node,)
    return operands[0] if len(operands) == 1 else kind(tuple(operands))


def _arithmetic(operator: str, left: object, right: object) -> Column:
    return Column(ex.Arithmetic(operator, operand(left), operand(right)))


def _compare(operator: str, left: object, right: object) -> Column:
    return Column(ex.Compare(operator, operand(left), operand(right)))
