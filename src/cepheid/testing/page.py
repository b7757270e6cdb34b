"""The text of a case file, and errors that show their place in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cepheid.errors import CepheidError, Span


class CaseError(CepheidError):
    """A case file can't be read (CEP701)."""


@dataclass(frozen=True)
class Page:
    """A text in lines, counted from 0 here and from 1 in messages."""

    text: str
    file: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines without line ends."""
        return self.text.split("\n")

    def error(self, line: int, message: str, remedy: str) -> CaseError:
        """An error at a line.

        >>> print(Page("=== a pair\\ntiem: t", "pairs.case").error(1, "unknown key 'tiem'", "did you mean 'time'?"))
        error CEP701: pairs.case:2: unknown key 'tiem'
          at line 2, column 1
        2 | tiem: t
          | ^^^^^^^
        help: did you mean 'time'?
        """
        start = sum(len(before) + 1 for before in self.lines[:line])
        span = Span(self.text, start, start + len(self.lines[line]))
        return CaseError("CEP701", f"{self.file}:{line + 1}: {message}", remedy, span)

    def written(self, section: slice) -> Iterator[tuple[int, str]]:
        """The lines of a section that are neither empty nor comments, each with its number."""
        for number in range(section.start, section.stop):
            if not is_gap(self.lines[number]):
                yield number, self.lines[number]

    def trim(self, start: int, stop: int) -> slice:
        """A section without the empty lines and comments at its end, which belong to the next section."""
        while stop > start and is_gap(self.lines[stop - 1]):
            stop -= 1
        return slice(start, stop)


def is_gap(line: str) -> bool:
    """Whether a line is empty or a comment."""
    return not line.strip() or line.startswith("#")
