"""Cases on Spark, in batch and as a stream: every case must have the same outcome as in one process.

>>> from cepheid.testing import check_cases
>>> def check(spark, folder):  # a SparkSession, and a folder for the files of streams
...     check_cases("tests/cases", paths=spark_paths(spark, folder))

Spark has fewer types than Arrow, and a stream needs timestamps as times. So a case is `adapted` first: the same events
in types that Spark has; the expected outcome is that of the reference on them. Rows have no order. Only the code of an
error is compared, because Spark wraps errors of workers in a text of its own.
"""

from __future__ import annotations

import os
import re
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path as FilePath
from random import Random
from typing import Any
from uuid import uuid4
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cepheid.api import Query
from cepheid.errors import CepheidError
from cepheid.spark.schemas import spark_schema
from cepheid.spark.stream import pending
from cepheid.testing.cases import Case
from cepheid.testing.outcomes import Outcome
from cepheid.testing.paths import Path, run_reference
from cepheid.testing.runs import Rows, _without_numbers, has_algebra, run_case, with_numbers

_MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "week": 7 * 86_400_000_000}
_CODE = re.compile(r"error (CEP\d+): ([^\n]*)")
TOO_BUSY = "Python worker failed to connect back"
_ATTEMPTS = 4
_FAR = timedelta(days=365 * 3000)
_PATIENCE = 600
"""Seconds after which a stream of a few events is considered to hang."""


def spark_paths(spark: Any, folder: str | FilePath) -> tuple[Path, ...]:
    """The paths of a Spark session; the streams have their files and checkpoints in a folder."""
    return (
        Path("spark_batch", partial(run_spark, run=partial(_batch, spark))),
        Path("spark_stream", partial(run_spark, run=partial(_stream, spark, FilePath(folder)), stream=True)),
    )


def run_spark(case: Case, run: Callable[[Case, Query, pa.Table], Rows], *, stream: bool = False) -> Outcome:
    """The outcome of a case on Spark: the expected one, if it equals that of the reference on the adapted events."""
    if case.expected is None or case.events is None:
        return run_reference(case)
    adapted = replace(case, events=to_spark_types(case.events, case.options if stream else None))
    known = run_reference(adapted)
    outcome = _numbered_once(adapted, run)
    same = outcome.error == known.error and sorted(map(_comparable, outcome.lines)) == sorted(
        map(_comparable, known.lines)
    )
    # Spark is lazy: warnings that depend on the events are not known there.
    return replace(case.expected if same else outcome, warnings=known.warnings)


def _numbered_once(case: Case, run: Callable[[Case, Query, pa.Table], Rows]) -> Outcome:
    """Like `run_case`, with one job per case instead of two: the row numbers are the last column and change nothing."""
    numbered: list[Rows] = []

    def match(query: Query, table: pa.Table) -> Rows:
        if numbered:
            return numbered[0]
        numbered.append(run(case, query, table if has_algebra(query) else with_numbers(case, table)))
        return [_without_numbers(row) for row in numbered[0]]

    return run_case(case, match)


def _comparable(line: str) -> str:
    """The code of an error line: Spark cuts and wraps the message."""
    return line.split(" ", 1)[0] if line.startswith("CEP") else line


def _batch(spark: Any, case: Case, query: Query, table: pa.Table) -> Rows:
    return match_batch(spark, query, table)


def _stream(spark: Any, folder: FilePath, case: Case, query: Query, table: pa.Table) -> Rows:
    time = case.options.get("time", "ts")
    return match_stream(spark, query, table, folder / uuid4().hex, time=time, chance=Random(crc32(case.title.encode())))


def match_batch(spark: Any, query: Query, table: pa.Table, *, scattered: int = 1, **options: Any) -> Rows:
    """The matches of a table in several Spark partitions, in no order; the options are those of `match`."""
    events = to_dataframe(spark, table).repartition(scattered)
    return told(lambda: rows_of(query.match(events, **options)))


