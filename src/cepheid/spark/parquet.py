"""Direct Parquet: tasks read the files of a plain scan themselves, so that events never cross from the JVM to Python.

They pack what they read into a blob for each bucket of keys; the blobs are shuffled, and one task matches each bucket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from urllib.parse import unquote, urlsplit
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.engine.times import ticks
from cepheid.pattern.schema import make_schema
from cepheid.pattern.types import Kind, from_arrow
from cepheid.spark.introspect import parallelism
from cepheid.spark.job import Job
from cepheid.spark.packing import code_type, pack, spans
from cepheid.spark.pushdown import Pushdown
from cepheid.spark.schemas import collated_columns, spark_schema
from cepheid.spark.worker import Batches, WorkerQuery

MOST_FILES = 2_000  # whose footers are read here, before anything runs
BUCKET_BYTES = 64 << 20
SAMPLE_ROWS = 1 << 14
LEAST_SHARE = 1 / 16
TASKS_PER_CORE = 2  # a task has costs of its own, and they are all alike
READ_ROWS = 1 << 18  # at once
PACK_ROWS = 1 << 20  # at once: the more, the fewer and larger the blobs


@dataclass(frozen=True, slots=True)
class Part:
    """Some row groups of a file."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Direct:
    """What the tasks read, and among how many buckets they divide it."""

    tasks: tuple[tuple[Part, ...], ...]
    files: int
    groups: int
    skipped: int
    buckets: int

    def __str__(self) -> str:
        kept = (
            f"{self.groups - self.skipped} of {self.groups} row groups" if self.skipped else f"{self.groups} row groups"
        )
        return f"{self.files} files, {kept}, read by {len(self.tasks)} tasks, matched in {self.buckets} buckets of keys"


class _Unfit(Exception):  # noqa: N818  a signal, not an error
    """Why tasks can't read the files themselves."""


def find(job: Job) -> Direct | str:
    """The files of a plain Parquet scan, or why Spark's own scan must read: any doubt is a reason."""
    try:
        relation = _relation(job)
        _check_settings(job)
        paths = _paths(relation)
        footers = {path: _footer(path) for path in paths}
        for path, footer in footers.items():
            _check_columns(path, footer, job)
        return _plan(job, footers)
    except _Unfit as reason:
        return str(reason)


def _relation(job: Job) -> Any:
    """The scan below a DataFrame, if nothing but a choice of columns is above it."""
    df = job.df
    if getattr(df, "_jdf", None) is None:
        raise _Unfit("the session is Spark Connect's, and the plan is not to be seen")
    if df.storageLevel.useMemory or df.storageLevel.useDisk:
        raise _Unfit("the DataFrame is cached")
    master = str(df.sparkSession.sparkContext.master)
    if not master.startswith("local[") and master != "local" and not job.options.direct:
        raise _Unfit(f"on {master} workers may not see the files of the driver; direct=True says that they do")
    plan = df._jdf.queryExecution().analyzed()
    given = plan
    while (name := plan.getClass().getSimpleName()) in ("SubqueryAlias", "View", "Project"):
        plan = plan.children().head()
    if name != "LogicalRelation":
        raise _Unfit(f"it is no plain Parquet scan: the plan has {name}")
    _check_output(given, plan, job.pushdown.columns)
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        raise _Unfit(f"it is no plain Parquet scan: it reads {relation.getClass().getSimpleName()}")
    _check_relation(relation)
    return relation


def _check_output(given: Any, scan: Any, needed: Sequence[str]) -> None:
    """A column is the file's own if it has kept its stream_fingerprint and its name."""

    def attributes(plan: Any) -> Iterator[tuple[str, int]]:
        output = plan.output()
        for k in range(output.size()):
            yield str(output.apply(k).name()), int(output.apply(k).exprId().id())

    own = set(attributes(scan))
    for name, number in attributes(given):
        if name in needed and (name, number) not in own:
            raise _Unfit(f"column {name} is computed or renamed above the scan")


_PLAIN_OPTIONS = frozenset({"path", "paths"})


def _check_relation(relation: Any) -> None:
    form = str(relation.fileFormat().getClass().getName())
    if form != "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat":
        raise _Unfit(f"the files are read as {form.rsplit('.', 1)[-1]}")
    index = str(relation.location().getClass().getSimpleName())
    if index != "InMemoryFileIndex":
        raise _Unfit(f"the files are listed by {index}")
    if relation.partitionSchema().length():
        raise _Unfit("the files are partitioned by directory")
    if relation.bucketSpec().isDefined():
        raise _Unfit("the table is bucketed")
    keys = relation.options().keysIterator()
    names = []
    while keys.hasNext():
        names.append(str(keys.next()))
    odd = sorted(name for name in names if name not in _PLAIN_OPTIONS)
    if odd:
        raise _Unfit(f"the scan has the option {odd[0]}")


_SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}
_REBASE = "spark.sql.parquet.datetimeRebaseModeInRead"


def _check_settings(job: Job) -> None:
    conf = job.df.sparkSession.conf
    for name, plain in _SETTINGS.items():
        found = str(conf.get(name, plain)).lower()
        if found != plain:
            raise _Unfit(f"{name} is {found}")
    if str(conf.get(_REBASE, "CORRECTED")).upper() == "LEGACY" and _has_dates(job.worker_query.event_schema):
        raise _Unfit(f"{_REBASE} is LEGACY")
    for name in sorted(collated_columns(job.df.schema) & set(job.pushdown.columns)):
        raise _Unfit(f"column {name} is CHAR, VARCHAR or collated")


def _has_dates(schema: pa.Schema) -> bool:
    return any(from_arrow(field.type).kind in (Kind.DATE, Kind.TIMESTAMP) for field in schema)


def _paths(relation: Any) -> list[str]:
    found = [urlsplit(str(uri)) for uri in relation.location().inputFiles()]
    for uri in found:
        if uri.scheme != "file":
            raise _Unfit(f"the files are on {uri.scheme or 'an unknown file system'}, not on a local disk")
    if len(found) > MOST_FILES:
        raise _Unfit(f"there are {len(found):,} files, and the footers of more than {MOST_FILES:,} are not looked at")
    return sorted(unquote(uri.path) for uri in found)


@dataclass(frozen=True, slots=True)
class _Footer:
    metadata: pq.FileMetaData
    schema: pa.Schema


