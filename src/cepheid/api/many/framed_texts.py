"""Texts that are read by their conditions: which are, and what is wrong with some of them, told by the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from cepheid.api.many.options import SharedOptions
from cepheid.api.many.problems import Problems
from cepheid.api.many.windows import read_windows
from cepheid.api.read_program import read_program
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import TEXT, Rules, Template
from cepheid.errors import CepheidError
from cepheid.language.texts.constants import as_literal
from cepheid.language.texts.frames import Conjunct, Frame, Framed, blocks_of, frames_of, with_conditions
from cepheid.language.texts.known_drafts import KnownDrafts
from cepheid.language.texts.skeleton import Cut
from cepheid.language.texts.template import parameter, with_constants, with_literals
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameter_uses import window_uses
from cepheid.pattern.expressions.types import NULL
from cepheid.pattern.tree.nodes import Program

MANY_SKELETONS = 64
"""Texts of one frame that are at least so many when their constants are cut out are read by their conditions."""
TOLD_ALONE = 100
"""Texts that are wrong for one reason: of more, the place is that in the first one."""


def texts_of_frames(cut: Cut, known: KnownDrafts) -> tuple[Framed, list[int]] | None:
    """Texts by their frames, and which frames have so many skeletons that this helps; None: none."""
    if len(cut.skeletons) < MANY_SKELETONS:
        return None
    framed = frames_of(cut, known)
    return framed, [number for number, frame in enumerate(framed.frames) if _is_common(frame, cut)]


def _is_common(frame: Frame, cut: Cut) -> bool:
    """Whether texts of a frame have many skeletons, and differ in conditions and windows alone."""
    if len(frame.program.queries) != 1 or not blocks_of(frame.program):
        return False
    window = frame.program.queries[0].within
    if frame.columns:
        is_window = (
            list(frame.columns) == [parameter(0)] and window is not None and window.amount == ex.Name(parameter(0))
        )
        if not is_window or not pa.types.is_integer(frame.columns[parameter(0)].type):
            return False
    return len(np.unique(cut.skeleton[frame.texts])) >= MANY_SKELETONS


def rules_of_frame(
    framed: Framed, number: int, texts: Sequence[str], numbers: np.ndarray, name: object, options: SharedOptions
) -> tuple[Template, Rules]:
    """A template for the texts of a frame, and these. numbers: of the rules, by text."""
    frame = framed.frames[number]
    template = Template(name, frame.program, (TEXT,), options.params, options.functions, texts=True)
    column = pa.array([texts[place] for place in frame.texts.tolist()], pa.string())
    framed_alone = framed if len(frame.texts) == len(texts) else framed.only(frame.texts)
    return template, Rules(0, numbers[frame.texts], pa.table({constant_column(TEXT): column}), framed=framed_alone)


def check_texts(
    template: Template, rules: Rules, options: SharedOptions, problems: Problems, schema: Schema | None = None
) -> None:
    """What is wrong with texts, whatever the events are, or on events of a schema: one error for each text."""
    checked = _Checked(template, rules, options, schema)
    errors: dict[int, CepheidError] = {}
    for places, known in checked.wrong():
        first: CepheidError | None = None
        for rank, place in enumerate(places.tolist()):
            if place in errors:
                continue
            error = checked.error_of(place) if rank < TOLD_ALONE else first or known
            if error is None and rank == 0:
                break  # a condition that is only wrong where there is no other
            if error is not None:
                first = first or error
                errors[place] = error
    for place in sorted(errors):
        problems.add(rules.numbers[place : place + 1], errors[place])


_Check = Callable[[Mapping[str, Sequence[ex.Expression]]], CepheidError | None]
_NO_TIME = "\x00"  # a text that can be read as nothing else


class _Checked:
    def __init__(self, template: Template, rules: Rules, options: SharedOptions, schema: Schema | None) -> None:
        self.template = template
        self.rules = rules
        self.options = options
        self.schema = schema
        self.framed = rules.read_texts()
        self.sound = options.known.sound(schema)
        self.texts = rules.constants.column(constant_column(TEXT))

    def wrong(self) -> Iterator[tuple[np.ndarray, CepheidError]]:
        """Texts, by their places, with what is wrong in them."""
        for frame, conditions in zip(self.framed.frames, self.framed.conditions(), strict=True):
            windows = Problems(pa.nulls(len(frame.texts)), collect=True)
            for use in window_uses(frame.program) if frame.columns else ():
                column = pa.chunked_array([frame.columns[parameter(0)]])
                read_windows(use, column, np.arange(len(frame.texts)), self.options.roles.unit, windows)
            for row, error in windows.items():
                yield frame.texts[row : row + 1], error
            sound = np.setdiff1d(np.arange(len(frame.texts)), windows.numbers)
            if not len(sound):
                continue
            constants = {name: as_literal(column, int(sound[0])) for name, column in frame.columns.items()}
            check = _checking(with_constants(frame.program, constants), self._check)
            none = None if frame.key in self.sound else check({})
            if none is not None:
                yield frame.texts, none
                continue
            self.sound.add(frame.key)
            for number, rows in conditions:
                yield from self._wrong_in_frame(frame, self.framed.conjuncts[number], rows, check)

    def _wrong_in_frame(
        self, frame: Frame, conjunct: Conjunct, rows: np.ndarray, check: _Check
    ) -> Iterator[tuple[np.ndarray, CepheidError]]:
        key = frame.key, conjunct.key
        if key not in self.sound and not _is_sound(conjunct, rows, check):
            yield from _wrong_conditions(conjunct, rows, check)
        else:
            self.sound.add(key)

    def _check(self, program: Program) -> CepheidError | None:
        try:
            compiled = self.options.compiled_program(self.template, program, self.template.params or {})
            if self.schema is not None:
                compiled.bind(self.schema)
        except CepheidError as error:
            return error
        return None

    def error_of(self, place: int) -> CepheidError | None:
        """What is wrong with a text alone, with the place in it."""
        return self._check(read_program(self.texts[place].as_py()))


def _checking(program: Program, check: Callable[[Program], CepheidError | None]) -> _Check:
    empty: dict[str, Sequence[ex.Expression]] = dict.fromkeys(blocks_of(program), ())
    return lambda blocks: check(with_conditions(program, {**empty, **blocks}))


def _is_sound(conjunct: Conjunct, rows: np.ndarray, check: _Check) -> bool:
    """Whether a condition is right with any constants: a text may be read as a time in one, and be none in another."""
    first, strings = _first(conjunct, rows)
    nothing = {name: ex.Literal(_NO_TIME, first[name].type) for name in strings}
    if check(_written(conjunct, first)) is not None:
        return False
    return not strings or check(_written(conjunct, {**first, **nothing})) is None


def _first(conjunct: Conjunct, rows: np.ndarray) -> tuple[dict[str, ex.Literal], list[str]]:
    """The constants of the first of some rows, and which of them are texts."""
    first = {name: as_literal(column, int(rows[0])) for name, column in conjunct.columns.items()}
    return first, [name for name, column in conjunct.columns.items() if pa.types.is_string(column.type)]


def _wrong_conditions(conjunct: Conjunct, rows: np.ndarray, check: _Check) -> Iterator[tuple[np.ndarray, CepheidError]]:
    """The texts in which a condition is wrong that is not sound."""
    first, strings = _first(conjunct, rows)
    error = check(_written(conjunct, first))
    if not strings:
        assert error is not None
        yield conjunct.texts[rows], error
        return
    nulls = {name: ex.Literal(None, NULL) for name in strings}
    if error is not None and check(_written(conjunct, {**first, **nulls})) is not None:
        yield conjunct.texts[rows], error
        return
    known: dict[tuple[object, ...], CepheidError | None] = {}
    columns = [conjunct.columns[name].take(pa.array(rows)).to_pylist() for name in strings]
    for row, values in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
        if values not in known:
            constants = {name: as_literal(column, row) for name, column in conjunct.columns.items()}
            known[values] = check(_written(conjunct, constants))
        wrong = known[values]
        if wrong is not None:
            yield conjunct.texts[row : row + 1], wrong


def _written(conjunct: Conjunct, constants: Mapping[str, ex.Literal]) -> dict[str, list[ex.Expression]]:
    return {conjunct.block: [with_literals(condition, constants) for condition in conjunct.conditions]}


def samples(rules: Rules) -> Iterator[Program]:
    """Programs that have all conditions of some texts, one each."""
    framed = rules.read_texts()
    for frame, conditions in zip(framed.frames, framed.conditions(), strict=True):
        program = with_constants(frame.program, {n: as_literal(column, 0) for n, column in frame.columns.items()})
        for number, rows in conditions:
            conjunct = framed.conjuncts[number]
            constants = {name: as_literal(column, int(rows[0])) for name, column in conjunct.columns.items()}
            empty: dict[str, Sequence[ex.Expression]] = dict.fromkeys(blocks_of(program), ())
            yield with_conditions(program, {**empty, **_written(conjunct, constants)})
