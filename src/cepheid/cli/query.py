"""The QUERY argument: a file, the text itself, or stdin."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

from cepheid.api.files.formats import FORMATS
from cepheid.cli.streams import read_stdin
from cepheid.errors import FileError, ParseError

_QUERY_ENDINGS = (".sase", ".sql", ".txt", ".cep", ".query")


@dataclass(frozen=True, slots=True)
class QueryText:
    """The text of a query, its name in messages, and its file, if any."""

    text: str
    name: str
    path: Path | None = None


def read_query(argument: str) -> QueryText:
    """Read the QUERY argument.

    >>> read_query("PATTERN SEQ(A a, B b)").name
    'the query'
    """
    if argument == "-":
        return QueryText(_decode(read_stdin(), "stdin"), "stdin")
    if os.path.exists(argument):  # unlike Path.exists, False for a text that can't be a path
        path = Path(argument)
        if path.suffix.lower() in FORMATS:
            raise click.UsageError(f"'{argument}' is a file of events: write QUERY first, then EVENTS")
        try:
            return QueryText(_decode(path.read_bytes(), f"'{argument}'"), argument, path)
        except OSError as error:
            raise FileError.of("read", f"the query '{argument}'", error) from None
    if _looks_like_path(argument):
        raise FileError(
            "CEP801",
            f"can't read the query '{argument}': there is no such file",
            "check the spelling and the directory, or write a query: PATTERN SEQ(Shelf a, Exit b)",
        )
    return QueryText(_decode(os.fsencode(argument), "the query"), "the query")


def _looks_like_path(argument: str) -> bool:
    """Whether an argument looks like a file: queries have spaces or parentheses, file names have an ending."""
    words = argument.split()
    if not words or "\n" in argument:
        return False
    return argument.lower().endswith((*_QUERY_ENDINGS, *FORMATS)) or (len(words) == 1 and "(" not in argument)


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"{name} is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}"
        raise ParseError("CEP112", message, "save the query as UTF-8") from None
