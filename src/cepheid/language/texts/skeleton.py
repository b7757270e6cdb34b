"""Texts with their constants cut out: what is left of many texts is often the same, and is read once.

Nothing is parsed here. A number or a string that may not stand for itself, as in a name or in a comment, stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from cepheid.language.lexis import OPAQUE

HOLE = "\0"
"""What stands in a skeleton for a constant."""
BLOCK = "\1"
"""What stands in a frame for conditions."""
WHOLE = "\2"
"""What begins the skeleton of a text that has one of these characters itself: nothing is cut out of it."""

# A number that a word, a dot or another number touches is left; a unit may follow at once, as in 5s.
_NUMBER = r"[0-9.]*+(?:(?![\w.])|(?:[eE][+-]?[0-9]+)?(?![0-9_.eE]|[^\x00-\x7f]))"
_STRINGS = r"(?<=')[^']*'(?:'[^']*')*|(?<=\")[^\"]*\"(?:\"[^\"]*\")*"
# A set of characters at the start lets the search skip all others quickly: sides are looked at after it.
_CONSTANT = rf"[0-9'\"](?:(?<=\b[0-9])(?<!\.[0-9]){_NUMBER}|{_STRINGS})"
_SIMPLE = re.compile(f"({_CONSTANT})")
_ANY = re.compile(rf"(?P<constant>{_CONSTANT}|‘[^’]*’|“[^”]*”)|{OPAQUE.pattern}")
_SPELLINGS = re.compile(
    r"(?P<integer>[0-9]{1,18})|(?P<decimal>[0-9]+\.[0-9]+)|(?P<exponent>[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+)"
)
_HALF = re.compile("[\ud800-\udfff]")


class Spelling(IntEnum):
    """How a constant is written: what decides as what the grammar reads it, whatever its value."""

    INTEGER = 0
    DECIMAL = 1
    EXPONENT = 2
    STRING = 3
    OTHER = 4  # what may be an error: 1.2.3, an integer that may not fit into 64 bits, half of a character


@dataclass(frozen=True, slots=True)
class Cut:
    """Texts without their constants.

    skeletons: each different one, with HOLE in the place of a constant; skeleton: the number of each text's.
    constants: each different one, as it is written; codes: their numbers, text after text; first: where those of a
    text begin, and after the last text where they end.
    """

    texts: Sequence[str]
    skeletons: tuple[str, ...]
    skeleton: np.ndarray
    constants: tuple[str, ...]
    codes: np.ndarray
    first: np.ndarray

    def codes_of(self, texts: np.ndarray) -> np.ndarray:
        """The constants of texts of one skeleton: a row for each text."""
        starts = self.first[texts]
        count = self.first[texts[0] + 1] - starts[0]
        codes: np.ndarray = self.codes[starts[:, None] + np.arange(count)]
        return codes

    def by_skeleton(self) -> list[np.ndarray]:
        """For each skeleton the numbers of its texts, ascending."""
        return groups(self.skeleton, len(self.skeletons))


def groups(numbers: np.ndarray, count: int) -> list[np.ndarray]:
    """For each number below `count` the places that have it, ascending."""
    small = numbers.astype(np.uint16) if count < 1 << 16 else numbers  # which are sorted by counting
    order = np.argsort(small, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=count))
    return np.split(order, ends[:-1]) if count else []


class _Numbers(dict[str, int]):
    """Numbers things in the order in which they are first asked for."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


def cut(texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Cut:
    """Cut the constants out of texts. `progress` is called with how many texts were read since the last call.

    >>> found = cut(["EVENT A a WHERE a.x > 1", "EVENT A a WHERE a.x > 27", "EVENT B b"])
    >>> [text.replace(HOLE, "_") for text in found.skeletons], found.skeleton.tolist(), found.constants
    (['EVENT A a WHERE a.x > _', 'EVENT B b'], [0, 0, 1], ('1', '27'))
    """
    skeletons, constants, seen = _Numbers(), _Numbers(), dict[str, int]()
    code, split = constants.__getitem__, _SIMPLE.split
    of_text: list[int] = []
    codes: list[int] = []
    first = [0]
    for place, text in enumerate(texts):
        before = seen.setdefault(text, place)
        if before < place:
            of_text.append(of_text[before])
            codes += codes[first[before] : first[before + 1]]
            first.append(len(codes))
        else:
            if text.isascii() and "--" not in text and "`" not in text and "/*" not in text:
                pieces = split(text)
            else:
                pieces = pieces_of(text)
            if HOLE in text or BLOCK in text or WHOLE in text:
                pieces = [f"{WHOLE}{place}"]
            of_text.append(skeletons[HOLE.join(pieces[::2])])
            codes += map(code, pieces[1::2])
            first.append(len(codes))
        if progress is not None and place % 4096 == 4095:
            progress(4096)
    if progress is not None:
        progress(len(texts) % 4096)
    return Cut(
        texts,
        tuple(skeletons),
        np.array(of_text, np.int64),
        tuple(constants),
        np.array(codes, np.int64),
        np.array(first, np.int64),
    )


def pieces_of(text: str) -> list[str]:
    """The parts of any text: what is before a constant, the constant, and so on.

    >>> pieces_of("a.x1 > 1.5 -- 2")
    ['a.x1 > ', '1.5', ' -- 2']
    """
    pieces, end = [], 0
    if HOLE in text or BLOCK in text or WHOLE in text:
        return [text]
    for part in _ANY.finditer(text):
        if part["constant"] is not None:
            pieces += [text[end : part.start()], part[0]]
            end = part.end()
    return [*pieces, text[end:]]


def spellings(constants: Iterable[str]) -> np.ndarray:
    """The spelling of each constant."""
    return np.fromiter(map(_spelling, constants), np.int8)


def _spelling(constant: str) -> Spelling:
    if constant[0] in "'\"‘“":
        return Spelling.STRING if constant.isascii() or not _HALF.search(constant) else Spelling.OTHER
    spelled = _SPELLINGS.fullmatch(constant)
    return Spelling[spelled.lastgroup.upper()] if spelled and spelled.lastgroup else Spelling.OTHER
