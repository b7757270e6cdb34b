"""Many texts as few frames and few conditions in them: what a program of ANDs is, without parsing each skeleton.

A text of twenty conditions can have a hundred thousand skeletons, and all of them together have forty conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from cepheid.errors import CepheidError
from cepheid.language.parser import parse
from cepheid.language.texts.conjuncts import split
from cepheid.language.texts.constants import TextConstants, as_literal
from cepheid.language.texts.known_drafts import KnownDrafts, TextDraft
from cepheid.language.texts.skeleton import BLOCK, HOLE, Cut, cut, groups, pieces_of
from cepheid.language.texts.template import (
    DraftSource,
    SkeletonTexts,
    WrongTexts,
    joined,
    parameter,
    parameters_of,
    parts_of,
    read_texts,
    rewritten,
    shown,
    with_constants,
    with_literals,
)
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL, INT
from cepheid.pattern.tree.nodes import Program, QueryTree
from cepheid.pattern.tree.walk import expressions, walk


@dataclass(frozen=True, slots=True)
class Frame:
    """A program without its conditions: a block of them is a name, `{1}`, `{2}`, …; its constants are parameters.

    text: for people. key: equal for frames of the same program, whose constants have the same types.
    texts: the numbers of its texts, ascending; columns: their constants, by parameter.
    """

    program: Program
    text: str
    key: str
    texts: np.ndarray
    columns: Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A condition in a block of a frame: what is between two ANDs.

    frame: the program of a frame; those of others may differ from it in what shapes a program, such as {2,4}.
    conditions: mostly one; [a, b] is two, and NULL AND so on is one.
    key: equal for the same conditions in the same block of the same frame, whose constants have the same types.
    texts: the number of the text for each time that it stands in one, ascending; columns: its constants there.
    """

    frame: Program
    block: str
    conditions: tuple[ex.Expression, ...]
    text: str
    key: str
    texts: np.ndarray
    columns: Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Framed:
    """What many texts are: each has one frame, or is wrong.

    Of each text: its frame (-1: it is wrong) and its row there. Of each condition, text after text: which conjunct it
    is and its row there; first: where those of a text begin, and where the last ones end.
    """

    frames: tuple[Frame, ...]
    conjuncts: tuple[Conjunct, ...]
    wrong: tuple[WrongTexts, ...]
    frame: np.ndarray
    frame_row: np.ndarray
    first: np.ndarray
    conjunct: np.ndarray
    conjunct_row: np.ndarray

    def program_of(self, text: int) -> Program:
        """The program of one text, as the parser would return it."""
        frame = self.frames[self.frame[text]]
        blocks: dict[str, list[ex.Expression]] = {}
        for place in range(self.first[text], self.first[text + 1]):
            conjunct = self.conjuncts[self.conjunct[place]]
            constants = _row(conjunct.columns, self.conjunct_row[place])
            blocks.setdefault(conjunct.block, []).extend(
                with_literals(condition, constants) for condition in conjunct.conditions
            )
        return with_conditions(with_constants(frame.program, _row(frame.columns, self.frame_row[text])), blocks)

    def only(self, texts: np.ndarray) -> Framed:
        """The same of some texts, by their numbers, which are ascending: they have other numbers then."""
        place = np.full(len(self.frame), -1)
        place[texts] = np.arange(len(texts))
        frame, frame_row = np.full(len(texts), -1), np.zeros(len(texts), np.int64)
        frames: list[Frame] = []
        for old in self.frames:
            rows = np.flatnonzero(place[old.texts] >= 0)
            if len(rows):
                places_kept = place[old.texts[rows]]
                frame[places_kept], frame_row[places_kept] = len(frames), np.arange(len(places_kept))
                frames.append(replace(old, texts=places_kept, columns=_taken(old.columns, rows)))
        sizes = [len(conjunct.texts) for conjunct in self.conjuncts]
        begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows_now, number_now = np.zeros(int(begins[-1]), np.int64), np.zeros(len(sizes), np.int64)
        conjuncts: list[Conjunct] = []
        for number, conjunct in enumerate(self.conjuncts):
            rows = np.flatnonzero(place[conjunct.texts] >= 0)
            if len(rows):
                rows_now[begins[number] + rows], number_now[number] = np.arange(len(rows)), len(conjuncts)
                conjuncts.append(
                    replace(conjunct, texts=place[conjunct.texts[rows]], columns=_taken(conjunct.columns, rows))
                )
        counts = np.diff(self.first)
        kept = np.repeat(place >= 0, counts)
        old_conjunct = self.conjunct[kept]
        wrong = (replace(group, texts=place[group.texts[place[group.texts] >= 0]]) for group in self.wrong)
        return Framed(
            tuple(frames),
            tuple(conjuncts),
            tuple(group for group in wrong if len(group.texts)),
            frame,
            frame_row,
            np.concatenate([[0], np.cumsum(counts[texts])]),
            number_now[old_conjunct],
            rows_now[begins[old_conjunct] + self.conjunct_row[kept]],
        )

    def conditions(self) -> list[list[tuple[int, np.ndarray]]]:
        """For each frame its conjuncts, each with the rows that it has in texts of that frame."""
        rows: list[list[tuple[int, np.ndarray]]] = [[] for _ in self.frames]
        for number, conjunct in enumerate(self.conjuncts):
            frames = self.frame[conjunct.texts]
            for frame in np.unique(frames).tolist():
                rows[frame].append((number, np.flatnonzero(frames == frame)))
        return rows


