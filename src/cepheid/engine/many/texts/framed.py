"""Texts that were read by frames and conditions, as rules for the shared tables: nothing is done skeleton by skeleton.

A condition on one event that compares a column with a constant is an `Extra` of the rules that have it. All others are
part of the chain, with their constants: texts that agree on those, and on the frame, have one chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import NotNative
from cepheid.engine.many.protocol import WINDOW
from cepheid.engine.many.tables.chain import Bounds, Chain, ChainStep, ComparisonForm, Fence, NotChained, RuleConstant
from cepheid.engine.many.tables.chain_reader import chain_of
from cepheid.engine.many.tables.keys import LEAST, fits
from cepheid.engine.many.tables.level import ChainRules, Extra
from cepheid.engine.many.texts.known_chains import KnownChains, NotUnitedError
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.errors import CepheidError
from cepheid.language.texts.constants import as_literal
from cepheid.language.texts.frames import Conjunct, Frame, Framed, blocks_of, with_conditions
from cepheid.language.texts.template import parameter, with_constants, with_literals
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.expressions.types import BOOL, Kind
from cepheid.pattern.tree.nodes import Program, Window

MOST_CHAINS = 1024
"""Chains of one frame: with more of them, what they differ in should have been columns."""
_LONGEST = 2**62
_COMPARED = {Kind.INT, Kind.FLOAT, Kind.STRING}
Compile = Callable[[Program], CompiledQuery]
Conditions = tuple[tuple[int, int], ...]
"""Conjuncts by their numbers, each with a row of its constants."""


@dataclass(frozen=True, slots=True)
class PlacedBounds:
    """What a condition adds to a chain: bounds on the event of a step, or on what ends the wait after it."""

    step: int
    ending: bool
    bounds: tuple[Bounds, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Rules for the tables, and the numbers of the texts that are none; `reasons`: why, by the text of a frame.

    programs: of the rules, a query with what all of them have in common.
    """

    rules: tuple[ChainRules, ...]
    programs: tuple[Program, ...]
    left: np.ndarray
    reasons: dict[str, str]


def shared_rules(framed: Framed, compiling: Compile, known: KnownChains | None = None) -> Shared:
    """The rules of texts. `compiling` makes a query of a program, for the schema of the events.

    known: what it made before.
    """
    known = known or KnownChains()
    rules: list[tuple[ChainRules, Program]] = []
    left: list[np.ndarray] = []
    reasons: dict[str, str] = {}
    by_frame = framed.conditions()
    for number, frame in enumerate(framed.frames):
        try:
            reader = _FrameRules(framed, frame, by_frame[number], compiling, known)
            rules += reader.rules()
            left.append(frame.texts[reader.left])
            reasons |= {frame.text: reader.why} if reader.why else {}
        except (NotChained, NotUnitedError) as reason:
            left.append(frame.texts)
            reasons[frame.text] = str(reason)
    found, programs = (tuple(one) for one in zip(*rules, strict=True)) if rules else ((), ())
    return Shared(found, programs, np.sort(np.concatenate([np.zeros(0, np.int64), *left])), reasons)