def match_stream(
    spark: Any,
    query: Query,
    table: pa.Table,
    folder: FilePath,
    *,
    time: str = "ts",
    chance: Random,
    flush: bool | None = None,
    files: int | None = None,
    **options: Any,
) -> Rows:
    """The matches of a stream of files, cut and reordered at random, in the order of emission.

    The stream ends with an event in the far future; or without one, and then the pending matches are added.
    """
    arranged, delay = _disorder(table, time, chance)
    if flush is None:
        flush = chance.random() < 0.5 and can_flush(query, table, time)
    parts = _cut(arranged, chance.randint(1, 4) if files is None else files, chance)
    if flush and table.num_rows:
        parts.append(_last_event(table, time))
    _write_files(parts, folder / "events")
    kinds = spark_schema(_storable(table).schema)
    source = spark.readStream.schema(kinds).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    events = source.selectExpr(*(_restored(field) for field in table.schema))
    if time in table.column_names and pa.types.is_timestamp(table.schema.field(time).type):
        events = events.withWatermark(time, f"{delay // timedelta(microseconds=1)} microseconds")
    return told(partial(_patiently, partial(_run_stream, spark, query, events, flush=flush, **options), folder))


def _patiently(run: Callable[[FilePath], Rows], folder: FilePath) -> Rows:
    """Retry if the machine is so busy that a Python process did not start within Spark's ten seconds."""
    for attempt in range(_ATTEMPTS - 1):
        try:
            return run(folder / f"checkpoint{attempt}")
        except Exception as error:
            if TOO_BUSY not in str(error):
                raise
    return run(folder / f"checkpoint{_ATTEMPTS}")


def _run_stream(spark: Any, query: Query, events: Any, checkpoint: FilePath, *, flush: bool, **options: Any) -> Rows:
    name = f"matches_{uuid4().hex}"
    written = query.match(events, **options).writeStream.format("memory").queryName(name).outputMode("append")
    running = written.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        if not running.awaitTermination(_PATIENCE):
            raise AssertionError(f"the stream has not ended after {_PATIENCE} s: {running.lastProgress}")
        rows = rows_of(spark.table(name))
        if not flush:
            rows = [*rows, *rows_of(pending(spark, query, str(checkpoint)))]
        return rows
    finally:
        running.stop()
        spark.catalog.dropTempView(name)


def told(run: Callable[[], Rows]) -> Rows:
    """The result of a run, or the Cepheid error inside Spark's error text."""
    try:
        return run()
    except CepheidError:
        raise
    except Exception as error:
        codes = _CODE.findall(str(error))
        if not codes:
            raise
        code, message = codes[-1]
        raise CepheidError(code, message, "see Spark's error") from error


def rows_of(dataframe: Any) -> Rows:
    """The rows of a Spark DataFrame as dicts."""
    rows: list[Mapping[str, object]] = dataframe.toArrow().to_pylist()
    return rows


def can_flush(query: Query, table: pa.Table, time: str) -> bool:
    """Whether nothing is pending once the watermark has passed all windows; windows of n events may stay open."""
    if not table.num_rows or not pa.types.is_timestamp(table.schema.field(time).type):
        return False
    try:
        session = query.session(engine="plain")
        session.push(table)
        session.advance(pc.max(table[time]).as_py() + _FAR)
        return not session.close().to_pylist()
    except CepheidError:
        return False  # to be raised by Spark


# Types


def to_spark_types(table: pa.Table, options: Mapping[str, Any] | None = None) -> pa.Table:
    """The same events in types that Spark has; with the options of a query, also with the time type of a stream.

    >>> to_spark_types(pa.table({"ts": pa.array([1], pa.uint8())})).schema.field("ts").type
    DataType(int16)
    """
    columns = {name: _to_spark_type(table[name]) for name in table.column_names}
    if options is not None:
        for name in (options.get("time", "ts"), options.get("start")):
            if name in columns:
                columns[name] = _to_timestamps(columns[name], options.get("unit", "ms"))
    return pa.table(list(columns.values()), names=list(columns))