def _taken(columns: Mapping[str, pa.Array], rows: np.ndarray) -> dict[str, pa.Array]:
    return {name: column.take(pa.array(rows)) for name, column in columns.items()}


def _row(columns: Mapping[str, pa.Array], row: int) -> dict[str, ex.Literal]:
    return {name: as_literal(column, int(row)) for name, column in columns.items()}


def block_name(number: int) -> str:
    """The name of a block, which no text can have but in back quotes."""
    return f"{{{number + 1}}}"


def blocks_of(program: Program) -> list[str]:
    """The names of the blocks of a frame."""
    nodes = (node for query in program.queries for expression in expressions(query) for node in walk(expression))
    return [node.name for node in nodes if isinstance(node, ex.Name) and node.name.startswith("{")]


def example_of(program: Program) -> Program:
    """A frame as a program without conditions, whose window is 1."""
    empty = with_conditions(program, dict.fromkeys(blocks_of(program), ()))
    return with_constants(empty, {parameter(0): ex.Literal(1, INT)})


def with_conditions(program: Program, blocks: Mapping[str, Sequence[ex.Expression]]) -> Program:
    """A frame's program with conditions in the place of its blocks."""

    def change(node: ex.Expression) -> ex.Expression:
        if not isinstance(node, ex.Name) or node.name not in blocks:
            return node
        conditions = tuple(blocks[node.name])
        if not conditions:
            return ex.Literal(True, BOOL, span=node.span)
        return conditions[0] if len(conditions) == 1 else ex.And(conditions, span=node.span)

    def whole(query: QueryTree) -> QueryTree:
        listed = [
            blocks.get(condition.name, (condition,)) if isinstance(condition, ex.Name) else (condition,)
            for condition in query.where
        ]
        where = tuple(condition for conditions in listed for condition in conditions)
        return replace(rewritten(replace(query, where=()), change), where=where)

    return Program(tuple(map(whole, program.queries)))


