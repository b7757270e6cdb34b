"""Parquet: one file, or all of a directory."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.api.files.memory import arrow_file
from cepheid.api.files.shares import OnShare, nobody, parts
from cepheid.errors import FileError, InputError

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def read_parquet(data: bytes, name: str) -> pa.Table:
    """The rows of one file."""
    try:
        return pq.ParquetFile(arrow_file(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise _broken(name, error) from None


def read_directory(directory: Path, report: OnShare = nobody) -> pa.Table:
    """The rows of all Parquet files in a directory; a path segment such as `day=14` becomes a column.

    A column that a file lacks is NULL there; hidden files, and Spark's files that start with `_`, are skipped.
    """
    # Not pyarrow.dataset: it imports pandas if that is installed, which takes longer than most queries.
    paths = sorted(p for p in directory.rglob("*.parquet") if p.is_file() and not _hidden(p.relative_to(directory)))
    if not paths:
        remedy = "name a directory with .parquet files, or a file of Parquet, CSV or JSON lines"
        raise FileError("CEP801", f"the directory '{directory}' has no Parquet files", remedy)
    shares = parts(report, [path.stat().st_size for path in paths])
    tables = [read_parquet_file(path, share) for path, share in zip(paths, shares, strict=True)]
    return in_one(with_parts(tables, [parts_of(path.relative_to(directory)) for path in paths]), str(directory))


def in_one(tables: list[pa.Table], place: str) -> pa.Table:
    """The rows of several files. place: what names them."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        remedy = "give each column one type in all files"
        raise InputError("CEP406", f"the files of '{place}' have different schemas: {reason}", remedy) from None


def is_parquet(path: str) -> bool:
    """Whether a file begins as those of Parquet do."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def read_parquet_file(path: Path, report: OnShare = nobody) -> pa.Table:
    """The rows of one file, of which only the table is held in memory. report: is called after each row group."""
    try:
        source = pa.memory_map(str(path))
    except OSError as error:
        raise FileError.of("read", f"'{path}'", error) from None
    with source:
        try:
            file = pq.ParquetFile(source)
            if report is nobody or file.num_row_groups < 2:
                return file.read()
            tables = []
            for at in range(file.num_row_groups):
                tables.append(file.read_row_group(at))
                report((at + 1) / file.num_row_groups)
            return pa.concat_tables(tables)
        except (pa.ArrowException, OSError) as error:
            raise _broken(f"'{path}'", error) from None


def parts_of(path: Path) -> dict[str, str]:
    """The columns in directory names, as Spark and Hive write them."""
    pairs = (part.partition("=") for part in path.parent.parts)
    return {name: unquote(value) for name, equals, value in pairs if name and equals and value != _HIVE_NULL}


def with_parts(tables: list[pa.Table], parts: list[dict[str, str]]) -> list[pa.Table]:
    """The tables with the columns of their paths; a column is numeric if all files have numbers there."""
    for name in dict.fromkeys(name for part in parts for name in part):
        number = all(_NUMBER.fullmatch(part[name]) for part in parts if name in part)
        for k, part in enumerate(parts):
            if name in part and name not in tables[k].column_names:
                value = pa.scalar(int(part[name]) if number else part[name])
                tables[k] = tables[k].append_column(name, pa.repeat(value, tables[k].num_rows))
    return tables


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _broken(name: str, error: Exception) -> InputError:
    reason = str(error).splitlines()[0]
    return InputError("CEP406", f"{name} can't be read as Parquet: {reason}", "write or copy the file again")
