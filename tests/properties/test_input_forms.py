"""The answer depends on the events, not on the form or the order in which they come."""

from collections.abc import Callable
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepheid.testing.outcomes import to_json
from cepheid.testing.strategies import PLAIN, Features, GeneratedQuery, merges, programs, scenarios, streams

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]


def matches(query: GeneratedQuery, events: Any) -> list[str]:
    return [to_json(m) for m in query.make().match(events).to_pylist()]


@st.composite
def shuffled(draw: st.DrawFn, scenario: st.SearchStrategy[Scenario]) -> tuple[GeneratedQuery, pa.Table, pa.Table]:
    query, events = draw(scenario)
    order = draw(st.permutations(range(events.num_rows)))
    return query, events, events.take(pa.array(order, pa.int64()))


@given(shuffled(scenarios() | scenarios(typed=False)))
def test_that_the_order_of_arrival_does_not_matter(example: tuple[GeneratedQuery, pa.Table, pa.Table]) -> None:
    """S1: ties that remain are broken by the content of the row, never by arrival. Equal rows may change places."""
    query, events, others = example
    assert matches(query, others) == matches(query, events)


@given(shuffled(st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))))
def test_that_the_order_of_arrival_does_not_matter_to_a_program(
    example: tuple[GeneratedQuery, pa.Table, pa.Table],
) -> None:
    """S1, S13: nor does the order in which composite events are found."""
    query, events, others = example
    assert matches(query, others) == matches(query, events)


def chunked(events: pa.Table) -> pa.Table:
    """A chunk for each row, and empty ones."""
    empty = events.slice(0, 0)
    return pa.concat_tables([empty, *(events.slice(k, 1) for k in range(events.num_rows)), empty])


def sliced(events: pa.Table) -> pa.Table:
    """With rows before and after that are cut off."""
    return pa.concat_tables([events, events, events]).combine_chunks().slice(events.num_rows, events.num_rows)


def encoded(events: pa.Table) -> pa.Table:
    """Strings in dictionary encoding."""
    for k, field in enumerate(events.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            events = events.set_column(k, field.name, events.column(k).cast(pa.string()).dictionary_encode())
    return events


def decoded(events: pa.Table) -> pa.Table:
    """Strings without dictionary encoding, and in the form with long offsets."""
    for k, field in enumerate(events.schema):
        if isinstance(field.type, pa.DictionaryType):
            events = events.set_column(k, field.name, events.column(k).cast(pa.large_string()))
    return events


def one_dictionary_a_chunk(events: pa.Table) -> pa.Table:
    """Chunks whose dictionaries differ."""
    half = events.num_rows // 2
    parts = [encoded(decoded(part)) for part in (events.slice(half), events.slice(0, half))]
    return pa.concat_tables(parts) if events.num_rows else encoded(events)


def reader(events: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(events.schema, events.to_batches())


@pytest.mark.parametrize("form", [chunked, sliced, encoded, decoded, one_dictionary_a_chunk, reader])
@given(scenario=scenarios(Features(returns=False)))
def test_that_the_layout_of_a_table_does_not_matter(form: Callable[[pa.Table], Any], scenario: Scenario) -> None:
    query, events = scenario
    assert matches(query, form(events)) == matches(query, events)


@given(scenarios(Features(parameters=False)))
def test_that_a_list_of_dicts_is_a_table(scenario: Scenario) -> None:
    """The types of columns are then inferred from their values, of which there must be some."""
    query, events = scenario
    known = [name for name in events.column_names if events[name].null_count < events.num_rows or name == "nothing"]
    assume(known == events.column_names)
    assume(not any(map(pa.types.is_map, events.schema.types)))  # in Python a map is a list of pairs, which is no column
    assert matches(query, events.to_pylist()) == matches(query, events)


@given(scenarios(Features(returns=False), schema=PLAIN))
def test_that_data_frames_are_tables(scenario: Scenario) -> None:
    """pandas and polars hold the same events; what they can't hold is lost before we see it."""
    query, events = scenario
    frame = polars.DataFrame(events)
    expected = matches(query, events)
    assert matches(query, frame) == expected
    assert matches(query, frame.lazy()) == expected
    assert matches(query, events.to_pandas(types_mapper=pandas.ArrowDtype)) == expected
