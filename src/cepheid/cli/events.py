"""EVENTS: a file, several by a pattern, a directory of Parquet files, or stdin, as one Arrow table."""

from __future__ import annotations

import pyarrow as pa

from cepheid.api.files.read_files import read_bytes, read_files
from cepheid.cli.progress import working
from cepheid.cli.streams import read_stdin


def read_events(argument: str, type_column: str | None) -> pa.Table:
    """Read the EVENTS argument. The type column of a CSV file is text, whatever it looks like."""
    if argument == "-":
        with working("reading stdin"):
            return read_bytes(read_stdin(), None, "stdin", type_column)
    with working(f"reading '{argument}'"):
        return read_files(argument, type_column)
