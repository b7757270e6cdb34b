"""A CESAR expression as an automaton that kernels are generated from (S22): runs are instances, with values only.

θ ends the wait of a state, whatever else is asked: where no edge asks for θ alone, an arc that leads nowhere does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cepheid.automaton.liveness import find_live
from cepheid.automaton.model import (
    Arc,
    Config,
    Ended,
    Ends,
    Exit,
    Held,
    Kill,
    NotNative,
    Now,
    Register,
    RegisterAutomaton,
    Started,
    State,
    Test,
)
from cepheid.front.automata.registers import EVENT
from cepheid.front.cesar.linear import EVENT_END, EVENT_START, EventAutomaton, LinearEdge, within_partitions
from cepheid.front.cesar.result import algebra_in
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.attributes import END, START
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import INT, Kind, Type
from cepheid.pattern.tree.walk import substitute, walk

BEGAN, ENDED = "given_start", "given_end"
"""The registers of a result that have its times; those of its attributes have numbers."""
_EXACT = frozenset({Kind.INT, Kind.BOOL, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION})
"""What is the same value where it is equal: zero may be negative."""
_HELD = _EXACT | {Kind.FLOAT}


def given(number: int) -> str:
    """The register of an attribute of a result."""
    return f"given_{number}"


def build_algebra(query: Runnable) -> RegisterAutomaton:
    """The automaton of an expression, or the reason why no kernel can run it."""
    automaton = algebra_in(query).automaton
    for column in query.partitions.agreed:
        kind = query.schema.columns[column].kind
        if kind in _EXACT:
            automaton = within_partitions(automaton, column, kind)
    return _AlgebraBuilder(query, automaton).build()


class _AlgebraBuilder:
    def __init__(self, query: Runnable, automaton: EventAutomaton) -> None:
        self.query = query
        self.automaton = automaton
        self.lasts = query.schema.start is not None  # events have durations
        self.registers: dict[tuple[str, Type], Register] = {}
        self.start, self.end = Register("start", INT), Register("end", INT)
        self.dead = len(automaton.states)  # a config that leads nowhere
        self.result = self.dead + 1

    def build(self) -> RegisterAutomaton:
        automaton = self.automaton
        given_registers = self.given()
        gives = {register: Held(out) for register, out in given_registers.items()}
        states = tuple(
            State(number, Ends.DECISION, "the next step" if state.iterates else "the next event")
            for number, state in enumerate(automaton.states)
        )
        arcs = tuple(self.arcs(list(given_registers.values())))
        built = RegisterAutomaton(
            configs=(*(Config(f"state_{k}") for k in range(len(states))), Config("nothing"), Config("result")),
            states=states,
            entries=(*((k,) for k in range(len(states))), (), ()),
            arcs=arcs,
            kills=tuple(self.kills()),
            exits=(Exit(self.result, (), frozenset(), gives=gives),),
            witnesses=(),
            registers=(
                *self.registers.values(),
                self.start,
                *([self.end] if self.lasts else []),
                *given_registers,
                *given_registers.values(),
            ),
            simultaneous=True,
            valued=True,
        )
        return find_live(built, None)

    def given(self) -> dict[Register, Register]:
        """What a result has, and what an arc to it assigns: the times, then the attributes."""
        types = {BEGAN: INT, ENDED: INT, **{given(k): type_ for k, type_ in enumerate(self.automaton.types.values())}}
        for type_ in types.values():
            self.check(type_)
        return {Register(name, type_): Register(f"out_{name}", type_) for name, type_ in types.items()}

    def check(self, type_: Type) -> None:
        if type_.kind not in _HELD:
            raise NotNative(f"an attribute that is {type_.kind.value}")

    def register(self, name: str, type_: Type) -> Register:
        """The register of an attribute of the instances of a state."""
        key = name, type_
        if key not in self.registers:
            self.check(type_)
            plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
            self.registers[key] = Register(f"r{len(self.registers)}_{plain}", type_)
        return self.registers[key]

    # Arcs.

    def arcs(self, results: Sequence[Register]) -> Iterator[Arc]:
        for edge in self.automaton.leaving(None):
            yield self.arc(edge, results, decides=False)
        for number in range(len(self.automaton.states)):
            edges = self.automaton.leaving(number)
            alone = {(edge.type, edge.decides) for edge in edges if not edge.asks}
            for edge in self.automaton.ends(number):
                if (edge.type, edge.decides) not in alone:
                    fence = self.fence(edge.decides, number)
                    yield Arc(number, self.dead, "nothing", self.types(edge), fence, {}, decides=True)
            # A result takes no entry: what comes after may have that of the instance.
            for edge in sorted(edges, key=lambda edge: edge.target is not None):
                yield self.arc(edge, results, decides=not edge.asks)

    def arc(self, edge: LinearEdge, results: Sequence[Register], *, decides: bool) -> Arc:
        """An edge with what it assigns."""
        values = [edge.start, ex.RegisterField(EVENT_END, INT), *edge.values.values()]
        target = self.result if edge.target is None else edge.target
        transfer: dict[Register, ex.Expression]
        if edge.target is None:
            transfer = {r: self.resolved(v) for r, v in zip(results, values, strict=True)}
        else:
            types = self.automaton.states[edge.target].types
            transfer = {self.register(n, types[n]): self.resolved(v) for n, v in edge.values.items()}
            transfer |= {self.start: self.resolved(edge.start), **({self.end: Ended()} if self.lasts else {})}
        transfer = {r: v for r, v in transfer.items() if v != Held(r)}
        label = "result" if edge.target is None else f"state_{edge.target}"
        return Arc(edge.source, target, label, self.types(edge), self.fence(edge.fence, edge.source), transfer, decides)

    def types(self, edge: LinearEdge) -> tuple[str, ...]:
        return () if edge.type is None else (edge.type,)

    def fence(self, conditions: Sequence[ex.Expression], source: int | None) -> tuple[Test, ...]:
        """What an event must pass; one that lasts starts after the instance ends."""
        tests = [self.test(condition) for condition in conditions]
        if self.lasts and source is not None:
            after = ex.Compare(">", Started(), Held(self.end))
            tests.append(Test(after, after, EVENT, unary=False))
        return tuple(tests)

    def kills(self) -> Iterator[Kill]:
        """Instances that have lasted too long for all that their state waits for."""
        for number, bound in enumerate(self.automaton.bounds):
            if bound is not None:
                over = ex.Compare(">", ex.Arithmetic("-", Ended(), Held(self.start)), bound)
                yield Kill(number, None, (), (Test(over, over, EVENT, unary=False),))

    def test(self, condition: ex.Expression) -> Test:
        resolved = self.resolved(condition)
        alone = not any(isinstance(node, ex.RegisterField) for node in walk(condition))
        return Test(resolved, condition, EVENT, unary=alone)

    def resolved(self, node: ex.Expression) -> ex.Expression:
        """What is read of the event at hand and of the instance."""
        times: Mapping[str, ex.Expression] = {
            START: Held(self.start),
            END: Held(self.end),
            EVENT_START: Started() if self.lasts else Ended(),
            EVENT_END: Ended(),
        }

        def read(part: ex.Expression) -> ex.Expression | None:
            match part:
                case ex.Attribute(name=name):
                    return Now(name, self.query.schema.columns[name])
                case ex.RegisterField(name=name, type=type_):
                    if name in times:
                        return times[name]
                    assert type_ is not None
                    return Held(self.register(name, type_))
            return None

        return substitute(node, read)
