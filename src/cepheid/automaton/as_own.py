"""A contiguous query as an automaton that a user could have written (S18): the two front ends meet in one model.

A config becomes a state: under contiguity a run that has come there waits for one event, whatever it waits for. What
must hold to leave a loop, and HAVING, become EPSILON arcs to a final state, which read what the arcs before have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from cepheid.automaton import model
from cepheid.automaton.build import build
from cepheid.automaton.liveness import registers_in
from cepheid.automaton.model import Fixed, Held, NotNative, Now, Ratio, Register, Root
from cepheid.front.automata.registers import EVENT, REGISTER, slot_type
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import FLOAT, INT, NULL, Kind, Type, plain, zone_of
from cepheid.pattern.tree.nodes import (
    ArcClause,
    Assignment,
    AutomatonPattern,
    Fires,
    Output,
    RegisterSlot,
    ReturnItem,
    Ties,
)
from cepheid.pattern.tree.walk import substitute, walk

_NAMES = {
    Kind.INT: "INT",
    Kind.FLOAT: "DOUBLE",
    Kind.STRING: "STRING",
    Kind.BOOL: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.DURATION: "INTERVAL",
}


@dataclass(frozen=True, slots=True)
class Own:
    """An automaton, and what it returns. keyed: `[attr]` is tested on its arcs, and does not split the stream."""

    automaton: AutomatonPattern
    returns: tuple[ReturnItem, ...]
    keyed: bool


def as_own(query: Runnable) -> Own:
    """The automaton of a contiguous query; raises NotNative with the reason if there is none."""
    _check(query)
    made = build(query, having=True, results=True)
    if any(not state.ends.contiguous for state in made.states):
        raise NotNative("it skips events")
    if made.witnesses or any(exit_.absent or exit_.witnesses for exit_ in made.exits):
        raise NotNative("an event must be absent before or after it")
    return _TreeWriter(query, made).write()


def _check(query: Runnable) -> None:
    if query.leading or query.trailing:
        raise NotNative("an event must be absent before or after it")
    if query.output is not Output.ALL:
        raise NotNative(f"OUTPUT {query.output.value}")
    if query.ties is Ties.SIMULTANEOUS:
        raise NotNative("TIES SIMULTANEOUS")
    if query.schema.start is not None:
        raise NotNative("composite events")
    if query.schema.roles.types is not None:
        raise NotNative("declared types")
    if any(test.attribute in query.schema.parts for test in query.same):
        raise NotNative("a key that is a field of a struct")
    for result in query.returns:
        for node in walk(result.expression):
            if isinstance(node, ex.Rows | ex.MatchId):
                raise NotNative("RETURN of whole events" if isinstance(node, ex.Rows) else "match_id")


class _TreeWriter:
    """Writes an automaton of a kernel as the tree of an automaton of the user's own."""

    def __init__(self, query: Runnable, made: model.RegisterAutomaton) -> None:
        self.query = query
        self.made = made
        taken: set[str] = set()
        self.start = _unique("start", taken)
        self.states = [_unique(config.label, taken) for config in made.configs]
        self.match = _unique("match", taken)
        self.useful = self.useful_configs()

    def write(self) -> Own:
        arcs = [self.arc(arc) for arc in self.made.arcs if arc.target in self.useful and self.is_useful(arc.source)]
        if not arcs:
            raise NotNative("it can't have a match")
        exits = [exit_ for exit_ in self.made.exits if exit_.config in self.useful]
        first = exits[0].gives
        alike = all(list(exit_.gives.values()) == list(first.values()) for exit_ in exits)
        taken = {register.name for register in self.made.registers}
        gives = {} if alike else {register: _unique(f"out_{register.name}", taken) for register in first}
        arcs += [self.accepting(exit_, gives) for exit_ in exits if exit_.fence or gives]
        finals = [self.states[exit_.config] for exit_ in exits if not exit_.fence and not gives]
        finals += [self.match] * any(exit_.fence or gives for exit_ in exits)
        returns = tuple(
            ReturnItem(_read(gives[register]) if gives else self.written(value), register.name)
            for register, value in first.items()
        )
        slots = [self.slot(register.name, register.type) for register in self.kept(exits)]
        slots += [self.slot(name, register.type) for register, name in gives.items()]
        automaton = AutomatonPattern(self.start, tuple(dict.fromkeys(finals)), tuple(slots), tuple(arcs))
        return Own(automaton, returns, keyed=not self.query.partitions.agreed)

    def useful_configs(self) -> frozenset[int]:
        """Those from which a match can come; all of them can be reached."""
        useful = {exit_.config for exit_ in self.made.exits}
        while True:
            more = {
                self.made.states[arc.source].config
                for arc in self.made.arcs
                if arc.source is not None and arc.target in useful
            } - useful
            if not more:
                return frozenset(useful)
            useful |= more

    def is_useful(self, source: int | None) -> bool:
        return source is None or self.made.states[source].config in self.useful

    def kept(self, exits: Iterable[model.Exit]) -> Iterator[Register]:
        """The registers that something reads."""
        needed = frozenset().union(*(self.made.needed[config] for config in self.useful))
        returned = (registers_in(value) for exit_ in exits for value in exit_.gives.values())
        needed = needed.union(*returned)
        return (register for register in self.made.registers if register in needed)

    def arc(self, arc: model.Arc) -> ArcClause:
        if arc.unseen:
            raise NotNative("an event must be absent before or after it")
        source = self.start if arc.source is None else self.states[self.made.states[arc.source].config]
        wanted = self.made.needed[arc.target]
        assigns = [
            Assignment(register.name, self.written(value))
            for register, value in arc.transfer.items()
            if register in wanted
        ]
        return ArcClause(
            source,
            self.states[arc.target],
            types=arc.types,
            condition=self.condition(test.condition for test in arc.fence),
            assigns=tuple(assigns),
        )

    def accepting(self, exit_: model.Exit, gives: Mapping[Register, str]) -> ArcClause:
        condition = self.condition(test.condition for test in exit_.fence)
        assigns = tuple(Assignment(name, self.written(exit_.gives[register])) for register, name in gives.items())
        return ArcClause(self.states[exit_.config], self.match, Fires.NOTHING, condition=condition, assigns=assigns)

    def condition(self, tests: Iterable[ex.Expression]) -> ex.Expression | None:
        """All tests of a fence as one condition."""
        tests_written: list[ex.Expression] = []
        for test in map(self.written, tests):
            tests_written += test.operands if isinstance(test, ex.And) else (test,)
        return tests_written[0] if len(tests_written) == 1 else ex.And(tuple(tests_written)) if tests_written else None

    def written(self, node: ex.Expression) -> ex.Expression:
        """An expression in the words of the language."""

        def change(part: ex.Expression) -> ex.Expression | None:
            match part:
                case Now(column=column):
                    return ex.Attribute(EVENT, ex.Index.ONE, column)
                case Held(register=register):
                    return _read(register.name)
                case Fixed(value=value):
                    return ex.Literal(value, FLOAT if isinstance(value, float) else INT)
                case Ratio(left=left, right=right):
                    return ex.Arithmetic("/", self.written(left), self.written(right))
                case Root(operand=operand):
                    return ex.Call("sqrt", (self.written(operand),))
                case ex.Literal():
                    _check_spelling(part)
            return None

        return substitute(node, change)

    def slot(self, name: str, type_: Type) -> RegisterSlot:
        return RegisterSlot(name, self.type_name(name, type_), ex.Literal(None, NULL))

    def type_name(self, name: str, type_: Type) -> str:
        """How the type of a field is spelled."""
        arrow = plain(type_)
        if type_.kind is Kind.DECIMAL:
            return f"DECIMAL({arrow.precision}, {arrow.scale})"
        if type_.kind is Kind.TIMESTAMP:
            spelled = "TIMESTAMP_NTZ" if zone_of(type_) is None else "TIMESTAMP_LTZ"
        elif type_.kind in _NAMES:
            spelled = _NAMES[type_.kind]
        else:
            raise NotNative(f"a register can't hold {name}, whose type is {type_}")
        if getattr(arrow, "unit", None) == "ns" and type_.kind in (Kind.TIMESTAMP, Kind.DURATION):
            raise NotNative(f"a register can't hold {name} to the nanosecond")
        held = slot_type(spelled, zone_of(self.query.schema.columns[self.query.schema.roles.time]))
        if type_.kind is Kind.TIMESTAMP and zone_of(held) != zone_of(type_):
            raise NotNative(f"a register can't hold {name} in the time zone {zone_of(type_)}")
        return spelled


def _read(name: str) -> ex.Expression:
    return ex.Attribute(REGISTER, ex.Index.ONE, name)


def _unique(wanted: str, taken: set[str]) -> str:
    """A name that no other state, or field, has."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name


def _check_spelling(constant: ex.Literal) -> None:
    value = constant.value
    if constant.type.kind in (Kind.DECIMAL, Kind.ANY) or (isinstance(value, float) and isnan(value)):
        raise NotNative(f"the constant {value} has no spelling")
