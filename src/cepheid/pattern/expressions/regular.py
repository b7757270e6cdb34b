"""Regular expressions of RLIKE: those of Java that mean the same in Python, written as Python reads them."""

from __future__ import annotations

import re
from functools import cache

# What Java takes for the end of a line; Python knows only the first.
_ENDS = "\n\r\u0085\u2028\u2029"
_DOT = f"[^{_ENDS}]"
_DOLLAR = "(?:(?<!\\r)(?=\\n\\Z)|(?=(?:\\r\\n|[\\r\u0085\u2028\u2029])?\\Z))"
_ESCAPES = {**{c: "\\" + c for c in "dDsSwWbBtnrfAx u".replace(" ", "")}, "a": "\\a", "z": "\\Z", "Z": _DOLLAR}
_IN_CLASS = frozenset("dDsSwWtnrfaxu")
_HEX = {"x": 2, "u": 4}
_QUANTIFIER = re.compile(r"\{\d{1,9}(,\d{0,9})?\}")
_GROUP = re.compile(r"\((\?:|\?=|\?!|\?<=|\?<!)?(?!\?|\*)")
_FLAGS = re.compile(r"\(\?([is]{1,2})\)")


class NotTheSame(ValueError):  # noqa: N818  a reason, not a fault of the program
    """Why a regular expression is refused."""


@cache
def compile_regular(pattern: str) -> re.Pattern[str]:
    """A regular expression of Java as one of Python that finds the same; raises NotTheSame where none is known.

    >>> bool(compile_regular("^a.c$").search("abc")), bool(compile_regular("^a.c$").search("a\\rc"))
    (True, False)
    """
    flags = re.ASCII
    begin = 0
    dot = _DOT
    if (letters := _FLAGS.match(pattern)) is not None:
        flags |= re.IGNORECASE if "i" in letters[1] else 0
        dot = "(?s:.)" if "s" in letters[1] else dot
        begin = letters.end()
    try:
        return re.compile(_translate(pattern, begin, dot), flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise NotTheSame(f"it can't be read: {error}") from None


def _translate(pattern: str, at: int, dot: str) -> str:
    parts: list[str] = []
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            part, at = _escape(pattern, at, in_class=False)
        elif character == "[":
            part, at = _class(pattern, at)
        elif character == "(":
            group = _GROUP.match(pattern, at)
            if group is None:
                raise NotTheSame(
                    f"'{pattern[at : at + 3]}' is not among the groups that are read: ( (?: (?= (?! (?<= (?<!"
                )
            part, at = group[0], group.end()
        elif character in "*+?{":
            part, at = _quantifier(pattern, at)
        else:
            part, at = {".": dot, "$": _DOLLAR}.get(character, character), at + 1
        parts.append(part)
    return "".join(parts)


def _quantifier(pattern: str, at: int) -> tuple[str, int]:
    end = at + 1
    if pattern[at] == "{":
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier is None:
            raise NotTheSame("write '\\{' for the character, or {2}, {2,} or {2,3} for a repetition")
        end = quantifier.end()
    if pattern[end : end + 1] == "?":
        end += 1
    elif pattern[end : end + 1] == "+":
        raise NotTheSame("possessive repetitions are not read")
    return pattern[at:end], end


def _escape(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    character = pattern[at + 1 : at + 2]
    if not character:
        raise NotTheSame("it ends with a backslash")
    if not (character.isascii() and character.isalnum()):
        return re.escape(character), at + 2
    if character not in _ESCAPES or (in_class and character not in _IN_CLASS):
        raise NotTheSame(f"'\\{character}' is not the same everywhere")
    digits = _HEX.get(character, 0)
    end = at + 2 + digits
    if digits and not re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", pattern[at + 2 : end]):
        raise NotTheSame(f"'\\{character}' needs {digits} hexadecimal digits")
    if character == "u" and 0xD800 <= int(pattern[at + 2 : end], 16) <= 0xDFFF:
        raise NotTheSame("half of a surrogate pair is no character")
    return _ESCAPES[character] + pattern[at + 2 : end], end


def _class(pattern: str, at: int) -> tuple[str, int]:
    """`[a-z]`; Java also joins and intersects classes, which Python does not."""
    parts = ["["]
    at += 1
    if pattern[at : at + 1] == "^":
        parts.append("^")
        at += 1
    first = True
    while at < len(pattern):
        character = pattern[at]
        if character == "]":
            if first:
                raise NotTheSame("write '\\]' for the character in a class")
            return "".join([*parts, "]"]), at + 1
        if character == "\\":
            part, at = _escape(pattern, at, in_class=True)
        elif character in "[^" or pattern.startswith(("&&", "||", "~~", "--"), at):
            raise NotTheSame(f"write '\\{character}' for the character in a class")
        else:
            part, at = character, at + 1
        parts.append(part)
        first = False
    raise NotTheSame("a class is not closed: ']' is missing")
