"""Expressions that say the same in other words have the same value, NULL and NaN included (S3, S3a)."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import literal
from cepheid.pattern.tree.nodes import EventPattern, Program, QueryTree, ReturnItem
from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import GeneratedQuery, Scope, Sort, conditions, expressions, schemas, streams
from cepheid.testing.strategies.scope import columns_of, parts_of

Pair = tuple[ex.Expression, ex.Expression]
NULL, TRUE = literal(None), literal(True)


def agree(pair: Pair, events: pa.Table) -> None:
    """Both expressions have the same value on every event."""
    returns = tuple(ReturnItem(expression, name) for expression, name in zip(pair, ("one", "other"), strict=True))
    query = GeneratedQuery(Program((QueryTree(EventPattern(("A",), "a"), returns=returns),)))
    for row in query.make().match(events).to_pylist():
        assert to_json(row["one"]) == to_json(row["other"]), query.text


def compare(operator: str) -> Callable[[ex.Expression, ex.Expression], ex.Compare]:
    return lambda left, right: ex.Compare(operator, left, right)


OF_CONDITIONS: dict[str, Callable[[ex.Expression, ex.Expression], Pair]] = {
    "De Morgan, AND": lambda p, q: (ex.Not(ex.And((p, q))), ex.Or((ex.Not(p), ex.Not(q)))),
    "De Morgan, OR": lambda p, q: (ex.Not(ex.Or((p, q))), ex.And((ex.Not(p), ex.Not(q)))),
    "twice not": lambda p, q: (ex.Not(ex.Not(p)), p),
    "AND in another order": lambda p, q: (ex.And((p, q)), ex.And((q, p))),
    "OR absorbs": lambda p, q: (ex.IsNull(ex.Or((p, ex.And((p, q))))), ex.IsNull(p)),
    "NULL wins over TRUE": lambda p, q: (
        ex.And((p, NULL)),
        ex.CaseWhen(None, (ex.When(ex.Not(p), literal(False)),), NULL),
    ),
    "CASE takes what is TRUE": lambda p, q: (
        ex.CaseWhen(None, (ex.When(p, literal(1)),), literal(0)),
        ex.CaseWhen(None, (ex.When(ex.Call("coalesce", (p, literal(False))), literal(1)),), literal(0)),
    ),
}

OF_VALUES: dict[str, Callable[[ex.Expression, ex.Expression, ex.Expression], Pair]] = {
    "BETWEEN": lambda x, y, z: (ex.Between(x, y, z), ex.And((compare(">=")(x, y), compare("<=")(x, z)))),
    "NOT BETWEEN": lambda x, y, z: (ex.Between(x, y, z, True), ex.Not(ex.Between(x, y, z))),
    "IN": lambda x, y, z: (ex.In(x, (y, z)), ex.Or((compare("=")(x, y), compare("=")(x, z)))),
    "NOT IN": lambda x, y, z: (ex.In(x, (y, z), True), ex.And((compare("!=")(x, y), compare("!=")(x, z)))),
    "less": lambda x, y, z: (compare("<")(x, y), compare(">")(y, x)),
    "not less": lambda x, y, z: (ex.Not(compare("<")(x, y)), compare(">=")(x, y)),
    "not equal": lambda x, y, z: (ex.Not(compare("=")(x, y)), compare("!=")(x, y)),
    "one of three": lambda x, y, z: (
        ex.Or((compare("<")(x, y), compare("=")(x, y), compare(">")(x, y))),
        ex.And((compare("=")(x, x), compare("=")(y, y))),
    ),
    "IS NOT NULL": lambda x, y, z: (ex.IsNull(x, True), ex.Not(ex.IsNull(x))),
    "equal to itself": lambda x, y, z: (ex.IsNull(compare("=")(x, x)), ex.IsNull(x)),
    "coalesce": lambda x, y, z: (
        ex.IsNull(ex.Call("coalesce", (x, y))),
        ex.And((ex.IsNull(x), ex.IsNull(y))),
    ),
    "nullif": lambda x, y, z: (
        ex.IsNull(ex.Call("nullif", (x, y))),
        ex.Or((ex.IsNull(x), ex.Call("coalesce", (compare("=")(x, y), literal(False))))),
    ),
    "least": lambda x, y, z: (
        compare("<=")(ex.Call("least", (x, y)), x),
        ex.CaseWhen(None, (ex.When(ex.IsNull(x), NULL),), TRUE),
    ),
    "CASE of a subject": lambda x, y, z: (
        ex.CaseWhen(x, (ex.When(y, literal(1)), ex.When(z, literal(2))), literal(3)),
        ex.CaseWhen(
            None,
            (ex.When(compare("=")(x, y), literal(1)), ex.When(compare("=")(x, z), literal(2))),
            literal(3),
        ),
    ),
}

OF_INTEGERS: dict[str, Callable[[ex.Expression, ex.Expression], Pair]] = {
    "minus": lambda x, y: (ex.Arithmetic("-", x, y), ex.Arithmetic("+", x, ex.Minus(ex.Call("coalesce", (y,))))),
    "sums wrap back": lambda x, y: (ex.Arithmetic("-", ex.Arithmetic("+", x, y), y), _unless_null(x, y)),
    "products in another order": lambda x, y: (ex.Arithmetic("*", x, y), ex.Arithmetic("*", y, x)),
    "the sign of % is the dividend's": lambda x, y: (
        compare(">=")(_signs(ex.Arithmetic("%", x, y), x), literal(0)),
        _unless_null(TRUE, ex.Arithmetic("%", x, y)),
    ),
    "% by zero is NULL": lambda x, y: (
        ex.IsNull(ex.Arithmetic("%", x, y)),
        ex.Or((ex.IsNull(x), ex.IsNull(y), ex.Call("coalesce", (compare("=")(y, literal(0)), literal(False))))),
    ),
    "/ by zero is NULL": lambda x, y: (ex.IsNull(ex.Arithmetic("/", x, y)), ex.IsNull(ex.Arithmetic("%", x, y))),
}


def _signs(x: ex.Expression, y: ex.Expression) -> ex.Expression:
    return ex.Arithmetic("*", ex.Call("sign", (x,)), ex.Call("sign", (y,)))


def _unless_null(x: ex.Expression, y: ex.Expression) -> ex.Expression:
    return ex.CaseWhen(None, (ex.When(ex.IsNull(y), NULL),), x)


@st.composite
def scopes(draw: st.DrawFn) -> tuple[Scope, pa.Table]:
    schema = draw(schemas(min_attributes=2))
    events = draw(streams(schema, event_types=["A"], min_size=1, max_size=5))
    return Scope(columns_of(schema), attributes=(("a", ex.Index.ONE),), parts=parts_of(schema)), events


@pytest.mark.parametrize("law", OF_CONDITIONS.values(), ids=OF_CONDITIONS)
@settings(max_examples=settings.default.max_examples // 2)
@given(drawn=scopes(), data=st.data())
def test_laws_of_conditions(law: Callable[..., Pair], drawn: tuple[Scope, pa.Table], data: st.DataObject) -> None:
    scope, events = drawn
    agree(law(data.draw(conditions(scope)), data.draw(conditions(scope))), events)


@pytest.mark.parametrize("law", OF_VALUES.values(), ids=OF_VALUES)
@settings(max_examples=settings.default.max_examples // 2)
@given(drawn=scopes(), data=st.data())
def test_laws_of_values(law: Callable[..., Pair], drawn: tuple[Scope, pa.Table], data: st.DataObject) -> None:
    scope, events = drawn
    sort = data.draw(st.sampled_from(list(scope.columns)))
    agree(law(*(data.draw(expressions(scope, sort, 1)) for _ in range(3))), events)


@pytest.mark.parametrize("law", OF_INTEGERS.values(), ids=OF_INTEGERS)
@settings(max_examples=settings.default.max_examples // 2)
@given(drawn=scopes(), data=st.data())
def test_laws_of_integers(law: Callable[..., Pair], drawn: tuple[Scope, pa.Table], data: st.DataObject) -> None:
    """S3a: integers wrap at 64 bits, `%` takes the sign of the dividend, a division by zero is NULL."""
    scope, events = drawn
    agree(law(*(data.draw(expressions(scope, Sort.INT, 1)) for _ in range(2))), events)
