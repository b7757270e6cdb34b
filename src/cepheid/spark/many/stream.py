"""A stream of many queries as Spark runs it: pack, match with state, unpack."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.api.hosting import write_rule_set
from cepheid.engine.encoding.times import ticks
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.stream.parts import FlatSink
from cepheid.engine.stream.snapshot import to_bytes
from cepheid.errors import UsageError
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.spark.checks import WATERMARK, check_stream
from cepheid.spark.introspect import spark_context
from cepheid.spark.job import session_zone
from cepheid.spark.many.arranged import arranged, by_ids, forms_to_come, with_all_parameters
from cepheid.spark.many.bucket import ManyBuckets
from cepheid.spark.many.changes import AT
from cepheid.spark.many.checkpoint import closer, no_stream, stored_body, stored_rules, stored_stream
from cepheid.spark.many.columns import common_schema, own_schema
from cepheid.spark.many.control import check_control, control_blobs
from cepheid.spark.many.job import ManyJob, of_output
from cepheid.spark.many.options import ManyOptions
from cepheid.spark.many.placing import bucket_column, with_buckets
from cepheid.spark.many.processor import cepheid_match_many
from cepheid.spark.many.shipped import Shipped, ship
from cepheid.spark.many.split import RuleSplit, parts_of, split
from cepheid.spark.many.steady import Steadily
from cepheid.spark.many.worker import ManyWorker
from cepheid.spark.names import rename_for_python
from cepheid.spark.packing import PackedEvents, pack
from cepheid.spark.progress import COUNTERS, OBSERVATION
from cepheid.spark.schemas import collated_columns, events_schema, spark_schema
from cepheid.spark.state.fingerprint import StreamFingerprint, columns_digest
from cepheid.spark.stream.blobs import PACKED, match_unpacker, packer
from cepheid.spark.stream.buckets import MOST_BUCKETS
from cepheid.spark.stream.checkpoint import slot_states
from cepheid.spark.stream.control_rows import check_one_watermark
from cepheid.spark.stream.event_time import follows_state, refuse_second_watermark
from cepheid.spark.stream.processor import OUTPUT
from cepheid.spark.worker import conform

if TYPE_CHECKING:
    from cepheid.api import Queries

DIVISION = "how events are divided"
"""What the state of a stream of many queries depends on besides its rules."""


def buckets_of(df: DataFrame, options: ManyOptions) -> int:
    """Return the number of buckets of a way: one for each task of the stateful operator."""
    tasks = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or MOST_BUCKETS)
    return options.buckets or min(MOST_BUCKETS, tasks)


def stream_ways(
    df: DataFrame, queries: Queries, rules: RuleSet, schema: Schema, options: ManyOptions, collated: frozenset[str]
) -> list[RuleSplit]:
    """How the events of a stream are divided for rules, and for those that may come."""
    parts = parts_of(rules, queries.options, schema, collated)
    if options.control is not None:
        check_control(options.control, queries.rereading, rules.ids.type)
        columns = events_schema(options.control.schema, session_zone(df))
        parts += forms_to_come(
            with_all_parameters(rules, columns.names, queries.rereading.id), columns, queries.options, schema
        )
    return split(parts, Steadily(buckets_of(df, options), rules.ids))


def match_stream(job: ManyJob, columns: pa.Schema) -> DataFrame:
    """Return the matches as a streaming DataFrame. columns: those of a match."""
    queries, options, time = job.queries, job.options, job.queries.options.roles.time
    check_stream(job.df, time)
    fingerprint = fingerprint_of(job)
    before = _before(job, fingerprint)
    rules, context = job.rules, spark_context(job.df)
    if options.control is not None:
        rules = with_all_parameters(rules, options.control.columns, queries.rereading.id)
    shipped = ship(rules, job.ways, queries.options, context)
    worker = ManyWorker(shipped, job.events, columns, options.engine, options.own)
    many = ManyBuckets(
        worker,
        fingerprint,
        queries.rereading,
        job.buckets,
        int(job.df.schema[time].metadata[WATERMARK]),
        None if before is None else ship(before.rules, before.ways, queries.options, context),
    )
    filtered = [way if before is None else _joined(way, old) for way, old in _pairs(job.ways, before)]
    rows = with_buckets(job.df, filtered, job.events, time, drop=options.control is None)
    used = [_used(way, every=options.control is not None) for way in filtered]
    pack_rows = packer(_packing(worker, used), () if before is None else range(job.buckets))
    packed = rename_for_python(rows).mapInArrow(pack_rows, spark_schema(PACKED))
    if options.control is not None:
        check_one_watermark(job.df)
        control_schema = events_schema(options.control.schema, session_zone(job.df))
        in_ticks = pa.schema([pa.field(AT, pa.int64()) if field.name == AT else field for field in control_schema])
        packed = packed.union(control_blobs(options.control, job.df, time, in_ticks, job.buckets))
    processor = cepheid_match_many(many, options.late, chained=follows_state(job.df))
    output = packed.groupBy("slot").transformWithStateInPandas(
        processor, spark_schema(OUTPUT), outputMode="Append", timeMode="EventTime"
    )
    observed = output.observe(f"{OBSERVATION}_{uuid4().hex}", *(F.sum(name).alias(name) for name in COUNTERS))
    matches = observed.select("blob").mapInArrow(match_unpacker(columns), spark_schema(columns))
    refuse_second_watermark(matches)
    return matches


def fingerprint_of(job: ManyJob) -> StreamFingerprint:
    """What a checkpoint must agree on with the stream that goes on from it."""
    return StreamFingerprint(
        rules_digest(job.rules),
        columns_digest(job.events),
        buckets_of(job.df, job.options),
        shape={DIVISION: sha256(json.dumps([way.named for way in job.ways]).encode()).hexdigest()},
        control=job.options.control is not None,
        many=True,
    )


def rules_digest(rules: RuleSet) -> str:
    """Identifies rules in the order of their ids."""
    flat = FlatSink()
    return sha256(to_bytes(write_rule_set(rules, flat), flat)).hexdigest()


# Rows on their way to the buckets.


@dataclass(frozen=True)
class _Used:
    """A way as the workers that pack events know it: has its rows a bucket each, and to which do all go if not."""

    placed: bool
    buckets: tuple[int, ...]


def _used(way: RuleSplit, *, every: bool) -> _Used:
    """every: also buckets without rules."""
    if way.column is not None or way.key:
        return _Used(True, ())
    if every or way.places is None:
        return _Used(False, tuple(range(way.first, way.first + way.buckets)))
    return _Used(False, tuple(np.unique(way.places[way.places >= 0]).tolist()))


def _packing(worker: ManyWorker, ways: Sequence[_Used]) -> Callable[[pa.Table], Iterator[tuple[int, PackedEvents]]]:
    """Make what packs rows, each for the buckets that need it."""
    event_schema, schema = worker.event_schema, worker.schema
    columns = [bucket_column(number) for number, way in enumerate(ways) if way.placed]
    everywhere = [bucket for way in ways for bucket in way.buckets]

    def packed(table: pa.Table) -> Iterator[tuple[int, PackedEvents]]:
        events = conform(table, event_schema)
        times = ticks(schema, events)
        for name in columns:
            column = table.column(name)
            if not column.null_count:
                yield from pack(events, times, column.to_numpy(), dense=True)
                continue
            valid = column.is_valid()
            there = valid.to_numpy()
            yield from pack(events.filter(valid), times[there], column.filter(valid).to_numpy(), dense=True)
        if everywhere:
            for _, blob in pack(events, times, np.zeros(len(times), np.int64), dense=True):
                yield from ((bucket, blob) for bucket in everywhere)

    return packed


# A checkpoint of other rules.


@dataclass(frozen=True)
class _Before:
    """The rules of a checkpoint, in the buckets of the stream."""

    rules: RuleSet
    ways: list[RuleSplit]


def _before(job: ManyJob, fingerprint: StreamFingerprint) -> _Before | None:
    """Refuse the checkpoint of another stream; return its rules if the stream goes on with others."""
    options, spark = job.options, job.df.sparkSession
    stored = None if options.checkpoint is None else stored_stream(spark, options.checkpoint)
    if stored is None or options.checkpoint is None:
        return None
    number, control = stored
    fingerprint.check(asdict(control.fingerprint), by_shape=options.migrate)
    if control.fingerprint.query == fingerprint.query:
        return None
    rules = stored_rules(stored_body(spark, options.checkpoint, number, control), job.queries)
    if rules.ids.type != job.rules.ids.type:
        message = f"the ids of the checkpoint are {rules.ids.type}, and those of the rules are {job.rules.ids.type}"
        raise UsageError("CEP905", message, "use ids of one type, or start the stream with a new checkpoint location")
    schema = make_schema(job.events, job.queries.options.roles)
    parts = parts_of(rules, job.queries.options, schema, collated_columns(job.df.schema))
    ways, left = arranged(job.ways, parts, rules.ids)
    if len(left):
        name = rules.ids[int(left[0])].as_py()
        message = f"the checkpoint has rules such as {name!r}, whose events would be divided otherwise"
        raise UsageError("CEP905", message, "start the stream with a new checkpoint location")
    return _Before(rules, ways)


def _pairs(ways: list[RuleSplit], before: _Before | None) -> Iterator[tuple[RuleSplit, RuleSplit]]:
    yield from zip(ways, ways if before is None else before.ways, strict=True)


def _joined(way: RuleSplit, old: RuleSplit) -> RuleSplit:
    """A way for the events that rules need, or that rules before have needed: these see events up to their end."""
    places = None if way.places is None or old.places is None else np.append(way.places, old.places)
    if way.values is None or old.values is None:
        return replace(way, places=places, values=way.values or old.values)
    both = pa.concat_tables([way.values, old.values])
    unique = both.column("value").unique()
    return replace(way, places=places, values=pa.table({"value": unique}))


# Matches that are still in a checkpoint.


def pending_many(
    spark: SparkSession, queries: Queries, checkpoint: str, *, output: str | None = None, own: bool = False
) -> DataFrame:
    """Return what would match if a stream of many queries ended where its checkpoint is."""
    stored = stored_stream(spark, checkpoint)
    if stored is None or not stored[1].rules:
        raise no_stream(checkpoint)
    number, control = stored
    events = control.event_schema
    fitting = of_output(queries.fitting(make_schema(events, queries.options.roles)), output)
    rules = by_ids(fitting)
    fingerprint = replace(control.fingerprint, query=rules_digest(rules))
    fingerprint.check(asdict(control.fingerprint))
    body = stored_body(spark, checkpoint, number, control)
    columns = own_schema(rules, queries.options, events) if own else common_schema(rules, events)
    shipped = Shipped(body, sha256(body).hexdigest(), queries.rules.templates, queries.options)
    worker = ManyWorker(shipped, events, columns, own=own)
    total = sum(way.buckets for way in shipped.load()[1])
    many = ManyBuckets(worker, fingerprint, queries.rereading, total, 0)
    states = slot_states(spark, checkpoint, number).repartition("slot")
    return states.mapInArrow(closer(many), spark_schema(columns))
