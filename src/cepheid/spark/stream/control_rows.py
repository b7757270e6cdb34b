"""The rows of a control stream on their way to all buckets, and back from there."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as st

from cepheid.engine.session.control import COLUMNS, ControlRow
from cepheid.errors import UsageError
from cepheid.spark.checks import WATERMARK
from cepheid.spark.introspect import plan_nodes
from cepheid.spark.job import Job
from cepheid.spark.names import column_named
from cepheid.spark.slices import ticks_of
from cepheid.spark.stream.buckets import CONTROL, slot

TIMES = (st.TimestampType, st.TimestampNTZType)


def check_control(control: DataFrame) -> None:
    """Refuse what is no stream of control rows. No job runs."""
    check_is_stream(control, "id string, action string, text string, at timestamp", ", or changes=[…] in a batch")
    missing = [name for name in COLUMNS if name not in control.columns]
    extra = [name for name in control.columns if name not in COLUMNS]
    if missing or extra or len(control.columns) > len(COLUMNS):
        problems = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"also has {', '.join(extra)}"] * bool(extra)
        message = f"the control stream {' and '.join(problems) or 'has a column twice'}"
        raise UsageError("CEP912", message, f"select its columns: {', '.join(COLUMNS)}")
    for name in COLUMNS:
        kind = control.schema[name].dataType
        wanted = "timestamp" if name == "at" else "string"
        if not isinstance(kind, TIMES if name == "at" else st.StringType):
            message = f"column '{name}' of the control stream is {kind.simpleString()}, not {wanted}"
            raise UsageError("CEP912", message, f"cast it: withColumn('{name}', col('{name}').cast('{wanted}'))")
    check_no_watermark(control)


def check_is_stream(control: object, columns: str, more: str = "") -> None:
    """Refuse what is no streaming DataFrame. columns: those that it should have; more: what else to do in a batch."""
    remedy = f"pass a streaming DataFrame, such as spark.readStream.schema('{columns}').json('rules/')"
    if not hasattr(control, "isStreaming"):
        raise UsageError("CEP912", f"control is a {type(control).__name__}, not a DataFrame", remedy)
    if not control.isStreaming:
        raise UsageError("CEP912", "control is a DataFrame of a batch", f"{remedy}{more}")


def check_no_watermark(control: DataFrame) -> None:
    """Refuse a control stream with a watermark."""
    if _watermarks(control) or any(WATERMARK in (field.metadata or {}) for field in control.schema):
        message = "the control stream has a watermark, which would hold back that of the events"
        raise UsageError("CEP912", message, "leave out withWatermark there: its rows need none")


def _watermarks(df: DataFrame) -> int:
    return sum(str(node.nodeName()) == "EventTimeWatermark" for node in plan_nodes(df))


def check_one_watermark(df: DataFrame) -> None:
    """Refuse events with several watermarks."""
    if (count := _watermarks(df)) > 1:
        message = f"the events have {count} watermarks, so that theirs does not show how far they have come"
        raise UsageError("CEP912", message, "union the streams first, and set one watermark on all of them")


def control_rows(job: Job, buckets: int) -> DataFrame:
    """Return each row of the control stream once for every slot, as blobs of no events."""
    control = job.options.control
    assert control is not None
    check_control(control)
    check_one_watermark(job.df)
    kind = job.df.schema[job.time].dataType
    rows = control.withColumn("at", column_named("at").cast(kind))
    texts = [column_named(name) for name in COLUMNS if name != "at"]
    blob = F.to_json(F.struct(*texts, ticks_of(rows, "at").alias("at"))).cast("binary")
    slots = F.explode(F.array(*map(F.lit, (CONTROL, *map(slot, range(buckets))))))
    nothing = F.lit(0).cast("long")
    return rows.select(
        slots.alias("slot"), blob.alias("blob"), *(nothing.alias(name) for name in ("low", "high", "rows"))
    )


def read_control_rows(blobs: Iterable[bytes]) -> list[ControlRow]:
    """Read control rows that the source has sent as blobs of JSON."""
    read = map(json.loads, blobs)
    return [ControlRow(**{name: row.get(name) for name in COLUMNS}) for row in read]
