"""Matches as a table for people: a line per event, or a line per match where the query has RETURN.

Changes are shown in the same way, with a column `op`; what is retracted is in red and struck through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cepheid.api.files.text_values import to_text, values
from cepheid.cli.errors import printable
from cepheid.engine.matches.changes import OP, REMOVED
from cepheid.pattern.binding.schema import END, MATCH_ID, START

_MATCH, _VARIABLE = "match", "variable"
_RETRACTED = "red strike"
_UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the table. `last`: a match ends here."""

    keys: tuple[str, ...]
    cells: dict[str, object]
    last: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class _Head:
    """What the first line of a match begins with, and the style of all of its lines."""

    keys: tuple[str, ...]
    style: str = ""


def print_table(matches: pa.Table, count: str, time: str, *, returned: bool, changes: bool = False) -> None:
    """Print the matches and their number. changes: they have `op` and `match_id`."""
    console = Console(highlight=False, markup=False, emoji=False)
    if matches.num_rows:
        heads = _heads(matches, changes=changes, with_number=not returned)
        keys = (OP,) * changes + (() if returned else (_MATCH, _VARIABLE))
        rows = matches.drop_columns([OP, MATCH_ID]) if changes else matches
        lines = _returned(rows, heads) if returned else _events(rows, heads, time)
        table = _table(keys, lines, time, packed=False)
        unbounded = console.options.update(max_width=_UNBOUNDED)
        if console.measure(table, options=unbounded).minimum > console.width:
            table = _table(keys, lines, time, packed=True)
        console.print(table)
    console.print(count)


def _heads(matches: pa.Table, *, changes: bool, with_number: bool) -> list[_Head]:
    """A match has the same number when it is added and when it is retracted."""
    if not changes:
        return [_Head((str(number),) * with_number) for number in range(1, matches.num_rows + 1)]
    numbers: dict[str, int] = {}
    heads = []
    for op, known in zip(values(matches[OP]), values(matches[MATCH_ID]), strict=True):
        number = numbers.setdefault(known, len(numbers) + 1)
        heads.append(_Head((op, *(str(number),) * with_number), _RETRACTED if op == REMOVED else ""))
    return heads


def _returned(matches: pa.Table, heads: Sequence[_Head]) -> list[_Line]:
    columns = [values(column) for column in matches.columns]
    rows = zip(*columns, strict=True)
    return [
        _Line(head.keys, dict(zip(matches.column_names, row, strict=True)), style=head.style)
        for head, row in zip(heads, rows, strict=True)
    ]


def _events(matches: pa.Table, heads: Sequence[_Head], time: str) -> list[_Line]:
    """A line per event in the order of time; start and end of a match are the times of its first and last line."""
    variables = [name for name in matches.column_names if name not in (START, END)]
    columns = [values(matches.column(name)) for name in variables]
    lines: list[_Line] = []
    for head, row in zip(heads, zip(*columns, strict=True), strict=True):
        bound = [event for name, bound_to in zip(variables, row, strict=True) for event in _labelled(name, bound_to)]
        bound.sort(key=lambda event: _instant(event[1][time]))
        for k, (label, event) in enumerate(bound):
            shown = {name: value for name, value in event.items() if name != time}
            keys = (*(head.keys if k == 0 else ("",) * len(head.keys)), label)
            lines.append(_Line(keys, {time: event[time], **shown}, k == len(bound) - 1, head.style))
    # A column that is always NULL belongs to other event types.
    names = [name for name in lines[0].cells if any(line.cells[name] is not None for line in lines)]
    return [replace(line, cells={name: line.cells[name] for name in names}) for line in lines]


def _instant(time: Any) -> Any:
    """A sort key for times: local times with an offset go back when summer time ends."""
    return datetime.fromisoformat(time) if isinstance(time, str) and time[-6:-5] in ("+", "-") else time


def _labelled(variable: str, bound_to: Any) -> list[tuple[str, dict[str, object]]]:
    if isinstance(bound_to, list):
        return [(f"{variable}[{k}]", event) for k, event in enumerate(bound_to, start=1)]
    return [(variable, bound_to)] if bound_to is not None else []


def _table(keys: Sequence[str], lines: Sequence[_Line], time: str, *, packed: bool) -> Table:
    """The lines under their columns. Packed, for a narrow terminal: all but the times in one column, with names."""
    times = {START, END, time}
    names = list(lines[0].cells)
    rest = [name for name in names if name not in times] if packed else []
    first = [name for name in names if name not in rest]
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for key in keys:
        table.add_column(key, style="cyan" if key == _VARIABLE else "dim", no_wrap=True)
    for name in first:
        number = all(isinstance(line.cells[name], int | float | None) for line in lines)
        table.add_column(
            Text(printable(name)), justify="right" if number else "left", overflow="fold", no_wrap=name in times
        )
    if rest:
        table.add_column("attributes", overflow="fold")
    for line in lines:
        cells = [*map(printable, line.keys), *(_cell(line.cells[name]) for name in first)]
        if rest:
            shown = [f"{printable(name)}={_cell(line.cells[name])}" for name in rest if line.cells[name] is not None]
            cells.append("  ".join(shown))
        table.add_row(*(Text(cell, line.style) for cell in cells), end_section=line.last)
    return table


def _cell(value: object) -> str:
    return printable(to_text(value)).replace("\n", "\\n")
