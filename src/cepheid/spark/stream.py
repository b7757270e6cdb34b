"""Streams: events packed by bucket of their keys, a stateful operator over the buckets, matches unpacked.

Rows cross into the stateful operator as a handful of blobs, since it would loop over rows in Python. Which operator
that is, is known in this file alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from cepheid.api import Query
from cepheid.engine.times import ticks
from cepheid.errors import UsageError
from cepheid.pattern.schema import make_schema
from cepheid.spark.checks import check_stream
from cepheid.spark.job import Job
from cepheid.spark.names import column_named, rename_for_python
from cepheid.spark.outputs import match_schema, output_number
from cepheid.spark.packing import pack, spans, unpack, write
from cepheid.spark.progress import COUNTERS, OBSERVATION
from cepheid.spark.schemas import spark_schema
from cepheid.spark.state import Bucket, BucketCache, Given, Packed, StreamFingerprint, introduced, stream_fingerprint
from cepheid.spark.worker import Batches, WorkerQuery

BUCKETS = 64
"""The most parts of the keys, unless the user says otherwise."""
CONTROL = 0
"""The slot without events, which every micro-batch has: it tells a foreign checkpoint at once."""

_BUCKET = "__cepheid_bucket"
_ENOUGH = 262_144  # rows that are packed at once: the more, the fewer and larger the blobs
_TIMES = ("low", "high", "rows")
_PACKED = pa.schema([("slot", pa.int32()), ("blob", pa.binary()), *((name, pa.int64()) for name in _TIMES)])
_HEADER = st.StructType([st.StructField("header", st.BinaryType())])
_NAME = st.StructType([st.StructField("name", st.StringType())])
_PART = st.StructType([st.StructField("part", st.BinaryType())])


def match(job: Job) -> DataFrame:
    """The matches as a streaming DataFrame."""
    check_stream(job.df, job.time)
    key, worker_query = job.partitioning.key, job.worker_query
    buckets = bucket_count(job)
    rows = job.events.select("*", bucket_of(worker_query.event_schema, key, buckets).alias(_BUCKET))
    packed = rename_for_python(rows).mapInArrow(packer(worker_query), spark_schema(_PACKED))
    processor = cepheid_match(worker_query, stream_fingerprint(worker_query, buckets), job.options.late)
    given = packed.groupBy("slot").transformWithStateInPandas(
        processor, spark_schema(_GIVEN), outputMode="Append", timeMode="EventTime"
    )
    told = given.observe(OBSERVATION, *(F.sum(name).alias(name) for name in COUNTERS))
    return told.select("blob").mapInArrow(unpacker(worker_query), spark_schema(worker_query.match_schema))


def bucket_count(job: Job) -> int:
    """One for each task of the stateful operator: buckets are spread evenly, and each costs a call and its state."""
    if not job.partitioning.key:
        return 1
    tasks = int(job.df.sparkSession.conf.get("spark.sql.shuffle.partitions") or BUCKETS)
    return job.options.buckets or min(BUCKETS, tasks)


def bucket_of(events: pa.Schema, key: tuple[str, ...], buckets: int) -> Column:
    """The bucket of an event: events whose keys are equal by our rules have the same."""
    if not key:
        return F.lit(0)
    columns = []
    for name in key:
        column = column_named(name)
        if pa.types.is_floating(events.field(name).type):
            column = F.when(F.isnan(column), F.lit(float("nan"))).otherwise(column + F.lit(0.0))  # -0.0 is 0.0
        columns.append(column)
    return F.pmod(F.xxhash64(*columns), F.lit(buckets)).cast("int")


def slot(bucket: int) -> int:
    """The number whose hash is a bucket's: so Spark, which goes by hashes, spreads buckets evenly over its partitions.

    It is Spark's hash of an integer, Murmur3 with the seed 42, step by step back.
    """
    value = bucket & _ALL
    value ^= value >> 16
    value = value * pow(0xC2B2AE35, -1, 2**32) & _ALL
    value ^= (value >> 13) ^ (value >> 26)
    value = value * pow(0x85EBCA6B, -1, 2**32) & _ALL
    value ^= value >> 16
    value = ((value ^ 4) - 0xE6546B64) * pow(5, -1, 2**32) & _ALL
    value = (value >> 13 | value << 19) & _ALL
    value = (value ^ 42) * pow(0x1B873593, -1, 2**32) & _ALL
    value = (value >> 15 | value << 17) & _ALL
    value = value * pow(0xCC9E2D51, -1, 2**32) & _ALL
    return value - 2**32 if value >= 2**31 else value


_ALL = 2**32 - 1


def packer(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """The function that makes blobs of rows."""

    schema = make_schema(worker_query.event_schema, worker_query.query._roles)

    def packed(waiting: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(waiting)
        buckets, events = table.column(_BUCKET).to_numpy(), worker_query.conform(table)
        blobs = dict(pack(events, buckets, dense=True))
        lows, highs, counts = spans(buckets, ticks(schema, events))
        columns = [map(slot, blobs), blobs.values(), *(numbers[list(blobs)] for numbers in (lows, highs, counts))]
        return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, _PACKED, strict=True)], schema=_PACKED)

    def cepheid_pack(batches: Batches) -> Batches:
        yield pa.record_batch(
            [pa.array([CONTROL if f.name == "slot" else None], f.type) for f in _PACKED], schema=_PACKED
        )
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            if batch.num_rows:
                waiting.append(batch)
                rows += batch.num_rows
            if rows >= _ENOUGH:
                yield packed(waiting)
                waiting, rows = [], 0
        if waiting:
            yield packed(waiting)

    return cepheid_pack


_GIVEN = pa.schema([("blob", pa.binary()), *((name, pa.int64()) for name in COUNTERS)])


class PartCache:
    """Parts of states in files of the application on this machine: to read one from Spark's store takes far longer.

    They are asked for by the digest that the store's header has of them. So it does not matter who wrote them, for
    which task, and whether they are there at all.
    """

    def __init__(self) -> None:
        first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
        self.folder = os.path.join(first, "cepheid") if first else ""

    def get(self, digest: str) -> bytes | None:
        """A part, if it is there and whole."""
        try:
            with open(os.path.join(self.folder, digest), "rb") as file:
                found = file.read()
        except OSError:
            return None
        part = found[_SEAL:]
        return part if blake2b(part, digest_size=_SEAL).digest() == found[:_SEAL] else None

    def put(self, digest: str, part: bytes) -> None:
        """Keep a part, if there is a place for it."""
        if not self.folder:
            return
        path = os.path.join(self.folder, digest)
        draft = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with open(draft, "wb") as file:
                file.write(blake2b(part, digest_size=_SEAL).digest())
                file.write(part)
            os.replace(draft, path)
        except OSError:  # such as a full disk
            self.drop(f"{digest}.{os.getpid()}")

    def drop(self, digest: str) -> None:
        """A part that is needed no more."""
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, digest))


_SEAL = 16


class HandleStore:
    """Spark's state of the bucket at hand."""

    def __init__(self, handle: Any) -> None:
        self.value = handle.getValueState("header", _HEADER)
        self.map = handle.getMapState("parts", _NAME, _PART)
        self.near = PartCache()

    def header(self) -> bytes | None:
        """The header, if there is one."""
        found = self.value.get()
        return None if found is None else bytes(found[0])

    def put_header(self, header: bytes) -> None:
        """Another header."""
        self.value.update((header,))

    def part(self, name: str, digest: str) -> bytes | None:
        """A part."""
        near = self.near.get(digest)
        if near is not None:
            return near
        found = self.map.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, part: bytes, digest: str) -> None:
        """A part, in place of the one of that name."""
        self.map.updateValue((name,), (part,))
        self.near.put(digest, part)

    def drop(self, name: str, digest: str) -> None:
        """Remove a part."""
        self.map.removeKey((name,))
        self.near.drop(digest)


