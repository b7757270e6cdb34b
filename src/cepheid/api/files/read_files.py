"""Files of events as one Arrow table."""

from __future__ import annotations

import os
import re
from glob import glob, has_magic
from pathlib import Path

import pyarrow as pa

from cepheid.api.files.formats import FORMATS, Format, sniff
from cepheid.api.files.read_csv import read_csv
from cepheid.api.files.read_json import read_json
from cepheid.api.files.read_parquet import (
    in_one,
    is_parquet,
    parts_of,
    read_directory,
    read_parquet,
    read_parquet_file,
    with_parts,
)
from cepheid.api.files.shares import OnShare, nobody, parts
from cepheid.errors import FileError, InputError, nearest

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def read_files(path: str, type_column: str | None, report: OnShare = nobody) -> pa.Table:
    """The events of a file, of all Parquet files of a folder, or of the files of a pattern such as `day=*/*.csv`.

    The type column of a CSV file is text, whatever it looks like. report: is called with the share that has been read.
    """
    if _REMOTE.match(path):
        remedy = f"pass a dataset of pyarrow: pyarrow.dataset.dataset('{path}')"
        raise FileError("CEP801", f"'{path}' is not a file of this machine", remedy)
    if os.path.isdir(path):  # unlike Path.is_dir, False for what can't be a path
        table = read_directory(Path(path), report)
    elif has_magic(path) and not os.path.exists(path):
        table = _read_pattern(path, type_column, report)
    else:
        table = _read_file(path, type_column, report)
    report(1.0)
    return table


def looks_like_path(text: str) -> bool:
    """Whether a string is meant as the name of a file, whether or not there is one.

    >>> looks_like_path("events.parquet"), looks_like_path("day/*"), looks_like_path("SEQ(A a, B b)")
    (True, True, False)
    """
    return "\n" not in text and (
        Path(text).suffix.lower() in FORMATS or "/" in text or os.sep in text or os.path.exists(text)
    )


def read_bytes(
    data: bytes, form: Format | None, name: str, type_column: str | None, report: OnShare = nobody
) -> pa.Table:
    """Parse the bytes of a file. form: its format; None: recognize it by the bytes. name: what errors call the file."""
    if not data.strip():
        remedy = "pass a file that has at least the column names: a CSV header, or Parquet without rows"
        raise InputError("CEP407", f"{name} is empty", remedy)
    form = form or sniff(data)
    if form is Format.PARQUET:
        return read_parquet(data, name)
    _check_text(data, name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if form is Format.CSV:
        return read_csv(data, name, type_column, report)
    return read_json(data, name, report)


def _read_pattern(pattern: str, type_column: str | None, report: OnShare) -> pa.Table:
    paths = [Path(path) for path in sorted(glob(pattern, recursive=True)) if os.path.isfile(path)]
    if not paths:
        raise FileError("CEP801", f"no file has a name like '{pattern}'", "check the spelling and the directory")
    shares = parts(report, [path.stat().st_size for path in paths])
    tables = [_read_file(str(path), type_column, share) for path, share in zip(paths, shares, strict=True)]
    return in_one(with_parts(tables, [parts_of(path) for path in paths]), pattern)


def _read_file(path: str, type_column: str | None, report: OnShare) -> pa.Table:
    form = FORMATS.get(Path(path).suffix.lower())
    if form is Format.PARQUET and is_parquet(path):
        return read_parquet_file(Path(path), report)
    return read_bytes(_read(path), form, f"'{path}'", type_column, report)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        missing = FileError.of("read", f"the events '{path}'", error)
        close = nearest(Path(path).name, _names_beside(path))
        if close is not None:
            raise FileError(missing.code, missing.message, f"did you mean '{Path(path).parent / close}'?") from None
        raise missing from None
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = error if isinstance(error, OSError) else OSError(str(error))
        raise FileError.of("read", f"the events '{path}'", reason) from None


def _names_beside(path: str) -> list[str]:
    try:
        return os.listdir(Path(path).parent)
    except OSError:
        return []


def _check_text(data: bytes, name: str) -> None:
    """Check for UTF-8 here: Arrow accepts any bytes as text and fails much later."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"{name} is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}"
        raise InputError("CEP406", message, "save it as UTF-8; decompress it first if it is compressed") from None
