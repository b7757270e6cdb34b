"""The matches that stand, from the changes that a stream has written."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.engine.matches.changes import ADDED, OP, REMOVED
from cepheid.errors import UsageError, did_you_mean
from cepheid.pattern.binding.schema import MATCH_ID
from cepheid.spark.names import column_named

_NET, _MATCH, _LAST = (f"__cepheid_{name}" for name in ("net", "match", "last"))


def current(changes: DataFrame, *, batch: str | None = None) -> DataFrame:
    """Return the matches that stand, from the changes that a stream with `speculate` has written.

    changes: a batch DataFrame with the columns of the stream (`op`, `match_id`, …); other columns are kept too.
    batch: a column with the number of the micro-batch that has written a row, such as that of a folder `batch=7`.

    Each match has one row, without `op`. Without `batch` a match stands if it was added more often than retracted. So
    each micro-batch must be in the log exactly once, as Spark's file sink and Delta tables have it. With `batch` the
    last change of a match decides; micro-batches may then be there several times, as a sink writes them that does not
    know which of them it has.
    """
    if changes.isStreaming:
        remedy = "read what the stream has written: cep.spark.current(spark.read.parquet(…)), or in foreachBatch"
        raise UsageError("CEP603", "current needs all changes, and this is a stream", remedy)
    for name in (OP, MATCH_ID, *([] if batch is None else [batch])):
        if name not in changes.columns:
            remedy = did_you_mean(name, changes.columns, "columns")
            raise UsageError("CEP603", f"the changes have no column '{name}'", remedy)
    names = [name for name in changes.columns if name not in (OP, MATCH_ID, batch)]
    match = F.struct(*map(column_named, names)).alias(_MATCH)
    grouped = changes.select(OP, MATCH_ID, match, *([] if batch is None else [column_named(batch).alias(_LAST)]))
    if batch is None:
        signs = F.when(F.col(OP) == ADDED, 1).when(F.col(OP) == REMOVED, -1)
        stands = F.sum(signs) > 0
    else:
        stands = F.max_by(OP, _LAST) == ADDED
    standing = grouped.groupBy(MATCH_ID).agg(stands.alias(_NET), F.any_value(_MATCH).alias(_MATCH)).where(_NET)
    return standing.select(MATCH_ID, *(F.col(_MATCH).getField(name).alias(name) for name in names))