def _to_spark_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _to_spark_type(column.cast(kind.value_type))
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}
    wider |= {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    if kind in wider:
        return column.cast(wider[kind])
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", "UTC" if kind.tz else None))
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"))
    return column


def _to_timestamps(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray:
    """Convert a time column to a timestamp with a zone, which Spark needs for a watermark; others are unchanged."""
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    if pa.types.is_integer(column.type) and unit in _MICROSECONDS:
        microseconds = pc.multiply_checked(column.cast(pa.int64()), _MICROSECONDS[unit])
        return microseconds.cast(pa.timestamp("us", "UTC"))
    return column


def to_dataframe(spark: Any, table: pa.Table) -> Any:
    """A table of Spark's types as a DataFrame; by default Spark would add a zone to every timestamp."""
    return spark.createDataFrame(table, schema=spark_schema(table.schema))


def _storable(table: pa.Table) -> pa.Table:
    """Parquet as written by Spark has no all-NULL columns, and intervals as integers."""
    for k, field in enumerate(table.schema):
        if pa.types.is_null(field.type) or pa.types.is_duration(field.type):
            table = table.set_column(k, field.name, table[field.name].cast(pa.int64()))
    return table


def _restored(field: pa.Field) -> str:
    """The SQL expression that restores a stored column."""
    name = f"`{field.name}`"
    if pa.types.is_null(field.type):
        return f"NULL AS {name}"
    if pa.types.is_duration(field.type):
        return f"make_dt_interval(0, 0, 0, CAST({name} AS DECIMAL(18, 6)) / 1000000) AS {name}"
    return name


# Files


def _disorder(table: pa.Table, time: str, chance: Random) -> tuple[pa.Table, timedelta]:
    """The events, out of order by at most the delay."""
    if not table.num_rows or time not in table.column_names or not pa.types.is_timestamp(table.schema.field(time).type):
        return table, timedelta(0)
    times = table[time].cast(pa.int64()).to_pylist()
    known = [t for t in times if t is not None] or [0]
    span = max(known) - min(known)
    delay = chance.choice([0, span // 4, span // 4, span])
    arrival = [(known[0] if t is None else t) + chance.randint(0, delay) for t in times]
    order = sorted(range(table.num_rows), key=lambda k: (arrival[k], chance.random()))
    return table.take(pa.array(order, pa.int64())), timedelta(microseconds=delay)


def _cut(table: pa.Table, files: int, chance: Random) -> list[pa.Table]:
    """The events in a limited number of files: each micro-batch takes about a second."""
    cuts = sorted({chance.randint(0, table.num_rows) for _ in range(files - 1)} - {0, table.num_rows})
    return [table.slice(start, end - start) for start, end in pairwise([0, *cuts, table.num_rows])]


def _last_event(table: pa.Table, time: str) -> pa.Table:
    """An event in the far future: no watermark ever passes it, so it is in no match."""
    at = pc.max(table[time]).as_py() + _FAR
    last = table.slice(table.num_rows - 1, 1)
    return last.set_column(table.column_names.index(time), time, pa.array([at], table.schema.field(time).type))


def _write_files(tables: Sequence[pa.Table], folder: FilePath) -> None:
    folder.mkdir(parents=True)
    before = clock.time() - 1000  # a stream reads files in the order of their times
    for k, table in enumerate(tables):
        file = folder / f"{k:05}.parquet"
        pq.write_table(_storable(table), file)
        os.utime(file, (before + k, before + k))


__all__ = [
    "match_batch",
    "match_stream",
    "rows_of",
    "run_spark",
    "spark_paths",
    "to_dataframe",
    "to_spark_types",
    "told",
]