_BUCKETS = BucketCache(room=256 << 20)
"""What this worker remembers of the buckets that it had."""


class cepheid_match(StatefulProcessor):  # noqa: N801 - the Spark UI shows the name
    """Events of buckets in, matches out."""

    def __init__(self, worker_query: WorkerQuery, own: StreamFingerprint, late: str) -> None:
        self.worker_query = worker_query
        self.own = own
        self.late = late

    def init(self, handle: Any) -> None:
        """Before the first bucket of a task."""
        self.handle = handle
        self.store = HandleStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The blobs of a bucket."""
        if key[0] == CONTROL:
            control(self.store, self.worker_query, self.own)
            return
        packed = [
            (row.blob, int(row.low), int(row.high), int(row.rows)) for frame in rows for row in frame.itertuples()
        ]
        yield from self.run(key[0], packed, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The watermark has passed what a bucket waits for."""
        yield from self.run(key[0], [], timerValues)

    def close(self) -> None:
        """After the last bucket of a task."""

    def run(self, number: int, packed: list[Packed], times: Any) -> Iterator[Any]:
        """Take events in up to the watermark."""
        # Before the first watermark Spark says 0, so that events of before 1970 wait until others come.
        watermark = times.getCurrentWatermarkInMs()
        bucket = _BUCKETS.take(self.worker_query, self.own, number, self.store)
        given = bucket.take(packed, watermark if watermark > 0 else None, self.late)
        due = bucket.due()
        if due != bucket.timer:
            if bucket.timer is not None and (packed or bucket.timer > watermark):
                self.handle.deleteTimer(bucket.timer)
            if due is not None:
                self.handle.registerTimer(due)
            bucket.timer = due
        bucket.save(self.store)
        stats = None if bucket.session is None else bucket.session.stats
        counters = {
            "events": given.events,
            "runs": 0 if stats is None else stats.runs,
            "state_bytes": bucket.size,
            "matches": 0,
            "late": given.late,
        }
        yield from frames(self.worker_query, given, counters)
        _BUCKETS.put(bucket, number, bucket.size + (0 if stats is None else stats.state_bytes))


