"""Automata of the user's own (S18), bound to a schema: their expressions have types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import ClassVar

from cepheid.errors import BindError, Span
from cepheid.front.automata.registers import FIRST, slot_type
from cepheid.front.clauses import span_of_window, split, types_in_scope
from cepheid.front.relevance import EveryEvent, Relevance
from cepheid.front.runnable import Body, BoundQuery
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.common_types import comparable, converted, shown
from cepheid.pattern.expressions.constants import read_as
from cepheid.pattern.expressions.types import FLOAT, INT, NUMERIC, Kind, Type, duration, finest_unit, plain, zone_of
from cepheid.pattern.tree.nodes import Assignment, AutomatonPattern, Fires, Language, RegisterSlot
from cepheid.pattern.tree.partitioning import Partitioning


@dataclass(frozen=True, slots=True)
class BoundSlot:
    """A field of the register, and its value at the start."""

    name: str
    type: Type
    initial: ex.Literal


@dataclass(frozen=True)
class BoundArc:
    """An arc whose expressions have types: those that it assigns are of the types of their fields."""

    source: str
    target: str
    fires: Fires
    name: str | None
    types: tuple[str, ...]
    condition: ex.Expression | None
    assigns: Mapping[str, ex.Expression]
    since: int | None = None  # its lifetime, in ticks (S17)
    until: int | None = None

    def is_alive(self, tick: int) -> bool:
        """Whether its lifetime, `(since, until]`, holds a time."""
        return (self.since is None or self.since < tick) and (self.until is None or tick <= self.until)

    @property
    def changes(self) -> bool:
        """Whether it is not always there."""
        return self.since is not None or self.until is not None


@dataclass(frozen=True)
class BoundAutomaton(Body):
    """An automaton of the user's own, on events of a schema."""

    language: ClassVar[Language] = Language.AUTOMATON

    start: str
    finals: tuple[str, ...]
    slots: tuple[BoundSlot, ...]
    arcs: Sequence[BoundArc]
    waits: bool  # an arc is taken AT END

    def expressions(self) -> Iterator[ex.Expression]:
        """What arcs ask and assign."""
        for arc in self.arcs:
            if arc.condition is not None:
                yield arc.condition
            yield from arc.assigns.values()

    def partitions(self, query: BoundQuery) -> Partitioning:
        """By `[attr]` too: events of other keys are not its events."""
        return split(query, agreed=True)

    def relevance(self, query: BoundQuery) -> Relevance:
        """Every event that it sees may end runs."""
        return Relevance(types_in_scope(query), (), EveryEvent("an automaton takes events that follow each other"))

    def span(self, query: BoundQuery) -> int | None:
        """That of the window."""
        return span_of_window(query)

    def results(self, query: BoundQuery) -> None:
        """A match is made of events, and of its register."""

    def rewritten(self, change: Callable[[ex.Expression], ex.Expression]) -> BoundAutomaton:
        """The automaton with `change` applied to each of its expressions as a whole."""

        def of_arc(arc: BoundArc) -> BoundArc:
            values = {name: change(value) for name, value in arc.assigns.items()}
            return replace(arc, condition=arc.condition and change(arc.condition), assigns=values)

        return self.rewritten_arcs(of_arc)

    def rewritten_arcs(self, change: Callable[[BoundArc], BoundArc]) -> BoundAutomaton:
        """The automaton with `change` applied to each of its arcs."""
        return replace(self, arcs=tuple(map(change, self.arcs)))


def register_types(automaton: AutomatonPattern, time: Type) -> dict[str, Type]:
    """The type of each field."""
    return {slot.name: slot_type(slot.type, zone_of(time)) for slot in automaton.register}


def bind_automaton(automaton: AutomatonPattern, typer: Typer) -> BoundAutomaton:
    """Check the expressions of an automaton against the schema and the types of its register."""
    slots = tuple(_bound_slot(slot, typer) for slot in automaton.register)
    arcs = (
        BoundArc(
            arc.source,
            arc.target,
            arc.fires,
            arc.name,
            arc.types,
            arc.condition and typer.condition(arc.condition),
            {assign.name: _fitted(assign, typer) for assign in arc.assigns},
            arc.since,
            arc.until,
        )
        for arc in automaton.arcs
    )
    waits = any(arc.fires is Fires.END for arc in automaton.arcs)
    return BoundAutomaton(automaton.start, automaton.finals, slots, tuple(arcs), waits)


def automaton_in(query: BoundQuery) -> BoundAutomaton:
    """The automaton of a query that is known to be one."""
    assert isinstance(query.body, BoundAutomaton)
    return query.body


