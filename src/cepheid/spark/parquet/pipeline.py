"""A direct scan as Spark runs it: tasks that read and pack, a shuffle of blobs by bucket, tasks that match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.engine.encoding.times import ticks
from cepheid.engine.stream.operations import read_signs
from cepheid.spark.codes import CODES, with_codes
from cepheid.spark.job import Job
from cepheid.spark.packing import pack
from cepheid.spark.parquet.assign import DirectScan, RowGroups
from cepheid.spark.parquet.buckets import bucket_numbers
from cepheid.spark.parquet.encoding import narrow, widen
from cepheid.spark.pushdown import Pushdown
from cepheid.spark.schemas import spark_schema
from cepheid.spark.signs import SIGN_FIELD, without_signs
from cepheid.spark.unmet import unmet_report
from cepheid.spark.worker import Batches, Report, UnmetRetractions, WorkerQuery

READ_ROWS = 1 << 18
"""Rows that are read together."""

PACK_ROWS = 1 << 20
"""Rows that are packed together: the more, the fewer and larger the blobs."""

BLOBS = pa.schema([("bucket", pa.int32()), ("low", pa.int64()), ("blob", pa.binary())])
"""A blob of events with its bucket and its first time in ticks."""


def match_files(job: Job, direct: DirectScan) -> DataFrame:
    """Return the matches of the events in the files."""
    worker_query = with_codes(job.worker_query)
    key = [name for (name,) in job.partitioning.key]  # nested columns are not read directly
    count = max(1, len(direct.tasks))
    tasks = job.df.sparkSession.range(0, count, 1, count).withColumn("files", F.lit(direct.names()))  # for the plan
    blobs = tasks.mapInArrow(file_reader(worker_query, direct, key, job.pushdown), spark_schema(BLOBS))
    if hasattr(blobs, "repartitionById"):
        placed = blobs.repartitionById(direct.buckets, F.col("bucket"))
    else:
        placed = blobs.repartition(direct.buckets, "bucket")
    ordered = placed.sortWithinPartitions("bucket", "low")
    matcher = bucket_matcher(worker_query, unmet_report(job))
    return ordered.mapInArrow(matcher, spark_schema(worker_query.match_schema))


def file_reader(
    worker_query: WorkerQuery, direct: DirectScan, key: Sequence[str], pushdown: Pushdown
) -> Callable[[Batches], Batches]:
    """Make the function of the tasks that read: from the number of a task to blobs, one for each bucket."""

    def cepheid_read_parquet(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                groups = direct.tasks[number] if number < len(direct.tasks) else ()
                for table in _gathered(_read(groups, worker_query, pushdown)):
                    yield _packed(table, worker_query, key, direct.buckets)

    return cepheid_read_parquet


def _read(files: Iterable[RowGroups], worker_query: WorkerQuery, pushdown: Pushdown) -> Iterator[pa.Table]:
    """Yield the rows that are needed. A file has codes of its strings, and sends them as such."""
    events, op = worker_query.event_schema, worker_query.op
    encoded = [field.name for field in events if field.type == CODES]
    names = [*events.names, *([] if op is None else [op])]
    for groups in files:
        with pq.ParquetFile(groups.path, read_dictionary=encoded) as file:
            for batch in file.iter_batches(READ_ROWS, list(groups.numbers), columns=names, use_threads=False):
                table = pa.Table.from_batches([pushdown.filter_batch(batch)])
                rows = table.select(events.names)
                if op is not None:
                    rows = rows.append_column(SIGN_FIELD, pa.array(read_signs(table.column(op), op)))
                yield rows


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Concatenate small tables until there are enough rows to pack."""
    buffered: list[pa.Table] = []
    for table in tables:
        if table.num_rows:
            buffered.append(table)
        if sum(t.num_rows for t in buffered) >= PACK_ROWS:
            yield pa.concat_tables(buffered)
            buffered = []
    if buffered:
        yield pa.concat_tables(buffered)


def _packed(table: pa.Table, worker_query: WorkerQuery, key: Sequence[str], count: int) -> pa.RecordBatch:
    table = table.unify_dictionaries().combine_chunks()
    buckets = bucket_numbers(table, key, count)
    blobs = pack(narrow(table), ticks(worker_query.schema, table), buckets)
    columns = zip(*((bucket, events.low, events.blob) for bucket, events in blobs), strict=True)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, BLOBS, strict=True)], BLOBS)


def bucket_matcher(worker_query: WorkerQuery, report: Report | None = None) -> Callable[[Batches], Batches]:
    """Make the function of the tasks that match: blobs arrive by bucket, in the order of their first times."""

    def cepheid_match_buckets(batches: Batches) -> Batches:
        columns = worker_query.event_schema
        if worker_query.op is not None:
            columns = columns.append(SIGN_FIELD)
        unmet = UnmetRetractions()
        for _, blobs in groupby(_blobs(batches), key=lambda row: row[0]):
            changes = (without_signs(widen(blob, columns)) for _, blob in blobs)
            for table in worker_query.match(worker_query.arrivals(changes, unmet.counted())):
                yield from table.to_batches()
        unmet.send(report)

    return cepheid_match_buckets


def _blobs(batches: Batches) -> Iterator[tuple[int, pa.Buffer]]:
    for batch in batches:
        for bucket, blob in zip(batch.column("bucket").to_pylist(), batch.column("blob"), strict=True):
            yield bucket, blob.as_buffer()
