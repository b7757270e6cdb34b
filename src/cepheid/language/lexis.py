"""What texts of all query languages are made of: words, names, strings, comments and blanks.

The grammar has its terminals from here (`TERMINALS`), and so has whatever reads a text without it: the reader of CESAR,
what cuts constants out of many texts, advice, `cepheid fmt`, and completion in the studio.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cepheid.errors import ParseError, Span

_WORD = r"[^\W\d]\w*"
_STRING = r"""'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|‘[^’]*’|“[^”]*”"""
_QUOTED = r"`(?:[^`]|``)+`"
_COMMENT = r"/\*[\s\S]*?\*/"
_LINE_COMMENT = r"--[^\n]*"
_BLANK = r"[\s\ufeff]+"  # also the spaces of other scripts, which come with text that was copied

TERMINALS = {
    "STRING": _STRING,
    "QUOTED": _QUOTED,
    "NAME": f"{_WORD}|{_QUOTED}",
    "TYPE": rf"{_WORD}(-\w+)*",
    "COMMENT": _COMMENT,
    "LINE_COMMENT": _LINE_COMMENT,
    "SPACE": _BLANK,
}
"""The terminals of the grammar, as regular expressions."""

WORD = re.compile(_WORD)
NAME = re.compile(TERMINALS["NAME"])
TYPE = re.compile(TERMINALS["TYPE"])
BLANKS = re.compile(f"(?:{_BLANK}|{_COMMENT}|{_LINE_COMMENT})*")
OPAQUE = re.compile(f"{_STRING}|`[^`]*(?:``[^`]*)*`|{_COMMENT}|{_LINE_COMMENT}")
"""Strings, quoted names and comments: brackets and words in them do not count.

Every alternative begins with a character of its own, and no group is around any: so a search skips all others quickly.
"""
_SHOWN = re.compile(rf"{OPAQUE.pattern}|\w+|\\\w+|:=|->|[<>=!]+|.", re.DOTALL)


def name_of(name: str) -> str:
    """A name without its back quotes; a doubled one stands for one."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else str(name)


def text_of(string: str) -> str:
    """A string without its quotes; a doubled quote stands for one."""
    quote = string[0]
    return str(string[1:-1]).replace(quote * 2, quote) if quote in "'\"" else str(string[1:-1])


def masked(text: str, mask: Callable[[re.Match[str]], str]) -> str:
    """The text with its strings, quoted names and comments changed, each to one of the same length."""
    return OPAQUE.sub(mask, text)


def is_comment(opaque: str) -> bool:
    """Whether what is opaque is a comment."""
    return opaque.startswith(("--", "/*"))


def blanked(opaque: re.Match[str]) -> str:
    """Blanks in the place of all of it."""
    return " " * len(opaque[0])


def after_blanks(text: str, position: int, limit: int | None = None) -> int:
    """The place after blanks and comments."""
    blanks = BLANKS.match(text, position, len(text) if limit is None else limit)
    return blanks.end() if blanks else position


def shown_at(text: str, position: int, limit: int) -> str:
    """What an error shows of a text from a place on: a word, a sign, or a whole string."""
    shown = _SHOWN.match(text, position, limit)
    return shown[0] if shown else ""


def unfinished(text: str, position: int, original: str | None = None) -> ParseError | None:
    """The error where something begins that never ends: a string, a quoted name, a comment.

    original: the text that the error shows, where the other one is only of the same length.
    """

    def error(message: str, remedy: str, length: int) -> ParseError:
        return ParseError("CEP103", message, remedy, Span(original or text, position, position + length))

    if text.startswith("``", position):
        return error("the name is empty", "write a name between the quotes", 2)
    if OPAQUE.match(text, position):
        return None
    if text.startswith("/*", position):
        return error("the comment is not closed", "close it with */", 2)
    if text.startswith(("'", '"', "‘", "“", "`"), position):
        return error("the quote is not closed", "add the closing quote", 1)
    return None
