"""Each operator, method and function of columns, on the exact node that it makes."""

import copy
import pickle
from datetime import UTC, date, datetime, timedelta

import pytest

from cepheid import builder as cep
from cepheid.builder import Column
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.nodes import (
    AggregateCall,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    CaseWhen,
    Compare,
    Expression,
    In,
    Index,
    InSet,
    IsNull,
    Like,
    Literal,
    Minus,
    Name,
    Not,
    Or,
    Rows,
    When,
)

a, b = cep.var("a"), cep.var("b")
X, Y = Attribute("a", Index.ONE, "x"), Attribute("b", Index.ONE, "y")


def number(value: int) -> Literal:
    return Literal(value, types.INT)


@pytest.mark.parametrize(
    ("column", "node"),
    [
        (a.x, X),
        (a["x"], X),
        (a["first"], Attribute("a", Index.ONE, "first")),
        (a.first.x, Attribute("a", Index.FIRST, "x")),
        (a.current.x, Attribute("a", Index.CURRENT, "x")),
        (a.previous.x, Attribute("a", Index.PREVIOUS, "x")),
        (a.before.x, Attribute("a", Index.BEFORE, "x")),
        (a.last["x y"], Attribute("a", Index.LAST, "x y")),
        (a.each.x, Attribute("a", Index.EACH, "x")),
        (cep.col("x"), Name("x")),
        (cep.param("T"), Name("T")),
    ],
)
def test_references(column: Column, node: Expression) -> None:
    assert column.expression == node


@pytest.mark.parametrize(
    ("column", "node"),
    [
        (a.x + 1, Arithmetic("+", X, number(1))),
        (1 + a.x, Arithmetic("+", number(1), X)),
        (a.x - b.y, Arithmetic("-", X, Y)),
        (1 - a.x, Arithmetic("-", number(1), X)),
        (a.x * 2, Arithmetic("*", X, number(2))),
        (2 * a.x, Arithmetic("*", number(2), X)),
        (a.x / 2, Arithmetic("/", X, number(2))),
        (2 / a.x, Arithmetic("/", number(2), X)),
        (a.x % 2, Arithmetic("%", X, number(2))),
        (2 % a.x, Arithmetic("%", number(2), X)),
        (-a.x, Minus(X)),
        (a.x == 1, Compare("=", X, number(1))),
        (a.x != 1, Compare("!=", X, number(1))),
        (a.x < b.y, Compare("<", X, Y)),
        (a.x <= b.y, Compare("<=", X, Y)),
        (a.x > b.y, Compare(">", X, Y)),
        (a.x >= b.y, Compare(">=", X, Y)),
        (a.x & b.y, And((X, Y))),
        (a.x & b.y & a.x, And((X, Y, X))),
        (a.x & (b.y & a.x), And((X, Y, X))),
        (a.x | b.y | a.x, Or((X, Y, X))),
        (a.x & b.y | a.x, Or((And((X, Y)), X))),
        (~a.x, Not(X)),
        (~(a.x & b.y), Not(And((X, Y)))),
        (~~a.x, Not(Not(X))),
    ],
)
def test_operators(column: Column, node: Expression) -> None:
    assert column.expression == node


@pytest.mark.parametrize(
    ("column", "node"),
    [
        (a.x.is_null(), IsNull(X)),
        (a.x.is_not_null(), IsNull(X, negated=True)),
        (a.x.is_in([1, b.y]), In(X, (number(1), Y))),
        (a.x.is_in({3, 1, 2}), In(X, (number(1), number(2), number(3)))),
        (a.x.is_in(cep.param("Finance")), InSet(X, "Finance")),
        (a.x.between(1, b.y), Between(X, number(1), Y)),
        (a.x.like("b%"), Like(X, Literal("b%", types.STRING))),
        (~a.x.is_null(), IsNull(X, negated=True)),
        (~a.x.is_not_null(), IsNull(X)),
        (~a.x.is_in([1]), In(X, (number(1),), negated=True)),
        (~a.x.is_in(cep.param("Finance")), InSet(X, "Finance", negated=True)),
        (~a.x.between(1, 2), Between(X, number(1), number(2), negated=True)),
        (~a.x.like("b%"), Like(X, Literal("b%", types.STRING), negated=True)),
    ],
)
def test_predicates(column: Column, node: Expression) -> None:
    assert column.expression == node


@pytest.mark.parametrize(
    ("value", "node"),
    [
        (1, number(1)),
        (-(2**63), number(-(2**63))),
        (1.5, Literal(1.5, types.FLOAT)),
        ("it's", Literal("it's", types.STRING)),
        (True, Literal(True, types.BOOL)),
        (None, Literal(None, types.NULL)),
        (date(1970, 1, 3), Literal(2, types.DATE)),
        (datetime(1970, 1, 1, 0, 0, 1), Literal(10**9, types.timestamp(None))),
        (datetime(1970, 1, 1, tzinfo=UTC), Literal(0, types.timestamp("UTC"))),
        (timedelta(seconds=2), Literal(2 * 10**9, types.DURATION)),
        (timedelta(seconds=-2), Minus(Literal(2 * 10**9, types.DURATION))),
        (a.x, X),
    ],
)
def test_constants(value: object, node: Expression) -> None:
    assert cep.lit(value).expression == node


def test_the_minus_of_a_number_is_one_constant() -> None:
    assert (-cep.lit(5)).expression == number(-5)
    assert (-cep.lit(1.5)).expression == Literal(-1.5, types.FLOAT)
    assert (-cep.lit(True)).expression == Minus(Literal(True, types.BOOL))


@pytest.mark.parametrize("name", ["count", "sum", "avg", "min", "max", "first", "last", "stddev"])
def test_aggregates(name: str) -> None:
    aggregate = getattr(cep, name)
    assert aggregate(a.each.x).expression == AggregateCall(name, Attribute("a", Index.EACH, "x"))
    assert aggregate(a.before).expression == AggregateCall(name, Rows("a", Index.BEFORE))


def test_calls() -> None:
    assert cep.call("Corr", a.x, b.y).expression == Call("Corr", (X, Y))
    assert cep.call("round", a.x, 2).expression == Call("round", (X, number(2)))
    assert cep.call("now").expression == Call("now", ())


def test_cases() -> None:
    low, high = When(Compare("<", X, number(1)), number(0)), When(Compare(">", X, number(9)), Y)
    case = cep.when(a.x < 1, 0).when(a.x > 9, b.y)
    assert case.expression == CaseWhen(None, (low, high), None)
    assert case.otherwise(5).expression == CaseWhen(None, (low, high), number(5))
    assert (case > 3).expression == Compare(">", CaseWhen(None, (low, high), None), number(3))


def test_columns_show_their_text() -> None:
    assert repr((a.current.x > a.last.x) | ~b.y.is_in(["p", "q"])) == (
        "<Column a[i].x > a[a.LEN].x OR b.y NOT IN ('p', 'q')>"
    )
    assert repr(cep.var("shelf").last) == "<shelf[shelf.LEN]>"


def test_variables_are_values() -> None:
    assert cep.var("a") == a
    assert a != b
    assert a.first != a.last
    assert copy.deepcopy(a) == a
    assert pickle.loads(pickle.dumps(a.first)) == a.first
