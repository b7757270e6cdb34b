"""Matches as Parquet, CSV, JSON or JSON lines."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.api.files.formats import FORMATS, Format
from cepheid.api.files.text_values import to_json, to_text, values
from cepheid.errors import FileError

_ROWS_AT_ONCE = 1_000


def write_file(matches: pa.Table, path: Path) -> None:
    """Write the matches to a file; its ending sets the format."""
    form = FORMATS[path.suffix.lower()]
    try:
        if form is Format.PARQUET:
            _write_parquet(matches, path)
            return
        lines = {Format.CSV: csv_lines, Format.JSON_LINES: json_lines, Format.JSON: _json_array}[form](matches)
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise FileError.of("write", f"'{path}'", error) from None


def check_output(output: str, events: str, what: str) -> None:
    """Check the output file before the query runs."""
    path = Path(output)
    if path.suffix.lower() not in FORMATS:
        raise click.UsageError(f"unknown ending of '{output}': use one of {', '.join(FORMATS)}")
    if os.path.exists(output) and os.path.exists(events) and os.path.samefile(output, events):
        raise click.UsageError(f"'{output}' is the file of the events: write {what} to another file")
    if os.path.isdir(output):
        raise FileError("CEP801", f"can't write '{output}': it is a directory", "name a file")
    if not os.path.isdir(path.parent):
        message = f"can't write '{output}': there is no directory '{path.parent}'"
        raise FileError("CEP801", message, "create it first, or choose another one")


def _write_parquet(matches: pa.Table, path: Path) -> None:
    try:
        pq.write_table(matches, path)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        path.unlink(missing_ok=True)
        reason = str(error).splitlines()[0]
        raise FileError("CEP802", f"Parquet can't hold the matches: {reason}", "write .jsonl instead") from None


def _rows(matches: pa.Table) -> Iterator[tuple[object, ...]]:
    """The rows, converted in chunks: Python values take much more memory than Arrow's."""
    for start in range(0, matches.num_rows, _ROWS_AT_ONCE):
        part = matches.slice(start, _ROWS_AT_ONCE)
        yield from zip(*(values(column) for column in part.columns), strict=True)


def json_lines(matches: pa.Table) -> Iterator[str]:
    """A JSON object per match."""
    for row in _rows(matches):
        yield to_json(dict(zip(matches.column_names, row, strict=True))) + "\n"


def _json_array(matches: pa.Table) -> Iterator[str]:
    """One JSON array, for tools that read a whole file; still one match per line."""
    yield "["
    for number, line in enumerate(json_lines(matches)):
        yield f"{',' if number else ''}\n{line.rstrip()}"
    yield "\n]\n"


def csv_lines(matches: pa.Table) -> Iterator[str]:
    """A header and a line per match; structs become columns such as `a.tag_id`, lists JSON text."""
    flat = matches
    while any(pa.types.is_struct(field.type) for field in flat.schema):
        flat = flat.flatten()
    yield _csv_line(flat.column_names)
    for row in _rows(flat):
        yield _csv_line([to_text(value) for value in row])


def _csv_line(fields: list[str]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(fields)
    return line.getvalue()
