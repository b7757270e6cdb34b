"""The rows that the user names: by their numbers, or by what some of their columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import SupportsIndex, TypeGuard

import pyarrow as pa

from cepheid.errors import UsageError, did_you_mean
from cepheid.front.automata.registers import FIRST, LAST
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.layout import always_bound

CODE = "CEP618"


def read_named(query: Runnable, table: pa.Table, named: Mapping[str, object]) -> dict[str, list[int]]:
    """The rows of each variable."""
    positive = {component.variable: component for component in query.positive}
    rows: dict[str, list[int]] = {}
    for variable, rows_of in named.items():
        if variable not in positive:
            known = query.components.get(variable)
            remedy = did_you_mean(variable, positive, "variables")
            what = f"'{variable}' must be absent" if known is not None else f"the query has no variable '{variable}'"
            raise UsageError(CODE, what, "leave it out" if known is not None else remedy)
        items = items_of(rows_of)
        if len(items) > 1 and not positive[variable].array:
            raise UsageError(CODE, f"'{variable}' is one event, not {len(items)}", f"write {variable}=row")
        rows[variable] = [_row(table, variable, item) for item in items]
    missing = [name for name in positive if name in always_bound(query.layout) and not rows.get(name)]
    if missing:
        arguments = ", ".join(f"{name}=…" for name in missing)
        raise UsageError(CODE, f"a match has {' and '.join(missing)} too", f"name these rows: {arguments}")
    if not any(rows.values()):
        remedy = f"name the rows of one: {next(iter(positive))}=…"
        raise UsageError(CODE, f"a match has one of {', '.join(positive)}", remedy)
    return rows


def items_of(named: object) -> list[object]:
    """What names the rows of a variable: nothing, one item, or those of a list."""
    if named is None:
        return []
    return list(named) if _is_list(named) else [named]


def _is_list(named: object) -> TypeGuard[Iterable[object]]:
    """Whether several rows are named, by a list or by one of NumPy, pandas or Arrow."""
    is_single = isinstance(named, str | bytes | Mapping) or getattr(named, "ndim", 1) == 0
    return isinstance(named, Iterable) and not is_single


def read_ends(table: pa.Table, named: Mapping[str, object]) -> dict[str, list[int]]:
    """The rows of the first and the last event of what ought to be a match of an automaton."""
    for name in named:
        if name not in (FIRST, LAST):
            message = f"a match of an automaton has no '{name}': it is the events from its first to its last one"
            raise UsageError(CODE, message, "name two rows: first=…, last=…")
    for name in (FIRST, LAST):
        if name not in named:
            raise UsageError(CODE, f"a match has a {name} event too", f"name this row: {name}=…")
        if _is_list(named[name]):
            raise UsageError(CODE, f"'{name}' is one event", f"write {name}=row; those in between follow from it")
    return {name: [_row(table, name, named[name])] for name in (FIRST, LAST)}


def _row(table: pa.Table, variable: str, item: object) -> int:
    row = _number(item)
    if row is not None:
        if not 0 <= row < table.num_rows:
            numbers = f"rows are counted from 0 to {table.num_rows - 1}"
            remedy = numbers if table.num_rows else "there are no events: check where they are read from"
            raise UsageError(CODE, f"{variable}={row}: there is no such row", remedy)
        return row
    if not isinstance(item, Mapping) or not item:
        remedy = "pass the number of a row, or a dict of columns and their values"
        raise UsageError(CODE, f"{variable}={item!r} does not name a row", remedy)
    for name in item:
        if name not in table.column_names:
            remedy = did_you_mean(str(name), table.column_names, "columns")
            raise UsageError(CODE, f"the events have no column '{name}'", remedy)
    columns = {name: table.column(name).to_pylist() for name in item}
    wanted = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in item.items()}
    rows = [row for row in range(table.num_rows) if all(_equal(columns[name][row], wanted[name]) for name in item)]
    if len(rows) == 1:
        return rows[0]
    said = ", ".join(f"{name}={value!r}" for name, value in item.items())
    if not rows:
        raise UsageError(CODE, f"{variable}: no event has {said}", "name columns and values as the table has them")
    others = _distinctive(table, rows, item)
    remedy = f"name {' or '.join(others)} too" if others else "pass the number of the row: they are equal"
    raise UsageError(CODE, f"{variable}: {len(rows):,} events have {said}", remedy)


def _number(item: object) -> int | None:
    """A whole number, also one of NumPy or pandas."""
    try:
        return index(item) if isinstance(item, SupportsIndex) and not isinstance(item, bool) else None
    except TypeError:  # an array of several
        return None


def _equal(cell: object, value: object) -> bool:
    """Whether a cell has a value. NaN equals NaN, and NULL is NULL."""
    match cell, value:
        case Mapping(), Mapping():
            return cell.keys() == value.keys() and all(_equal(cell[name], value[name]) for name in cell)
        case list(), list():
            return len(cell) == len(value) and all(map(_equal, cell, value))
    return bool(cell == value) or (cell != cell and value != value)


def _distinctive(table: pa.Table, rows: Sequence[int], known: Mapping[object, object]) -> list[str]:
    """The columns in which rows differ, the best ones first."""
    some = table.take(pa.array(rows[:1_000]))
    different = {name: len(set(map(repr, some.column(name).to_pylist()))) for name in table.column_names}
    names = [name for name, count in different.items() if count > 1 and name not in known]
    return sorted(names, key=lambda name: -different[name])[:3]
