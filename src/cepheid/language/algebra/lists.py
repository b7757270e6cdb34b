"""The lists of PROJECT, RENAME and ADD, and the LETs that name such lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from cepheid.errors import ParseError, Span, did_you_mean
from cepheid.language.algebra.scanner import Scanner
from cepheid.language.algebra.values import ValueReader
from cepheid.language.lexis import NAME
from cepheid.pattern.algebra.tree import Add, Item, Let, Operator, Rename, Renaming, Term
from cepheid.pattern.algebra.walk import rewrite_operators
from cepheid.pattern.expressions import nodes as ex

ASSIGN = re.compile(r":=|≡|:\s*=")
_SIGN = re.compile(r"->|→|↦|⟼|:=|≡")
_PATH = r"(?:`(?:[^`]|``)+`|[^\W\d]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)+`|[^\W\d]\w*))*"
_A_LIST = re.compile(rf"(?:{_PATH}|\(\s*{_PATH}(?:\s*,\s*{_PATH})*\s*\))\s*(?:->|→|↦|⟼|:=|≡)")
_ALONE = re.compile(rf"(?:{NAME.pattern})(?=\s*(?:[\]}}]|\Z))")
_OPEN, _CLOSE, _COMMA, _DOT = re.compile(r"\("), re.compile(r"\)"), re.compile(r","), re.compile(r"\.")
_AS = re.compile(r"as\b", re.IGNORECASE)
_EXAMPLE = {
    "RENAME": "write the old name and the new one: RENAME[price -> maxP](S)",
    "ADD": "write the new name and its value: ADD[total := price * vol](S)",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """`left ↦ right`, before it is known whether it renames or adds."""

    left: ex.Expression
    right: ex.Expression
    adds: bool  # written with :=, as only ADD is
    span: Span


@dataclass(frozen=True, slots=True)
class Listed(Operator):
    """`RENAME[f1]`: a list by its name, until all LETs are read."""

    word: str
    name: str


@dataclass(frozen=True, slots=True)
class LetDraft:
    """A LET whose lists, its own and those of its operators, are not known yet."""

    names: tuple[str, ...]
    value: Term | ex.Expression | tuple[Entry, ...]
    span: Span


class ListReader:
    """Reads lists where a scanner is."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner

    def begins(self) -> bool:
        """Whether a list begins here, and no stream or value."""
        return self.scanner.at(_A_LIST) is not None

    def path(self) -> ex.Expression:
        """An attribute: `price`, `S1.price`, `E.S1.price`."""
        here = self.scanner
        start = here.place()
        names = [self.one_name()]
        while here.take(_DOT):
            names.append(self.one_name())
        return path(names, here.span(start))

    def one_name(self) -> str:
        name = self.scanner.name()
        if name is None:
            self.scanner.unexpected("write the name of an attribute, such as price or S1.price")
        return name

    def names(self, closing: str) -> tuple[ex.Expression, ...]:
        """The attributes of PROJECT, which may be none."""
        here = self.scanner
        if here.sign() == closing:
            return ()
        paths = [self.path()]
        while here.take(_COMMA):
            paths.append(self.path())
        if here.at(_SIGN) or here.at(_AS):
            here.unexpected("PROJECT only keeps attributes: rename them by RENAME[old -> new](…)")
        return tuple(paths)

    def read(self, word: str) -> Operator:
        """RENAME or ADD with its list, or `Listed` for one by its name."""
        here = self.scanner
        start = here.place()
        if here.at(_ALONE):
            return Listed(word, str(here.name()), span=here.span(start))
        if not here.at(NAME) and not here.at(_OPEN):
            here.unexpected(_EXAMPLE[word])
        entries = self.entries(word)
        return Rename(changes(entries)) if word == "RENAME" else Add(items(entries))

    def entries(self, word: str) -> tuple[Entry, ...]:
        here = self.scanner
        entries: list[Entry] = []
        while not entries or here.take(_COMMA):
            entries += self.several(word) if here.at(_OPEN) else [self.one(word)]
        return tuple(entries)

    def one(self, word: str) -> Entry:
        here = self.scanner
        start = here.place()
        left = self.path()
        adds = self.sign(word)
        right = ValueReader(here).read(alone=False)
        return Entry(left, right, adds, here.span(start))

    def several(self, word: str) -> list[Entry]:
        """`(name, price) ↦ (company, maxP)`."""
        here = self.scanner
        start = here.place()
        left = self.tuple()
        self.sign(word)
        if not here.at(_OPEN):
            here.unexpected("write as many names on the right: (name, price) -> (company, maxP)")
        right = self.tuple()
        span = here.span(start)
        if len(left) != len(right):
            message = f"{len(left)} names on the left, and {len(right)} on the right"
            raise ParseError("CEP101", message, "write one new name for each old one", span)
        return [Entry(old, new, False, span) for old, new in zip(left, right, strict=True)]

    def tuple(self) -> list[ex.Expression]:
        here = self.scanner
        here.take(_OPEN)
        paths = [self.path()]
        while here.take(_COMMA):
            paths.append(self.path())
        if not here.take(_CLOSE):
            here.unexpected("expected ',' or ')'")
        return paths

    def sign(self, word: str) -> bool:
        """The arrow, or := of ADD; says which."""
        here = self.scanner
        sign = here.take(_SIGN)
        if sign is None:
            here.unexpected(_EXAMPLE[word or "RENAME"])
        assigns = sign[0] in (":=", "≡")
        if assigns and word == "RENAME":
            here.fail("RENAME has no :=", "write the old name first: RENAME[price -> maxP](S)", *sign.span())
        return assigns


