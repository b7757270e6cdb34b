"""Whatever the query and the events, Spark gives what the reference gives, in batch and as a stream."""

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from cepheid import Query
from cepheid.errors import CepheidError
from cepheid.spark import slices
from cepheid.testing.outcomes import to_json
from cepheid.testing.runs import Rows
from cepheid.testing.spark import match_batch, match_stream, rows_of, to_spark_types, told
from cepheid.testing.strategies import (
    PLAIN,
    GeneratedQuery,
    algebra_queries,
    automata,
    automaton_programs,
    lasting_streams,
    merges,
    programs,
    scenarios,
    streams,
)

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

Scenario = tuple[GeneratedQuery, pa.Table]
PROGRAMS = st.tuples(programs(PLAIN) | merges(PLAIN), streams(PLAIN, max_size=6))
AUTOMATA = st.tuples(automata(PLAIN) | automaton_programs(PLAIN), streams(PLAIN, max_size=7))
ALGEBRA = st.tuples(algebra_queries(), lasting_streams())
ANYTHING = (
    scenarios()
    | scenarios(typed=False)
    | scenarios(schema=PLAIN)
    | scenarios(schema=PLAIN)
    | PROGRAMS
    | AUTOMATA
    | ALGEBRA
)

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
"""A job takes half a second and a stream some seconds, so that there are fewer examples than elsewhere."""


def examples(fast: int, long: int) -> settings:
    return settings(
        max_examples=long if LONG else fast,
        deadline=None,
        derandomize=not LONG,
        print_blob=LONG,
        database=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        # Hundreds of jobs to make a failure smaller would take longer than to understand it as it is.
        phases=(Phase.explicit, Phase.generate),
    )


def counted(rows: Rows) -> Counter[str]:
    return Counter(map(to_json, rows))


def outcome(run: Any) -> Counter[str] | str:
    """The rows in any order, or the code of the error."""
    try:
        return counted(run())
    except CepheidError as error:
        assume(error.code != "CEP908")  # a column whose type nobody knows before it runs: Spark can't have it
        return error.code


def reference(query: Query, events: pa.Table) -> Counter[str] | str:
    return outcome(lambda: query.match(events, engine="reference").to_pylist())


