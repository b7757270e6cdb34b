"""What is wrong with a text, with its place: errors, and warnings of what is likely to surprise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

import pyarrow as pa

from cepheid.api import Query
from cepheid.errors import CepheidError, CepheidWarning, handing_warnings
from cepheid.language import parse
from cepheid.studio.forms import Written
from cepheid.studio.source import EventSource
from cepheid.values.json import Json

_HEARD: ContextVar[list[CepheidWarning] | None] = ContextVar("heard", default=None)


def listening() -> AbstractContextManager[None]:
    """Hand each warning of Cepheid to the request that it belongs to, in whatever thread that runs.

    Warnings are the same for the whole process, so this is done once, while the server runs.
    """

    def take(warning: CepheidWarning) -> bool:
        heard = _HEARD.get()
        if heard is not None:
            heard.append(warning)
        return heard is not None

    return handing_warnings(take)


@contextmanager
def heard() -> Iterator[list[CepheidWarning]]:
    """The warnings that come meanwhile, in this thread."""
    token = _HEARD.set([])
    try:
        warned = _HEARD.get()
        assert warned is not None
        yield warned
    finally:
        _HEARD.reset(token)


def prepared(source: EventSource, written: Written) -> Query:
    """The query that stands in the editor. Errors and warnings speak of its parts in the words of its text."""
    return source.prepare(parse(written.as_text))


def check(source: EventSource, written: Written, events: pa.Table | None) -> dict[str, list[Json]]:
    """The problems of a query, as JSON; without events, only those that any events would show."""
    problems: list[Json] = []
    with heard() as warned:
        try:
            query = source.prepare(written.program)  # not `prepared`: places are those in the editor
            if events is not None:
                query.schema(events.schema)
                query.warn_of(events)
        except CepheidError as error:
            problems.append(problem(error, source, written))
    return {"problems": [*problems, *(warning(reported, source) for reported in warned)]}


def problem(error: CepheidError, source: EventSource, written: Written | None = None) -> Json:
    """An error as JSON. start, end: its place in the editor, counted in characters."""
    span = error.span if error.span is not None and written is not None and written.holds(error.span.text) else None
    return {
        "severity": "error",
        "code": error.code,
        "message": error.message,
        "remedy": source.spelt(error.remedy),
        "line": span and span.line,
        "column": span and span.column,
        "start": span and span.start,
        "end": span and span.end,
    }


def warning(reported: CepheidWarning, source: EventSource) -> dict[str, str]:
    """A warning as the JSON of a problem in the editor, in the words of its source."""
    return {
        "severity": "warning",
        "code": reported.code,
        "message": reported.message,
        "remedy": source.spelt(reported.remedy),
    }


def fault(error: Exception) -> dict[str, str]:
    """An error that nobody thought of, as JSON."""
    message = f"a fault of Cepheid: {type(error).__name__}: {error}"
    return {"severity": "error", "code": "", "message": message, "remedy": "report it, with the query"}
