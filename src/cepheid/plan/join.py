"""A pattern of single events as a join: a stack for each component, in an order that is free (SASE 4.1, DEBS'15 5).

What a sequence asks is which events come before which, within which time, and what holds between them. None of it
says with which component to begin. A join has the components as stacks, the sequence as groups of them, the conditions
over several events as tests, and the events that must be absent as gaps between groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.automaton.model import NotNative, Now, Test
from cepheid.automaton.resolve import check_missing
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.nodes import (
    AnyOrder,
    Either,
    EventPattern,
    Language,
    Maybe,
    Negation,
    Output,
    PatternTree,
    Repeat,
    Seq,
    Strategy,
    Ties,
)
from cepheid.pattern.tree.uses import variables
from cepheid.pattern.tree.walk import substitute, walk
from cepheid.values.bindings import NOTHING
from cepheid.values.evaluate import Compiler
from cepheid.values.partitions import Partitioning, partition_of

MAX_STACKS = 16


@dataclass(frozen=True, slots=True)
class Of(ex.Expression):
    """An attribute of the event that a component is bound to."""

    variable: str
    column: str
    type: Type


@dataclass(frozen=True)
class Stack:
    """The events of one component. `tests` are on one event; `columns` are read by tests over several."""

    variable: str
    types: tuple[str, ...]
    tests: tuple[Test, ...]
    columns: tuple[str, ...]
    group: int  # which place it has in the sequence; a negated one: how many groups come before it
    negated: bool = False


@dataclass(frozen=True)
class Joint:
    """A test over several events: by the numbers of their stacks. `late`: kept for the end, as a selection would."""

    test: Test
    stacks: frozenset[int]
    late: bool = False


@dataclass(frozen=True)
class Join:
    """A query as stacks that are joined; the positive ones come first, in the order of the text."""

    query: Runnable
    stacks: tuple[Stack, ...]
    joints: tuple[Joint, ...]
    partitions: Partitioning
    positive: range  # the numbers of the stacks that a match binds
    negated: range  # and of those of absent events
    groups: int  # how many places the sequence has; in AND, several events share one
    waits: bool  # a match must wait for what is absent after it

    def members(self, group: int) -> tuple[int, ...]:
        """The positive stacks of a group; none beyond either end of the sequence."""
        return tuple(x for x in self.positive if self.stacks[x].group == group)

    def around(self, negated: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The stacks that an absent event comes after, and those that it comes before."""
        group = self.stacks[negated].group
        return self.members(group - 1), self.members(group)


_NOT_JOINED: Mapping[Language, str] = {
    Language.PATTERN: "",
    Language.AUTOMATON: "an automaton takes its events in order",
    Language.CESAR: "a CESAR expression",
}


class NotJoined(Exception):  # noqa: N818  a reason, not an error
    """Why a query can't be run as a join."""


def make_join(query: Runnable, partition: tuple[str, ...] | None = None, *, late: bool = False) -> Join:
    """A query as a join, or the reason why there is none.

    partition: the attributes of `[attr]` that split the stream; the others are compared while events are joined, or
    after all are (`late`). None: all of them split it.
    """
    if why := _NOT_JOINED[query.language]:
        raise NotJoined(why)
    _check(query)
    stacks: list[tuple[EventPattern, int, bool]] = []
    groups = 0
    for item in _items(query.pattern):
        if isinstance(item, Negation):
            stacks.append((item.event, groups, True))
        else:
            events = item.parts if isinstance(item, AnyOrder) else (item,)
            stacks += [(_event(part), groups, False) for part in events]
            groups += 1
    stacks.sort(key=lambda stack: stack[2])
    if sum(not negated for _, _, negated in stacks) < 2:
        raise NotJoined("one event alone has no order to choose")
    if len(stacks) > MAX_STACKS:
        raise NotJoined(f"more than {MAX_STACKS} events")
    try:
        join = _build(query, stacks, partition, late)
    except NotNative as reason:
        raise NotJoined(str(reason)) from None
    if join.waits and len(join.members(0)) > 1:
        raise NotJoined("an absent event at the end, after AND at the start")
    if join.waits and query.within is not None and query.within.events is not None:
        raise NotJoined("an absent event at the end of a window of events")
    return join


def _check(query: Runnable) -> None:
    strategies = set(query.strategies.values())
    if strategies - {Strategy.ANY}:
        other = next(s.value for s in Strategy if s in strategies - {Strategy.ANY})
        raise NotJoined(f"{other}: which event is next depends on the run")
    if query.output is Output.LONGEST and not query.timed:
        raise NotJoined("OUTPUT LONGEST without a window of time")
    if query.ties is Ties.SIMULTANEOUS:
        raise NotJoined("TIES SIMULTANEOUS")
    if any(period is not None for period in query.periods):
        raise NotJoined("an absent event FOR a while")
    if any(not component.types for component in query.components.values()):
        raise NotJoined("* accepts events of any type")
    if query.schema.start is not None:
        raise NotJoined("composite events")
    if query.same and query.schema.roles.types is not None:
        raise NotJoined("[attr] with declared types")
    if not all(Compiler(query).condition(c)(NOTHING) for c in query.placement.constant):
        raise NotJoined("a condition that never holds")
    called = {n.function for c in query.conditions for n in walk(c) if isinstance(n, ex.Call)}
    if called & set(query.functions):
        name = min(called & set(query.functions))
        raise NotJoined(f"{name} is called for the events that a run asks about, and for no others")