def path(names: Sequence[str], span: Span | None = None) -> ex.Expression:
    """An attribute by its names: of a schema, of a stream, of a stream in a stream."""
    if len(names) == 1:
        return ex.Name(names[0], span=span)
    value: ex.Expression = ex.Attribute(names[0], ex.Index.ONE, names[1], span=span)
    for name in names[2:]:
        value = ex.Field(value, name, span=span)
    return value


def changes(entries: Sequence[Entry]) -> tuple[Renaming, ...]:
    """The entries of RENAME."""
    return tuple(
        Renaming(entry.left, _new(entry.right, "RENAME[price -> maxP](S)"), span=entry.span) for entry in entries
    )


def items(entries: Sequence[Entry]) -> tuple[Item, ...]:
    """The entries of ADD."""
    return tuple(
        Item(_new(entry.left, "ADD[total := price * vol](S)"), entry.right, span=entry.span) for entry in entries
    )


def _new(name: ex.Expression, example: str) -> str:
    if isinstance(name, ex.Name):
        return name.name
    raise ParseError("CEP101", "a new name is one word", f"write it without a dot, as in {example}", name.span)


def with_lists(drafts: Sequence[LetDraft], term: Term) -> tuple[tuple[Let, ...], Term]:
    """Lists in the place of their names; a LET's own list renames or adds as its first use does."""
    lists = {name: draft.value for draft in drafts if isinstance(draft.value, tuple) for name in draft.names}
    words: dict[str, str] = {}

    def change(operator: Operator) -> Operator:
        if not isinstance(operator, Listed):
            return operator
        if operator.name not in lists:
            _unknown(operator, list(lists))
        words.setdefault(operator.name, operator.word)
        if operator.word == "RENAME":
            return Rename(changes(lists[operator.name]), span=operator.span)
        return Add(items(lists[operator.name]), span=operator.span)

    values = [rewrite_operators(d.value, change) if isinstance(d.value, Term) else d.value for d in drafts]
    term = rewrite_operators(term, change)
    return tuple(_let(draft, value, words) for draft, value in zip(drafts, values, strict=True)), term


def _let(draft: LetDraft, value: Term | ex.Expression | tuple[Entry, ...], words: dict[str, str]) -> Let:
    if not isinstance(value, tuple):
        return Let(draft.names, value, span=draft.span)
    word = next((words[name] for name in draft.names if name in words), None)
    if word is None:
        renames = all(isinstance(entry.right, ex.Name) and not entry.adds for entry in value)
        word = "RENAME" if renames else "ADD"
    return Let(draft.names, changes(value) if word == "RENAME" else items(value), span=draft.span)


def _unknown(operator: Listed, known: list[str]) -> NoReturn:
    remedy = did_you_mean(operator.name, known, "lists") if known else _EXAMPLE[operator.word]
    raise ParseError("CEP101", f"{operator.word} has a name only, and no LET makes it a list", remedy, operator.span)
