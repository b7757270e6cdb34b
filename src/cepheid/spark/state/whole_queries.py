"""Whether a change fits a stream: the key and the columns of a query, and what is kept of an automaton."""

from __future__ import annotations

import pyarrow as pa

from cepheid.api import Query
from cepheid.engine.session.query_changes import ReplaceQuery
from cepheid.engine.stream.conversion import check_again
from cepheid.errors import PatternError
from cepheid.spark.codes import without_codes
from cepheid.spark.outputs import match_schema
from cepheid.spark.partitioning import choose_partitioning
from cepheid.spark.worker import WorkerQuery


def check_whole(worker_query: WorkerQuery, query: Query) -> None:
    """Refuse a query whose events may be in several buckets, or whose matches have other columns."""
    compiled = query.compiled
    key = choose_partitioning(compiled.bind(worker_query.schema), compiled.sources).key
    missing = [".".join(path) for path in worker_query.key if path not in key]
    if missing:
        message = f"the events of the stream are divided by {', '.join(missing)}, and the query is not"
        raise PatternError("CEP229", message, f"add PARTITION BY {', '.join(missing)}")
    columns = match_schema(
        query,
        without_codes(worker_query.event_schema),
        long=worker_query.long,
        changes=worker_query.speculate is not None,
        control=True,
    )
    if _types(columns) != _types(worker_query.match_schema):
        wanted, columns_text = _column_list(worker_query.match_schema), _column_list(columns)
        message = f"the matches of the stream have the columns {wanted}, and those of the query {columns_text}"
        raise PatternError("CEP229", message, "write a RETURN with the same names and types")


def check_replaced(worker_query: WorkerQuery, change: ReplaceQuery) -> None:
    """Refuse other conditions where a bucket may not be able to replay its events.

    Whether it has to depends on its events, and all buckets must decide alike.
    """
    for bound in change.query.compiled.bind(worker_query.schema):
        check_again(bound, change.name)


def _types(columns: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in columns}


def _column_list(columns: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in columns)