@pytest.fixture(scope="module", autouse=True)
def short_slices() -> Any:
    """Streams of a few ticks are cut into slices too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "_LEAST_WINDOWS", 3)
        patch.setattr(slices, "_LEAST_TICKS", 2)
        patch.setattr(slices, "_SAMPLE", 1.0)
        patch.setattr(slices, "_LEAST_SAMPLED", 1)
        yield


@examples(30, 400)
@given(
    scenario=ANYTHING,
    partitions=st.sampled_from([None, 1, 2, 3, 4]),
    scattered=st.integers(1, 4),
    pushdown=st.booleans(),
    skew=st.booleans(),
)
def test_that_a_batch_gives_what_the_reference_gives(
    spark: Any, scenario: Scenario, partitions: int | None, scattered: int, pushdown: bool, skew: bool
) -> None:
    query, table = scenario[0].make(), to_spark_types(scenario[1])
    options = {"pushdown": pushdown, "skew": skew, "partitions": partitions}
    found = outcome(lambda: match_batch(spark, query, table, scattered=scattered, **options))
    assert found == reference(query, table)


@examples(12, 200)
@given(scenario=ANYTHING, files=st.integers(1, 3), direct=st.sampled_from([None, None, False]))
def test_that_files_give_what_the_reference_gives(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, files: int, direct: bool | None
) -> None:
    """Also where tasks read them by themselves."""
    query, table = scenario[0].make(), without_odd_columns(to_spark_types(scenario[1]))
    folder = tmp_path_factory.mktemp("files")
    write_files(table, folder, files)
    events = spark.read.parquet(str(folder))
    found = outcome(lambda: told(lambda: rows_of(query.match(events, direct=direct))))
    assert found == reference(query, table)


@examples(6, 150)
@given(scenario=ANYTHING, chance=st.randoms(use_true_random=False), buckets=st.sampled_from([None, 1, 3]))
def test_that_a_stream_gives_what_the_reference_gives(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, chance: Random, buckets: int | None
) -> None:
    """In random micro-batches, out of order within the watermark."""
    query, table = scenario[0].make(), to_spark_types(scenario[1], scenario[0].options)
    folder = tmp_path_factory.mktemp("stream") / uuid4().hex
    found = outcome(lambda: match_stream(spark, query, table, folder, chance=chance, buckets=buckets))
    assert found == reference(query, table)


def without_odd_columns(table: pa.Table) -> pa.Table:
    """Of what Spark would not read as it was written: columns of NULLs alone, intervals."""
    odd = [f.name for f in table.schema if pa.types.is_null(f.type) or pa.types.is_duration(f.type)]
    for name in odd:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    return table


def write_files(table: pa.Table, folder: Path, files: int) -> None:
    size = max(1, -(-table.num_rows // files))
    for k in range(files):
        pq.write_table(table.slice(k * size, size), folder / f"{k}.parquet", row_group_size=3)


# Streams that are long for the room there is: hot keys, many slices, many micro-batches.

QUERIES = [
    "SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 16",
    "SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [k] AND b[i].x >= b[1].x } WITHIN 12",
    "SEQ(A a, !(X n), B b) WHERE [k] AND n.x > a.x WITHIN 20",
    "SEQ(!(X n), A a, B b) WHERE [k] AND n.x > 2 WITHIN 12",
    "SEQ(A a, B b, !(X n)) WHERE [k] AND n.x > a.x WITHIN 20 OUTPUT NON_OVERLAP",
    "SEQ(!(X m), A a, B b, !(X n)) WHERE m.x = 0 AND m.s = a.s AND n.x > b.x WITHIN 9",
    "SEQ(A a, AND(B b, C c)) WHERE c.x > a.x PARTITION BY s WITHIN 16 HAVING b.x > 1",
    "SEQ(A a, B b, C c) WHERE [k] AND a.s = c.s WITHIN 12 events OUTPUT NON_OVERLAP",
    "SEQ(A a, B b) WHERE b.s = a.s AND b.x + a.x > 4 WITHIN 8 RETURN a.x + b.x AS sum, b.s",
    "SEQ(A a, X b, A c) WHERE [k] AND b.s != c.s AND a.x = c.x",
    "SEQ(A a, B b) WHERE strict_contiguity(a, b) { b.x > a.x } WITHIN 3",
    "SEQ(A a, B b) WHERE partition_contiguity(a, b) { [s] } WITHIN 30 OUTPUT NON_OVERLAP",
    "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] AND b[i].x >= b[i-1].x } WITHIN 12 OUTPUT LONGEST COOLDOWN 20",
]
SCHEMA = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64()), ("k", pa.int64()), ("s", pa.string())]
)


def many_events(chance: Random, size: int) -> pa.Table:
    """Ties, NULLs, keys that come and go, one that has more events than the others together; times before 1970."""

    def row(at: int) -> dict[str, Any]:
        key = chance.choice([0, 0, 0, at // 60, at // 60 + 1])
        found = {"k": key, "s": chance.choice("uvw"), "x": chance.randint(-2, 6)}
        found = {name: value if chance.random() > 0.05 else None for name, value in found.items()}
        return {"ts": at * 3 // 4 - 40, "type": chance.choice("AABCX" if at // 50 % 2 else "ABCCX"), **found}

    return pa.Table.from_pylist([row(at) for at in range(size)], schema=SCHEMA)


@pytest.mark.parametrize(
    "text", [pytest.param(text, marks=[pytest.mark.slow] if k % 3 else []) for k, text in enumerate(QUERIES)]
)
def test_that_a_long_batch_gives_what_the_reference_gives(text: str, spark: Any, tmp_path: Path) -> None:
    """In any number of tasks, with hot keys in slices, from files or not."""
    chance, query = Random(text), Query(f"PATTERN {text}")
    table = many_events(chance, 400)
    expected = reference(query, table)
    assert isinstance(expected, Counter)
    assert expected
    write_files(table, tmp_path, 3)
    assert counted(match_batch(spark, query, table, partitions=5)) == expected
    assert counted(match_batch(spark, query, table, partitions=3, skew=False, pushdown=False)) == expected
    assert counted(rows_of(query.match(spark.read.parquet(str(tmp_path))))) == expected


@pytest.mark.parametrize(
    "text", [pytest.param(text, marks=[pytest.mark.slow] if k % 12 else []) for k, text in enumerate(QUERIES)]
)
def test_that_a_long_stream_gives_what_the_reference_gives(text: str, spark: Any, tmp_path: Path) -> None:
    chance, query = Random(text), Query(f"PATTERN {text}")
    table = to_spark_types(many_events(chance, 400), {})
    expected = reference(query, table)
    assert isinstance(expected, Counter)
    assert expected
    found = match_stream(spark, query, table, tmp_path / "stream", chance=chance, files=12, buckets=3)
    assert counted(found) == expected


def test_that_a_stream_of_one_key_after_the_other_ends_what_waits(spark: Any, tmp_path: Path) -> None:
    """An absence at the end is certain when the watermark has passed, although its key has no more events."""
    query = Query("PATTERN SEQ(A a, !(B b)) WHERE [k] WITHIN 10")
    table = pa.table({"ts": range(0, 400, 10), "type": ["A"] * 40, "k": range(40)})
    table = to_spark_types(table, {})
    found = match_stream(spark, query, table, tmp_path / "stream", chance=Random(5), files=4, flush=True, buckets=2)
    assert counted(found) == reference(query, table)
    assert pc.count_distinct(table["k"]).as_py() == len(found)
