"""What some events show that a query may have got wrong: types, times, and columns without values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.program import CompiledProgram
from cepheid.pattern.algebra.flow import types_of
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.binding.analysis import Analysed
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.nested import field_names, field_type
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.expressions.paths import Path, part_name, resolve_path
from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.pattern.tree.flow import EVENTS
from cepheid.pattern.tree.nodes import Window
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


def same_paths(program: CompiledProgram) -> set[Path]:
    """The keys of `[attr]` in queries that read the events themselves, not composite events, nor both."""
    return {test.path for analysed, source in program.flow if source == EVENTS for test in analysed.same}


def durations(program: CompiledProgram) -> Iterator[tuple[str, Window, Analysed]]:
    """The durations that queries name, with their clauses. Composite events have the times of events."""
    for analysed in program.queries:
        query, absent = analysed.query, analysed.layout.negations
        found = [("WITHIN", query.within), ("COOLDOWN", query.cooldown), *(("FOR", each.period) for each in absent)]
        yield from (
            (clause, window, analysed) for clause, window in found if window is not None and window.unit != "events"
        )


def window_ticks(window: Window, schema: Schema) -> int:
    """The length of a window of time in ticks."""
    return -(-window_nanoseconds(window, schema.roles.unit) // schema.tick)


def observe(program: CompiledProgram, schema: Schema, events: pa.Table, times: Any, *, whole: bool) -> Observed:
    """Look at some events. times: those of the events in ticks, in any order."""
    rows = events.num_rows
    if not rows:
        return Observed(0, whole)
    keys = {resolve_path(path, events.column_names) for path in same_paths(program)}
    return Observed(
        rows,
        whole,
        None if schema.roles.type is None else _types(program, events.column(schema.roles.type)),
        frozenset(key_name(path) for path in keys if _is_empty(events, path)),
        int(times.min()),
        int(times.max()),
        tiny_gap(program, schema, times),
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


def named_types(program: CompiledProgram) -> dict[str, bool]:
    """The types of events that queries name, not those of composite events, and whether only negations do.

    FROM may name more than the pattern does.
    """
    named: dict[str, bool] = {}
    for analysed, source in program.flow:
        for component in analysed.components.values() if None in source else ():
            for name in component.types:
                if name not in source:
                    named[name] = named.get(name, True) and component.negated
        if isinstance(analysed.query.pattern, Algebra):
            named |= dict.fromkeys(types_of(analysed.query.pattern), False)
    return named | dict.fromkeys(types_of_from(program), False)


def types_of_from(program: CompiledProgram) -> frozenset[str]:
    """The types of events that FROM names and no pattern does: a slip there hides events without a word."""
    found = {
        name
        for analysed, source in program.flow
        for stream in analysed.query.streams
        if None in source and stream.name not in source
        for name in stream.types
    }
    return frozenset(found - {n for a, _ in program.flow for c in a.components.values() for n in c.types})


def _types(program: CompiledProgram, column: pa.ChunkedArray) -> frozenset[str]:
    if isinstance(column.type, pa.DictionaryType):
        # The values of a dictionary are known without reading the rows; some may be in no row.
        listed = {value for chunk in column.chunks for value in chunk.dictionary.to_pylist()}
        if named_types(program).keys() <= listed:
            return frozenset(listed - {None})
    return frozenset(value for value in column.unique().to_pylist() if value is not None)


def shortest_duration(program: CompiledProgram, schema: Schema) -> int | None:
    """The shortest duration that a query names, in ticks."""
    return min((window_ticks(window, schema) for _, window, _ in durations(program)), default=None)


def tiny_gap(program: CompiledProgram, schema: Schema, times: Any) -> int | None:
    """The smallest distance of two times, if a duration is tiny against it. A few times tell most often that not."""
    shortest = shortest_duration(program, schema)
    if shortest is None:
        return None
    few = smallest_distance(times[:_FEW])
    if few is not None and few <= TINY * shortest:
        return None
    return few if len(times) <= _FEW else smallest_distance(times)


def smallest_distance(times: Any) -> int | None:
    """The smallest distance of two different times; None if there are no two."""
    distances = np.diff(times)
    if (distances < 0).any():
        distances = np.diff(np.sort(times))
    distances = distances[distances > 0]
    return int(distances.min()) if len(distances) else None