def _footer(path: str) -> _Footer:
    try:
        with pq.ParquetFile(path) as file:
            return _Footer(file.metadata, file.schema_arrow)
    except (OSError, pa.ArrowException) as error:
        raise _Unfit(f"pyarrow can't read the footer of {_name(path)}: {_first_line(error)}") from None


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _check_columns(path: str, footer: _Footer, job: Job) -> None:
    names = [name.lower() for name in footer.schema.names]
    for field in job.worker_query.event_schema:
        if names.count(field.name.lower()) != 1 or field.name not in footer.schema.names:
            raise _Unfit(f"{_name(path)} has no single column {field.name}")
        found = footer.schema.field(field.name).type
        if not _alike(found, field.type):
            raise _Unfit(
                f"column {field.name} is {found} in {_name(path)}, and not read as {field.type} without a doubt"
            )
    metadata: Mapping[bytes, bytes] = footer.metadata.metadata or {}
    if _has_dates(job.worker_query.event_schema):
        if any(key.startswith(b"org.apache.spark.legacy") for key in metadata):
            raise _Unfit(f"{_name(path)} has dates of the old calendar")
        if metadata.get(b"org.apache.spark.version", b"3") < b"3":
            raise _Unfit(f"{_name(path)} is of a Spark before 3.0, which had another calendar")


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether pyarrow and Spark read the same values."""
    if isinstance(found, pa.DictionaryType):
        found = found.value_type
    if pa.types.is_large_string(found):
        found = pa.string()
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return bool(found.unit == wanted.unit and (found.tz is None) == (wanted.tz is None))
    return found == wanted and not pa.types.is_nested(found) and not pa.types.is_null(found)


def _plan(job: Job, footers: Mapping[str, _Footer]) -> Direct:
    """Row groups that may have a row of interest, in tasks of about the same size, in the order of the files."""
    where = job.pushdown.row_groups
    names = set(job.pushdown.columns)
    found: list[tuple[str, int, int]] = []
    groups = rows = 0
    for path, footer in footers.items():
        groups += footer.metadata.num_row_groups
        for group in _possible(path, footer, where):
            chunk = footer.metadata.row_group(group)
            if not chunk.num_rows:
                continue
            columns = [chunk.column(k) for k in range(chunk.num_columns)]
            size = sum(c.total_compressed_size for c in columns if c.path_in_schema in names)
            rows += chunk.num_rows
            found.append((path, group, size))
    cores = parallelism(job.df)
    each = sum(size for _, _, size in found) / (TASKS_PER_CORE * cores)
    tasks: list[list[tuple[str, int]]] = []
    room = 0.0
    for path, group, size in found:
        if room <= 0 or not tasks:
            tasks.append([])
            room += each
        tasks[-1].append((path, group))
        room -= size
    share = _share(job, found[len(found) // 2]) if found else 0.0
    size = rows * share * sum(_width(field.type) for field in job.worker_query.event_schema)
    buckets = job.options.partitions or max(2 * cores, math.ceil(size / BUCKET_BYTES))
    return Direct(tuple(map(_parts, tasks)), len(footers), groups, groups - len(found), buckets)


def _share(job: Job, group: tuple[str, int, int]) -> float:
    """Which part of the rows crosses, by a look at some: a bucket that turns out larger is matched in parts."""
    path, number, _ = group
    with pq.ParquetFile(path) as file:
        some = next(
            file.iter_batches(SAMPLE_ROWS, [number], columns=job.worker_query.event_schema.names, use_threads=False)
        )
    return max(int(job.pushdown.filter_batch(some).num_rows) / int(some.num_rows), LEAST_SHARE)


def _possible(path: str, footer: _Footer, where: pc.Expression | None) -> Sequence[int]:
    if where is None or not footer.metadata.num_row_groups:
        return range(footer.metadata.num_row_groups)
    form = pyarrow.dataset.ParquetFileFormat()
    fragment = form.make_fragment(path, pyarrow.fs.LocalFileSystem())
    return [group.id for group in fragment.subset(where, schema=footer.schema).row_groups]


def _parts(groups: Sequence[tuple[str, int]]) -> tuple[Part, ...]:
    by_path = groupby(groups, key=lambda found: found[0])
    return tuple(Part(path, tuple(group for _, group in own)) for path, own in by_path)


def _width(arrow: pa.DataType) -> int:
    try:
        return max(1, int(arrow.bit_width) // 8)
    except ValueError:
        return 16  # a string: a guess is enough


def run(job: Job, direct: Direct) -> DataFrame:
    """The matches of the events in the files."""
    spark, count = job.df.sparkSession, max(1, len(direct.tasks))
    worker_query, buckets = job.worker_query, direct.buckets
    tasks = spark.range(0, count, 1, count)
    blobs = tasks.mapInArrow(_reading(worker_query, direct, job.partitioning.key, job.pushdown), BLOBS)
    if hasattr(blobs, "repartitionById"):
        placed = blobs.repartitionById(buckets, F.col("bucket"))
    else:
        placed = blobs.repartition(buckets, "bucket")
    ordered = placed.sortWithinPartitions("bucket", "low")
    return ordered.mapInArrow(_matching(worker_query, job.partitioning.key), spark_schema(worker_query.match_schema))


BLOBS = "bucket int, low long, blob binary"
_ARROW_BLOBS = pa.schema([("bucket", pa.int32()), ("low", pa.int64()), ("blob", pa.binary())])


def _reading(
    worker_query: WorkerQuery, direct: Direct, key: Sequence[str], pushed: Pushdown
) -> Callable[[Batches], Batches]:
    """The function of the tasks that read: a blob for each bucket, with its least time."""

    def cepheid_read_parquet(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                parts = direct.tasks[number] if number < len(direct.tasks) else ()
                for table in gathered(read(parts, worker_query, key, pushed)):
                    yield _packed(table, worker_query, key, direct.buckets)

    return cepheid_read_parquet


def read(parts: Iterable[Part], worker_query: WorkerQuery, key: Sequence[str], pushed: Pushdown) -> Iterator[pa.Table]:
    """The rows of interest, with words that come again and again as codes."""
    names = worker_query.event_schema.names
    coded = _coded(worker_query, key)
    for part in parts:
        with pq.ParquetFile(part.path, read_dictionary=coded) as file:
            for batch in file.iter_batches(READ_ROWS, list(part.groups), columns=names, use_threads=False):
                yield pa.Table.from_batches([pushed.filter_batch(batch)]).select(names)


def _coded(worker_query: WorkerQuery, key: Sequence[str]) -> list[str]:
    """Columns of few words that come again and again, which are left as codes all the way."""
    names = dict.fromkeys([worker_query.query._roles.type, *key])
    return [name for name in names if name and pa.types.is_string(worker_query.event_schema.field(name).type)]


def gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Enough rows at once that blobs are not many and small."""
    waiting: list[pa.Table] = []
    for table in tables:
        if table.num_rows:
            waiting.append(table)
        if sum(t.num_rows for t in waiting) >= PACK_ROWS:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _packed(table: pa.Table, worker_query: WorkerQuery, key: Sequence[str], count: int) -> pa.RecordBatch:
    table = table.unify_dictionaries().combine_chunks()
    buckets = bucket_numbers(table, key, count)
    times = ticks(make_schema(worker_query.event_schema, worker_query.query._roles), table)
    lows, _, _ = spans(buckets, times)
    blobs = dict(pack(narrowed(table), buckets))
    columns = [list(blobs), lows[list(blobs)], list(blobs.values())]
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, _ARROW_BLOBS, strict=True)], _ARROW_BLOBS)


_OFFSET = b"offset"
_NARROW = ((2**8, pa.uint8()), (2**16, pa.uint16()), (2**32, pa.uint32()))


