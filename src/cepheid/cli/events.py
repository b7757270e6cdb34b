"""EVENTS: a file, a directory of Parquet files, or stdin, as one Arrow table."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from cepheid.cli.errors import FileError
from cepheid.cli.formats import FORMATS, Format, sniff
from cepheid.cli.progress import working
from cepheid.cli.read_csv import read_csv
from cepheid.cli.read_json import read_json
from cepheid.cli.read_parquet import read_directory, read_parquet
from cepheid.cli.streams import read_stdin
from cepheid.errors import InputError


def read_events(argument: str, type_column: str | None) -> pa.Table:
    """Read the EVENTS argument. The type column of a CSV file is text, whatever it looks like."""
    name = "stdin" if argument == "-" else f"'{argument}'"
    with working(f"reading {name}"):
        if argument == "-":
            data, form = read_stdin(), None
        elif os.path.isdir(argument):  # unlike Path.is_dir, False for an argument that can't be a path
            return read_directory(Path(argument))
        else:
            data, form = _read_file(argument), FORMATS.get(Path(argument).suffix.lower())
        if not data.strip():
            remedy = "pass a file that has at least the column names: a CSV header, or Parquet without rows"
            raise InputError("CEP407", f"{name} is empty", remedy)
        return _parse(data, form or sniff(data), name, type_column)


def _read_file(argument: str) -> bytes:
    try:
        return Path(argument).read_bytes()
    except OSError as error:
        raise FileError.of("read", f"the events '{argument}'", error) from None


def _parse(data: bytes, form: Format, name: str, type_column: str | None) -> pa.Table:
    if form is Format.PARQUET:
        return read_parquet(data, name)
    _check_text(data, name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if form is Format.CSV:
        return read_csv(data, name, type_column)
    return read_json(data, name)


def _check_text(data: bytes, name: str) -> None:
    """Check for UTF-8 here: Arrow accepts any bytes as text and fails much later."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"{name} is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}"
        raise InputError("CEP406", message, "save it as UTF-8; decompress it first if it is compressed") from None
