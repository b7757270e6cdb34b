"""Strings that travel as codes of a dictionary, from the tasks that read events up to the kernels."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from cepheid.api import Query
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.walk import walk
from cepheid.spark.worker import WorkerQuery

CODES = pa.dictionary(pa.int32(), pa.string())
"""The type of a column of codes."""


def code_columns(query: Query, events: pa.Schema) -> list[str]:
    """Return the string columns that the engine would encode anyway: the type, keys, and those of conditions."""
    names: dict[str | None, None] = dict.fromkeys([query.compiled.roles.type])
    for bound in query.compiled.bind_readers(query.compiled.schema(events)):
        names |= dict.fromkeys(bound.partitions.all)
        nodes = (node for condition in bound.conditions for node in walk(condition))
        names |= dict.fromkeys(node.name for node in nodes if isinstance(node, ex.Attribute))
    return [field.name for field in events if field.name in names and pa.types.is_string(field.type)]


def with_codes(worker_query: WorkerQuery) -> WorkerQuery:
    """Return the same query for events in which these columns are codes."""
    events = worker_query.event_schema
    for name in code_columns(worker_query.query, events):
        k = events.get_field_index(name)
        events = events.set(k, events.field(k).with_type(CODES))
    return replace(worker_query, event_schema=events)


def without_codes(events: pa.Schema) -> pa.Schema:
    """Return the columns as Spark has them."""
    return pa.schema([field.with_type(pa.string()) if field.type == CODES else field for field in events])
