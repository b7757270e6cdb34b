"""The text of a query with colours, for a notebook."""

from __future__ import annotations

import re
from html import escape

from cepheid.pictures.colours import BLUE, GREEN, GREY, ORANGE
from cepheid.pictures.page import boxed

_WORDS = (
    "PATTERN EVENT SEQ AND OR NOT WHERE WITHIN FOR HAVING RETURN AS INTO OUTPUT TIES FROM PARTITION BY IN BETWEEN LIKE "
    "RLIKE IS NULL CASE WHEN THEN ELSE END AUTOMATON REGISTER ARC ON ALL ANY SET IGNORE EPSILON AT CESAR LET UNION "
    "SELECT PROJECT RENAME ITERATE DISTINCT FILTER TRUE FALSE ONE ALL NON_OVERLAP "
    "strict_contiguity partition_contiguity skip_till_next_match skip_till_any_match"
)
_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'(?:[^']|'')*')|(?P<quoted>`[^`]*`)|"
    r"(?P<number>(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|(?P<word>[^\W\d]\w*)",
    re.IGNORECASE,
)
_KEYWORDS = frozenset(_WORDS.split())
_COLOURS = {"comment": GREY, "text": GREEN, "number": ORANGE}


def highlighted(text: str) -> str:
    """HTML of a query as it is printed, keywords in capitals.

    >>> highlighted("WITHIN 5").split(">", 1)[1]
    '<span style="color:#3b82f6;font-weight:600">WITHIN</span> <span style="color:#c4721f">5</span></pre>'
    """
    parts, end = [], 0
    for token in _TOKEN.finditer(text):
        parts += [escape(text[end : token.start()]), _span(str(token.lastgroup), token[0])]
        end = token.end()
    return boxed("".join([*parts, escape(text[end:])]))


def _span(kind: str, word: str) -> str:
    if kind == "word" and word in _KEYWORDS:
        return f'<span style="color:{BLUE};font-weight:600">{escape(word)}</span>'
    colour = _COLOURS.get(kind)
    return escape(word) if colour is None else f'<span style="color:{colour}">{escape(word)}</span>'
