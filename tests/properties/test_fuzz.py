"""Whatever comes in, only a CepheidError comes out, and it can be shown."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from cepheid import CepheidError, Query
from cepheid.testing.strategies import (
    PLAIN,
    GeneratedQuery,
    odd_events,
    odd_options,
    odd_values,
    queries,
    streams,
    text_near_queries,
)
from cepheid.testing.strategies.queries import OPTIONS

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def tolerate(call: Callable[[], Any]) -> Any:
    """The value of a call, or None where it raises an error of ours; any other exception fails the test."""
    try:
        return call()
    except CepheidError as raised:
        error = raised
    assert error.code.startswith("CEP")
    assert error.message
    assert error.remedy
    assert str(error)
    return None


def use(query: Query, events: Any) -> None:
    """All that can be asked of a query."""
    assert str(query.explain())
    assert Query(query.text, **OPTIONS).text == query.text
    matches = tolerate(lambda: query.match(events))
    if matches is not None:
        tolerate(lambda: (matches.to_pylist(), matches.to_pandas(), matches.to_polars(), repr(matches)))


@settings(max_examples=settings.default.max_examples * 4)
@given(text_near_queries(), streams(PLAIN, max_size=5))
def test_that_no_text_gives_a_traceback(text: str, events: pa.Table) -> None:
    query = tolerate(lambda: Query(text, **OPTIONS))
    if query is not None:
        tolerate(lambda: use(query, events))


@settings(max_examples=settings.default.max_examples * 2)
@given(odd_events())
def test_that_no_events_give_a_traceback(events: Any) -> None:
    text = "PATTERN SEQ(A a, !(B b), ANY(A, C)+ c[]) WHERE skip_till_next_match { [k] AND a.x < c[].x } WITHIN 9 ms"
    query = Query(text)
    tolerate(lambda: query.match(events).to_pylist())


@given(odd_events(), queries(PLAIN))
def test_that_no_query_on_odd_events_gives_a_traceback(events: Any, query: GeneratedQuery) -> None:
    tolerate(lambda: query.make().match(events).to_pylist())


@settings(max_examples=settings.default.max_examples * 2)
@given(queries(PLAIN), odd_options(), streams(PLAIN, max_size=4))
def test_that_no_options_give_a_traceback(query: GeneratedQuery, options: dict[str, Any], events: pa.Table) -> None:
    made = tolerate(lambda: Query(query.text, **{**query.options, **options}))
    if made is not None:
        tolerate(lambda: made.explain())
        tolerate(lambda: made.match(events).to_pylist())


@given(odd_values(), odd_values())
def test_that_no_argument_gives_a_traceback(query: Any, other: Any) -> None:
    tolerate(lambda: Query(query))
    tolerate(lambda: Query("PATTERN A a").match([{"ts": 1, "type": "A"}], engine=other))
    tolerate(lambda: Query("PATTERN A a").schema(other))


@given(odd_values())
def test_that_no_result_of_a_function_gives_a_traceback(value: Any) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE f(a.x) = b.x OR f(b.x) RETURN f(a.x) AS r"
    query = Query(text, functions={"f": lambda x: value})
    tolerate(lambda: query.match([{"ts": 1, "type": "A", "x": 1}, {"ts": 2, "type": "B", "x": 1}]).to_pylist())