class _FrameRules:
    def __init__(
        self,
        framed: Framed,
        frame: Frame,
        conditions: list[tuple[int, np.ndarray]],
        compiling: Compile,
        known: KnownChains,
    ) -> None:
        self.framed = framed
        self.frame = frame
        self.conditions = conditions
        self.compiling = compiling
        self.known = known
        self.windows, self.window = _window(frame)
        self.left = np.zeros(len(frame.texts), bool)  # those that are no chains
        self.why = ""
        self.blocks = blocks_of(frame.program)

    def rules(self) -> list[tuple[ChainRules, Program]]:
        return list(self._rules())

    def _rules(self) -> Iterator[tuple[ChainRules, Program]]:
        bare = self.chain(())
        placed: list[
            tuple[np.ndarray, Any, tuple[PlacedBounds, ...]]
        ] = []  # rows of the frame, of the conjunct, what it adds
        inner: list[tuple[int, np.ndarray]] = []  # what is part of chains
        for number, rows in self.conditions:
            conjunct = self.framed.conjuncts[number]
            try:
                adds = self.adds(bare, number, int(rows[0]))
            except NotUnitedError:
                inner.append((number, rows))
            except NotChained as why:
                self._leave(self.framed.frame_row[conjunct.texts[rows]], why)
            else:
                placed.append((self.framed.frame_row[conjunct.texts[rows]], (conjunct, rows), adds))
        kinds, of_each = self._kinds(inner)
        for kind, key in enumerate(kinds):
            chosen = np.flatnonzero((of_each == kind) & ~self.left)
            if not len(chosen):
                continue
            place = np.full(len(of_each), -1)
            place[chosen] = np.arange(len(chosen))
            try:
                chain = self.chain(key)
            except (NotChained, NotUnitedError) as why:
                self._leave(chosen, why)
                continue
            constants = self.constants(chosen)
            rules = ChainRules(chain, self.frame.texts[chosen], constants, tuple(_extras(placed, place)))
            yield rules, self.program(key)

    def _leave(self, rows: np.ndarray, why: Exception) -> None:
        self.left[rows] = True
        self.why = self.why or str(why)

    def _kinds(self, inner: list[tuple[int, np.ndarray]]) -> tuple[list[Conditions], np.ndarray]:
        """Which conditions are in the chain of each text, with which constants: each set once, with an example."""
        count = len(self.frame.texts)
        if not inner:
            return [()], np.zeros(count, np.int64)
        of_text: list[list[tuple[int, int, tuple[object, ...]]]] = [[] for _ in range(count)]
        for number, rows in inner:
            conjunct = self.framed.conjuncts[number]
            columns = [column.take(pa.array(rows)).to_pylist() for column in conjunct.columns.values()]
            values = list(zip(*columns, strict=True)) if columns else [()] * len(rows)
            places = self.framed.frame_row[conjunct.texts[rows]].tolist()
            for place, row, value in zip(places, rows.tolist(), values, strict=True):
                of_text[place].append((number, row, value))
        known: dict[object, int] = {}
        examples: list[Conditions] = []
        of_each = []
        for conditions in of_text:
            key = tuple((number, repr(value)) for number, _, value in conditions)
            if key not in known:
                known[key] = len(examples)
                examples.append(tuple((number, row) for number, row, _ in conditions))
            of_each.append(known[key])
        if len(examples) > MOST_CHAINS:
            raise NotUnitedError("too many combinations of conditions that are not on one event")
        return examples, np.array(of_each, np.int64)

    def program(self, conditions: Conditions) -> Program:
        """The frame with some conditions, each with the constants of one of its rows."""
        blocks: dict[str, list[ex.Expression]] = {name: [] for name in self.blocks}
        for number, row in conditions:
            conjunct = self.framed.conjuncts[number]
            blocks[conjunct.block] += self.written(conjunct, row)
        return with_conditions(self.windows, blocks)

    def chain(self, conditions: Conditions) -> Chain:
        key = "chain", self.frame.key, *map(self._named, conditions)
        return self.known.same(key, lambda: self._chain(self.program(conditions)))

    def _chain(self, program: Program) -> Chain:
        try:
            found = chain_of(self.compiling(program), None if self.window is None else WINDOW)
        except CepheidError as error:
            raise NotUnitedError(error.message) from None
        except NotNative as why:
            raise NotChained(str(why)) from None
        return _without_truth(found)

    def adds(self, bare: Chain, number: int, row: int) -> tuple[PlacedBounds, ...]:
        """What a condition adds to the chain of the frame, whatever its constants are; row: one with an example."""

        def added_by_condition() -> tuple[PlacedBounds, ...]:
            part = self.chain(((number, row),))
            _check_plain(part)
            return _with_columns(added(bare, part), self.framed.conjuncts[number], row)

        key, values = self._named((number, row))
        return self.known.any(("adds", self.frame.key, key), values, added_by_condition)

    def _named(self, condition: tuple[int, int]) -> tuple[str, str]:
        """A condition with its constants, as it is named in other texts too: 0.0 and -0.0 are equal, not the same."""
        number, row = condition
        conjunct = self.framed.conjuncts[number]
        return conjunct.key, repr([column[row].as_py() for column in conjunct.columns.values()])

    def written(self, conjunct: Conjunct, row: int) -> list[ex.Expression]:
        constants = {name: as_literal(column, row) for name, column in conjunct.columns.items()}
        return [with_literals(condition, constants) for condition in conjunct.conditions]

    def constants(self, rows: np.ndarray) -> pa.Table:
        if self.window is None:
            return pa.table({"$": pa.nulls(len(rows))})
        window, column = self.window
        taken = column.take(pa.array(rows)).dictionary_encode()
        query = self.known.any(("query", self.frame.key), None, lambda: self.compiling(self.program(())).query)
        ticks = [
            min(
                -(-window_nanoseconds(replace(window, amount=as_literal(taken.dictionary, k)), query.schema.roles.unit)
                  // query.schema.tick),
                _LONGEST,
            )
            for k in range(len(taken.dictionary))
        ]  # fmt: skip
        return pa.table({WINDOW: pa.array(ticks, pa.int64()).take(taken.indices)})


def _window(frame: Frame) -> tuple[Program, tuple[Window, pa.Array] | None]:
    """A frame with the greatest window of its texts; and where each text has its own, that and the column."""
    if not frame.columns:
        return frame.program, None
    [query, *others] = frame.program.queries
    window = query.within
    if others or len(frame.columns) > 1 or window is None or window.amount != ex.Name(parameter(0)):
        raise NotUnitedError("a frame with constants besides its window")
    column = frame.columns[parameter(0)]
    greatest = int(np.argmax(column.to_numpy(zero_copy_only=False)))
    program = with_constants(frame.program, {parameter(0): as_literal(column, greatest)})
    return program, (window, column)


def _check_plain(chain: Chain) -> None:
    """Raise NotChained if a condition has constants that are best read with all others of its text."""
    for step in chain.steps:
        if step.fence.ways or any(bounds.key.form == ComparisonForm.MASK for bounds in step.fence.bounds):
            raise NotChained("a choice, or a condition that is computed beforehand")


def _without_truth(chain: Chain) -> Chain:
    """A chain without tests that are TRUE, which blocks without conditions have."""

    def fence(one: Fence) -> Fence:
        return replace(one, tests=tuple(test for test in one.tests if test.condition != ex.Literal(True, BOOL)))

    def step(one: ChainStep) -> ChainStep:
        wait = one.wait
        if wait is not None and wait.ending is not None:
            wait = replace(wait, ending=fence(wait.ending))
        return replace(one, fence=fence(one.fence), wait=wait)

    return replace(chain, steps=tuple(map(step, chain.steps)))


def added(chain: Chain, more: Chain) -> tuple[PlacedBounds, ...]:
    """What a condition adds to a chain, if that is nothing but bounds."""
    if len(chain.steps) != len(more.steps) or _rest(chain) != _rest(more):
        raise NotUnitedError("a condition adds more than bounds")
    found: list[PlacedBounds] = []
    for number, (one, other) in enumerate(zip(chain.steps, more.steps, strict=True)):
        pairs = [(False, one.fence, other.fence)]
        if one.wait is not None and one.wait.ending is not None:
            assert other.wait is not None
            assert other.wait.ending is not None
            pairs.append((True, one.wait.ending, other.wait.ending))
        for ending, before, after in pairs:
            alike = before.tests == after.tests and before.ways == after.ways
            if not alike or not set(before.bounds) <= set(after.bounds):
                raise NotUnitedError("a condition adds more than bounds")
            extra = tuple(bounds for bounds in after.bounds if bounds not in before.bounds)
            found += [PlacedBounds(number, ending, extra)] if extra else []
    return tuple(found)


def _rest(chain: Chain) -> Chain:
    """What bounds have no part in."""
    nothing = Fence((), ())

    def step(one: ChainStep) -> ChainStep:
        wait = one.wait
        if wait is not None and wait.ending is not None:
            wait = replace(wait, ending=nothing)
        return replace(one, fence=nothing, wait=wait)

    return replace(chain, steps=tuple(map(step, chain.steps)))


def _with_columns(adds: tuple[PlacedBounds, ...], conjunct: Conjunct, row: int) -> tuple[PlacedBounds, ...]:
    """Bounds whose constants are columns of the rules."""
    if not adds:
        raise NotUnitedError("a condition that is nowhere")  # it is on no event: or TRUE
    given = {name: as_literal(column, row) for name, column in conjunct.columns.items()}
    found = []
    for one in adds:
        bounds = [replace(bound, constant=_column(bound, name, given[name]))
                  for bound, name in zip(one.bounds, given, strict=False)]  # fmt: skip
        if len(one.bounds) != len(given):
            raise NotUnitedError("a condition with other constants than its bounds")
        found.append(replace(one, bounds=tuple(bounds)))
    return tuple(found)


def _column(bound: Bounds, name: str, given: ex.Literal) -> RuleConstant:
    constant = bound.constant
    if not isinstance(constant, ex.Literal) or constant.value != given.value or given.type.kind not in _COMPARED:
        raise NotUnitedError("a constant that is read as something else")
    return RuleConstant(name, given.type)


def _extras(placed: list[tuple[np.ndarray, Any, tuple[PlacedBounds, ...]]], place: np.ndarray) -> Iterator[Extra]:
    for places, (conjunct, rows), adds in placed:
        at = place[places]
        chosen = np.flatnonzero(at >= 0)
        if len(chosen):
            taken = {name: column.take(pa.array(rows[chosen])) for name, column in conjunct.columns.items()}
            for one in adds:
                for bounds in one.bounds:
                    columns = dict(taken)
                    if bounds.key.form == ComparisonForm.REAL:
                        columns = {name: column.cast(pa.float64(), safe=False) for name, column in taken.items()}
                    yield Extra(one.step, one.ending, bounds, at[chosen], pa.table(columns))


def fitting(rules: ChainRules) -> np.ndarray:
    """The places of rules of which no constant is next to what stands for NULL."""
    wrong = np.zeros(len(rules.numbers), bool)
    if not fits(rules.chain, rules.constants):
        wrong[:] = True
    for extra in rules.extras:
        constant = extra.bounds.constant
        if (
            extra.bounds.key.form == ComparisonForm.VALUE
            and isinstance(constant, RuleConstant)
            and constant.type.kind is Kind.INT
        ):
            values = extra.constants.column(constant.column).to_numpy()
            wrong[extra.rows[values < LEAST + 2]] = True
    return np.flatnonzero(~wrong)
