"""An automaton of the user's own (S18) as one that kernels are generated from: without ε-arcs.

An ε-arc is substituted into each arc before it: what it asks and assigns is asked and assigned of the register that the
arc before leaves. What AT END accepts is a match that waits until its window is over, and that any event undoes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cepheid.automaton.liveness import find_live
from cepheid.automaton.model import (
    Absent,
    Arc,
    Config,
    Ended,
    Ends,
    Exit,
    Held,
    NotNative,
    Now,
    Register,
    RegisterAutomaton,
    Started,
    State,
    Test,
    Time,
)
from cepheid.front.automata.bound import BoundArc, BoundAutomaton, automaton_in
from cepheid.front.automata.registers import EVENT
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.nodes import Fires, Ties
from cepheid.pattern.tree.walk import conjuncts, substitute, walk

_GIVEN = "given_"
Values = Mapping[str, ex.Expression]
"""What each field of the register is, in terms of the event at hand and of the register before it."""


@dataclass(frozen=True)
class _ArcLead:
    """Where arcs lead, one after the other: what they ask, and what they leave in the register."""

    target: str
    asks: tuple[ex.Expression, ...]
    values: Values


def build_own(query: Runnable, *, lasting: bool = False) -> RegisterAutomaton:
    """The automaton of a query that is one, or the reason why no kernel can run it.

    lasting: its arcs may change while it runs (S17), so that states and registers are kept in the same way for good.
    """
    if query.ties is Ties.SIMULTANEOUS:
        raise NotNative("TIES SIMULTANEOUS")
    if query.schema.roles.types is not None:
        raise NotNative("declared types")
    built = _OwnBuilder(query, automaton_in(query)).build()
    if not lasting:
        return built
    held = frozenset(register for register in built.registers if not register.name.startswith(_GIVEN))
    return replace(built, lasting=True, live=(held,) * len(built.states), needed=(held,) * len(built.configs))


class _OwnBuilder:
    """The tables of the user's own automaton under construction; `build` fills them once."""

    def __init__(self, query: Runnable, own: BoundAutomaton) -> None:
        self.query = query
        self.own = own
        self.registers = {
            slot.name: Register(f"r{k}_{_plain(slot.name)}", slot.type) for k, slot in enumerate(own.slots)
        }
        self.given = {slot.name: Register(f"{_GIVEN}{k}", slot.type) for k, slot in enumerate(own.slots)}
        self.start = Register("start", query.schema.columns[query.schema.roles.time])
        # S13: what comes next must start after the end of what precedes it.
        self.end = Register("end", INT) if query.schema.start is not None else None
        self.kept: Values = {slot.name: ex.RegisterField(slot.name) for slot in own.slots}
        self.initial: Values = {slot.name: slot.initial for slot in own.slots}

    def build(self) -> RegisterAutomaton:
        bound = self.own
        starting = [
            (way, arc) for way in self.closed(bound.start, (), self.initial) for arc in self.leaving(way.target)
        ]
        reached = dict.fromkeys(arc.target for arc in bound.arcs if arc.fires is not Fires.END)
        configs = {name: number for number, name in enumerate(reached)}
        states = {name: number for number, name in enumerate(n for n in reached if any(self.leaving(n)))}
        arcs = [way_arc for way, arc in starting for way_arc in self.arcs(None, way, arc, configs)]
        for name, number in states.items():
            here = _ArcLead(name, (), self.kept)
            arcs += [way_arc for arc in self.leaving(name) for way_arc in self.arcs(number, here, arc, configs)]
        # Those that wait come first: more may become reachable of the others when arcs are added.
        exits = [exit_ for name in reached for exit_ in self.at_end(name, configs[name])]
        returned = self.result(self.kept)
        exits += [Exit(configs[name], (), frozenset(), gives=returned) for name in bound.finals if name in configs]
        entries = tuple((states[name],) if name in states else () for name in configs)
        automaton = RegisterAutomaton(
            configs=tuple(Config(name) for name in configs),
            states=tuple(State(configs[name], Ends.AGREEMENT, self.told(name)) for name in states),
            entries=entries,
            arcs=tuple(arcs),
            kills=(),
            exits=tuple(exits),
            witnesses=(),
            registers=(
                *self.registers.values(),
                *self.given.values(),
                *([self.start] if bound.waits else []),
                *([] if self.end is None else [self.end]),
            ),
            own=True,
        )
        return find_live(automaton, self.start if bound.waits else None)

    def leaving(self, state: str) -> Iterator[BoundArc]:
        """The arcs that take an event."""
        return (arc for arc in self.own.arcs if arc.source == state and arc.fires is Fires.EVENT)

    def told(self, state: str) -> str:
        """What a state waits for."""
        targets = dict.fromkeys(arc.target for arc in self.leaving(state))
        return " or ".join(targets)

    def closed(self, state: str, asks: tuple[ex.Expression, ...], values: Values) -> Iterator[_ArcLead]:
        """A state, and all that ε-arcs lead to from there."""
        yield _ArcLead(state, asks, values)
        for arc in self.own.arcs:
            if arc.source == state and arc.fires is Fires.NOTHING:
                more = (*asks, *(_after(c, values) for c in _conditions(arc)))
                yield from self.closed(arc.target, more, _assigned(arc, values))

    def arcs(self, source: int | None, here: _ArcLead, arc: BoundArc, configs: Mapping[str, int]) -> Iterator[Arc]:
        """An arc, and those that it becomes with the ε-arcs after it."""
        asks = (*here.asks, *(_after(c, here.values) for c in _conditions(arc)))
        for way in self.closed(arc.target, asks, _assigned(arc, here.values)):
            transfer = {
                self.registers[name]: self.resolved(value)
                for name, value in way.values.items()
                if source is None or value != ex.RegisterField(name)
            }
            if source is None and self.own.waits:
                transfer[self.start] = Time()
            fence = tuple(self.test(condition) for condition in way.asks)
            if self.end is not None:
                transfer[self.end] = Ended()
                after = ex.Compare(">", Started(), Held(self.end))
                fence += () if source is None else (Test(after, after, EVENT, unary=False),)
            yield Arc(source, configs[way.target], arc.source, arc.types, fence, transfer, decides=True)

    def at_end(self, state: str, config: int) -> Iterator[Exit]:
        """The matches of a state when its window is over; an event before that undoes them."""
        for arc in self.own.arcs:
            if arc.source != state or arc.fires is not Fires.END:
                continue
            for way in self.closed(arc.target, _conditions(arc), _assigned(arc, self.kept)):
                if way.target in self.own.finals:
                    fence = tuple(self.test(condition) for condition in way.asks)
                    anything = Absent((), ())
                    yield Exit(config, fence, frozenset(), (anything,), gives=self.result(way.values))

    def result(self, values: Values) -> Mapping[Register, ex.Expression]:
        """The register of a match."""
        return {self.given[name]: self.resolved(value) for name, value in values.items()}

    def resolved(self, node: ex.Expression) -> ex.Expression:
        """What is read of the event at hand and of the register."""

        def read(part: ex.Expression) -> ex.Expression | None:
            match part:
                case ex.Attribute(variable=variable, name=name) if variable == EVENT:
                    return Now(name, self.query.schema.columns[name])
                case ex.RegisterField(name=name):
                    return Held(self.registers[name])
            return None

        return substitute(node, read)

    def test(self, condition: ex.Expression) -> Test:
        """A conjunct of a fence."""
        resolved = self.resolved(condition)
        reads = [type(node) for node in walk(resolved)]
        return Test(resolved, condition, EVENT, unary=Held not in reads and Now in reads)


def _conditions(arc: BoundArc) -> tuple[ex.Expression, ...]:
    return () if arc.condition is None else conjuncts(arc.condition)


def _after(node: ex.Expression, values: Values) -> ex.Expression:
    """An expression of the register as it is after earlier arcs."""
    return substitute(node, lambda part: values[part.name] if isinstance(part, ex.RegisterField) else None)


def _assigned(arc: BoundArc, values: Values) -> Values:
    return {**values, **{name: _after(value, values) for name, value in arc.assigns.items()}}


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
