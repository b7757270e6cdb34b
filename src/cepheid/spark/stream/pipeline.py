"""A stream as Spark runs it: pack, match with state, unpack."""

from __future__ import annotations

from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.spark.checks import WATERMARK, check_stream
from cepheid.spark.codes import with_codes
from cepheid.spark.event_watch import tapped_events
from cepheid.spark.job import Job
from cepheid.spark.names import rename_for_python
from cepheid.spark.progress import COUNTERS, OBSERVATION
from cepheid.spark.schemas import spark_schema
from cepheid.spark.state.fingerprint import stream_fingerprint
from cepheid.spark.stream.blobs import BUCKET, PACKED, event_packer, match_unpacker
from cepheid.spark.stream.buckets import bucket_count, bucket_of
from cepheid.spark.stream.change_options import check_changes
from cepheid.spark.stream.checkpoint import claims
from cepheid.spark.stream.control_rows import control_rows
from cepheid.spark.stream.event_time import event_time_of, follows_state, output_schema, refuse_second_watermark
from cepheid.spark.stream.processor import OUTPUT, cepheid_match


def match(job: Job) -> DataFrame:
    """Return the matches as a streaming DataFrame."""
    check_stream(job.df, job.time)
    check_changes(job.options)
    worker_query, buckets = with_codes(job.worker_query), bucket_count(job)
    bucket = bucket_of(worker_query.event_schema, job.partitioning.key, buckets)
    surprises = job.query.surprises
    surprises.warn(surprises.of_schema(job.worker_query.schema))
    events, tap = tapped_events(job)
    rows = rename_for_python(events.select("*", bucket.alias(BUCKET)))
    packer = event_packer(worker_query)
    packed = rows.mapInArrow(packer if tap is None else tap.on(packer), spark_schema(PACKED))
    added = event_time_of(job)
    columns = (
        worker_query.match_schema if added is None else worker_query.match_schema.append(added.field(worker_query))
    )
    if job.options.control is not None:
        packed = packed.union(control_rows(job, buckets))
    fingerprint, migrate = stream_fingerprint(worker_query, buckets), job.options.migrate
    migrated = claims(job.df.sparkSession, job.options.checkpoint, fingerprint, migrate=migrate)
    processor = cepheid_match(
        worker_query,
        fingerprint,
        job.options.late,
        event_time=added,
        delay=int(job.df.schema[job.time].metadata[WATERMARK]),
        chained=follows_state(job.df),
        migrate=migrate,
        by_shape=migrate or migrated,
    )
    output = packed.groupBy("slot").transformWithStateInPandas(
        processor, spark_schema(OUTPUT), outputMode="Append", timeMode="EventTime"
    )
    observed = output.observe(f"{OBSERVATION}_{uuid4().hex}", *(F.sum(name).alias(name) for name in COUNTERS))
    matches = observed.select("blob").mapInArrow(match_unpacker(columns), output_schema(job, columns, added))
    refuse_second_watermark(matches)
    return matches
