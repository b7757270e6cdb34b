"""Matches that are still in the checkpoint of a stream that has stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.api import Query
from cepheid.errors import CepheidError, UsageError
from cepheid.spark.codes import without_codes
from cepheid.spark.outputs import match_schema, output_number
from cepheid.spark.schemas import spark_schema
from cepheid.spark.state.change_bucket import open_bucket
from cepheid.spark.state.control import ControlHeader, read_control_header
from cepheid.spark.state.fingerprint import StreamFingerprint, stream_fingerprint
from cepheid.spark.stream.buckets import CONTROL
from cepheid.spark.stream.change_options import no_long_changes
from cepheid.spark.worker import Batches, WorkerQuery


def pending(
    spark: SparkSession,
    query: Query,
    checkpoint: str,
    *,
    output: str | None = None,
    long: bool = False,
    migrate: bool = False,
) -> DataFrame:
    """Return what would match if a stream ended where its checkpoint is.

    These are matches with events that the watermark has not passed, and absences whose window is still open.
    The checkpoint is only read: the stream can be started again, and then returns these matches itself.
    Of a stream with `speculate` they are changes, which belong to those that it has returned.

    migrate: whether the state may be that of a query with another RETURN or other constants.
    """
    try:
        ours = control_headers(spark, checkpoint)
    except PySparkException as error:
        raise no_state(checkpoint, str(error).split("\n", 1)[0]) from None
    if not ours:
        raise no_state(checkpoint, "no stream of a query has run")
    # A streaming query may have several operators. If none is of this query, the check below says what differs.
    fitting = {n: control for n, control in ours.items() if _is_of(control.fingerprint, query)}
    number, control = next(iter((fitting or ours).items()))
    fingerprint, events = control.fingerprint, control.event_schema
    op, speculate, sequence = fingerprint.op, fingerprint.speculate, fingerprint.sequence
    query = query.sequenced(sequence if fitting else None)
    if long and speculate is not None:
        raise no_long_changes()
    changed = {"changes": speculate is not None, "control": fingerprint.control}
    matches = match_schema(query, without_codes(events), output, long=long, **changed)
    number_of = output_number(query, output)
    worker_query = WorkerQuery(
        query,
        events,
        matches,
        number_of,
        long=long,
        op=op,
        speculate=speculate,
        sequence=sequence,
        control=fingerprint.control,
    )
    stream_fingerprint(worker_query, fingerprint.buckets).check(asdict(fingerprint), by_shape=migrate)
    closer = bucket_closer(worker_query, fingerprint, by_shape=migrate or control.migrated)
    states = slot_states(spark, checkpoint, number).repartition("slot")
    return states.mapInArrow(closer, spark_schema(worker_query.match_schema))


def slot_states(spark: SparkSession, checkpoint: str, operator: int) -> DataFrame:
    """Return the state of all slots as rows: the header under "", and each part under a slash and its name."""
    headers = _read(spark, checkpoint, operator, "header")
    headers = headers.selectExpr("key.slot", "'' AS name", "value.header AS value")
    parts = _read(spark, checkpoint, operator, "parts")
    return headers.union(parts.selectExpr("key.slot", "concat('/', user_map_key.name)", "user_map_value.part"))


def bucket_states(spark: SparkSession, checkpoint: str, operator: int, slot: int) -> dict[str, bytes]:
    """Return the state of one slot."""
    rows = slot_states(spark, checkpoint, operator).where(F.col("slot") == slot).collect()
    return {row["name"]: bytes(row["value"]) for row in rows}


def _is_of(fingerprint: StreamFingerprint, query: Query) -> bool:
    """Tell whether a stream is of a query, as far as its text says."""
    with suppress(CepheidError):  # a query that can't have a sequence
        return fingerprint.query == query.sequenced(fingerprint.sequence).compiled.fingerprint
    return False


def claims(
    spark: SparkSession, checkpoint: str | None, fingerprint: StreamFingerprint, *, migrate: bool = False
) -> bool:
    """Raise CEP905 if a checkpoint belongs to another stream; return whether other queries of its shape had it before.

    A micro-batch checks that too, but there is none before there are new events.
    """
    try:
        ours = {} if checkpoint is None else control_headers(spark, checkpoint)
    except PySparkException:  # nothing has been committed there yet
        return False
    if not ours:
        return False
    same = next((control for control in ours.values() if control.fingerprint.query == fingerprint.query), None)
    control = same or next(iter(ours.values()))
    fingerprint.check(asdict(control.fingerprint), by_shape=migrate)
    return control.migrated


def control_headers(spark: SparkSession, checkpoint: str) -> dict[int, ControlHeader]:
    """Return what the control headers say of the streams that stateful operators have run, by their ids."""
    by_operator = {}
    for operator in _operators(spark, checkpoint):
        headers = _read(spark, checkpoint, operator, "header").where(F.col("key.slot") == CONTROL)
        rows = headers.select("value.header").collect()
        if rows:
            by_operator[operator] = read_control_header(bytes(rows[0][0]))
    return by_operator


def no_state(checkpoint: str, reason: str) -> UsageError:
    """Make the error for a checkpoint without a stream of ours."""
    message = f"'{checkpoint}' has no state of the query: {reason}"
    return UsageError("CEP905", message, "pass the checkpoint location of a stream of this query that has run")


def _operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """Return the ids of the stateful operators that may be ours."""
    rows = spark.read.format("state-metadata").load(checkpoint).select("operatorId", "operatorName").distinct()
    return sorted(row[0] for row in rows.collect() if "transformWithState" in row[1])


def _read(spark: SparkSession, checkpoint: str, operator: int, variable: str) -> DataFrame:
    reader = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", variable)
    return reader.load(checkpoint)


class CheckpointStore:
    """The state of one bucket in rows that Spark has read from a checkpoint. It cannot be written.

    rows: the header under "", and each part under a slash and its name.
    """

    def __init__(self, rows: dict[str, bytes]) -> None:
        self.rows = rows

    def header(self) -> bytes | None:
        """Return the header of the state, or None if there is no state."""
        return self.rows.get("")

    def part(self, name: str, digest: str) -> bytes | None:
        """Return a part, or None if it is missing."""
        return self.rows.get(f"/{name}")

    def put_header(self, header: bytes) -> None:
        """Raise, because a checkpoint is only read here."""
        raise NotImplementedError

    def put(self, name: str, part: bytes, digest: str) -> None:
        """Raise, because a checkpoint is only read here."""
        raise NotImplementedError

    def drop(self, name: str, digest: str) -> None:
        """Raise, because a checkpoint is only read here."""
        raise NotImplementedError


def bucket_closer(
    worker_query: WorkerQuery, fingerprint: StreamFingerprint, *, by_shape: bool
) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that loads buckets from rows of state, and ends their streams."""

    def cepheid_pending(batches: Batches) -> Batches:
        states: dict[int, dict[str, bytes]] = {}
        for batch in batches:
            for slot, name, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                states.setdefault(slot, {})[name] = value
        for slot, state in states.items():
            bucket = open_bucket(worker_query, fingerprint, by_shape=by_shape)
            bucket.load(CheckpointStore(state))
            place = slot if fingerprint.buckets > 1 else None
            for table in worker_query.tables(bucket.close(), bucket=place):
                yield from table.to_batches()

    return cepheid_pending
