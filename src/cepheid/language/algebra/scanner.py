"""A place in the text of a CESAR expression, and what stands there."""

from __future__ import annotations

import re
from typing import NoReturn

from cepheid.errors import ParseError, Span
from cepheid.language.lexis import BLANKS, NAME, WORD, after_blanks, is_comment, masked, name_of, shown_at, unfinished

UNKNOWN_COMMAND = r"this command of LaTeX is unknown: operators are \sigma \pi \rho \alpha \mu \circ \cup, or words"


def _mask(opaque: re.Match[str]) -> str:
    text = opaque[0]
    if is_comment(text):
        return re.sub(r"[^\n]", " ", text)
    return text[0] + "x" * (len(text) - 2) + text[-1]


class Scanner:
    """Reads forward. `plain` is the text without LaTeX, of the same length, so that every place is one of the text."""

    def __init__(self, text: str, plain: str, position: int) -> None:
        self.text = text
        self.plain = plain
        self.position = position
        self.limit = len(plain)
        self._masked: tuple[str, str] | None = None
        self.products = True  # whether a number and a name make one value: `1.05 price`, `1 s`

    def at(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here after blanks and comments, if it is of this form."""
        self.position = after_blanks(self.plain, self.position, self.limit)
        return pattern.match(self.plain, self.position, self.limit)

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The same, and go on after it."""
        taken = self.at(pattern)
        if taken:
            self.position = taken.end()
        return taken

    def word(self) -> str:
        """The word that stands here in capitals, or ''."""
        word = self.at(WORD)
        return word[0].upper() if word else ""

    def sign(self) -> str:
        """The character that stands here, or ''."""
        self.at(BLANKS)
        return self.plain[self.position : min(self.position + 1, self.limit)]

    def name(self) -> str | None:
        """A name, without its back quotes."""
        name = self.take(NAME)
        return None if name is None else name_of(name[0])

    def place(self) -> int:
        """Where the next thing stands."""
        self.at(BLANKS)
        return self.position

    def span(self, start: int, end: int | None = None) -> Span:
        """From a place to another one, or to here."""
        return Span(self.text, start, self.position if end is None else end)

    def fail(self, message: str, remedy: str, start: int | None = None, end: int | None = None) -> NoReturn:
        """Refuse the text: from `start` to `end`, or the word that stands here."""
        if start is None:
            start = self.place()
            name = self.at(NAME)
            end = name.end() if name else min(start + 1, self.limit)
        code = "CEP101"
        if start >= self.limit and self.limit == len(self.plain):
            code, start = "CEP102", len(self.plain.rstrip())
            end = start + 1
        raise ParseError(code, message, remedy, self.span(start, end))

    def masked(self) -> str:
        """The text with blanks in the place of comments and letters in quotes: brackets there do not count."""
        if self._masked is None or self._masked[0] is not self.plain:
            self._masked = self.plain, masked(self.plain, _mask)
        return self._masked[1]

    def is_open(self, end: int) -> bool:
        """Whether a bracket before this place is not closed there."""
        part = self.masked()[:end]
        return any(part.count(opening) > part.count(closing) for opening, closing in ("()", "[]", "{}"))

    def not_closed(self, what: str, closing: str, opened: int) -> NoReturn:
        """Refuse a bracket that nothing closes."""
        code = "CEP102" if self.place() >= len(self.plain) else "CEP101"
        raise ParseError(code, f"the {what} is not closed", f"add '{closing}'", self.span(opened, opened + 1))

    def unexpected(self, remedy: str) -> NoReturn:
        """Refuse what stands here."""
        start = self.place()
        if start >= self.limit:
            self.fail(
                "unexpected end of the query" if self.limit == len(self.plain) else "something is missing", remedy
            )
        if (error := unfinished(self.plain[: self.limit], start, self.text)) is not None:
            raise error
        shown = shown_at(self.plain, start, self.limit)
        if shown.startswith("\\"):
            remedy = UNKNOWN_COMMAND
        self.fail(f"unexpected '{shown}'", remedy, start, start + len(shown))
