"""Many texts as few templates: each skeleton is parsed once, its constants are columns of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheid.errors import CepheidError, Span
from cepheid.language.algebra.printed import without_latex
from cepheid.language.parser import parse
from cepheid.language.texts.constants import ConstantReader, TextConstants, as_literal
from cepheid.language.texts.known_drafts import KnownDrafts, TextDraft
from cepheid.language.texts.skeleton import WHOLE, Cut, Spelling, cut, pieces_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.functions import UNITS_OF
from cepheid.pattern.tree.nodes import Language, Program, QueryTree
from cepheid.pattern.tree.walk import expressions, fields_in, rewrite, rewrite_expressions, walk

_OF_THE_TEXT = {"CEP101", "CEP102", "CEP103", "CEP104", "CEP106", "CEP108"}
"""Errors that have nothing to do with constants: all texts with the same skeleton have them."""


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A program whose constants are parameters, `$1`, `$2`, …, and those of each text with that program.

    text: of the first of its texts, with the parameters in it, for people.
    texts: the numbers of the texts, ascending; columns: by the name of a parameter, its constants in their order.
    """

    program: Program
    text: str
    texts: np.ndarray
    columns: Mapping[str, pa.Array]

    def program_of(self, row: int) -> Program:
        """The program of one of its texts, with the constants in it, as the parser would return it."""
        return with_constants(self.program, {name: as_literal(column, row) for name, column in self.columns.items()})


@dataclass(frozen=True, slots=True)
class WrongTexts:
    """Texts that have the same error: that of the first; `error_of` is that of each."""

    texts: np.ndarray
    error: CepheidError

    def error_of(self, text: str) -> CepheidError:
        """The error of one of the texts, with its place in it."""
        try:
            parse(text)
        except CepheidError as error:
            return error
        return self.error


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """What many texts are: each is a text of one template, or wrong."""

    templates: tuple[TextTemplate, ...]
    wrong: tuple[WrongTexts, ...]


def read_texts(texts: Sequence[str], progress: Callable[[int], None] | None = None) -> ReadTexts:
    """Read many texts of queries, SASE+, CESAR and automata together.

    >>> [rises] = read_texts([f"EVENT A a WHERE a.x > {n} AND a.s LIKE 'b%'" for n in (7, 12)]).templates
    >>> rises.text, rises.columns["$1"].to_pylist(), rises.texts.tolist()
    ("EVENT A a WHERE a.x > $1 AND a.s LIKE 'b%'", [7, 12], [0, 1])
    """
    return read_cut(cut(texts, progress))


def read_cut(texts_cut: Cut, known: KnownDrafts | None = None) -> ReadTexts:
    """The same of texts whose constants are cut out already. known: what was read before."""
    constants, known = TextConstants(texts_cut.constants), known or KnownDrafts()
    parts: dict[str, list[SkeletonTexts]] = {}
    wrong: list[WrongTexts] = []
    for skeleton, texts in zip(texts_cut.skeletons, texts_cut.by_skeleton(), strict=True):
        source = DraftSource((skeleton,), lambda place: _draft(texts_cut.texts[place]), known)
        for part in parts_of(texts, texts_cut.codes_of(texts), constants, source):
            if isinstance(part, WrongTexts):
                wrong.append(part)
            else:
                parts.setdefault(part.key, []).append(part)
    templates = []
    for same in parts.values():
        draft = same[0].draft
        templates.append(TextTemplate(draft.value, draft.text, *joined(same, constants)))
    return ReadTexts(tuple(templates), tuple(sorted(wrong, key=lambda texts: int(texts.texts[0]))))


# One skeleton.


@dataclass(frozen=True, slots=True)
class DraftSource:
    """Where drafts of one skeleton come from: made of the text at a place, or known by the key of the skeleton."""

    key: tuple[str, ...]
    make: Callable[[int], TextDraft]
    known: KnownDrafts

    def draft(self, place: int, codes: np.ndarray, constants: TextConstants) -> TextDraft:
        """The draft of the text at a place, whose constants are given by their numbers."""
        if self.key[0].startswith(WHOLE):  # which says nothing of the text
            return self.make(place)
        written = [constants.written[code] for code in codes.tolist()]
        key = *self.key, constants.spellings[codes].tobytes()
        return self.known.draft(key, written, lambda: self.make(place))


@dataclass(frozen=True, slots=True)
class SkeletonTexts:
    """Texts with one skeleton that differ in constants that are parameters alone."""

    draft: TextDraft
    places: np.ndarray
    codes: np.ndarray
    kinds: tuple[str, ...]

    def only(self, rows: np.ndarray) -> SkeletonTexts:
        """Some of the texts."""
        return replace(self, places=self.places[rows], codes=self.codes[rows])

    @property
    def key(self) -> str:
        """Equal for parts of one template. By what is printed, because 0.0 and -0.0 are equal."""
        return f"{self.draft.value!r}{self.kinds}"


