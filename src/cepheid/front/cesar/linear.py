"""A linear-plus CESAR expression as one event automaton (S22): states that wait, and edges over one event.

What edges ask and give is written in terms of the instance, whose attributes are registers, and of the event at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheid.front.automata.registers import EVENT
from cepheid.front.cesar import bound as b
from cepheid.pattern.algebra.attributes import END, START, last_of
from cepheid.pattern.algebra.names import MOST_NODES, too_large
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import limits_above, negate
from cepheid.pattern.expressions.types import INT, Kind, Type
from cepheid.pattern.tree.walk import conjuncts, substitute, walk

EVENT_START, EVENT_END = "\0e.start", "\0e.end"
"""When the event at hand starts and ends, in ticks; START and END are of the instance."""
FOREVER = 2**62
Values = Mapping[str, ex.Expression]
Change = Callable[[ex.Expression], ex.Expression]


@dataclass(frozen=True)
class LinearEdge:
    """Over one event of a type (None: any) to a state, or to a result (None).

    source: a state; None: the event is the first one. decides: what ends the wait of the instance, θ and what is asked
    of the event itself; asks: what else must hold. values: the attributes of the instance after it.
    """

    source: int | None
    target: int | None
    type: str | None
    decides: tuple[ex.Expression, ...]
    asks: tuple[ex.Expression, ...]
    values: Values
    start: ex.Expression

    @property
    def fence(self) -> tuple[ex.Expression, ...]:
        """All that must hold, besides that the event starts after the instance ends."""
        return (*self.decides, *self.asks)


@dataclass(frozen=True)
class WaitingState:
    """A state: what its instances have, and what they wait for, in words of the expression."""

    types: Mapping[str, Type]
    iterates: bool = False


@dataclass(frozen=True)
class EventAutomaton:
    """States by number, and edges."""

    states: tuple[WaitingState, ...]
    edges: tuple[LinearEdge, ...]
    types: Mapping[str, Type] = field(default_factory=dict)  # of the results

    @property
    def bounds(self) -> tuple[ex.Literal | None, ...]:
        """By state: how many ticks an instance may last, the next event included; None: as long as it takes.

        DUR only grows: what is too long for every way from there to a result can go.
        """
        limits_of_states: list[int] = [-1] * len(self.states)
        changed = True
        while changed:
            changed = False
            for edge in self.edges:
                if edge.source is None:
                    continue
                limits = [amount_of(limit) for c in edge.fence if (limit := limit_of(c, edge.start)) is not None]
                limits += [] if edge.target is None else [limits_of_states[edge.target]]
                bound = min(limits, default=FOREVER)
                if bound > limits_of_states[edge.source]:
                    limits_of_states[edge.source], changed = bound, True
        return tuple(None if bound == FOREVER else ex.Literal(max(bound, 0), INT) for bound in limits_of_states)

    def rewritten(self, ask: Change, give: Change) -> EventAutomaton:
        """The same with other expressions in the place of what edges ask and give."""
        edges = (
            replace(
                edge,
                decides=tuple(map(ask, edge.decides)),
                asks=tuple(map(ask, edge.asks)),
                values={name: give(value) for name, value in edge.values.items()},
            )
            for edge in self.edges
        )
        return replace(self, edges=tuple(edges))

    def leaving(self, state: int | None) -> tuple[LinearEdge, ...]:
        """The edges out of a state."""
        return tuple(edge for edge in self.edges if edge.source == state)

    def ends(self, state: int) -> tuple[LinearEdge, ...]:
        """What ends the wait of a state, each once."""
        by_fence = {(edge.type, edge.decides): edge for edge in self.leaving(state)}
        return tuple(by_fence.values())


def build_linear(term: b.BoundTerm) -> EventAutomaton:
    """The automaton of an expression whose right operands are base streams."""
    builder = _LinearBuilder()
    for way in builder.ways(term):
        builder.lead(way, None, way.values)
    return _pruned(EventAutomaton(tuple(builder.states), tuple(builder.edges), term.types))


def _pruned(automaton: EventAutomaton) -> EventAutomaton:
    """Without attributes that nothing reads: they need not be held, and instances that differ in them alone are one."""
    live: list[set[str]] = [set() for _ in automaton.states]
    changed = True
    while changed:
        changed = False
        for edge in automaton.edges:
            wanted = edge.values if edge.target is None else live[edge.target]
            read = (edge.start, *edge.fence, *(edge.values[name] for name in wanted))
            names = {part.name for e in read for part in walk(e) if isinstance(part, ex.RegisterField)}
            if edge.source is not None and not names & automaton.states[edge.source].types.keys() <= live[edge.source]:
                live[edge.source] |= names & automaton.states[edge.source].types.keys()
                changed = True
    states = (
        replace(s, types={n: t for n, t in s.types.items() if n in live[k]}) for k, s in enumerate(automaton.states)
    )
    edges = (
        edge
        if edge.target is None
        else replace(edge, values={name: value for name, value in edge.values.items() if name in live[edge.target]})
        for edge in automaton.edges
    )
    return replace(automaton, states=tuple(states), edges=tuple(edges))


@dataclass(frozen=True)
class _OpenEdge:
    """How an event of a stream comes about: an edge that does not lead anywhere yet."""

    source: int | None
    type: str | None
    decides: tuple[ex.Expression, ...]
    asks: tuple[ex.Expression, ...]
    values: Values
    start: ex.Expression

    @property
    def scope(self) -> Values:
        """What an expression reads of the event that comes about."""
        return {**self.values, START: self.start, END: _EVENT_END}

    def asked(self, condition: ex.Expression) -> _OpenEdge:
        """The same where a condition holds."""
        return replace(self, asks=(*self.asks, *conjuncts(_within(condition, self.scope))))


_EVENT_START, _EVENT_END = ex.RegisterField(EVENT_START, INT), ex.RegisterField(EVENT_END, INT)


class _LinearBuilder:
    def __init__(self) -> None:
        self.states: list[WaitingState] = []
        self.edges: list[LinearEdge] = []

    def lead(self, way: _OpenEdge, target: int | None, values: Values) -> None:
        self.edges.append(LinearEdge(way.source, target, way.type, way.decides, way.asks, values, way.start))

    def wait(self, types: Mapping[str, Type], *, iterates: bool = False) -> int:
        self.states.append(WaitingState(types, iterates))
        return len(self.states) - 1

    def ways(self, term: b.BoundTerm) -> list[_OpenEdge]:
        """How the events of a stream come about."""
        match term:
            case b.Base():
                return [_OpenEdge(None, term.type, (), (), _columns(term), _EVENT_START)]
            case b.Selected(of=of, condition=condition):
                return [way.asked(condition) for way in self.ways(of)]
            case b.Reshaped(of=of, values=values):
                return [
                    replace(way, values={name: _within(value, way.scope) for name, value in values.items()})
                    for way in self.ways(of)
                ]
            case b.United(left=left, right=right):
                return [*self.ways(left), *self.ways(right)]
            case b.Sequence():
                return list(self.sequence(term))
            case b.Iteration():
                return list(self.iteration(term))
        raise TypeError(f"no stream: {term!r}")

    def sequence(self, term: b.Sequence) -> Iterator[_OpenEdge]:
        """A state that waits for the next event."""
        before = self.ways(term.left)
        state = self.wait(term.left.types)
        for way in before:
            self.lead(way, state, way.values)
        held = {name: ex.RegisterField(name, type_) for name, type_ in term.left.types.items()}
        for event in self.ways(term.right):
            scope = {**held, **event.values, START: _HELD_START, END: _EVENT_END}
            decides = (*event.asks, *conjuncts(_within(term.condition, scope)))
            values = {name: scope[name] for name in term.types}
            yield _OpenEdge(state, event.type, decides, (), values, _HELD_START)

    def iteration(self, term: b.Iteration) -> Iterator[_OpenEdge]:
        """A state that takes one event after the other; each step goes on and comes about."""
        before = self.ways(term.left)
        state = self.wait(term.held, iterates=True)
        for way in before:
            self.lead(way, state, {name: _within(value, way.scope) for name, value in term.begins.items()})
        held: dict[str, ex.Expression] = {name: ex.RegisterField(name, type_) for name, type_ in term.held.items()}
        lasts = {last_of(name): value for name, value in held.items()}
        times = {START: _HELD_START, END: _EVENT_END}
        for event in self.ways(term.right):
            values: Values = {**{name: held[name] for name in term.carried}, **event.values}
            decides = (*event.asks, *conjuncts(_within(term.condition, {**values, **lasts, **times})))
            asks: list[ex.Expression] = []
            for step in term.steps:
                scope = {**values, **lasts, **times}
                if isinstance(step, b.Keep):
                    asks += conjuncts(_within(step.condition, scope))
                else:
                    values = {name: _within(value, scope) for name, value in step.values.items()}
            way = _OpenEdge(state, event.type, decides, tuple(asks), values, _HELD_START)
            self.lead(way, state, {name: values[of] for name, of in term.handed.items()})
            yield replace(way, values={name: values[name] for name in term.types})


_HELD_START = ex.RegisterField(START, INT)


def _columns(term: b.Base) -> Values:
    return {name: ex.Attribute(EVENT, ex.Index.ONE, column) for name, column in term.columns.items()}


def _within(node: ex.Expression, scope: Values) -> ex.Expression:
    """An expression on the attributes of a stream in terms of what these are made of; it may double each time."""
    size = sum(_weight(scope[p.name]) if isinstance(p, ex.RegisterField) else 1 for p in walk(node))
    if size > MOST_NODES:
        raise too_large(node.span)
    return substitute(node, lambda part: scope[part.name] if isinstance(part, ex.RegisterField) else None)


def _weight(node: ex.Expression) -> int:
    return sum(1 for _ in walk(node))


def limit_of(condition: ex.Expression, start: ex.Expression) -> ex.Literal | None:
    """`DUR <= c` of what an edge makes, as it is written by then. start: when that starts."""
    negated = isinstance(condition, ex.Not)
    compared = condition.operand if isinstance(condition, ex.Not) else condition
    if not isinstance(compared, ex.Compare):
        return None
    if not limits_above(negate(compared.operator) if negated else compared.operator):
        return None
    is_length = compared.left == ex.Arithmetic("-", _EVENT_END, start)
    return compared.right if is_length and isinstance(compared.right, ex.Literal) else None


def amount_of(limit: ex.Literal) -> int:
    """A bound in ticks."""
    assert isinstance(limit.value, int)
    return limit.value


def keys_of(automaton: EventAutomaton, columns: Sequence[str], copies: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of which every instance has one value, and every wait asks for the same: they split the stream.

    copies: columns of composite events that have the key of a column, which the stream has for them too.
    """
    keys = _canonical(automaton, columns, copies)
    return tuple(column for column in columns if _held_keys(keys, column) is not None)


