"""Errors with a stable code, the place in the query, and one remedy."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self, TextIO, TypeAlias
from unicodedata import combining, east_asian_width


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a query's text. It carries the whole text, so that an error can show the line."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The number of the line in which it starts, from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The number of the column in which it starts, from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    @property
    def excerpt(self) -> str:
        """The text that the span covers."""
        return self.text[self.start : self.end]

    def caret(self) -> str:
        """The line with the span underlined, or the part of a long line around it.

        >>> print(Span("EVENT A a\\nWHERE a.pric > 1", 16, 22).caret())
        2 | WHERE a.pric > 1
          |       ^^^^^^
        """
        begin = self.text.rfind("\n", 0, self.start) + 1
        finish = self.text.find("\n", self.start)
        line = self.text[begin : finish if finish >= 0 else len(self.text)]
        at = self.start - begin
        first = max(0, at - _BEFORE) if len(line) > _WIDTH else 0
        shown = _printable(line[first : first + _WIDTH])
        under = _printable(line[at : min(self.end - begin, first + _WIDTH)])
        gutter, mark = str(self.line), "…" if first else ""
        pad = _cells(mark + _printable(line[first:at]))
        more = "…" if first + _WIDTH < len(line) else ""
        return f"{gutter} | {mark}{shown}{more}\n{' ' * len(gutter)} | {' ' * pad}{'^' * max(1, _cells(under))}"


_WIDTH, _BEFORE = 110, 50  # how many characters of a long line are shown, and how many before the place


def _printable(text: str) -> str:
    """Tabs would shift the caret, other control characters would garble a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes: wide characters take two, combining ones none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def merge(first: Span | None, last: Span | None) -> Span | None:
    """The span from the beginning of one to the end of another."""
    if first is None or last is None:
        return first or last
    return Span(first.text, min(first.start, last.start), max(first.end, last.end))


class CepheidError(Exception):
    """The root of all errors of Cepheid. Fields: code, message, remedy, span, line, column.

    >>> print(CepheidError("CEP000", "unknown column 'tag'", "did you mean 'tag_id'?"))
    error CEP000: unknown column 'tag'
    help: did you mean 'tag_id'?
    """

    def __init__(self, code: str, message: str, remedy: str, span: Span | None = None) -> None:
        super().__init__(code, message, remedy, span)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.span = span

    @property
    def line(self) -> int | None:
        """Line in the query's text from 1, or None if the query was built in Python."""
        return self.span.line if self.span else None

    @property
    def column(self) -> int | None:
        """Column in the query's text from 1, or None if the query was built in Python."""
        return self.span.column if self.span else None

    def __str__(self) -> str:
        place = f"\n  at line {self.line}, column {self.column}\n{self.span.caret()}" if self.span else ""
        return f"error {self.code}: {self.message}{place}\nhelp: {self.remedy}"


class ParseError(CepheidError):
    """The text is not a query (codes CEP1xx)."""


class PatternError(CepheidError):
    """The query is wrong for any data (CEP2xx)."""


class BindError(CepheidError):
    """The query does not fit its parameters, functions or the schema of the events (CEP3xx)."""


class InputError(CepheidError):
    """The events cannot be read or ordered (CEP4xx)."""


class EvaluationError(CepheidError):
    """A predicate or a user function failed on an event (CEP5xx)."""


class UsageError(CepheidError):
    """The Python API or the command line was used wrongly (CEP6xx)."""


class FileError(CepheidError):
    """A file cannot be read or written (codes CEP8xx)."""

    @classmethod
    def of(cls, action: str, what: str, error: OSError) -> Self:
        """An error of the operating system, with a remedy."""
        reason = error.strerror or str(error)
        remedies = {
            FileNotFoundError: "check the spelling and the directory",
            PermissionError: f"get permission to {action} it, or choose another file",
            IsADirectoryError: "name a file",
        }
        remedy = remedies.get(type(error), "choose another file, or check the device")
        return cls("CEP801", f"can't {action} {what}: {reason}", remedy)


class CepheidWarning(UserWarning):
    """Something that is allowed but likely to surprise (CEP0xx). Fields: code, message, remedy.

    >>> print(CepheidWarning("CEP005", "no event has the type 'shelf'", "did you mean 'Shelf'?"))
    CEP005: no event has the type 'shelf'; did you mean 'Shelf'?
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy)
        self.code = code
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.code}: {self.message}; {self.remedy}"


Place: TypeAlias = tuple[str, int]
"""A file and a line."""


def calling_place() -> Place:
    """The line of the user's code that called Cepheid."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "cepheid":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def warn(warning: CepheidWarning, place: Place | None = None) -> None:
    """Issue a warning at a place in the user's code; by default where it called Cepheid."""
    warnings.warn_explicit(warning, CepheidWarning, *(place or calling_place()))


@contextmanager
def handing_warnings(take: Callable[[CepheidWarning], bool]) -> Iterator[None]:
    """Hand each of our warnings to a function, every time. Those that it does not take are shown as usual."""
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
            if not isinstance(message, CepheidWarning) or not take(message):
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = showwarning
        yield


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that the user probably meant. likeness: from 0 to 1, how much alike the two must be.

    >>> nearest("tagid", ["ts", "tag_id"])
    'tag_id'
    """
    names = [k for k in known if k]
    folded = {k.casefold(): k for k in reversed(names)}
    close = get_close_matches(name.casefold(), list(folded), n=1, cutoff=likeness)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """A remedy for an unknown name: the nearest known name, else the list of known names."""
    names = sorted(set(known))
    close = nearest(name, names)
    if close is not None:
        return f"did you mean '{close}'?"
    if not names:
        return f"there are no {what}"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"the {what} are: {shown}"
