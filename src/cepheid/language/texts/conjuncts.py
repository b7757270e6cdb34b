"""The conditions of a skeleton, cut at their outermost ANDs: the frame is the rest.

Nothing is parsed here. Where it is not certain what the parser would read, nothing is cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from cepheid.language.lexis import WORD
from cepheid.language.texts.skeleton import BLOCK, HOLE, WHOLE
from cepheid.pattern.tree.walk import MAX_DEPTH


@dataclass(frozen=True, slots=True)
class SplitSkeleton:
    """A skeleton in parts.

    constants: which of all constants are those of the frame.
    Of each conjunct: its block, its skeleton, and where its constants begin among all.
    """

    frame: str
    constants: tuple[int, ...]
    blocks: list[int]
    conjuncts: list[str]
    first: list[int]


_UNUSUAL = ("`", "\\", "$", "^", "‘", "“", '"', "'", "--", "/*")
_CESAR = re.compile(r"\s*cesar\b", re.IGNORECASE)
_PATTERN = re.compile(r"\s*(?:pattern|event)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)
_STRATEGIES = re.compile(
    r"\s*(?:skip[_-]till[_-](?:next|any)[_-]match|(?:strict|partition)[_-]contiguity)\b[^{}]*\{", re.IGNORECASE
)
_CLAUSE = re.compile(r"\b(?:partition|within|having|return|output|ties)\b|;|\Z", re.IGNORECASE)
_OPENED = re.compile(r"(?:\b(?:select|then)|σ|;)\s*(?:\[|_\s*\{)|\biterate\s*\[\s*id\s*,", re.IGNORECASE)
_BRACKET = re.compile(r"[\[\]{}]")


def split(skeleton: str) -> SplitSkeleton:
    """Cut the conditions out of a skeleton.

    >>> found = split(f"PATTERN SEQ(A a, B b) WHERE a.x = {HOLE} AND b.x > a.x WITHIN {HOLE} hours")
    >>> found.frame.replace(BLOCK, "_").replace(HOLE, "#"), found.constants
    ('PATTERN SEQ(A a, B b) WHERE _ WITHIN # hours', (1,))
    >>> [part.replace(HOLE, "#") for part in found.conjuncts]
    ['a.x = #', 'b.x > a.x']
    """
    frame: list[str] = []
    of_frame: list[int] = []
    blocks: list[int] = []
    conjuncts: list[str] = []
    first: list[int] = []
    end = taken = 0
    for number, (start, stop, parts) in enumerate(_blocks(skeleton)):
        outside = skeleton[end:start]
        of_frame += range(taken, taken := taken + outside.count(HOLE))
        blocks += [number] * len(parts)
        conjuncts += parts
        *begins, taken = accumulate([part.count(HOLE) for part in parts], initial=taken)
        first += begins
        frame += [outside, BLOCK]
        end = stop
    outside = skeleton[end:]
    of_frame += range(taken, taken + outside.count(HOLE))
    return SplitSkeleton("".join([*frame, outside]), tuple(of_frame), blocks, conjuncts, first)


def _blocks(skeleton: str) -> list[tuple[int, int, list[str]]]:
    """Where conditions stand, and what they are."""
    if skeleton.startswith(WHOLE) or any(sign in skeleton for sign in _UNUSUAL):
        return []
    if _CESAR.match(skeleton):
        return _of_algebra(skeleton)
    if _PATTERN.match(skeleton) and ";" not in skeleton:
        return _of_pattern(skeleton)
    return []


def _of_pattern(skeleton: str) -> list[tuple[int, int, list[str]]]:
    where = _WHERE.search(skeleton)
    if where is None:
        return []
    strategies = _STRATEGIES.match(skeleton, where.end())
    if strategies is None:
        ending = _CLAUSE.search(skeleton, where.end())
        start, stop = where.end(), ending.start() if ending else len(skeleton)
    else:
        start, stop = strategies.end(), skeleton.find("}", strategies.end())
    parts = conjuncts_of(skeleton[start:stop])
    return [] if parts is None else [_at(skeleton, start, stop, parts)]


def _of_algebra(skeleton: str) -> list[tuple[int, int, list[str]]]:
    blocks = []
    opened = _OPENED.search(skeleton)
    while opened is not None:
        start = opened.end()
        stop = _closed(skeleton, start)
        parts = conjuncts_of(skeleton[start:stop]) if stop >= 0 else None
        if parts is None:
            return []
        blocks.append(_at(skeleton, start, stop, parts))
        opened = _OPENED.search(skeleton, stop)
    return blocks


def _at(skeleton: str, start: int, stop: int, parts: list[str]) -> tuple[int, int, list[str]]:
    """Blanks at the sides stay outside: they may end a word."""
    inside = skeleton[start:stop]
    return start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip()), parts


def _closed(skeleton: str, start: int) -> int:
    depth = 0
    for bracket in _BRACKET.finditer(skeleton, start):
        if bracket[0] in "[{":
            depth += 1
        elif depth == 0:
            return bracket.start()
        else:
            depth -= 1
    return -1


_AND = re.compile(r"\s+AND\s+")


def conjuncts_of(condition: str) -> list[str] | None:
    """The operands of the outermost ANDs; None if that is not certain."""
    condition = condition.strip()
    quick = condition.split(" AND ")  # as most are written, which is faster
    if not all(map(_is_one, quick)):
        quick = _AND.split(condition)
    if all(map(_is_one, quick)):
        return quick
    scanned = _scan(condition)
    return None if scanned is None else scanned[0]


@lru_cache(1 << 16)
def _is_one(part: str) -> bool:
    """Whether a part between two ANDs is a condition of its own."""
    scanned = _scan(part)
    return scanned is not None and scanned == ([part], False)


_TOKEN = re.compile(
    rf"(?P<word>{WORD.pattern})|(?P<value>\x00|\d[\w.]*)|(?P<open>[(\[])|(?P<close>[)\]])"
    r"|(?P<compare>==?|!=|<>|<=|>=|<|>|[≠≤≥])|(?P<and>∧|&&)|(?P<sign>\|\||::|[-+*/%!~¬∈])|(?P<or>∨|\|)"
    r"|(?P<dot>\.)|(?P<comma>,)|(?P<blank>\s+)|(?P<other>.)",
    re.DOTALL,
)
_CLOSES = {")": "(", "]": "["}
_TESTS = {"IS", "IN", "LIKE", "RLIKE", "REGEXP"}
_NEVER = {"WHEN", "THEN", "ELSE", "END", "AS", "WHERE", "LET", "UNION", "INTO", "PATTERN", "EVENT", "FROM"}


def _scan(condition: str) -> tuple[list[str], bool] | None:
    """The conjuncts of a condition, and whether it is an OR, which is one of them; None if it is uncertain.

    `ended`: whether an operand is before. Where it decides, a word that is a name there could be a keyword here.
    """
    parts: list[str] = []
    start = tokens = compared = 0
    opened: list[str] = []
    ended = between = either = False
    before = ""
    for token in _TOKEN.finditer(condition):
        kind = str(token.lastgroup)
        if kind == "blank":
            continue
        tokens += 1
        word = token[0].upper() if kind == "word" and before != "dot" else ""
        before = kind
        if kind == "other" or tokens >= MAX_DEPTH:
            return None
        if kind == "open":
            opened.append(token[0])
        elif kind == "close":
            if not opened or opened.pop() != _CLOSES[token[0]]:
                return None
            ended = True
        elif word == "CASE":
            if ended:
                return None
            opened.append("CASE")
        elif word == "END" and opened and opened[-1] == "CASE":
            opened.pop()
            ended = True
        elif opened:
            continue
        elif kind == "and" or word == "AND":
            if not ended:
                return None
            if between:
                between = False
            else:
                parts.append(condition[start : token.start()].strip())
                start, compared, tokens = token.end(), 0, 0
            ended = False
        elif kind == "or" or word == "OR":
            if not ended or between:
                return None
            either, ended, compared, tokens = True, False, 0, 0
        elif kind == "compare":
            compared += 1
            if not ended or compared > 1:  # a < b < c is more than one condition
                return None
            ended = False
        elif word == "BETWEEN":
            if not ended or between:
                return None
            between, ended = True, False
        elif word in _TESTS:
            if not ended:
                return None
            ended = False
        elif word in _NEVER or kind == "comma":
            return None
        else:
            ended = kind in ("word", "value") and word != "NOT"
    if opened or not ended or between:
        return None
    if either:
        return [condition.strip()], True
    return [*parts, condition[start:].strip()], False
