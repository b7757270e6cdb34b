"""The rows that the user names: by their numbers, or by what some of their columns hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.errors import UsageError, did_you_mean
from cepheid.pattern.bind import Bound
from cepheid.pattern.layout import always_bound

CODE = "CEP618"


def read_named(query: Bound, table: pa.Table, named: Mapping[str, object]) -> dict[str, list[int]]:
    """The rows of each variable."""
    positive = {component.variable: component for component in query.positive}
    rows: dict[str, list[int]] = {}
    for variable, given in named.items():
        if variable not in positive:
            known = query.components.get(variable)
            remedy = did_you_mean(variable, positive, "variables")
            what = f"'{variable}' must be absent" if known is not None else f"the query has no variable '{variable}'"
            raise UsageError(CODE, what, "leave it out" if known is not None else remedy)
        items = list(given) if isinstance(given, list | tuple) else [given]
        if len(items) > 1 and not positive[variable].array:
            raise UsageError(CODE, f"'{variable}' is one event, not {len(items)}", f"write {variable}=row")
        rows[variable] = [_row(table, variable, item) for item in items]
    missing = [name for name in positive if name in always_bound(query.layout) and not rows.get(name)]
    if missing:
        arguments = ", ".join(f"{name}=…" for name in missing)
        raise UsageError(CODE, f"a match has {' and '.join(missing)} too", f"name these rows: {arguments}")
    return rows


def _row(table: pa.Table, variable: str, item: object) -> int:
    if isinstance(item, int) and not isinstance(item, bool):
        if not 0 <= item < table.num_rows:
            message = f"{variable}={item}: there is no such row"
            raise UsageError(CODE, message, f"rows are numbered from 0 to {table.num_rows - 1}")
        return item
    if not isinstance(item, Mapping) or not item:
        shown = type(item).__name__
        raise UsageError(CODE, f"{variable} can't be a {shown}", "pass the number of a row, or a dict of columns")
    for name in item:
        if name not in table.column_names:
            remedy = did_you_mean(str(name), table.column_names, "columns")
            raise UsageError(CODE, f"the events have no column '{name}'", remedy)
    columns = {name: table.column(name).to_pylist() for name in item}
    found = [row for row in range(table.num_rows) if all(columns[name][row] == item[name] for name in item)]
    if len(found) == 1:
        return found[0]
    said = ", ".join(f"{name}={value!r}" for name, value in item.items())
    if not found:
        raise UsageError(CODE, f"{variable}: no event has {said}", "name columns and values as the table has them")
    others = _telling(table, found, item)
    remedy = f"name {' or '.join(others)} too" if others else "pass the number of the row: they are equal"
    raise UsageError(CODE, f"{variable}: {len(found):,} events have {said}", remedy)


def _telling(table: pa.Table, rows: Sequence[int], known: Mapping[object, object]) -> list[str]:
    """The columns that tell rows apart, the best ones first."""
    some = table.take(pa.array(rows[:1_000]))
    different = {name: len(set(map(repr, some.column(name).to_pylist()))) for name in table.column_names}
    names = [name for name, count in different.items() if count > 1 and name not in known]
    return sorted(names, key=lambda name: -different[name])[:3]
