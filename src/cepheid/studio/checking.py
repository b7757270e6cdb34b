"""What is wrong with a text, with its place: errors, and warnings of what is likely to surprise."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

import pyarrow as pa

from cepheid.api import Query
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.language import parse
from cepheid.studio.source import Source

_HEARD: ContextVar[list[CepheidWarning] | None] = ContextVar("heard", default=None)


@contextmanager
def listening() -> Iterator[None]:
    """Hand each warning of Cepheid to the request that it belongs to, in whatever thread that runs.

    Warnings are the same for the whole process, so this is done once, while the server runs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", CepheidWarning)
        show = warnings.showwarning

        def showwarning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            heard = _HEARD.get()
            if isinstance(message, CepheidWarning) and heard is not None:
                heard.append(message)
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = showwarning
        yield


@contextmanager
def heard() -> Iterator[list[CepheidWarning]]:
    """The warnings that come meanwhile, in this thread."""
    token = _HEARD.set([])
    try:
        found = _HEARD.get()
        assert found is not None
        yield found
    finally:
        _HEARD.reset(token)


def prepared(source: Source, text: str) -> Query:
    """The query that a text is."""
    return source.prepare(parse(text))


def check(source: Source, text: str, events: pa.Table | None) -> dict[str, Any]:
    """The problems of a text, as JSON; without events, only those that any events would show."""
    problems: list[dict[str, Any]] = []
    with heard() as told:
        try:
            query = prepared(source, text)
            if events is not None:
                query.schema(events.schema)
                query.warn_of(events)
        except CepheidError as error:
            problems.append(problem(error))
    return {"problems": [*problems, *map(warning, told)]}


def problem(error: CepheidError) -> dict[str, Any]:
    """An error as JSON. start, end: its place in the text, counted in characters."""
    span = error.span
    return {
        "severity": "error",
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
        "line": error.line,
        "column": error.column,
        "start": span and span.start,
        "end": span and span.end,
    }


def warning(told: CepheidWarning) -> dict[str, Any]:
    """A warning as JSON."""
    return {"severity": "warning", "code": told.code, "message": told.message, "remedy": told.remedy}