def frames(worker_query: WorkerQuery, given: Given, counters: dict[str, int]) -> Iterator[Any]:
    """What a call gave, as Spark takes it: matches in blobs, since pandas has no nested columns."""
    import pandas as pd

    for table in worker_query.tables(given.matches) if given.matches is not None else ():
        yield pd.DataFrame([{"blob": write(table), **counters, "matches": table.num_rows}])
        counters = dict.fromkeys(counters, 0)
    if any(counters.values()):
        yield pd.DataFrame([{"blob": None, **counters}])


def control(store: HandleStore, worker_query: WorkerQuery, own: StreamFingerprint) -> None:
    """Refuse a foreign checkpoint; a new one is told what it is of."""
    bucket = Bucket(worker_query, own)
    if not bucket.load(store):
        bucket.introduce(store)


def unpacker(worker_query: WorkerQuery) -> Callable[[Batches], Batches]:
    """The function that makes rows of blobs."""

    def cepheid_unpack(batches: Batches) -> Batches:
        for batch in batches:
            for blob in batch.column(0):
                if blob.is_valid:
                    yield from unpack(blob.as_buffer()).cast(worker_query.match_schema).to_batches()

    return cepheid_unpack


# What is still to come when a stream has ended.


class RowsStore:
    """The state of a bucket in rows that Spark has read from a checkpoint."""

    def __init__(self, found: dict[str, bytes]) -> None:
        self.found = found

    def header(self) -> bytes | None:
        """The header."""
        return self.found.get("")

    def part(self, name: str, digest: str) -> bytes | None:
        """A part."""
        return self.found.get(f"/{name}")

    def put_header(self, header: bytes) -> None:
        """A checkpoint is only read here."""
        raise NotImplementedError

    def put(self, name: str, part: bytes, digest: str) -> None:
        """A checkpoint is only read here."""
        raise NotImplementedError

    def drop(self, name: str, digest: str) -> None:
        """A checkpoint is only read here."""
        raise NotImplementedError


def pending(spark: SparkSession, query: Query, checkpoint: str, *, output: str | None = None) -> DataFrame:
    """What would match if a stream ended where its checkpoint is: absences, and events not before the watermark.

    The stream goes on as if it had not been asked.
    """
    try:
        streams = [(number, _introduction(spark, checkpoint, number)) for number in _operators(spark, checkpoint)]
    except PySparkException as error:
        raise _no_state(checkpoint, str(error).split("\n", 1)[0]) from None
    known = [(number, found) for number, found in streams if found is not None]
    if not known:
        raise _no_state(checkpoint, "no stream of a query has run")
    # A stream may have several operators: of the one that is ours, whatever is wrong is told.
    fitting = [(number, found) for number, found in known if found[0].query == query._fingerprint()]
    number, (own, events) = (fitting or known)[0]
    worker_query = WorkerQuery(query, events, match_schema(query, events, output), output_number(query, output))
    stream_fingerprint(worker_query, own.buckets).check(asdict(own))
    rows = _read(spark, checkpoint, number, "header").selectExpr("key.slot", "'' AS name", "value.header AS value")
    parts = _read(spark, checkpoint, number, "parts")
    rows = rows.union(parts.selectExpr("key.slot", "concat('/', user_map_key.name)", "user_map_value.part"))
    return rows.repartition("slot").mapInArrow(closer(worker_query, own), spark_schema(worker_query.match_schema))


def _introduction(spark: SparkSession, checkpoint: str, operator: int) -> tuple[StreamFingerprint, pa.Schema] | None:
    headers = _read(spark, checkpoint, operator, "header").where(F.col("key.slot") == CONTROL)
    found = headers.select("value.header").collect()
    return introduced(bytes(found[0][0])) if found else None


def _no_state(checkpoint: str, reason: str) -> UsageError:
    message = f"'{checkpoint}' has no state of the query: {reason}"
    return UsageError("CEP905", message, "pass the checkpoint location of a stream of this query that has run")


def _operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """The numbers of the operators that can be ours."""
    rows = spark.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorName").distinct()
    return sorted(row[0] for row in rows.collect() if "transformWithState" in row[1])


def _read(spark: SparkSession, checkpoint: str, operator: int, variable: str) -> DataFrame:
    reader = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", variable)
    return reader.load(checkpoint)


def closer(worker_query: WorkerQuery, own: StreamFingerprint) -> Callable[[Batches], Batches]:
    """The function that ends the streams of some buckets."""

    def cepheid_pending(batches: Batches) -> Batches:
        states: dict[int, dict[str, bytes]] = {}
        for batch in batches:
            for slot_, name, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                states.setdefault(slot_, {})[name] = value
        for found in states.values():
            bucket = Bucket(worker_query, own)
            bucket.load(RowsStore(found))
            for table in worker_query.tables(bucket.close()):
                yield from table.to_batches()

    return cepheid_pending
