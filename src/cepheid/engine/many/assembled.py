"""The automaton of a frame with many conditions, put together of those with one each.

A condition stands on some arcs, whatever the others are: the fence of an arc is that of the frame and what each
condition adds. So each condition is analysed once, and not each combination. `[attr]` is a part of the frame: it splits
the stream. Where conditions do not simply add up, that is said, and the query is analysed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cepheid.automaton.liveness import find_live
from cepheid.automaton.model import Automaton, Exit, Held, Kill, Now, Register, Test
from cepheid.pattern.expressions import Arithmetic, Compare, Expression, Literal
from cepheid.pattern.types import BOOL
from cepheid.pattern.walk import rewrite


class NotUnitedError(Exception):
    """Why conditions do not add up."""


def assembled(frame: Automaton, parts: Sequence[Automaton]) -> Automaton:
    """The automaton of a query, of that of its frame without conditions and those of its frame with one of them each.

    The conditions of a part that has none are TRUE, or are left out. Registers of CESAR have no numbers in their names.
    """
    frame, *parts = map(plain, (frame, *parts))
    nowhere = next((part for part in parts if not part.arcs), None)
    if nowhere is not None and frame.arcs:
        return nowhere  # a condition on no event that is not TRUE: no run begins
    for part in parts:
        _check(frame, part)
    if frame.valued and any(map(_may_split, parts)):
        raise NotUnitedError("conditions that together may split the stream")
    arcs = []
    for number, arc in enumerate(frame.arcs):
        same = [part.arcs[number] for part in parts]
        transfer = _one_transfer(arc.transfer, [one.transfer for one in same])
        arcs.append(replace(arc, fence=united(arc.fence, [one.fence for one in same]), transfer=transfer))
    registers = dict.fromkeys(register for part in (frame, *parts) for register in part.registers)
    found = replace(
        frame,
        arcs=tuple(arcs),
        kills=_bounds((frame, *parts)) if frame.valued else tuple(_each("kills", _kill, frame, parts)),
        exits=tuple(_each("exits", _exit, frame, parts)),
        witnesses=tuple(_each("witnesses", _fenced, frame, parts)),
        registers=tuple(registers),
    )
    waits = any(exit_.absent and not exit_.lasting for exit_ in frame.exits)
    return find_live(found, next((r for r in registers if r.name == "start"), None) if waits else None)


def added(fence: Sequence[Test], more: Sequence[Test]) -> list[tuple[int, Test]]:
    """What a condition adds to a fence: each test, and how many of the fence are before it."""
    found, done = [], 0
    for test in more:
        if done < len(fence) and test == fence[done]:
            done += 1
        else:
            found.append((done, test))
    if done < len(fence):
        raise NotUnitedError("a condition changes what others ask")
    return found


def united(fence: Sequence[Test], others: Iterable[Sequence[Test]]) -> tuple[Test, ...]:
    """A fence with all that conditions add to it."""
    extra = [one for other in others for one in added(fence, other)]
    found: list[Test] = []
    for place in range(len(fence) + 1):
        found += [test for at, test in extra if at == place]
        found += fence[place : place + 1]
    return tuple(found)


def _check(frame: Automaton, part: Automaton) -> None:
    def shape(automaton: Automaton) -> Any:
        facts = automaton.configs, automaton.states, automaton.entries, automaton.ambiguous, automaton.simultaneous
        return facts, [replace(arc, fence=(), transfer={}) for arc in automaton.arcs]

    if shape(frame) != shape(part):
        raise NotUnitedError("a condition changes the states")


def _each(
    name: str, unite: Callable[[Any, list[Any]], Any], frame: Automaton, parts: Sequence[Automaton]
) -> Iterable[Any]:
    members = [getattr(part, name) for part in parts]
    own = getattr(frame, name)
    if any(len(member) != len(own) for member in members):
        raise NotUnitedError(f"a condition changes the {name}")
    return [unite(one, [member[number] for member in members]) for number, one in enumerate(own)]


def _fenced(one: Any, others: list[Any]) -> Any:
    return replace(one, fence=united(one.fence, [other.fence for other in others]))


def _kill(one: Kill, others: list[Kill]) -> Kill:
    if any((other.source, other.target, other.closes) != (one.source, one.target, one.closes) for other in others):
        raise NotUnitedError("a condition changes the kills")
    found: Kill = _fenced(one, others)
    return found


def _exit(one: Exit, others: list[Exit]) -> Exit:
    absent = [_fenced(a, [other.absent[k] for other in others]) for k, a in enumerate(one.absent)]
    found: Exit = replace(_fenced(one, others), absent=tuple(absent))
    return found


def _one_transfer(
    own: Mapping[Register, Expression], others: Iterable[Mapping[Register, Expression]]
) -> dict[Register, Expression]:
    found = dict(own)
    for other in others:
        for register, value in other.items():
            if found.setdefault(register, value) != value:
                raise NotUnitedError("a register by one name for two values")
    return found


# CESAR.


def plain(automaton: Automaton) -> Automaton:
    """An automaton of CESAR without tests that are TRUE and numbers of registers; others as they are."""
    if not automaton.valued:
        return automaton
    names = {register: replace(register, name=_NUMBERED.sub("", register.name)) for register in automaton.registers}
    if len(set(names.values())) < len(names):
        raise NotUnitedError("two attributes with one name for people")

    def read(node: Expression) -> Expression:
        return replace(node, register=names[node.register]) if isinstance(node, Held) else node

    def fence(tests: Iterable[Test]) -> tuple[Test, ...]:
        found = (replace(test, condition=rewrite(test.condition, read)) for test in tests)
        return tuple(test for test in found if test.condition != Literal(True, BOOL))

    def transfer(changes: Mapping[Register, Expression]) -> dict[Register, Expression]:
        return {names[register]: rewrite(value, read) for register, value in changes.items()}

    return replace(
        automaton,
        arcs=tuple(replace(arc, fence=fence(arc.fence), transfer=transfer(arc.transfer)) for arc in automaton.arcs),
        kills=tuple(replace(kill, fence=fence(kill.fence)) for kill in automaton.kills),
        exits=tuple(replace(one, gives=transfer(one.gives)) for one in automaton.exits),
        registers=tuple(names.values()),
        live=tuple(frozenset(names[register] for register in live) for live in automaton.live),
        needed=tuple(frozenset(names[register] for register in needed) for needed in automaton.needed),
    )


def _may_split(automaton: Automaton) -> bool:
    """Whether an attribute of an event equals one of an earlier event: if it does in every wait, there are lanes."""
    tests = (test.condition for arc in automaton.arcs for test in arc.fence if not test.unary)
    equal = (one for one in tests if isinstance(one, Compare) and one.operator == "=")
    return any({type(one.left), type(one.right)} == {Held, Now} for one in equal)


_NUMBERED = re.compile(r"\Ar\d+_")


def _bounds(parts: Sequence[Automaton]) -> tuple[Kill, ...]:
    """How long instances may last: of a chain, the least that a condition says."""
    steps = [arc.source for arc in parts[0].arcs if arc.label != "nothing"]
    if any(part.kills for part in parts) and len(set(steps)) < len(steps):
        raise NotUnitedError("a bound of DUR where there are several ways on")
    found: dict[int, tuple[int, Kill]] = {}
    for part in parts:
        for kill in part.kills:
            [test] = kill.fence
            condition = test.condition
            assert isinstance(condition, Compare)
            assert isinstance(condition.left, Arithmetic)
            assert isinstance(condition.right, Literal)
            assert isinstance(condition.right.value, int)
            limit = condition.right.value
            if kill.source not in found or limit < found[kill.source][0]:
                found[kill.source] = limit, kill
    return tuple(found[source][1] for source in sorted(found))
