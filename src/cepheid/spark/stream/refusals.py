"""What has become of the rows of a control stream, from its checkpoint."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid.api import Query
from cepheid.engine.session.change_times import shown
from cepheid.engine.session.history import AnyChange
from cepheid.errors import UsageError
from cepheid.spark.state.control import ControlHeader
from cepheid.spark.state.decisions import read_log
from cepheid.spark.stream.checkpoint import control_headers, no_state

_COLUMNS = "id string, action string, text string, at long, reason string"


def refusals(spark: SparkSession, checkpoint: str) -> DataFrame:
    """Return the rows of the control stream that were refused, with the reasons, in the order of the micro-batches.

    Such a row has changed nothing. The checkpoint is only read; the stream may be running.
    """
    header = _header(spark, checkpoint)
    # Spark has watermarks on timestamps with a zone only, in microseconds.
    rows = [
        (refusal.row.id, refusal.row.action, refusal.row.text, refusal.row.at, refusal.reason)
        for refusal in header.refused
    ]
    frame = spark.createDataFrame(rows, _COLUMNS)
    return frame.withColumn("at", F.timestamp_micros("at"))


def changes(spark: SparkSession, query: Query, checkpoint: str) -> list[AnyChange]:
    """Return how the control stream has changed a query so far: `query.match(events, changes=…)` returns the same."""
    header = _header(spark, checkpoint)
    if header.fingerprint.many:
        message = "the checkpoint is of a stream of many queries, whose rules are not changes of a query"
        raise UsageError("CEP603", message, "read what was refused with cep.spark.refusals(spark, checkpoint)")
    return shown(read_log(header.log, query), query.compiled.schema(header.event_schema))


def _header(spark: SparkSession, checkpoint: str) -> ControlHeader:
    try:
        headers = control_headers(spark, checkpoint)
    except PySparkException as error:
        raise no_state(checkpoint, str(error).split("\n", 1)[0]) from None
    header = next((header_ for header_ in headers.values() if header_.fingerprint.control), None)
    if header is None:
        raise no_state(checkpoint, "no stream with control= has run")
    return header