def parts_of(
    places: np.ndarray, codes: np.ndarray, constants: TextConstants, source: DraftSource
) -> Iterator[SkeletonTexts | WrongTexts]:
    """Texts with one skeleton, split by the constants that shape them and by the types of the others."""
    for same in _by_rows(constants.spellings[codes]):
        yield from _shaped(places[same], codes[same], constants, source)


def _shaped(
    places: np.ndarray, codes: np.ndarray, constants: TextConstants, source: DraftSource
) -> Iterator[SkeletonTexts | WrongTexts]:
    while len(places):
        try:
            draft = source.draft(int(places[0]), codes[0], constants)
        except CepheidError as error:
            alike = error.code in _OF_THE_TEXT and not _by_digits(error, constants.spellings[codes[0]])
            many = len(places) if alike else 1
            yield WrongTexts(places[:many], error)
            places, codes = places[many:], codes[many:]
            continue
        kept = [place for place, reader in enumerate(draft.readers) if reader is None]
        first, *others = _by_rows(codes[:, kept])
        yield from _typed(places[first], codes[first], constants, draft, source)
        for other in others:
            yield from _shaped(places[other], codes[other], constants, source)
        return


def _by_digits(error: CepheidError, spellings: np.ndarray) -> bool:
    """Whether an error may be one of the digits: 1.2.3 is no number, and 10,00 is none of CESAR, but 10,000 is."""
    return error.span is None or _GROUPS.search(error.span.text) is not None or Spelling.OTHER in spellings


_GROUPS = re.compile(r"\d(?:,|\{,\})\d")


def _typed(
    places: np.ndarray, codes: np.ndarray, constants: TextConstants, draft: TextDraft, source: DraftSource
) -> Iterator[SkeletonTexts | WrongTexts]:
    """Split by the types of the constants; a text with one that can't be read is on its own."""
    read = [(at, reader) for at, reader in enumerate(draft.readers) if reader is not None]
    known = [constants.types(reader, codes[:, at]) for at, reader in read]
    if all(len(kinds) == 1 for kinds, _ in known):
        yield SkeletonTexts(draft, places, codes, tuple(str(kinds[0]) for kinds, _ in known))
        return
    for same in _by_rows(np.stack([of_each for _, of_each in known], axis=1)):
        kinds = [names[of_each[same[0]]] for names, of_each in known]
        if None not in kinds:
            yield SkeletonTexts(draft, places[same], codes[same], tuple(map(str, kinds)))
            continue
        for place in same.tolist():
            try:
                alone = source.make(int(places[place]))
            except CepheidError as error:
                yield WrongTexts(places[place : place + 1], error)
            else:
                alone = replace(alone, readers=(None,) * len(alone.readers))
                yield SkeletonTexts(alone, places[place : place + 1], codes[place : place + 1], ())


def _by_rows(table: np.ndarray) -> list[np.ndarray]:
    """The rows of a table that are equal to each other, those of the first row first."""
    if len(table) < 2 or not (table != table[0]).any():
        return [np.arange(len(table))]
    of_each = np.zeros(len(table), np.int64)
    for column in table.T.astype(np.int64):
        _, of_each = np.unique(of_each * (int(column.max()) + 1) + column, return_inverse=True)
    order = np.argsort(of_each, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(of_each))[:-1])
    return sorted(parts, key=lambda part: int(part[0]))


def joined(parts: Sequence[SkeletonTexts], constants: TextConstants) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """The places of parts of one template, ascending, and their constants as columns."""
    places = np.concatenate([part.places for part in parts])
    order = np.argsort(places, kind="stable")
    columns = {}
    count = sum(reader is not None for reader in parts[0].draft.readers)
    for number in range(count):
        chunks = [constants.column(*_nth(part, number)) for part in parts]
        columns[parameter(number)] = _one_column(chunks).take(pa.array(order))
    return places[order], columns


def _nth(part: SkeletonTexts, number: int) -> tuple[ConstantReader, np.ndarray]:
    at, reader = [(at, reader) for at, reader in enumerate(part.draft.readers) if reader is not None][number]
    return reader, part.codes[:, at]


def _one_column(chunks: list[pa.Array]) -> pa.Array:
    finest = next((c.type for c in chunks if getattr(c.type, "unit", None) == "ns"), chunks[0].type)
    return pa.concat_arrays([chunk.cast(finest) for chunk in chunks])


# One text.


def parameter(number: int) -> str:
    """The name of a parameter, which no text can have but in back quotes."""
    return f"${number + 1}"


def _draft(text: str) -> TextDraft:
    program = parse(text)
    readers, named = parameters_of(text, program)
    if not any(readers):
        named = program
    return TextDraft(named, readers, shown(pieces_of(text), readers))


def shown(pieces: list[str], readers: Sequence[ConstantReader | None]) -> str:
    """The pieces of a text with parameters in the place of constants."""
    number = 0
    for at, reader in enumerate(readers):
        if reader is not None:
            pieces[2 * at] = pieces[2 * at].removesuffix(reader.before)
            pieces[2 * at + 1] = parameter(number)
            pieces[2 * at + 2] = pieces[2 * at + 2].removeprefix(reader.after)
            number += 1
    return "".join(pieces)


