"""A reduction: which registers each state has to carry. Runs that agree on those will behave alike (SASE+ 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cepheid.automaton.model import Exit, Held, Register, RegisterAutomaton, Test
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.walk import walk


def find_live(automaton: RegisterAutomaton, start: Register | None) -> RegisterAutomaton:
    """The automaton with the registers that each state and each config needs: the least that suffices.

    start: holds when a run began, where matches wait for an absence.
    """
    live: list[frozenset[Register]] = [frozenset() for _ in automaton.states]
    needed: list[frozenset[Register]] = [frozenset() for _ in automaton.configs]
    while True:
        new = list(live)
        for arc in automaton.arcs:
            if arc.source is not None:
                new[arc.source] |= read(arc.fence) | set(arc.closing)
                for register in needed[arc.target]:
                    assigned = arc.transfer.get(register)
                    new[arc.source] |= {register} if assigned is None else registers_in(assigned)
        for kill in automaton.kills:
            more = live[kill.target] if kill.target is not None else frozenset()
            new[kill.source] |= read(kill.fence) | more
        wanted = [frozenset(_of_exits(automaton, number, start)) for number in range(len(automaton.configs))]
        for number, state in enumerate(automaton.states):
            wanted[state.config] |= new[number]
        if new == live and wanted == needed:
            return replace(automaton, live=tuple(live), needed=tuple(needed))
        live, needed = new, wanted


def registers_in(expression: Expression) -> frozenset[Register]:
    """The registers that an expression reads."""
    return frozenset(node.register for node in walk(expression) if isinstance(node, Held))


def read(fence: Iterable[Test]) -> frozenset[Register]:
    """The registers that tests read."""
    return frozenset(register for test in fence for register in registers_in(test.condition))


def pending(exit_: Exit) -> frozenset[Register]:
    """The registers that a match carries while it is not certain."""
    carried = exit_.gives.keys() if exit_.absent else ()
    return frozenset([*carried, *(register for absent in exit_.absent for register in read(absent.fence))])


def _of_exits(automaton: RegisterAutomaton, config: int, start: Register | None) -> Iterable[Register]:
    for exit_ in automaton.exits:
        if exit_.config == config:
            yield from read(exit_.fence)
            yield from pending(exit_) - exit_.gives.keys()
            yield from (register for value in exit_.gives.values() for register in registers_in(value))
            yield from [start] if exit_.absent and start is not None else []
            yield from exit_.witnesses
