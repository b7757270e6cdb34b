"""Values of Arrow columns for text formats: numbers, strings, booleans, NULL, dicts and lists."""

from __future__ import annotations

import base64
import json
import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column: times in ISO form, bytes in base64.

    >>> values(pa.array([1_500, None], pa.timestamp("ms")))
    ['1970-01-01T00:00:01.500', None]
    """
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in values(chunk)]
    arrow = column.type
    if isinstance(arrow, pa.DictionaryType):
        return values(column.dictionary_decode())
    if isinstance(arrow, pa.BaseExtensionType):
        return values(column.storage)
    if pa.types.is_struct(arrow):
        return _structs(column)
    if pa.types.is_map(arrow):
        pairs = values(column.cast(pa.list_(pa.struct([("key", arrow.key_type), ("value", arrow.item_type)]))))
        return [None if p is None else {str(pair["key"]): pair["value"] for pair in p} for p in pairs]
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return _lists(column)
    if pa.types.is_timestamp(arrow):
        return [None if t is None else _iso(t) for t in column.cast(pa.string()).to_pylist()]
    if pa.types.is_duration(arrow):
        # Not to_pylist: below a microsecond it fails, or returns pandas values if pandas is installed.
        return [None if d is None else duration(d, arrow.unit) for d in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(arrow) or pa.types.is_time(arrow):
        return list(column.cast(pa.string()).to_pylist())
    return [_plain(value) for value in column.to_pylist()]


def _structs(column: pa.StructArray) -> list[dict[str, object] | None]:
    names = [field.name for field in column.type]
    rows = zip(*(values(child) for child in column.flatten()), strict=True) if names else ((),) * len(column)
    valid = column.is_valid().to_pylist()
    return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]


def _lists(column: pa.Array) -> list[list[object] | None]:
    flat, at = values(column.flatten()), 0
    lists: list[list[object] | None] = []
    for length in pc.list_value_length(column).to_pylist():
        lists.append(None if length is None else flat[at : at + length])
        at += length or 0
    return lists


def _iso(time: str) -> str:
    """A time in ISO form: Arrow writes `2026-03-14 06:12:05+0100`."""
    return re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", time.replace(" ", "T", 1))


def duration(amount: int, unit: str) -> str:
    """A duration in ISO form.

    >>> duration(93_784_500, "ms"), duration(-90, "s"), duration(0, "s")
    ('P1DT2H3M4.5S', '-PT1M30S', 'PT0S')
    """
    whole, fraction = divmod(abs(amount), _PER_SECOND[unit])
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    digits = f"{fraction:0{len(str(_PER_SECOND[unit])) - 1}}".rstrip("0") if fraction else ""
    second = f"{seconds}.{digits}S" if digits else f"{seconds}S" if seconds else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + second
    date = f"{days}D" if days else ""
    if not date and not clock:
        clock = "0S"
    return f"{'-' if amount < 0 else ''}P{date}{'T' + clock if clock else ''}"


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str | Decimal):
        return value
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def to_json(value: object) -> str:
    """One value as JSON; NaN and infinities, which JSON lacks, become null.

    >>> to_json({"price": Decimal("1.10"), "tags": ["é", None], "x": float("nan")})
    '{"price": 1.10, "tags": ["é", null], "x": null}'
    """
    match value:
        case dict():
            return "{" + ", ".join(f"{to_json(key)}: {to_json(v)}" for key, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(to_json, value)) + "]"
        case float() if not math.isfinite(value):
            return "null"
        case Decimal():
            return format(value, "f")
        case _:
            return json.dumps(value, ensure_ascii=False)


def to_text(value: object) -> str:
    """One value for display or a CSV field: strings without quotes, NULL as an empty text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, float) else to_json(value)
