"""`cepheid match --speculate`: the rows of a file as if they arrived now, and the changes that each of them makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import pyarrow as pa

from cepheid.api import Query
from cepheid.cli.errors import note
from cepheid.engine.session.delays import read_speculation
from cepheid.errors import InputError

ReportRows = Callable[[int, int | None], None]
"""Called with how many rows are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Replay:
    """How the rows of a file arrive, and how far ahead of the watermark matches are given."""

    speculate: int | str
    lateness: int | str | None
    late: str
    batch: int


def read_replay(
    speculate: str | None, lateness: str | None, late: str | None, batch: int | None, *, long: bool, open_: bool
) -> Replay | None:
    """What the options ask for; None: all events are there at once."""
    if speculate is None:
        for name, value in (("lateness", lateness), ("late", late), ("batch", batch)):
            if value is not None:
                raise click.UsageError(f"--{name} is for a replay only: add --speculate, such as --speculate all")
        return None
    if long:
        raise click.UsageError("--long and --speculate can't be combined")
    if not open_:
        raise click.UsageError("--no-open and --speculate can't be combined: a replay ends with the file")
    span = read_span(speculate)
    read_speculation(span, "milliseconds")  # an error comes before the events are read
    if lateness is None and speculate != "all":
        message = "without it there is no watermark to go ahead of, and all matches come at the end"
        raise click.UsageError(f"--speculate {speculate} needs --lateness: {message}")
    return Replay(span, None if lateness is None else read_span(lateness), late or "drop", batch or 1)


def read_span(text: str) -> int | str:
    """A duration such as "10 minutes", "all", or a whole number in the unit of the query.

    >>> read_span("10 minutes"), read_span("0")
    ('10 minutes', 0)
    """
    return int(text) if text.isdecimal() else text


def replay(query: Query, events: pa.Table, how: Replay, report: ReportRows, **options: Any) -> pa.Table:
    """Push the rows in the order of the file, and return all changes in the order in which they came."""
    session = query.session(lateness=how.lateness, late=how.late, speculate=how.speculate, **options)
    changes = []
    for start in range(0, max(1, events.num_rows), how.batch):
        try:
            emitted = session.push(events.slice(start, how.batch))
        except InputError as error:
            raise _in_the_file(error, start) from None
        if emitted:
            changes.append(emitted.to_arrow(ids=True))
        report(start, events.num_rows)
    last = session.close().to_arrow(ids=True)
    if session.stats.late:
        note(f"{session.stats.late:,} late row{'s were' if session.stats.late > 1 else ' was'} dropped")
    return pa.concat_tables([*changes, last], promote_options="permissive")


def _in_the_file(error: InputError, start: int) -> InputError:
    """An error that names the row of the file, not of the rows that arrived together.

    >>> _in_the_file(InputError("CEP412", "column 'op' is '?' in row 0", "…"), 7).message
    "column 'op' is '?' in row 7"
    """
    parts = re.fullmatch(r"(.*\brow )(\d+)(.*)", error.message, re.DOTALL)
    message = f"{parts[1]}{start + int(parts[2])}{parts[3]}" if parts else error.message
    return InputError(error.code, message, error.remedy, error.span)
