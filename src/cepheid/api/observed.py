"""What some events show that a query may have got wrong: types, times, and columns without values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.program import CompiledProgram
from cepheid.pattern.analysis import Analysed
from cepheid.pattern.flow import EVENTS
from cepheid.pattern.nested import field_names, field_type
from cepheid.pattern.parameters import window_nanoseconds
from cepheid.pattern.paths import Path, part_name, resolve_path
from cepheid.pattern.schema import Schema
from cepheid.pattern.types import Kind, from_arrow
from cepheid.values.columns import field_of

TINY = 10
"""A window is tiny if the closest events are more than so many windows apart."""

_FEW = 4096  # times in which close events are looked for before all times are sorted


@dataclass(frozen=True, slots=True)
class Observed:
    """What some events of a stream show.

    whole: they are all events, and not only the first ones.
    counted: their number means something; tasks may see an event twice.
    types: None if there is no type column.
    empty: the attributes of `[attr]` that have no value.
    low, high: the first and the last time in ticks; None if unknown.
    gap: the smallest distance of two different times in ticks; None if it is not large enough to matter.
    """

    rows: int
    whole: bool
    types: frozenset[str] | None = None
    empty: frozenset[str] = frozenset()
    low: int | None = None
    high: int | None = None
    gap: int | None = None
    counted: bool = True


def readers(program: CompiledProgram) -> list[Analysed]:
    """The queries that read the events themselves, not composite events, nor both."""
    return [analysed for analysed, source in program.flow if source == EVENTS]


def window_ticks(analysed: Analysed, schema: Schema) -> int | None:
    """The window of a query in ticks; None if it has none, or one that counts events."""
    window = analysed.query.within
    if window is None or window.unit == "events":
        return None
    return -(-window_nanoseconds(window, schema.roles.unit) // schema.tick)


def observe(program: CompiledProgram, schema: Schema, events: pa.Table, times: Any, *, whole: bool) -> Observed:
    """Look at some events. times: those of the events in ticks, in any order."""
    rows = events.num_rows
    if not rows:
        return Observed(0, whole)
    queries = readers(program)
    keys = {resolve_path(test.path, events.column_names) for analysed in queries for test in analysed.same}
    windows = [window for analysed in queries if (window := window_ticks(analysed, schema)) is not None]
    return Observed(
        rows,
        whole,
        None if schema.roles.type is None else _types(queries, events.column(schema.roles.type)),
        frozenset(key_name(path) for path in keys if _is_empty(events, path)),
        int(times.min()),
        int(times.max()),
        tiny_gap(times, min(windows)) if windows else None,
    )


def key_name(path: Path) -> str:
    """What a key is called in a warning."""
    return part_name(path, ())


def _is_empty(events: pa.Table, path: Path) -> bool:
    """Whether no event has a value there; not where there is no such column or field, which an error says."""
    name, *fields = path
    if name not in events.column_names:
        return False
    type_ = from_arrow(events.schema.field(name).type)
    for field in fields:
        if type_.kind is Kind.NULL:
            break
        if field not in (field_names(type_) or ()):
            return False
        type_ = field_type(type_, field)
    return bool(field_of(events.column(name), tuple(fields)).null_count == events.num_rows)


def named_types(queries: Iterable[Analysed]) -> dict[str, bool]:
    """The types that queries name, and whether only negations do."""
    named: dict[str, bool] = {}
    for component in (component for analysed in queries for component in analysed.components.values()):
        for name in component.types:
            named[name] = named.get(name, True) and component.negated
    return named


def _types(queries: Iterable[Analysed], column: pa.ChunkedArray) -> frozenset[str]:
    if isinstance(column.type, pa.DictionaryType):
        # The values of a dictionary are known without reading the rows; some may be in no row.
        listed = {value for chunk in column.chunks for value in chunk.dictionary.to_pylist()}
        if named_types(queries).keys() <= listed:
            return frozenset(listed - {None})
    return frozenset(value for value in column.unique().to_pylist() if value is not None)


def tiny_gap(times: Any, window: int) -> int | None:
    """The smallest distance of two times, if the window is tiny against it. A few times tell most often that not."""
    few = _smallest(times[:_FEW])
    if few is not None and few <= TINY * window:
        return None
    return few if len(times) <= _FEW else _smallest(times)


def _smallest(times: Any) -> int | None:
    distances = np.diff(times)
    if (distances < 0).any():
        distances = np.diff(np.sort(times))
    distances = distances[distances > 0]
    return int(distances.min()) if len(distances) else None
