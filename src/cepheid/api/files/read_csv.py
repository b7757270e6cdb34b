"""CSV: a header, types inferred from all rows, empty fields NULL."""

from __future__ import annotations

import csv
from collections import Counter
from contextlib import suppress
from io import StringIO

import pyarrow as pa
import pyarrow.csv as pacsv

from cepheid.api.files.memory import arrow_file
from cepheid.api.files.shares import OnShare, nobody
from cepheid.errors import InputError

_LARGEST_BLOCK = 2**31 - 1
_LONGEST_SHOWN = 60
_TOLD_BLOCK = 8 * 2**20
"""Bytes after which it is told how much has been read."""


def read_csv(data: bytes, name: str, type_column: str | None, report: OnShare = nobody) -> pa.Table:
    """The rows of a CSV file. The separator is a comma; a tab or a semicolon where the header has no comma."""
    separator = _separator(data)
    texts = {type_column} if type_column is not None else set()
    try:
        table = _read(data, separator, texts, report)
        clock_times = {f.name for f in table.schema if pa.types.is_time(f.type)}
        if clock_times:  # no expression can compare them; text at least has an order
            table = _read(data, separator, texts | clock_times, report)
    except pa.ArrowInvalid as error:
        raise _diagnose(data.decode(), separator, name, error) from None
    _check_header(table.column_names, name)
    return table


def _separator(data: bytes) -> str:
    header = data.lstrip().split(b"\n", 1)[0]
    return next((s for s in (",", "\t", ";") if s.encode() in header), ",")


def _read(data: bytes, separator: str, texts: set[str], report: OnShare) -> pa.Table:
    parse = pacsv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = pacsv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, column_types=dict.fromkeys(texts, pa.string())
    )
    if report is not nobody and len(data) > 2 * _TOLD_BLOCK:
        # Types are inferred from the first block. If all later ones have them too, they are those of the whole file.
        with suppress(pa.ArrowInvalid):
            return _read_in_blocks(data, parse, convert, report)
    # One block: types are inferred from the first one, and a later row may turn a column into text.
    block = pacsv.ReadOptions(block_size=min(len(data) + 1, _LARGEST_BLOCK))
    return pacsv.read_csv(arrow_file(data), read_options=block, parse_options=parse, convert_options=convert)


def _read_in_blocks(data: bytes, parse: pacsv.ParseOptions, convert: pacsv.ConvertOptions, report: OnShare) -> pa.Table:
    source, block = arrow_file(data), pacsv.ReadOptions(block_size=_TOLD_BLOCK)
    batches = []
    with pacsv.open_csv(source, read_options=block, parse_options=parse, convert_options=convert) as reader:
        for batch in reader:
            batches.append(batch)
            report(min(1.0, len(batches) * _TOLD_BLOCK / len(data)))
    return pa.Table.from_batches(batches)


def _check_header(names: list[str], name: str) -> None:
    for number, column in enumerate(names, start=1):
        if not column:
            remedy = "name it in the header; pandas leaves it out with to_csv(…, index=False)"
            raise InputError("CEP404", f"column {number} of {name} has no name", remedy)
    twice = next((column for column, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError("CEP404", f"two columns of {name} are named '{twice}'", "rename one of them in the header")


def _diagnose(text: str, separator: str, name: str, error: pa.ArrowInvalid) -> InputError:
    """Find the line that could not be read: Arrow does not report it."""
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator)
    expected: int | None = None
    line = 1
    try:
        for fields in reader:
            if fields and expected is None:
                expected = len(fields)
            if fields and len(fields) != expected:
                shown = separator.join(fields).split("\n")[0][:_LONGEST_SHOWN]
                return InputError(
                    "CEP406",
                    f"line {line} of {name} has {len(fields)} fields, the header has {expected}: {shown}",
                    f"give every line {expected} fields; quote one that contains '{separator}', and close each quote",
                )
            line = reader.line_num + 1
    except csv.Error:
        pass  # Python's reader has limits that Arrow's does not have; Arrow's reason is more useful
    reason = str(error).splitlines()[0].removeprefix("CSV parse error: ")
    return InputError("CEP406", f"{name} can't be read as CSV: {reason}", "give every line the fields of the header")