def narrowed(table: pa.Table) -> pa.Table:
    """Whole numbers and times in as few bytes as hold their distance from the least: each byte is moved six times."""
    for k, field in enumerate(table.schema):
        column = table.column(k)
        if isinstance(field.type, pa.DictionaryType):
            chunks = [_narrow_codes(chunk) for chunk in column.chunks]
            table = table.set_column(k, field.with_type(chunks[0].type), pa.chunked_array(chunks))
        elif from_arrow(field.type).kind in (Kind.INT, Kind.TIMESTAMP) and field.type.bit_width == 64:
            numbers = column.cast(pa.int64())
            ends = pc.min_max(numbers).as_py()
            if ends["min"] is None:
                continue
            wanted = next((arrow for size, arrow in _NARROW if ends["max"] - ends["min"] < size), None)
            if wanted is not None:
                told = field.with_type(wanted).with_metadata({_OFFSET: str(ends["min"]).encode()})
                table = table.set_column(k, told, pc.subtract(numbers, ends["min"]).cast(wanted))
    return table


def _narrow_codes(codes: pa.DictionaryArray) -> pa.DictionaryArray:
    return _codes_as(codes, code_type(len(codes.dictionary)))


_ODD = np.uint64(0x9E3779B97F4A7C15)


def bucket_numbers(table: pa.Table, key: Sequence[str], count: int) -> Any:
    """The bucket of each row: the same in every process, and for all values that are equal to the engine."""
    mixed = np.zeros(table.num_rows, np.uint64)
    for name in key:
        mixed = (mixed ^ _numbers(table.column(name))) * _ODD
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(count)).astype(np.int64)


def _numbers(column: pa.ChunkedArray) -> Any:
    """Each value as 64 bits. NULLs are alike; 0.0 and -0.0 are, and all NaN are."""
    kind = from_arrow(column.type).kind
    if kind is Kind.FLOAT:
        found = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0
        return np.where(np.isnan(found), np.nan, found).view(np.uint64)
    if kind in (Kind.INT, Kind.BOOL, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION):
        if kind is Kind.DATE:
            column = column.cast(pa.int32())
        return column.cast(pa.int64()).fill_null(0).to_numpy().view(np.uint64)
    coded = column.combine_chunks() if isinstance(column.type, pa.DictionaryType) else column.dictionary_encode()
    coded = pa.chunked_array([coded]) if isinstance(coded, pa.Array) else coded
    parts = [_of_words(chunk) for chunk in coded.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _of_words(codes: pa.DictionaryArray) -> Any:
    words = codes.dictionary
    if not pa.types.is_binary(words.type):
        words = words.cast(pa.string()).cast(pa.binary())
    numbers = np.array([0 if word is None else crc32(word) for word in words.to_pylist()] + [0], np.uint64)
    return numbers[codes.indices.fill_null(len(words)).to_numpy()]


def _matching(worker_query: WorkerQuery, key: Sequence[str]) -> Callable[[Batches], Batches]:
    """The function of the tasks that match: blobs come by bucket, in the order of their least times."""

    def cepheid_match_buckets(batches: Batches) -> Batches:
        coded = coded_work(worker_query, key)
        rows = (row for batch in batches for row in _rows(batch))
        for _, own in groupby(rows, key=lambda row: row[0]):
            for table in coded.match((low, unpacked(blob, coded.event_schema)) for _, low, blob in own):
                yield from table.to_batches()

    return cepheid_match_buckets


def coded_work(worker_query: WorkerQuery, key: Sequence[str]) -> WorkerQuery:
    """The same with words as codes."""
    events = worker_query.event_schema
    for name in _coded(worker_query, key):
        k = events.get_field_index(name)
        events = events.set(k, events.field(k).with_type(pa.dictionary(pa.int32(), pa.string())))
    return replace(worker_query, event_schema=events)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[int, int, Any]]:
    blobs = batch.column("blob")
    lows = batch.column("low").to_pylist()
    for k, bucket in enumerate(batch.column("bucket").to_pylist()):
        yield bucket, lows[k], blobs[k].as_buffer()


def unpacked(blob: Any, events: pa.Schema) -> pa.Table:
    """The events of a blob."""
    table = pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
    columns = []
    for field, wanted in zip(table.schema, events, strict=True):
        column = table.column(field.name)
        if _OFFSET in (field.metadata or {}):
            column = pc.add(column.cast(pa.int64()), pa.scalar(int(field.metadata[_OFFSET]), pa.int64()))
        if isinstance(wanted.type, pa.DictionaryType):
            chunks = [_codes_as(chunk, wanted.type.index_type) for chunk in column.chunks]
            column = pa.chunked_array(chunks, wanted.type)
        columns.append(column.cast(wanted.type))
    return pa.table(columns, schema=events)


def _codes_as(codes: pa.DictionaryArray, index: pa.DataType) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(codes.indices.cast(index), codes.dictionary)
