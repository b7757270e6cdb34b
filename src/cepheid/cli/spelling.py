"""A warning for type names that no event has: they match nothing, and a negated one excludes nothing."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.cli.errors import warn
from cepheid.cli.values import values
from cepheid.errors import nearest
from cepheid.pattern.analysis import check_flow
from cepheid.pattern.tree import Event, Program
from cepheid.pattern.walk import walk


def warn_misspelt_types(program: Program, events: pa.Table, type_column: str | None) -> None:
    """Warn for each type of the query that does not occur while a similar one does."""
    if type_column is None:
        return
    named = _types(program)
    present = {value for value in values(pc.unique(events.column(type_column))) if value is not None}
    for name in named:
        close = nearest(name, sorted(present - set(named))) if name not in present else None
        if close is not None:
            warn(f"no event has the type '{name}'; did you mean '{close}'?")


def _types(program: Program) -> list[str]:
    """The types that the program asks of the events themselves, not of what its queries make."""
    sources = check_flow(program)
    reading = [query for query, source in zip(program.queries, sources, strict=True) if source is None]
    found = [event for query in reading for event in walk(query.pattern) if isinstance(event, Event)]
    return list(dict.fromkeys(name for event in found for name in event.types))
