"""An event in a line."""

from __future__ import annotations

from cepheid.diagnosis.written import write_value
from cepheid.front.runnable import Runnable
from cepheid.values.rows import Event


def describe(query: Runnable, event: Event) -> str:
    """The type, the time, and the columns that the query reads.

    Such as `Exit ts=12 tag_id=7`.
    """
    schema = query.schema
    roles = schema.roles
    names = [roles.time, *(name for name in query.reads if name not in (roles.time, roles.type))]
    cells = [f"{name}={write_value(event.values[name], schema.columns[name])}" for name in names[:8]]
    return " ".join([*([event.type] if event.type is not None else []), *cells])