def _items(pattern: PatternTree) -> Iterator[PatternTree]:
    if isinstance(pattern, Seq):
        for part in pattern.parts:
            yield from _items(part)
    else:
        yield pattern


def _event(pattern: PatternTree) -> EventPattern:
    match pattern:
        case EventPattern():
            return pattern
        case Repeat():
            raise NotJoined("a Kleene closure")
        case Maybe():
            raise NotJoined("an optional event")
        case Either():
            raise NotJoined("OR")
    raise NotJoined("AND of what are no single events")


def _build(
    query: Runnable, parts: list[tuple[EventPattern, int, bool]], partition: tuple[str, ...] | None, late: bool
) -> Join:
    names = [event.variable or "" for event, _, _ in parts]
    alone: dict[str, list[Test]] = {name: [] for name in names}
    joints: list[Joint] = []
    for condition in query.conditions:
        read = variables(condition)
        if len(read) == 1:
            (name,) = read
            alone[name].append(_resolved(query, condition, name))
        else:
            joints.append(Joint(_resolved(query, condition), frozenset(map(names.index, read))))
    partitions = partition_of(query)
    if partition is not None:
        assert query.within is None or query.within.events is None  # S8 counts events by all of [attr]
        partitions = Partitioning(
            partitions.columns, tuple(a for a in partitions.agreed if a in partition), partitions.one_key
        )
    if query.within is None or query.within.events is None:  # and by [attr] alone
        shared = _shared(joints, len(names), sum(not negated for _, _, negated in parts))
        joints = [joint for joint in joints if equated(joint) not in shared]
        partitions = Partitioning(
            partitions.columns,
            (*partitions.agreed, *(a for a in shared if a not in partitions.agreed)),
            partitions.one_key,
        )
    positive = [name for name, (_, _, negated) in zip(names, parts, strict=True) if not negated]
    for same in query.same:
        if same.value is not None:
            for name in names:
                fixed = ex.Compare("=", ex.Attribute(name, ex.Index.ONE, same.attribute), same.value)
                alone[name].append(_resolved(query, fixed, name))
        if same.attribute not in partitions.agreed:
            # Every pair, so that whatever is bound first is compared; an absent event agrees with any of them.
            pairs = [(first, other) for k, first in enumerate(positive) for other in positive[k + 1 :]]
            for name, (_, group, negated) in zip(names, parts, strict=True):
                if negated:
                    near = [n for n, (_, g, n_) in zip(names, parts, strict=True) if not n_ and g in (group - 1, group)]
                    pairs.append((near[0], name))
            for first, other in pairs:
                sides = (ex.Attribute(name, ex.Index.ONE, same.attribute) for name in (first, other))
                test = _resolved(query, ex.Compare("=", *sides))
                numbers = frozenset({names.index(first), names.index(other)})
                joints.append(Joint(test, numbers, late and max(numbers) < len(positive)))
    held = {
        name: tuple(
            dict.fromkeys(
                node.column
                for joint in joints
                for node in walk(joint.test.condition)
                if isinstance(node, Of) and node.variable == name
            )
        )
        for name in names
    }
    stacks = tuple(
        Stack(name, event.types, tuple(alone[name]), held[name], group, negated)
        for name, (event, group, negated) in zip(names, parts, strict=True)
    )
    binding = range(len(positive))
    groups = 1 + max(stacks[x].group for x in binding)
    absent = range(len(positive), len(stacks))
    waits = any(stacks[y].group == groups for y in absent)
    return Join(query, stacks, tuple(joints), partitions, binding, absent, groups, waits)


def _resolved(query: Runnable, condition: ex.Expression, alone: str | None = None) -> Test:
    """A conjunct with its references resolved. `alone`: the variable of the event at hand, where it reads no other."""

    def reference(node: ex.Expression) -> ex.Expression | None:
        match node:
            case ex.Attribute(variable=variable, name=name):
                type_ = query.schema.columns[name]
                return Of(variable, name, type_) if alone is None else Now(name, type_)
            case ex.Length() | ex.AggregateCall() | ex.Quantified():
                raise NotJoined("what is asked of all events of a variable")
        return None

    check_missing(query, condition)
    return Test(substitute(condition, reference), condition, alone or "", unary=alone is not None)


def equated(joint: Joint) -> str | None:
    """The attribute that a joint says is the same in two events: `a.id = b.id`."""
    match joint.test.condition:
        case ex.Compare(operator="=", left=Of(column=one), right=Of(column=other)) if one == other:
            return one
    return None


def _shared(joints: list[Joint], stacks: int, positive: int) -> tuple[str, ...]:
    """Attributes that are the same in all events, as one equation after the other says: as [attr] would.

    What an absent event is equal to says nothing of the others; but it must be equal to one of them.
    """
    attributes = []
    for attribute in dict.fromkeys(map(equated, joints)):
        pairs = [joint.stacks for joint in joints if equated(joint) == attribute]
        reached = {0}
        for _ in range(positive):
            reached |= {x for pair in pairs if max(pair) < positive and pair & reached for x in pair}
        absent = {max(pair) for pair in pairs if max(pair) >= positive}
        if attribute is not None and len(reached | absent) == stacks and len(reached) == positive:
            attributes.append(attribute)
    return tuple(attributes)