def _bound_slot(slot: RegisterSlot, typer: Typer) -> BoundSlot:
    wanted = typer.registers[slot.name]
    assert isinstance(slot.initial, ex.Literal)
    read, type_ = read_as((slot.initial, slot.initial.type), wanted)
    assert isinstance(read, ex.Literal)
    value = read.value
    if wanted.kind is Kind.FLOAT and type_.kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
        value = float(str(value)) + 0.0  # no negative zero
    elif wanted.kind is Kind.DECIMAL and type_.kind in (Kind.INT, Kind.DECIMAL):
        value = _with_digits(slot, Decimal(str(value)), wanted)
    elif value is not None and type_.kind is not wanted.kind:
        raise _misfit(slot.name, wanted, type_, slot.initial.span or slot.span)
    return BoundSlot(slot.name, wanted, ex.Literal(value, wanted, span=slot.initial.span))


def _with_digits(slot: RegisterSlot, value: Decimal, wanted: Type) -> Decimal:
    """A decimal with the digits of its field after the point; all of those before it must be there."""
    arrow = plain(wanted)
    with localcontext(prec=80):
        rounded = value.quantize(Decimal(1).scaleb(-arrow.scale), ROUND_HALF_UP)
    if rounded and rounded.adjusted() >= arrow.precision - arrow.scale:
        message = f"the initial value of '{slot.name}' does not fit into {shown(wanted)}"
        remedy = "declare the field with more digits: DECIMAL(38, 6)"
        raise BindError("CEP305", message, remedy, slot.initial.span or slot.span)
    return rounded


def _fitted(assign: Assignment, typer: Typer) -> ex.Expression:
    """What is assigned, as a value of the type of its field.

    A field has no negative zero: registers that differ in nothing else are equal, and which is shown must be known.
    """
    wanted = typer.registers[assign.name]
    value, type_ = typer.check(assign.value)
    if isinstance(value, ex.Literal):
        value, type_ = read_as((value, type_), wanted)
    if type_.kind in (Kind.NULL, Kind.ANY):
        return value
    if wanted.kind is Kind.DECIMAL and type_.kind in (Kind.INT, Kind.DECIMAL) and plain(type_) != plain(wanted):
        arrow = plain(wanted)
        return typer.check(ex.Cast(value, f"DECIMAL({arrow.precision}, {arrow.scale})", span=value.span))[0]
    widened = type_.kind in NUMERIC and wanted.kind in NUMERIC and wanted.kind is not Kind.INT
    if type_.kind is not wanted.kind and not (widened and type_.kind is Kind.INT):
        raise _misfit(assign.name, wanted, type_, assign.value.span or assign.span)
    if not comparable(type_, wanted):
        raise _misfit(assign.name, wanted, type_, assign.value.span or assign.span)
    if wanted.kind is Kind.FLOAT and type_.kind is Kind.FLOAT and not isinstance(value, ex.RegisterField):
        return ex.Arithmetic("+", value, ex.Literal(0.0, FLOAT), span=value.span)
    return converted(value, type_, wanted)


def _misfit(name: str, wanted: Type, assigned: Type, span: Span | None) -> BindError:
    remedy = f"declare the field with another type, or write CAST(… AS {_NAMES.get(wanted.kind, 'DOUBLE')})"
    return BindError("CEP305", f"the field '{name}' is {shown(wanted)}, and this is {shown(assigned)}", remedy, span)


_NAMES = {
    Kind.INT: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(38, 6)",
    Kind.STRING: "STRING",
    Kind.BOOL: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def until(typer: Typer, nanoseconds: int | None) -> ex.Expression:
    """`valid_until`: the time of the first event, and the window (S18); NULL where that is no time."""
    schema = typer.schema
    time = schema.columns[schema.roles.time]
    first = ex.Attribute(FIRST, ex.Index.ONE, schema.roles.time)
    if nanoseconds is None or time.kind is Kind.NULL:
        return ex.Literal(None, time)
    ticks = -(-nanoseconds // schema.tick)
    if time.kind is Kind.INT:
        return ex.Arithmetic("+", first, ex.Literal(ticks, INT))
    length = ex.Literal(ticks * schema.tick, duration(finest_unit(time)))
    if time.kind is Kind.TIMESTAMP:
        return ex.Arithmetic("+", first, length)
    return ex.Cast(ex.Arithmetic("+", ex.Cast(first, "TIMESTAMP_NTZ"), length), "DATE")