_PLAIN: Mapping[Language, Callable[[str], str]] = {
    Language.PATTERN: str,
    Language.AUTOMATON: str,
    Language.CESAR: without_latex,
}
"""A text as its reader scans it."""


def parameters_of(
    text: str, program: Program, among: Sequence[int] | None = None
) -> tuple[tuple[ConstantReader | None, ...], Program]:
    """How the constants of a text are read, or some of them, and its program with parameters in their place.

    None for a constant that shapes the program: what is no constant there, such as {2,4} or a[3], or must be known
    when the program is analysed.
    """
    pieces = pieces_of(text)
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    places = [(ends[at] - len(pieces[at]), ends[at]) for at in range(1, len(pieces), 2)]
    among = range(len(places)) if among is None else among
    if "`$" in text or any(
        _PLAIN[query.language](text) != text for query in program.queries
    ):  # names that collide, places that LaTeX moves
        return (None,) * len(among), program
    reader_at: dict[int, ConstantReader | None] = {}
    literals: dict[int, int] = {}  # the constant of each literal, by its identity
    for query in program.queries:
        for literal, alone in _literals(query):
            at = _inside(literal.span, places)
            reader = None if at is None else _reader(text, literal, places[at], pieces[2 * at + 1], alone)
            if at is not None:
                reader_at[at] = reader if reader_at.setdefault(at, reader) == reader else None
                literals[id(literal)] = at
    readers = tuple(reader_at.get(at) for at in among)
    names = {at: parameter(n) for n, at in enumerate(at for at in among if reader_at.get(at) is not None)}

    def change(node: ex.Expression) -> ex.Expression:
        name = names.get(literals.get(id(node), -1))
        return node if name is None else ex.Name(name, span=node.span)

    return readers, Program(tuple(rewritten(query, change) for query in program.queries))


def rewritten(query: QueryTree, change: Callable[[ex.Expression], ex.Expression]) -> QueryTree:
    query = rewrite_expressions(query, lambda expression: rewrite(expression, change))
    if query.within is None:
        return query
    amount = change(query.within.amount)
    assert isinstance(amount, ex.Literal | ex.Name)
    return replace(query, within=replace(query.within, amount=amount))


def _literals(query: QueryTree) -> Iterator[tuple[ex.Literal, bool]]:
    """The literals that may be parameters, and whether one must be written alone, as the length of a window."""
    shaping = {id(literal) for literal in _shaping(query)}
    for expression in expressions(query):
        yield from (
            (node, False) for node in walk(expression) if isinstance(node, ex.Literal) and id(node) not in shaping
        )
    window = query.within
    if window is not None and isinstance(window.amount, ex.Literal) and window.unit != "events":
        yield window.amount, True


def _shaping(query: QueryTree) -> Iterator[ex.Expression]:
    """What must be known before a query can be analysed."""
    if query.sees is not None:
        yield from walk(query.sees)
    yield from (node for slot in fields_in(query) for node in walk(slot.initial))
    for expression in expressions(query):
        for node in walk(expression):
            match node:
                case ex.Like(pattern=one) | ex.RLike(pattern=one) | ex.Element(index=one):
                    yield from walk(one)
                case ex.AggregateCall(share=share) if share is not None:
                    yield from walk(share)
                case ex.Call(function=name, arguments=arguments) if name.lower() in UNITS_OF:
                    yield from arguments


def _inside(span: Span | None, places: Sequence[tuple[int, int]]) -> int | None:
    """The only constant in a part of the text."""
    if span is None:
        return None
    inside = [at for at, (start, end) in enumerate(places) if span.start <= start and end <= span.end]
    return inside[0] if len(inside) == 1 else None


def _reader(
    text: str, literal: ex.Literal, place: tuple[int, int], constant: str, alone: bool
) -> ConstantReader | None:
    assert literal.span is not None
    before, after = text[literal.span.start : place[0]], text[place[1] : literal.span.end]
    spelling = Spelling(int(TextConstants([constant]).spellings[0]))
    if spelling is Spelling.OTHER or (alone and (before or after)):
        return None
    reader = ConstantReader(before, after, spelling)
    # 0.0 and -0.0 are equal, and are two constants.
    return reader if repr(reader.read(constant)) == repr(literal) else None


def with_constants(program: Program, constants: Mapping[str, ex.Literal]) -> Program:
    """A program with constants in the place of its parameters."""
    change = _changing(constants)
    return Program(tuple(rewritten(query, change) for query in program.queries))


def with_literals(expression: ex.Expression, constants: Mapping[str, ex.Literal]) -> ex.Expression:
    """The same of one expression."""
    return rewrite(expression, _changing(constants))


def _changing(constants: Mapping[str, ex.Literal]) -> Callable[[ex.Expression], ex.Expression]:
    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Name) and node.name in constants:
            return replace(constants[node.name], span=node.span)
        return node

    return change