def read_frames(texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Framed:
    """Read many texts of queries, whose conditions are read once each.

    >>> found = read_frames([f"EVENT A a WHERE a.x > {n} AND a.y = {n} WITHIN 5 hours" for n in (7, 12)])
    >>> [frame.text for frame in found.frames], [conjunct.text for conjunct in found.conjuncts]
    (['EVENT A a WHERE {1} WITHIN $1 hours'], ['a.x > $1', 'a.y = $1'])
    >>> found.conjuncts[0].columns["$1"].to_pylist()
    [7, 12]
    """
    return frames_of(cut(texts, progress))


def frames_of(cut_texts: Cut, known: KnownDrafts | None = None) -> Framed:
    """The same of texts whose constants are cut out already. known: what was read before."""
    constants, known = TextConstants(cut_texts.constants), known or KnownDrafts()
    conditions = _Conditions(cut_texts)
    odd = np.zeros(len(cut_texts.texts), bool)  # texts that can't be read this way: as a whole, then
    frames: dict[str, list[SkeletonTexts]] = {}
    readers: list[_FrameReader | None] = []
    for number, texts in enumerate(conditions.texts_of_frames()):
        reader = _FrameReader(cut_texts, conditions, number)
        readers.append(None)
        source = DraftSource((reader.frame, "frame"), reader.draft, known)
        for part in parts_of(texts, conditions.frame_codes(number, texts), constants, source):
            if isinstance(part, WrongTexts):
                odd[part.texts] = True
            else:
                frames.setdefault(part.key, []).append(part)
                readers[number] = readers[number] or reader.with_example(int(part.places[0]), part.draft.value)
    conjuncts: dict[str, list[tuple[SkeletonTexts, _FrameReader, int]]] = {}
    for key, places in conditions.by_key():
        reader_of = readers[key.frame]
        if reader_of is None:
            continue
        where = f"{reader_of.name}{key.block} "
        source = DraftSource((where, key.text), partial(_draft_at, reader_of, conditions, key), known)
        for part in parts_of(places, conditions.codes_at(key, places), constants, source):
            if isinstance(part, WrongTexts):
                odd[conditions.text[part.texts]] = True
            else:
                conjuncts.setdefault(where + part.key, []).append((part, reader_of, key.block))
    framed = _framed(cut_texts, constants, conditions, frames, conjuncts, odd)
    uncertain = [
        texts
        for texts in conditions.texts_of_frames()
        if not _is_read(framed, cut_texts.texts, texts, odd, known.sound)
    ]
    if not uncertain:
        return framed
    odd[np.concatenate(uncertain)] = True
    return _framed(cut_texts, constants, conditions, frames, conjuncts, odd)


def _is_read(framed: Framed, written: Sequence[str], texts: np.ndarray, odd: np.ndarray, sound: set[str]) -> bool:
    """Whether a text of a frame is what the parser makes of it as a whole: not if a word is not what it seemed."""
    text = next((text for text in texts.tolist() if not odd[text]), None)
    if text is None:
        return True
    keys = {
        framed.conjuncts[number].key for number in framed.conjunct[framed.first[text] : framed.first[text + 1]].tolist()
    }
    if keys <= sound:
        return True
    try:
        read = repr(framed.program_of(text)) == repr(parse(written[text]))
    except CepheidError:
        return False
    if read:
        sound |= keys
    return read


@dataclass(frozen=True, slots=True)
class _Key:
    """A conjunct in a frame, before it is parsed."""

    frame: int
    block: int
    text: str


class _KeysOfFrame(dict[tuple[int, str], int]):
    """Numbers the conjuncts of a frame, by block and skeleton, among those of all frames."""

    def __init__(self, frame: int, keys: list[_Key]) -> None:
        self.frame = frame
        self.every = keys

    def __missing__(self, key: tuple[int, str]) -> int:
        self[key] = number = len(self.every)
        self.every.append(_Key(self.frame, *key))
        return number


class _Conditions:
    """Where conditions stand, text after text: the number of the text, which conjunct, where its constants begin."""

    def __init__(self, cut_texts: Cut) -> None:
        self.cut_texts = cut_texts
        frames: dict[str, _KeysOfFrame] = {}
        keys: list[_Key] = []
        own_constants: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.own_constants: list[tuple[int, ...]] = []  # of the frame, by skeleton
        which: list[int] = []
        of_skeleton, offset, first = [], [], [0]
        for parts in map(
            split, cut_texts.skeletons
        ):  # none is kept: very many objects are a long collection of garbage
            self.own_constants.append(own_constants.setdefault(parts.constants, parts.constants))
            keys_of_frame = frames.get(parts.frame)
            if keys_of_frame is None:
                keys_of_frame = frames[parts.frame] = _KeysOfFrame(len(frames), keys)
            of_skeleton.append(keys_of_frame.frame)
            which += map(keys_of_frame.__getitem__, zip(parts.blocks, parts.conjuncts, strict=True))
            offset += parts.first
            first.append(len(which))
        self.frames = list(frames)
        self.keys = keys
        self.frame_of_skeleton = np.array(of_skeleton, np.int64)
        starts = np.array(first, np.int64)
        counts = np.diff(starts)[cut_texts.skeleton]
        self.first = np.concatenate([[0], np.cumsum(counts)])
        self.text = np.repeat(np.arange(len(cut_texts.texts)), counts)
        within = np.arange(len(self.text)) - self.first[self.text]
        at = starts[cut_texts.skeleton[self.text]] + within
        self.key = np.array(which, np.int64)[at]
        self.constant = cut_texts.first[self.text] + np.array(offset, np.int64)[at]

    def texts_of_frames(self) -> list[np.ndarray]:
        """For each frame the numbers of its texts."""
        return groups(self.frame_of_skeleton[self.cut_texts.skeleton], len(self.frames))

    def frame_codes(self, frame: int, texts: np.ndarray) -> np.ndarray:
        """The constants of a frame itself: a row for each text."""
        skeletons, row = np.unique(self.cut_texts.skeleton[texts], return_inverse=True)
        constants = np.array([self.own_constants[skeleton] for skeleton in skeletons.tolist()], np.int64)
        codes: np.ndarray = self.cut_texts.codes[self.cut_texts.first[texts][:, None] + constants[row]]
        return codes

    def by_key(self) -> list[tuple[_Key, np.ndarray]]:
        """For each conjunct the places where it stands."""
        return list(zip(self.keys, groups(self.key, len(self.keys)), strict=True))

    def codes_at(self, key: _Key, places: np.ndarray) -> np.ndarray:
        """The constants of a conjunct: a row for each place."""
        codes: np.ndarray = self.cut_texts.codes[self.constant[places][:, None] + np.arange(key.text.count(HOLE))]
        return codes

    def written(self, key: _Key, place: int) -> str:
        """A conjunct at a place, with its constants."""
        [codes] = self.codes_at(key, np.array([place]))
        return _filled(key.text, [self.cut_texts.constants[code] for code in codes.tolist()])


def _filled(skeleton: str, constants: Sequence[str]) -> str:
    pieces = skeleton.split(HOLE)
    return "".join(piece for pair in zip(pieces, [*constants, ""], strict=True) for piece in pair)


def _draft_at(reader: _FrameReader, conditions: _Conditions, key: _Key, place: int) -> TextDraft:
    return reader.conjunct(key.block, conditions.written(key, place))


class _FrameReader:
    """Reads a frame, and conditions in it."""

    def __init__(self, cut_texts: Cut, conditions: _Conditions, number: int) -> None:
        self.cut_texts = cut_texts
        self.conditions = conditions
        self.number = number
        self.frame = conditions.frames[number]
        self.blocks = self.frame.count(BLOCK)
        self.example = self.frame
        self.program = Program(())
        self.name = ""  # the same for frames of the same program

    def draft(self, text: int) -> TextDraft:
        """The frame of a text."""
        [codes] = self.conditions.frame_codes(self.number, np.array([text]))
        written = _filled(self.frame, [self.cut_texts.constants[code] for code in codes.tolist()])
        whole = self._with_names(written)
        program = parse(whole)
        readers, named = parameters_of(whole, program)
        people = shown(pieces_of(whole), readers)
        for number in range(self.blocks):
            people = people.replace(_NAME.format(number), block_name(number))
        return TextDraft(_with_blocks(named, self.blocks), readers, people)

    def with_example(self, text: int, program: Program) -> _FrameReader:
        """The same for conditions in the frame of one text."""
        [codes] = self.conditions.frame_codes(self.number, np.array([text]))
        self.example = _filled(self.frame, [self.cut_texts.constants[code] for code in codes.tolist()])
        self.program, self.name = program, repr(program)
        return self

    def _with_names(self, written: str, block: int = -1, condition: str = "") -> str:
        pieces = written.split(BLOCK)
        names = [condition if n == block else _NAME.format(n) for n in range(self.blocks)]
        return "".join(piece for pair in zip(pieces, [*names, ""], strict=True) for piece in pair)

    def conjunct(self, block: int, written: str) -> TextDraft:
        """A condition in a block, alone."""
        whole = self._with_names(self.example, block, written)
        before = "".join(self.frame.split(BLOCK)[: block + 1]).count(HOLE)
        count = len(pieces_of(whole)) // 2 - self.frame.count(HOLE)
        readers, named = parameters_of(whole, parse(whole), range(before, before + count))
        return TextDraft(self._found(block, named), readers, shown(pieces_of(written), readers))

    def _found(self, block: int, program: Program) -> tuple[ex.Expression, ...]:
        """What stands in a program where the frame has a block."""
        name = ex.Name(block_name(block))
        if self.program.queries[0].where == (name,):
            return program.queries[0].where
        place = _expressions(self.program).index(name)
        return (_expressions(program)[place],)


_NAME = "condition_{}_of_a_frame"


def _expressions(program: Program) -> list[ex.Expression]:
    return [expression for query in program.queries for expression in expressions(query)]


def _with_blocks(program: Program, blocks: int) -> Program:
    names = {_NAME.format(n): block_name(n) for n in range(blocks)}

    def change(node: ex.Expression) -> ex.Expression:
        return replace(node, name=names[node.name]) if isinstance(node, ex.Name) and node.name in names else node

    return Program(tuple(rewritten(query, change) for query in program.queries))


def _framed(
    cut_texts: Cut,
    constants: TextConstants,
    conditions: _Conditions,
    frames: Mapping[str, list[SkeletonTexts]],
    conjuncts: Mapping[str, list[tuple[SkeletonTexts, _FrameReader, int]]],
    odd: np.ndarray,
) -> Framed:
    """Everything by the numbers of the texts."""
    count, places = len(cut_texts.texts), len(conditions.text)
    of_text, row_of_text = np.full(count, -1), np.zeros(count, np.int64)
    of_place, row_of_place = np.full(places, -1), np.zeros(places, np.int64)
    all_frames: list[Frame] = []
    for key, parts in frames.items():
        kept = [part for texts_read in parts if len((part := texts_read.only(~odd[texts_read.places])).places)]
        if kept:
            frame = Frame(kept[0].draft.value, kept[0].draft.text, key, *joined(kept, constants))
            of_text[frame.texts], row_of_text[frame.texts] = len(all_frames), np.arange(len(frame.texts))
            all_frames.append(frame)
    all_conjuncts: list[Conjunct] = []
    for key, found_parts in conjuncts.items():
        _, reader, block = found_parts[0]
        kept = [
            part
            for texts_read, _, _ in found_parts
            if len((part := texts_read.only(~odd[conditions.text[texts_read.places]])).places)
        ]
        if kept:
            at, columns = joined(kept, constants)
            of_place[at], row_of_place[at] = len(all_conjuncts), np.arange(len(at))
            draft = kept[0].draft
            texts = conditions.text[at]
            all_conjuncts.append(
                Conjunct(reader.program, block_name(block), draft.value, draft.text, key, texts, columns)
            )
    numbers = np.flatnonzero(odd)
    whole = read_texts([cut_texts.texts[number] for number in numbers.tolist()])
    for template in whole.templates:
        texts = numbers[template.texts]
        of_text[texts], row_of_text[texts] = len(all_frames), np.arange(len(texts))
        key = f"{template.program!r}{[str(column.type) for column in template.columns.values()]}"
        all_frames.append(Frame(template.program, template.text, key, texts, template.columns))
    stays = ~odd[conditions.text]
    return Framed(
        tuple(all_frames),
        tuple(all_conjuncts),
        tuple(replace(wrong, texts=numbers[wrong.texts]) for wrong in whole.wrong),
        of_text,
        row_of_text,
        np.concatenate([[0], np.cumsum(np.diff(conditions.first) * ~odd)]),
        of_place[stays],
        row_of_place[stays],
    )
