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
from cepheid.pattern.parameters import window_nanoseconds
from cepheid.pattern.schema import Schema

TINY = 10
"""A window is tiny if the closest events are more than so many windows apart."""

_FEW = 4096  # times in which close events are looked for before all times are sorted


@dataclass(frozen=True, slots=True)
class Observed:
    """What some events of a stream show.

    whole: they are all events, and not only the first ones.
    counted: their number means something; the tasks of Spark may see an event twice, and do not see all.
    types: None if there is no type column.
    empty: the columns of `[attr]` that have no value.
    low, high: the first and the last time in ticks; None if unknown.
    ended: no more events will come, even if not all of these are known.
    hidden: types of the query whose events may be there although none was seen.
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
    ended: bool = False
    hidden: frozenset[str] = frozenset()


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
    attributes = {test.attribute for analysed in queries for test in analysed.same} & {*events.column_names}
    windows = [window for analysed in queries if (window := window_ticks(analysed, schema)) is not None]
    return Observed(
        rows,
        whole,
        None if schema.roles.type is None else _types(queries, events.column(schema.roles.type)),
        frozenset(name for name in attributes if events.column(name).null_count == rows),
        int(times.min()),
        int(times.max()),
        tiny_gap(times, min(windows)) if windows else None,
    )


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
    few = smallest_distance(times[:_FEW])
    if few is not None and few <= TINY * window:
        return None
    return few if len(times) <= _FEW else smallest_distance(times)


def smallest_distance(times: Any) -> int | None:
    """The smallest distance of two different times; None if there are no two."""
    distances = np.diff(times)
    if (distances < 0).any():
        distances = np.diff(np.sort(times))
    distances = distances[distances > 0]
    return int(distances.min()) if len(distances) else None