def _canonical(automaton: EventAutomaton, columns: Sequence[str], copies: Mapping[str, str]) -> EventAutomaton:
    """The automaton in terms of the columns that others copy, where the stream has these."""

    def change(node: ex.Expression) -> ex.Expression | None:
        known = isinstance(node, ex.Attribute) and copies.get(node.name) in columns
        return replace(node, name=copies[node.name]) if known and isinstance(node, ex.Attribute) else None

    def changed(node: ex.Expression) -> ex.Expression:
        return substitute(node, change)

    return automaton.rewritten(changed, changed) if copies else automaton


def _held_keys(automaton: EventAutomaton, column: str) -> list[set[str]] | None:
    """By state: the registers that have the value of a column, if every wait asks for that value."""
    event_key = ex.Attribute(EVENT, ex.Index.ONE, column)
    held = [set(state.types) for state in automaton.states]
    changed = True
    while changed:
        changed = False
        for edge in automaton.edges:
            if edge.target is None:
                continue
            for name in list(held[edge.target]):
                value = edge.values[name]
                of_run = (
                    isinstance(value, ex.RegisterField) and edge.source is not None and value.name in held[edge.source]
                )
                if value != event_key and not of_run:
                    held[edge.target].discard(name)
                    changed = True
    for number in range(len(automaton.states)):
        for edge in automaton.ends(number):
            if not any(_ties(condition, event_key, held[number]) for condition in edge.decides):
                return None
    return held if automaton.states else None


