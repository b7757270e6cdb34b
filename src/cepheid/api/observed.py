"""What some events show that a query may have got wrong: types, times, and columns without values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepheid.api.claims import Claims
from cepheid.engine.encoding.times import bounds
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.nested import field_names, field_type
from cepheid.pattern.expressions.paths import Path, part_name, resolve_path
from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.values.columns import field_of

TINY = 10
"""A window is tiny if the closest events are more than so many windows apart."""

_FEW = 4096  # times in which close events are looked for before all times are sorted


@dataclass(frozen=True, slots=True)
class Observed:
    """What some events of a stream show.

    whole: they are all events, and not only the first ones.
    counted: their number means something; the tasks of Spark may see an event twice, and do not see all.
    types: None if there is no type column.
    empty: the attributes of `[attr]` that have no value.
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


def observe(claims: Claims, schema: Schema, events: pa.Table, times: np.ndarray, *, whole: bool) -> Observed:
    """Look at some events. times: those of the events in ticks, in any order."""
    rows = events.num_rows
    if not rows:
        return Observed(0, whole)
    keys = {resolve_path(path, events.column_names) for path in claims.keys}
    return Observed(
        rows,
        whole,
        None if schema.roles.type is None else _types(claims, events.column(schema.roles.type)),
        frozenset(key_name(path) for path in keys if _is_empty(events, path)),
        *bounds(times),
        tiny_gap(claims, schema, times),
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


def _types(claims: Claims, column: pa.ChunkedArray) -> frozenset[str]:
    if isinstance(column.type, pa.DictionaryType):
        # The values of a dictionary are known without reading the rows; some may be in no row.
        listed = {value for chunk in column.chunks for value in chunk.dictionary.to_pylist()}
        if claims.types.keys() <= listed:
            return frozenset(listed - {None})
    return frozenset(value for value in column.unique().to_pylist() if value is not None)


def tiny_gap(claims: Claims, schema: Schema, times: np.ndarray) -> int | None:
    """Return the smallest distance of two times, if a duration is tiny against it.

    A few times are looked at first: mostly they show that it is not, and not all times have to be sorted.
    """
    shortest = claims.shortest(schema)
    if shortest is None:
        return None
    few = smallest_distance(times[:_FEW])
    if few is not None and few <= TINY * shortest:
        return None
    return few if len(times) <= _FEW else smallest_distance(times)


def smallest_distance(times: np.ndarray) -> int | None:
    """The smallest distance of two different times; None if there are no two."""
    distances = np.diff(times)
    if (distances < 0).any():
        distances = np.diff(np.sort(times))
    distances = distances[distances > 0]
    return int(distances.min()) if len(distances) else None
