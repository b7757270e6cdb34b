"""JSON lines, or one JSON array of objects; text columns of ISO dates or times are converted."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.json as pajson

from cepheid.api.files.memory import arrow_file
from cepheid.api.files.shares import OnShare, nobody, part
from cepheid.errors import InputError

_LARGEST_BLOCK = 2**31 - 1
_CHECKED, _READ = 0.4, 0.7  # the shares of the time that pass while lines are checked, and until Arrow has read them
_DEEPEST = 64  # Arrow's reader overflows the stack on what is nested thousands of levels deep
_REMEDY = 'write one object per line: {"ts": 1, "type": "Shelf", "tag_id": 7}'

# The types that Arrow's CSV reader tries, in its order; its JSON reader knows whole seconds only and loses the zone.
_TIMES = (
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
)


# Arrow would read longer integers as doubles, and two ids would become one.
_LONG = re.compile(rb'"(?:[^"\\]|\\.)*"|(-?\d{19,40})(?![\d.eE])')


def read_json(data: bytes, name: str, report: OnShare = nobody) -> pa.Table:
    """The rows of a file of JSON lines, or of a JSON array of objects."""
    unit = "line"
    if data.lstrip().startswith(b"["):
        data, unit = _array_as_lines(data, name), "element"
    lines = data.splitlines()
    _check_lines(lines, name, unit, part(report, 0, _CHECKED))
    try:
        table = _read(data, ())
        times = tuple(f.name for f in table.schema if pa.types.is_timestamp(f.type))
        if times:
            table = _read(data, times)
    except pa.ArrowInvalid as error:
        raise _diagnose(lines, name, unit, error) from None
    for at, field in enumerate(table.schema):
        part(report, _READ, 1)(at / table.num_columns)
        if pa.types.is_string(field.type):
            table = table.set_column(at, field.name, _with_time(table.column(at)))
    return table


def _read(data: bytes, texts: tuple[str, ...]) -> pa.Table:
    return pajson.read_json(
        arrow_file(data),
        # One block: an object may not straddle two.
        read_options=pajson.ReadOptions(block_size=min(len(data) + 1, _LARGEST_BLOCK)),
        parse_options=pajson.ParseOptions(explicit_schema=pa.schema([(text, pa.string()) for text in texts])),
    )


def _with_time(column: pa.ChunkedArray) -> pa.ChunkedArray:
    for candidate in _TIMES:
        try:
            return column.cast(candidate)
        except pa.ArrowInvalid:
            continue
    return column


def _array_as_lines(data: bytes, name: str) -> bytes:
    try:
        rows = json.loads(data)
    except RecursionError:
        raise InputError("CEP406", f"{name} is nested too deeply", _REMEDY) from None
    except json.JSONDecodeError as error:
        message = f"line {error.lineno} of {name} is not JSON: {error.msg} at column {error.colno}"
        raise InputError("CEP406", message, "fix it, or write one object per line") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError("CEP406", f"{name} can't be read as JSON: {error}", _REMEDY) from None
    if not rows:
        raise InputError("CEP407", f"{name} is an empty array", "pass at least one event")
    return b"\n".join(json.dumps(row).encode() for row in rows)


def _check_lines(lines: list[bytes], name: str, unit: str, report: OnShare) -> None:
    for number, line in enumerate(lines, start=1):
        if number % 10_000 == 0:
            report(number / len(lines))
        stripped = line.strip()
        if stripped and not (stripped.startswith(b"{") and stripped.endswith(b"}")):
            raise _not_an_object(stripped, number, name, unit)
        for number_text in _LONG.finditer(stripped):
            if number_text[1] and not -(2**63) <= int(number_text[1]) < 2**63:
                message = f"{number_text[1].decode()} in {unit} {number} of {name} does not fit into 64 bits"
                raise InputError("CEP405", message, "write it in quotes")
        if stripped.count(b"{") + stripped.count(b"[") > _DEEPEST and _depth(stripped) > _DEEPEST:
            message = f"{unit} {number} of {name} is nested more than {_DEEPEST} levels deep"
            raise InputError("CEP406", message, "flatten it, or remove the attribute")


def _not_an_object(line: bytes, number: int, name: str, unit: str) -> InputError:
    reason = _broken(line) or "it is a value, not an object"
    return InputError("CEP406", f"{unit} {number} of {name} is not a JSON object: {reason}", _REMEDY)


def _broken(line: bytes) -> str | None:
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return f"{error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _depth(line: bytes) -> int:
    level = deepest = 0
    for bracket in re.findall(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', line):
        level += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(bracket, 0)
        deepest = max(deepest, level)
    return deepest


def _diagnose(lines: list[bytes], name: str, unit: str, error: pa.ArrowInvalid) -> InputError:
    """Find the line that could not be read: Arrow counts rows within blocks, and not always."""
    seen: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        reason = _broken(line)
        if reason is not None:
            return InputError("CEP406", f"{unit} {number} of {name} is not JSON: {reason}", _REMEDY)
        pairs = json.loads(line, object_pairs_hook=tuple)
        for position, (key, value) in enumerate(pairs):
            if key in [k for k, _ in pairs[:position]]:
                message = f"{unit} {number} of {name} has '{key}' twice"
                return InputError("CEP406", message, "give every attribute one value")
            kind = _kind(value)
            known, where = seen.setdefault(key, (kind, number)) if kind else ("", 0)
            if known != kind:
                message = f"'{key}' is {kind} in {unit} {number} of {name}, and {known} in {unit} {where}"
                return InputError("CEP406", message, f"give '{key}' values of one type in all events")
    reason = str(error).splitlines()[0].removeprefix("JSON parse error: ")
    return InputError("CEP406", f"{name} can't be read as JSON lines: {reason}", _REMEDY)


def _kind(value: object) -> str:
    """The kind of a value: Arrow does not mix kinds in one column. None for null, which fits everywhere."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", tuple: "an object"}
    return kinds.get(type(value), "")
