"""What can be written at the cursor: columns, types, variables, functions and words of the language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cepheid.language.lexis import blanked, masked, name_of
from cepheid.language.printer import quote_name, quote_type
from cepheid.pattern.expressions.functions import BUILT_IN
from cepheid.pattern.expressions.nodes import AGGREGATES
from cepheid.pattern.tree.nodes import Strategy
from cepheid.studio.describing import Facts

_KEYWORDS = (
    *("PATTERN", "SEQ", "AND", "OR", "ANY", "WHERE", "WITHIN", "PARTITION BY", "HAVING", "RETURN", "INTO", "FROM"),
    *("OUTPUT", "NON_OVERLAP", "LONGEST", "COOLDOWN", "EVENT", "NOT", "IN", "BETWEEN", "LIKE", "RLIKE", "IS NULL"),
    *("AS", "CASE", "WHEN", "THEN", "ELSE", "END", "FOR", "TRUE", "FALSE", "NULL", "TIMESTAMP"),
    *(strategy.value for strategy in Strategy),
)
_OF_AUTOMATA = ("ARC", "IGNORE", "EPSILON", "REGISTER", "ON", "WHEN", "SET")
_OF_CESAR = ("LET", "SELECT", "PROJECT", "RENAME", "ADD", "ITERATE", "UNION", "DUR")
UNITS = ("seconds", "minutes", "hours", "days", "milliseconds", "events")
_WORD = re.compile(r"`[^`\n]*\Z|[\w-]*\Z")
_NAME = r"(?:\w+|`(?:[^`]|``)*`)"
_DOT = re.compile(rf"{_NAME}(?:\[[^\]]*\])?\.(?:\w*|`[^`\n]*)\Z")
_BRACKET = re.compile(r"(?<![\w\]`])\[[^\]\n]*\Z")
_AMOUNT = re.compile(r"\b[0-9.]+\s+\w*\Z")
_VALUE = re.compile(rf"({_NAME})\s*(?:=|!=|<>|IN\s*\([^)]*)\s*'((?:[^']|'')*)\Z", re.IGNORECASE)
# A text that ends within one of these has nothing to complete; nor has one that ends in a comment.
_OPEN = re.compile(r"'|\"|--|/\*")
_CLAUSE = re.compile(
    r"\b(PATTERN|EVENT|WHERE|HAVING|RETURN|FROM|WITHIN|PARTITION|AUTOMATON|ARC|ON|WHEN|SET|CESAR)\b", re.IGNORECASE
)
# `Shelf a`, `Shelf+ a[]`, `ANY(Shelf, Exit) a`, `!(Register b)`
_VARIABLE = re.compile(
    r"(?:[\w`)][+*?]?(?:\{[0-9,]*\})?)\s+([A-Za-z_]\w*)(?:\[\])?\s*(?=[,)\n]|\Z|\s+WHERE\b|\s+FOR\b)"
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that can be written. kind: what it is. detail: beside it.

    insert: what is written, if it is not the word itself; back: in place of so many characters before it.
    """

    label: str
    kind: str
    detail: str = ""
    insert: str | None = None
    back: int = 0


@dataclass(frozen=True, slots=True)
class Completions:
    """What can be written from a place of the text on."""

    start: int
    options: tuple[Completion, ...]


def complete(text: str, at: int, facts: Facts | None) -> Completions:
    """What can be written at a place of a text.

    >>> [one.label for one in complete("PATTERN SEQ(A a, B b) WHERE upp", 31, None).options][:1]
    ['upper']
    """
    before = text[:at]
    value = _VALUE.search(before)
    if value is not None:
        return Completions(at - len(value[2]), tuple(values(name_of(value[1]), facts)))
    rest = masked(before, _closed)
    if _OPEN.search(rest):
        return Completions(at, ())
    word = _WORD.search(rest)
    start = at if word is None else word.start()
    return fitting(before, start, _possible(text, before, facts))


def _closed(opaque: re.Match[str]) -> str:
    """Blanks in the place of what is complete: a comment that the text ends in is not."""
    in_comment = opaque[0].startswith("--") and opaque.end() == len(opaque.string)
    return opaque[0] if in_comment else blanked(opaque)


def fitting(before: str, start: int, possible: Iterable[Completion]) -> Completions:
    """Those that begin with what is typed from `start` on; none if the only one is written already."""
    typed = before[start:].lower().lstrip("`")
    completions = [completion for completion in possible if completion.label.lower().startswith(typed)]
    written = len(completions) == 1 and completions[0].label.lower() == typed
    return Completions(start, () if written else tuple(completions))


def variables(text: str) -> list[str]:
    """The variables of a pattern, also of a text that is not complete.

    >>> variables("PATTERN SEQ(Shelf a, !(Register b), Exit+ c[]) WHERE")
    ['a', 'b', 'c']
    """
    pattern = re.split(r"\bWHERE\b|\bWITHIN\b|\bRETURN\b", text, maxsplit=1, flags=re.IGNORECASE)[0]
    return list(dict.fromkeys(_VARIABLE.findall(pattern)))


def _possible(text: str, before: str, facts: Facts | None) -> Iterator[Completion]:
    if _DOT.search(before) or _BRACKET.search(before):
        yield from columns(facts)
        return
    if _AMOUNT.search(before):
        yield from (Completion(unit, "unit") for unit in UNITS)
        return
    last = _CLAUSE.findall(before)
    clause = last[-1].upper() if last else ""
    match clause:
        case "WITHIN" if re.search(r"\bWITHIN\s+\Z", before, re.IGNORECASE):
            return  # a number
        case "PATTERN" | "EVENT" | "ON" | "CESAR":
            yield from types(facts)
        case "PARTITION":
            yield from columns(facts)
    if clause in ("WHERE", "HAVING", "RETURN", "WHEN", "SET", "CESAR"):
        names = ("e", "r") if clause in ("WHEN", "SET") else variables(text) if clause != "CESAR" else ()
        yield from (Completion(name, "variable") for name in names)
        yield from columns(facts)
        yield from (Completion(name, "function", "aggregate") for name in AGGREGATES)
        yield from (Completion(name, "function") for name in BUILT_IN)
    yield from (Completion(word, "keyword") for word in _words(text))


def _words(text: str) -> Iterable[str]:
    """The words of the language that a query of this kind has."""
    kind = re.match(r"\s*(AUTOMATON|CESAR)\b", text, re.IGNORECASE)
    of_kind = () if kind is None else _OF_AUTOMATA if kind[1].upper() == "AUTOMATON" else _OF_CESAR
    return dict.fromkeys([*of_kind, *_KEYWORDS, "AUTOMATON", "CESAR"])


def columns(facts: Facts | None) -> Iterator[Completion]:
    """The columns of the events."""
    for column in facts.columns if facts is not None else ():
        yield Completion(column.name, "column", column.type, quote_name(column.name))


def types(facts: Facts | None) -> Iterator[Completion]:
    """The types of the events."""
    for name, count in (facts.types or ()) if facts is not None else ():
        yield Completion(name, "type", f"{count:,} events", quote_type(name))


def values(attribute: str, facts: Facts | None) -> Iterator[Completion]:
    """Values of the column that is compared with a string."""
    column = None if facts is None else facts.column(attribute)
    for value in () if column is None else column.samples:
        if isinstance(value, str):
            yield Completion(value, "value", attribute, value.replace("'", "''"))
