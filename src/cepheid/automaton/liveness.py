"""A reduction: which registers each state has to carry. Runs that agree on those will behave alike (SASE+ 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cepheid.automaton.model import Automaton, Exit, Held, Holds, Register, Test, Update
from cepheid.pattern.walk import walk


def find_live(automaton: Automaton) -> Automaton:
    """The automaton with the registers that each state and each config needs: the least that suffices."""
    live: list[frozenset[Register]] = [frozenset() for _ in automaton.states]
    needed: list[frozenset[Register]] = [frozenset() for _ in automaton.configs]
    while True:
        new = list(live)
        for arc in automaton.arcs:
            if arc.source is not None:
                kept = {r for r in needed[arc.target] if arc.transfer[r] in (Update.KEEP, Update.STEP)}
                new[arc.source] |= read(arc.fence) | kept
        for kill in automaton.kills:
            more = live[kill.target] if kill.target is not None else frozenset()
            new[kill.source] |= read(kill.fence) | more
        wanted = [frozenset(_of_exits(automaton, number)) for number in range(len(automaton.configs))]
        for number, state in enumerate(automaton.states):
            wanted[state.config] |= new[number]
        if new == live and wanted == needed:
            return replace(automaton, live=tuple(live), needed=tuple(needed))
        live, needed = new, wanted


def read(fence: Iterable[Test]) -> frozenset[Register]:
    """The registers that tests read."""
    return frozenset(n.register for test in fence for n in walk(test.condition) if isinstance(n, Held))


def pending(exit_: Exit) -> frozenset[Register]:
    """The registers that a match carries while it is not certain."""
    return frozenset(r for kill in exit_.absent for r in read(kill.fence))


START = Register(Holds.START)


def _of_exits(automaton: Automaton, config: int) -> Iterable[Register]:
    for exit_ in automaton.exits:
        if exit_.config == config:
            yield from read(exit_.fence)
            yield from pending(exit_)
            yield from [START] if exit_.absent else []
            yield from (Register(Holds.WITNESS, number=negation) for negation in exit_.witnesses)
