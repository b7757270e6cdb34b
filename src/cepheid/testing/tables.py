"""The events of a case: converts a text table to Arrow and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from cepheid.testing.cells import infer_type, parse_cell, parse_type, print_cell, split_row, type_name
from cepheid.testing.page import Page


def parse_table(page: Page, section: slice, options: Mapping[str, object]) -> pa.Table:
    """Read the events; the type of a column is inferred from its cells unless given."""
    written = list(page.written(section))
    if not written:
        raise page.error(section.start - 1, "the table has no columns", "write the column names: ts | type")
    (at, header), *lines = written
    titles = split_row(header)
    rows = [(k, split_row(line)) for k, line in lines]
    for k, row in rows:
        if len(row) != len(titles):
            remedy = "write one cell per column, NULL for a missing value"
            raise page.error(k, f"the row has {len(row)} cells, but the table has {len(titles)} columns", remedy)
    names, arrays = [], []
    for n, title in enumerate(titles):
        name, typed, wanted = (part.strip() for part in title.partition(":"))
        cells = [(k, row[n]) for k, row in rows]
        try:
            type_ = parse_type(wanted) if typed else _inferred(name, [cell for _, cell in cells], options)
        except ValueError as error:
            raise page.error(at, f"column '{name}': {error}", "write an Arrow type, as in x:float64") from None
        names.append(name)
        arrays.append(_column(page, name, type_, cells))
    return pa.table(arrays, names=names)


def _inferred(name: str, cells: Sequence[str], options: Mapping[str, object]) -> pa.DataType:
    """The type of the cells. Without events, time and type columns still get types that a query can be bound to."""
    inferred = infer_type(cells)
    if pa.types.is_null(inferred) and name in (options.get("time", "ts"), options.get("start")):
        return pa.int64()
    if pa.types.is_null(inferred) and name == options.get("type", "type"):
        return pa.string()
    return inferred


def _column(page: Page, name: str, type_: pa.DataType, cells: Sequence[tuple[int, str]]) -> pa.Array:
    arrays = []
    for k, cell in cells:
        try:
            arrays.append(parse_cell(cell, type_))
        except (pa.ArrowException, ValueError, OverflowError) as error:
            remedy = f"write a value of {type_name(type_)}, or NULL"
            raise page.error(k, f"column '{name}' can't hold {cell or 'nothing'}: {error}", remedy) from None
    if pa.types.is_dictionary(type_):
        return pa.array([a[0].as_py() for a in arrays], pa.string()).dictionary_encode()
    return pa.concat_arrays(arrays) if arrays else pa.array([], type_)


def print_table(table: pa.Table) -> list[str]:
    """The lines of a table, in aligned columns.

    >>> print_table(pa.table({"ts": [1, 20], "type": ["A", None]}))
    ['ts | type', '1  | A', '20 | NULL']
    """
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        whole = column.cast(pa.int64()) if pa.types.is_duration(field.type) else column
        cells = [print_cell(value) for value in whole.to_pylist()]
        # The type of an empty column would be guessed from its name, so it is written out.
        plain = infer_type(cells) == field.type and not pa.types.is_null(field.type)
        columns.append([field.name if plain else f"{field.name}:{type_name(field.type)}", *cells])
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    return [" | ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
