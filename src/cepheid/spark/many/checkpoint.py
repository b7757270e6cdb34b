"""What the checkpoint of a stream of many queries has: its rules, and matches that are still pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepheid.api.hosting import SharedOptions, read_rule_set
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.stream.snapshot import from_bytes
from cepheid.errors import UsageError
from cepheid.spark.many.bucket import ManyBuckets
from cepheid.spark.state.control import ControlHeader
from cepheid.spark.state.parts import read_chunk
from cepheid.spark.stream.buckets import CONTROL
from cepheid.spark.stream.checkpoint import CheckpointStore, bucket_states, control_headers, no_state
from cepheid.spark.worker import Batches

if TYPE_CHECKING:
    from cepheid.api import Queries


def stored_stream(spark: SparkSession, checkpoint: str) -> tuple[int, ControlHeader] | None:
    """The operator of many queries that a checkpoint has, and what its control header says; None if there is none."""
    try:
        headers = control_headers(spark, checkpoint)
    except PySparkException:  # nothing has been committed there yet
        return None
    if not headers:
        return None
    return next((header for header in headers.items() if header[1].fingerprint.many), next(iter(headers.items())))


def stored_body(spark: SparkSession, checkpoint: str, number: int, control: ControlHeader) -> bytes:
    """The rules that a checkpoint has, as they were shipped."""
    store = CheckpointStore(bucket_states(spark, checkpoint, number, CONTROL))
    return b"".join(read_chunk(store, digest, size) for digest, size in control.rules)


def stored_rules(body: bytes, like: Queries) -> RuleSet:
    """The rules of a checkpoint. like: queries with the same options."""
    header, source = from_bytes(body)
    options: SharedOptions = like.options
    known = RuleSet(like.rules.templates, (), pa.array([], pa.string()), options.roles)
    try:
        return read_rule_set(header["rules"], source, known, options)
    except UsageError as error:
        remedy = "start the stream with a new checkpoint location, or restore the functions, params= and column roles"
        raise UsageError("CEP905", error.message.replace("the snapshot", "the checkpoint"), remedy) from None


def closer(many: ManyBuckets) -> Callable[[Batches], Batches]:
    """Make the function for `mapInArrow` that loads buckets from rows of state, and ends their streams."""

    def cepheid_pending_many(batches: Batches) -> Batches:
        states: dict[int, dict[str, bytes]] = {}
        for batch in batches:
            for slot, name, value in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                states.setdefault(slot, {})[name] = value
        for slot, state in states.items():
            if slot == CONTROL:
                continue
            bucket = many.open(many.numbers[slot])
            bucket.load(CheckpointStore(state))
            for table in bucket.tables(bucket.close()):
                yield from table.to_batches(max_chunksize=65_536)

    return cepheid_pending_many


def no_stream(checkpoint: str) -> UsageError:
    """Make the error for a checkpoint without a stream of ours."""
    return no_state(checkpoint, "no stream of many queries has run")
