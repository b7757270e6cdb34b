"""What kernels can't compute, as columns: parts of nested columns, and functions of one event next to others.

A kernel reads columns of numbers. So `a.payload.amount` becomes a column of its own, and so does `CAST(a.s AS INT)` in
a condition that also reads another event. A key that is a field, `[payload.user]`, is such a column too. A condition on
one event alone has a mask (`engine.encoding.masks`), which is computed for the events of its type only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace

from cepheid.engine.encoding.derived import EVENT, Derived, Step, carried
from cepheid.engine.planning.carried import carried_as_texts
from cepheid.engine.planning.lifetimes import TrackedAutomaton, settle_lifetimes
from cepheid.front.automata.bound import automaton_in
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Body, Runnable
from cepheid.language import print_expression
from cepheid.pattern.binding.placement import Placement
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.nested import key_type
from cepheid.pattern.expressions.paths import read_path
from cepheid.pattern.expressions.types import Kind, Type
from cepheid.pattern.tree.nodes import Language
from cepheid.pattern.tree.uses import uses
from cepheid.pattern.tree.walk import conjuncts, substitute, walk
from cepheid.values.evaluate import Compiler
from cepheid.values.functions import NULLABLE

_NATIVE_CALLS = frozenset({"abs", "coalesce", "nullif"})
_HEADS = (ex.Cast, ex.Call, ex.Field, ex.Element, ex.Like, ex.RLike, ex.Arithmetic, ex.Minus)
_PARTS = (*_HEADS, ex.Attribute, ex.Literal)
_HELD = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION})
_Change = Callable[[ex.Expression], ex.Expression]
_ALONE = frozenset({ex.Index.ONE, ex.Index.FIRST, ex.Index.CURRENT, ex.Index.EACH})


class Flattened:
    """A query whose conditions read columns that are derived from those of its events."""

    def __init__(self, original: Runnable, *, having: bool = False, lasts: bool = False) -> None:
        self.original = original
        self.lasts = lasts  # its arcs may change while it runs
        self.derived: dict[str, Derived] = {}
        self.settled: TrackedAutomaton | None = None  # arcs that come and go
        for name, part in original.schema.parts.items():
            evaluate = Compiler(original).result(read_path(part.path, EVENT))
            self.derived[name] = Derived(part.type, part.path[:1], evaluate, part.path[1:])
        self._of_paths = original
        condition = original.having if having else None  # where the kernel tests it too
        placement, condition = self._changed(original.placement, self._path), condition and self._path(condition)
        self._of_paths = self._with_columns(placement)
        placement = self._changed(placement, self._computed)
        condition = condition and self._columns_in(condition, sure=False)  # it has no mask, even if it reads one event
        body = _BODIES[original.language](self, original)
        if self.derived:
            original = self._with_columns(placement, condition).with_parts(body=body)
        self.query = original

    def retimed(self, settled: TrackedAutomaton) -> Flattened:
        """The same code where arcs come and go at other times, or with other constants."""
        flattened = copy(self)
        flattened.derived, flattened.settled = {**self.derived, **settled.columns}, settled
        return flattened

    def _with_columns(self, placement: Placement, having: ex.Expression | None = None) -> Runnable:
        schema, roles = self.original.schema, self.original.schema.roles
        types = roles.types and {
            name: (*of_type, *(new for new, column in self.derived.items() if self._has(name, column)))
            for name, of_type in roles.types.items()
        }
        columns = {**schema.columns, **{name: column.type for name, column in self.derived.items()}}
        wider = replace(schema, columns=columns, roles=replace(roles, types=types), parts={})
        typer = Typer(wider, self.original.components, self.original.functions, self.original.typer.registers)
        having = having or self.original.having
        return self.original.with_parts(schema=wider, placement=placement, typer=typer, having=having)

    def _has(self, event_type: str, column: Derived) -> bool:
        """Whether a type declares all that a column is made of."""
        return all(
            self._has(event_type, self.derived[name])
            if name in self.derived
            else self.original.schema.has(event_type, name)
            for name in column.reads
        )

    def _changed(self, placed: Placement, change: _Change) -> Placement:
        def all_of(conditions: Iterable[ex.Expression]) -> tuple[ex.Expression, ...]:
            return tuple(change(condition) for condition in conditions)

        return Placement(
            {k: tuple((when, change(c)) for when, c in tests) for k, tests in placed.at_place.items()},
            {k: all_of(conditions) for k, conditions in placed.at_exit.items()},
            {k: all_of(conditions) for k, conditions in placed.of_witness.items()},
            placed.constant,
        )

    def _unchanged(self, query: Runnable) -> Body:
        """A pattern has no conditions but those that are placed."""
        return query.body

    def _changed_automaton(self, query: Runnable) -> Body:
        """Arcs that come and go, and what they ask and assign, in terms of columns."""
        automaton = automaton_in(query)
        self.settled = settle_lifetimes(automaton, self.original.schema, lasts=self.lasts)
        if self.settled is not None:
            self.derived |= self.settled.columns
        settled = (automaton if self.settled is None else self.settled.automaton).rewritten(self._path)
        self._of_paths = self._with_columns(self.original.placement)

        def computed(conjunct: ex.Expression) -> ex.Expression:
            alone = not any(isinstance(node, ex.RegisterField) for node in walk(conjunct))
            return conjunct if alone else self._columns_in(conjunct, sure=True)

        def asked(condition: ex.Expression) -> ex.Expression:
            parts = tuple(map(computed, conjuncts(condition)))
            return parts[0] if len(parts) == 1 else ex.And(parts)

        arcs = (
            replace(
                arc,
                condition=arc.condition and asked(arc.condition),
                assigns={name: self._columns_in(value, sure=True) for name, value in arc.assigns.items()},
            )
            for arc in settled.arcs
        )
        return replace(settled, arcs=tuple(arcs))

    def _changed_algebra(self, query: Runnable) -> Body:
        """The edges of a CESAR expression in terms of columns."""
        algebra = algebra_in(query)

        def asked(condition: ex.Expression) -> ex.Expression:
            alone = not any(isinstance(node, ex.RegisterField) for node in walk(condition))
            return self._path(condition) if alone else self._columns_in(self._path(condition), sure=True)

        def given(value: ex.Expression) -> ex.Expression:
            return self._columns_in(self._path(value), sure=True)

        return algebra.with_automaton(carried_as_texts(algebra.automaton).rewritten(asked, given))

    # Parts of nested columns.

    def _path(self, condition: ex.Expression) -> ex.Expression:
        return substitute(condition, self._read)

    def _read(self, node: ex.Expression) -> ex.Expression | None:
        if not isinstance(node, ex.Field | ex.Element):
            return None
        column_and_steps = _steps(node, self.original)
        if column_and_steps is None:
            return None
        attribute, steps = column_and_steps
        return self._column(node, attribute, self.original, steps)

    # What is computed.

    def _computed(self, condition: ex.Expression) -> ex.Expression:
        uses_ = uses(condition)
        counted = any(use.whole or use.counts for use in uses_)
        alone = len({(use.variable, use.index) for use in uses_}) == 1 and not counted
        if alone and uses_[0].index in _ALONE:
            return condition
        return self._columns_in(condition, sure=not counted)

    def _columns_in(self, condition: ex.Expression, *, sure: bool) -> ex.Expression:
        """sure: the condition is tested only where all events that it names are bound (S5)."""
        return substitute(condition, lambda node: self._compute(node, sure))

    def _compute(self, node: ex.Expression, sure: bool) -> ex.Expression | None:
        if not isinstance(node, _HEADS) or not all(self._is_part(part) for part in walk(node)):
            return None
        read = _attributes(node)
        of_one_event = len({(attribute.variable, attribute.index) for attribute in read}) == 1
        if of_one_event and not _is_strict(node) and not _is_there(read[0].index, sure):
            return None  # of an event that is not there, a function that sees NULL still has a value
        if not of_one_event or not _needs_column(node) or self._of_paths.typer.check(node)[1].kind not in _HELD:
            return None
        return self._column(node, read[0], self._of_paths)

    def _is_part(self, node: ex.Expression) -> bool:
        if isinstance(node, ex.Call) and node.function in self.original.functions:
            return False
        return isinstance(node, _PARTS)

    def _column(
        self, node: ex.Expression, of: ex.Attribute, query: Runnable, steps: tuple[Step, ...] = ()
    ) -> ex.Attribute:
        """The attribute that stands for an expression of one event."""

        name = print_expression(substitute(node, lambda part: _renamed(part, ex.Name)))
        while name in self.original.schema.columns:
            name += " "  # a column of the events has this very name
        if name not in self.derived:
            type_: Type = query.typer.check(node)[1]
            reads = dict.fromkeys(attribute.name for attribute in _attributes(node))
            of_event = substitute(node, lambda part: _renamed(part, lambda n: ex.Attribute(EVENT, ex.Index.ONE, n)))
            evaluate = Compiler(query).result(of_event)
            self.derived[name] = Derived(type_ if steps else carried(type_), tuple(reads), evaluate, steps)
        return ex.Attribute(of.variable, of.index, name, span=node.span)


_BODIES: Mapping[Language, Callable[[Flattened, Runnable], Body]] = {
    Language.PATTERN: Flattened._unchanged,
    Language.AUTOMATON: Flattened._changed_automaton,
    Language.CESAR: Flattened._changed_algebra,
}


def _attributes(node: ex.Expression) -> list[ex.Attribute]:
    return [part for part in walk(node) if isinstance(part, ex.Attribute)]


def _renamed(node: ex.Expression, make: Callable[[str], ex.Expression]) -> ex.Expression | None:
    return make(node.name) if isinstance(node, ex.Attribute) else None


def _is_strict(node: ex.Expression) -> bool:
    return not any(isinstance(part, ex.Call) and part.function in NULLABLE for part in walk(node))


def _is_there(index: ex.AnyIndex, sure: bool) -> bool:
    """Whether there is an event with this index wherever it is read."""
    if isinstance(index, ex.Nth | ex.Back):
        return False
    return sure or index not in (ex.Index.ONE, ex.Index.FIRST, ex.Index.LAST)


def _needs_column(node: ex.Expression) -> bool:
    """Whether a kernel has no code for a node or a part of it."""
    unknown = ex.Cast | ex.Field | ex.Element | ex.Like | ex.RLike
    return any(
        part.function not in _NATIVE_CALLS if isinstance(part, ex.Call) else isinstance(part, unknown)
        for part in walk(node)
    )


def _steps(node: ex.Expression, query: Runnable) -> tuple[ex.Attribute, tuple[Step, ...]] | None:
    """The way from a column to one of its parts, if Arrow can go it."""
    match node:
        case ex.Attribute():
            return node, ()
        case ex.Field(operand=operand, name=name):
            column_and_steps = _steps(operand, query)
            return column_and_steps and (column_and_steps[0], (*column_and_steps[1], name))
        case ex.Element(operand=operand, index=ex.Literal(value=int(index))):
            column_and_steps = _steps(operand, query)
            is_map = key_type(query.typer.check(operand)[1]) is not None
            return None if column_and_steps is None or is_map else (column_and_steps[0], (*column_and_steps[1], index))
    return None
