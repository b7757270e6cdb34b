"""`q.trace(events)`: what a query does, event by event, as rows and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import pyarrow as pa

from cepheid.diagnosis.arc_steps import ArcTeller, watch_arcs
from cepheid.diagnosis.edge_steps import EdgeTeller, watch_edges
from cepheid.diagnosis.merging import merges
from cepheid.diagnosis.steps import RunKey, RunStep, RunSteps, Teller, in_order, indexed
from cepheid.diagnosis.tracing import read, watch_steps
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Language
from cepheid.pictures import html_table
from cepheid.values.rows import Event

_SHOWN = 60  # rows of the text


@dataclass(frozen=True, slots=True)
class Trace:
    """What the runs of a query did, in the order of the events.

    rows: one per step; `position` is that of the event in the order of S1, `row` that in the table as it was given.
    left_out: how many rows of the events that were read are not here; read, events: how many events were read, of all.
    before: in a session, how many events came before these; runs that they began are not here.
    """

    rows: pa.Table
    left_out: int
    read: int
    events: int
    before: int = 0

    def to_arrow(self) -> pa.Table:
        """The steps as a table."""
        return self.rows

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __str__(self) -> str:
        note = self._note(_SHOWN)
        return "\n".join([*self.lines(_SHOWN), *[note] * bool(note)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cells = self._cells(_SHOWN)
        numbers = [k for k, name in enumerate(cells[0]) if pa.types.is_integer(self.rows.schema.field(name).type)]
        note = self._note(_SHOWN)
        return html_table(cells, numbers) + (f"<p>{escape(note)}</p>" if note else "")

    def lines(self, most: int | None = None) -> Iterator[str]:
        """A head and a line for each step, or for the first ones."""
        cells = self._cells(most)
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        for row in cells:
            yield "  ".join(map(str.ljust, row, widths)).rstrip()

    def _cells(self, most: int | None) -> list[list[str]]:
        names = [name for name in self.rows.column_names if name not in ("step", "row")]
        columns = [[name, *map(_cell, self.rows.column(name).slice(0, most).to_pylist())] for name in names]
        return [list(row) for row in zip(*columns, strict=True)]

    def _note(self, most: int) -> str:
        hidden = max(0, self.rows.num_rows - most)
        parts = [f"{_counted(hidden, 'more ')} in to_arrow()"] if hidden else []
        parts += [f"{_counted(self.left_out)} left out by limit="] if self.left_out else []
        if self.read < self.events:
            parts.append(f"the first {self.read:,} of {self.events:,} events")
        if self.before:
            parts.append(f"runs that began with one of {self.before:,} events before these are not here")
        return f"… {'; '.join(parts)}" if parts else ""


def _counted(number: int, more: str = "") -> str:
    return f"{number:,} {more}row{'s' if number != 1 else ''}"


def _cell(value: object) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Traced:
    """One query of a program and its events."""

    name: str
    query: Runnable
    table: pa.Table


def make_trace(parts: Sequence[Traced], limit: int | None) -> Trace:
    """Trace the queries of a program, each on its events."""
    tables, left_out, seen, total = [], 0, 0, 0
    for part in parts:
        events = read(part.query, part.table)
        teller, read_events = watch(part.query, events, limit)
        seen += read_events
        total += len(events)
        rows = _rows(part, teller, named=len(parts) > 1)
        kept = rows if limit is None else rows.slice(0, limit)
        left_out += rows.num_rows - kept.num_rows
        tables.append(kept)
    rows = pa.concat_tables(tables, promote_options="permissive")
    if limit is not None and rows.num_rows > limit:
        left_out += rows.num_rows - limit
        rows = rows.slice(0, limit)
    return Trace(rows.add_column(0, "step", pa.array(range(1, rows.num_rows + 1), pa.int64())), left_out, seen, total)


def watch(query: Runnable, events: Sequence[Event], limit: int | None) -> tuple[RunSteps, int]:
    """Run a query event by event until there are enough steps, and how many events that took."""
    return _WATCHED[query.language](query, events, limit)


def _by_arcs(query: Runnable, events: Sequence[Event], limit: int | None) -> tuple[RunSteps, int]:
    teller = ArcTeller(query, limit)
    return teller, watch_arcs(query, events, teller)


def _by_edges(query: Runnable, events: Sequence[Event], limit: int | None) -> tuple[RunSteps, int]:
    teller = EdgeTeller(query, limit)
    return teller, watch_edges(query, events, teller)


def _by_components(query: Runnable, events: Sequence[Event], limit: int | None) -> tuple[RunSteps, int]:
    teller = Teller(query, limit)
    read_events = watch_steps(query, events, teller)
    teller.merge(merges(query, events[:read_events]))
    return teller, read_events


_WATCHED: Mapping[Language, Callable[[Runnable, Sequence[Event], int | None], tuple[RunSteps, int]]] = {
    Language.PATTERN: _by_components,
    Language.AUTOMATON: _by_arcs,
    Language.CESAR: _by_edges,
}


def _detail(step: RunStep, numbers: Mapping[RunKey, int]) -> str:
    return step.detail if step.other is None else f"as run {numbers[step.other]}: {step.detail}"


def _rows(part: Traced, teller: RunSteps, *, named: bool) -> pa.Table:
    numbers = indexed([*teller.parents, *(step.run for step in teller.steps if step.run is not None)])
    steps = in_order(list(teller.steps), numbers)
    events = [step.event for step in steps]
    index = pa.array([event and event.row for event in events], pa.int64())
    parents = [teller.parents.get(step.run) if step.run is not None else None for step in steps]
    columns = {
        "query": pa.array([part.name] * len(steps), pa.string()),
        "ts": part.table.column(part.query.schema.roles.time).take(index),
        "position": pa.array([event and event.position for event in events], pa.int64()),
        "row": index,
        "type": pa.array([event and event.type for event in events], pa.string()),
        "action": pa.array([step.action for step in steps], pa.string()),
        "run": pa.array([None if step.run is None else numbers[step.run] for step in steps], pa.int64()),
        "parent": pa.array([None if run is None else numbers.get(run) for run in parents], pa.int64()),
        "component": pa.array([step.component for step in steps], pa.string()),
        "index": pa.array([step.index for step in steps], pa.int64()),
        "detail": pa.array([_detail(step, numbers) for step in steps], pa.string()),
    }
    return pa.table({name: column for name, column in columns.items() if named or name != "query"})
