"""The first matches as a table for a reader: bounded in rows, in width and in what it costs to make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import pyarrow as pa

from cepheid.pattern.expressions.types import Kind, from_arrow
from cepheid.pictures import html_table
from cepheid.values.value import Value

ROWS, HTML_ROWS = 5, 10
"""How many matches are shown, as text and in a notebook."""

_WIDTH = 110  # characters of a line
_CELL = 40  # characters of a cell; fewer if there are many columns
_HTML_CELL = 100
_LEAST = 12
_ITEMS = 3  # events of a list
_NUMBERS = (Kind.INT, Kind.FLOAT, Kind.DECIMAL)


def as_text(title: str, table: pa.Table, *, more: bool) -> str:
    """A title, and the rows of a table under the names of its columns.

    >>> print(as_text("<2 matches>", pa.table({"a": [{"ts": 1}], "n": [None]}), more=True))
    <2 matches>
    a        n
    {ts: 1}  NULL
    …
    """
    columns = [_column(table, k, _CELL) for k in range(table.num_columns)]
    if _width(columns) > _WIDTH:
        limit = max(_LEAST, (_WIDTH + 2) // len(columns) - 2)
        columns = [[_cut(cell, limit) for cell in column] for column in columns]
    while _width(columns) > _WIDTH:
        columns = [*columns[:-2], ["…"] * len(columns[0])]
    lengths = [max(map(len, column)) for column in columns]
    lines = ["  ".join(map(str.ljust, line, lengths)).rstrip() for line in zip(*columns, strict=True)]
    return "\n".join([title, *lines, *["…"] * more])


def one_row(table: pa.Table) -> str:
    """The first row of a table, in a line.

    >>> one_row(pa.table({"ts": [1], "tag": [None]}))
    '{ts: 1, tag: NULL}'
    """
    return _cell(table.slice(0, 1).to_struct_array().chunk(0)[0], _WIDTH)


def as_html(title: str, table: pa.Table, *, more: bool) -> str:
    """The same for a notebook."""
    rows = list(zip(*(_column(table, k, _HTML_CELL) for k in range(table.num_columns)), strict=True))
    numbers = [k for k, field in enumerate(table.schema) if from_arrow(field.type).kind in _NUMBERS]
    return f"<p>{escape(title)}</p>{html_table(rows, numbers)}{'<p>…</p>' if more else ''}"


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _column(table: pa.Table, number: int, limit: int) -> list[str]:
    """The name of a column and its cells."""
    return [_cut(table.field(number).name, limit), *(_cell(value, limit) for value in table.column(number))]


def _cell(value: pa.Scalar, limit: int) -> str:
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > limit:
            break
    return _cut("".join(c if c.isprintable() else "·" for c in text), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _pieces(value: pa.Scalar) -> Iterator[str]:
    """The text of a value in pieces: of a long one only the beginning is asked for."""
    if not value.is_valid:
        yield "NULL"
    elif isinstance(value, pa.StructScalar):
        yield "{"
        for number, field in enumerate(value.type):
            yield f"{', ' if number else ''}{field.name}: "
            yield from _pieces(value[number])
        yield "}"
    elif isinstance(value, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
        yield "["
        for number, item in enumerate(value.values[:_ITEMS]):
            yield ", " if number else ""
            yield from _pieces(item)
        yield f", … {len(value.values)} in all]" if len(value.values) > _ITEMS else "]"
    else:
        yield _plain(value)


def _plain(value: pa.Scalar) -> str:
    try:
        python_value: Value = value.as_py()
    except (ValueError, OverflowError):  # a time that Python has no value for
        return str(value.cast(pa.string()).as_py())
    return str(python_value)