def _ties(condition: ex.Expression, key: ex.Expression, held: set[str]) -> bool:
    """Whether a condition asks that the event has the value that the instance has."""
    if not isinstance(condition, ex.Compare) or condition.operator != "=":
        return False
    sides = (condition.left, condition.right), (condition.right, condition.left)
    return any(side == key and isinstance(other, ex.RegisterField) and other.name in held for side, other in sides)


def within_partitions(automaton: EventAutomaton, column: str, kind: Kind) -> EventAutomaton:
    """The same where all events that an instance meets have its value of a key: it need not be held nor asked for."""
    event_key = ex.Attribute(EVENT, ex.Index.ONE, column)
    held = _held_keys(automaton, column) or [set() for _ in automaton.states]

    def known(edge: LinearEdge) -> LinearEdge:
        if edge.source is None:
            return edge
        names = held[edge.source]

        def read(part: ex.Expression) -> ex.Expression | None:
            if not isinstance(part, ex.RegisterField) or part.name not in names or part.type is None:
                return None
            return event_key if part.type.kind is kind else None

        def change(node: ex.Expression) -> ex.Expression:
            return substitute(node, read)

        return replace(
            edge,
            decides=tuple(change(c) for c in edge.decides if not _ties(c, event_key, names)),
            asks=tuple(change(c) for c in edge.asks if not _ties(c, event_key, names)),
            values={name: change(value) for name, value in edge.values.items()},
        )

    return replace(automaton, edges=tuple(map(known, automaton.edges)))


def attributes_with(automaton: EventAutomaton, column: str, copies: Mapping[str, str]) -> set[str]:
    """The attributes of results that have the value of a key."""
    automaton = _canonical(automaton, [column], copies)
    held = _held_keys(automaton, column) or []
    event_key = ex.Attribute(EVENT, ex.Index.ONE, column)
    wanted = set(automaton.types)
    for edge in automaton.edges:
        if edge.target is not None:
            continue
        wanted &= {
            name
            for name, value in edge.values.items()
            if value == event_key
            or (isinstance(value, ex.RegisterField) and edge.source is not None and value.name in held[edge.source])
        }
    return wanted


def longest(automaton: EventAutomaton, *, points: bool) -> int | None:
    """How many ticks there are at most from the start of a result to its end; None: as many as it takes.

    points: every event is over at once.
    """
    lengths: list[int] = []
    for edge in automaton.edges:
        if edge.target is None:
            limits = [amount_of(limit) for c in edge.fence if (limit := limit_of(c, edge.start)) is not None]
            limits += [0] if points and edge.source is None else []
            if not limits:
                return None
            lengths.append(min(limits))
    return max(lengths, default=0)
