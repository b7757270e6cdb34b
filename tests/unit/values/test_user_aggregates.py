"""Aggregates of the user's own."""

from typing import Any

import pytest

import cepheid as cep

EVENTS = [{"ts": k, "type": kind, "x": x} for k, (kind, x) in enumerate([("A", 2), ("A", None), ("A", 3), ("B", 0)])]
TEXT = "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity { a[1].x = 2 } RETURN fold(a[].x) AS y"


def result(aggregate: cep.Aggregate) -> object:
    query = cep.Query(TEXT, functions={"fold": aggregate})
    found = [query.match(EVENTS, engine=engine)[0]["y"] for engine in ("reference", "interpreted", "plain")]
    assert found[1:] == found[:1] * 2
    return found[0]


def test_that_values_come_in_order_and_without_nulls() -> None:
    assert result(cep.Aggregate(start=list, step=lambda state, x: [*state, x])) == [2, 3]


def test_that_a_start_is_not_shared() -> None:
    """Also if a step changes the state in place."""
    assert result(cep.Aggregate(start=[], step=lambda state, x: state.append(x) or state, finish=len)) == 2


def test_that_a_function_and_an_aggregate_are_told_apart() -> None:
    query = cep.Query(TEXT, functions={"fold": cep.Aggregate(0, lambda state, x: state + x)})
    assert "RETURN fold(a[].x) AS y" in query.text
    assert query.match(EVENTS)[0]["y"] == 5


def test_that_it_can_be_called() -> None:
    assert cep.Aggregate(1, lambda state, x: state * x)([2, 3, 4]) == 24


@pytest.mark.parametrize("part", ["step", "finish"])
def test_that_a_part_that_is_no_function_is_told_at_once(part: str) -> None:
    parts: dict[str, Any] = {"start": 0, "step": max, "finish": None, part: 3}
    with pytest.raises(cep.BindError, match=f"CEP312: {part} of the aggregate 'g' is 3, not a function"):
        cep.Query("PATTERN A+ a[] RETURN g(a[].x) AS n", functions={"g": cep.Aggregate(**parts)})
