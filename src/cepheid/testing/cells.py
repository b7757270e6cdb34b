"""Cells of a text table, and their Arrow types."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|nan)", re.IGNORECASE)
_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_CELL = re.compile(rf"(\s*{_QUOTED.pattern}\s*|[^|]*)(\||$)")
_PLAIN = re.compile(r"[A-Za-z_](?:[\w .-]*\w)?")


def split_row(line: str) -> list[str]:
    """Split a line into cells; a bar inside quotes belongs to the text.

    >>> split_row("1 | 'a|b' | it's")
    ['1', "'a|b'", "it's"]
    """
    cells, at, bar = [], 0, "|"
    while bar:
        cell_match = _CELL.match(line, at)
        assert cell_match is not None  # the pattern matches anything up to the next bar
        cell, bar = cell_match.groups()
        cells.append(cell.strip())
        at = cell_match.end()
    return cells


def parse_type(name: str) -> pa.DataType:
    """An Arrow type by its name; ValueError if there is none.

    >>> parse_type("timestamp[us, UTC]"), parse_type("list<float64>")
    (TimestampType(timestamp[us, tz=UTC]), ListType(list<item: double>))
    """
    if name == "dictionary":
        return pa.dictionary(pa.int32(), pa.string())
    if item := re.fullmatch(r"list<(?:item: )?(.+)>", name):
        return pa.list_(parse_type(item[1]))
    if inside := re.fullmatch(r"struct<(.+)>", name):
        fields = [part.partition(":") for part in _outer_parts(inside[1])]
        return pa.struct([(field.strip(), parse_type(type_.strip())) for field, _, type_ in fields])
    if pair := re.fullmatch(r"map<([^,]+), *(.+)>", name):
        return pa.map_(parse_type(pair[1]), parse_type(pair[2]))
    if digits := re.fullmatch(r"decimal128\((\d+), *(\d+)\)", name):
        return pa.decimal128(int(digits[1]), int(digits[2]))
    if unit := re.fullmatch(r"timestamp\[(s|ms|us|ns), *(?:tz=)?(\S+)\]", name):
        return pa.timestamp(unit[1], unit[2])
    return pa.type_for_alias(name)


def _outer_parts(text: str) -> list[str]:
    """What commas separate that are in no bracket."""
    parts, level = [""], 0
    for character in text:
        level += (character in "<[(") - (character in ">])")
        if character == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def type_name(type_: pa.DataType) -> str:
    """The name that `parse_type` reads.

    >>> type_name(pa.list_(pa.float32()))
    'list<float32>'
    """
    if pa.types.is_dictionary(type_):
        return "dictionary"
    if pa.types.is_list(type_):
        return f"list<{type_name(type_.value_type)}>"
    names = {pa.float32(): "float32", pa.float64(): "float64", pa.date32(): "date32"}
    return names.get(type_, str(type_).replace("tz=", ""))


def infer_type(cells: Sequence[str]) -> pa.DataType:
    """Infer the type of a column from its cells.

    >>> infer_type(["1", "NULL", "2.5"])
    DataType(double)
    """
    present = [cell for cell in cells if cell != "NULL"]
    if not present:
        return pa.null()
    if all(map(_INTEGER.fullmatch, present)):
        return pa.int64()
    if all(map(_FLOAT.fullmatch, present)):
        return pa.float64()
    if all(cell in ("true", "false") for cell in present):
        return pa.bool_()
    return pa.string()


def parse_cell(cell: str, type_: pa.DataType) -> pa.Array:
    """A column of one cell; ValueError or an Arrow error if it can't be read.

    >>> parse_cell("[1.0 2.5]", pa.list_(pa.float64())).to_pylist()
    [[1.0, 2.5]]
    """
    if cell == "NULL":
        return pa.nulls(1, type_)
    if not cell:
        raise ValueError("write '' for an empty text")
    text = cell[1:-1].replace("''", "'") if _QUOTED.fullmatch(cell) else cell
    if pa.types.is_list(type_):
        items = re.fullmatch(r"\[(.*)\]", text)
        if items is None:
            raise ValueError("a list is written [1.0 2.0]")
        return pa.array([[parse_cell(item, type_.value_type)[0].as_py() for item in items[1].split()]], type_)
    if pa.types.is_struct(type_) or pa.types.is_map(type_):
        value = _with_times(json.loads(text), type_)
        return pa.array([list(value.items()) if pa.types.is_map(type_) and isinstance(value, dict) else value], type_)
    if pa.types.is_duration(type_):
        return pa.array([text]).cast(pa.int64()).cast(type_)
    if pa.types.is_dictionary(type_):
        return pa.array([text]).dictionary_encode()
    if pa.types.is_timestamp(type_) and type_.tz == "UTC" and not _ZONE.search(text):
        return pa.array([text]).cast(pa.timestamp(type_.unit)).cast(type_)
    return pa.array([text]).cast(type_)


def _with_times(value: object, type_: pa.DataType) -> object:
    """JSON has times as text."""
    if pa.types.is_struct(type_) and isinstance(value, dict):
        known = {field.name: field.type for field in type_}
        return {name: _with_times(item, known[name]) if name in known else item for name, item in value.items()}
    if isinstance(value, str) and (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
        return parse_cell(value, type_)[0].as_py()
    return value


def print_cell(value: Any) -> str:
    """A value as a cell; a string that could be read as something else is quoted.

    >>> [print_cell(v) for v in (None, "it's", "NULL", 1.0, [1, 2])]
    ['NULL', "'it''s'", "'NULL'", '1.0', '[1 2]']
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            special = value in ("NULL", "true", "false") or _FLOAT.fullmatch(value)
            return value if _PLAIN.fullmatch(value) and not special else "'" + value.replace("'", "''") + "'"
        case dict():
            return json.dumps(value, default=str)
        case [(_, _), *_] if isinstance(value[0], tuple):
            return json.dumps(dict(value), default=str)
        case list():
            return f"[{' '.join(map(print_cell, value))}]"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
