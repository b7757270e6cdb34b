"""What a scan is generated for, besides its program."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.automaton.model import Ends, RegisterAutomaton


@dataclass(frozen=True, slots=True)
class Setting:
    """How events are split, and what the window counts. `nowhere`: an event may belong to no partition.

    lasting: what must be absent after a match is absent for a while that counts from its last event.
    tracked: it is written down after which events no run of the partition is under way, and some events may be skipped
    then.
    timed: columns that are a function of the time: they are read by the piece of time that an event is in; bits: those
    of them that are true or false.
    """

    partitions: bool
    nowhere: bool
    windowed: bool
    counted: bool  # the window is of events
    lasting: bool = False
    tracked: bool = False
    timed: frozenset[str] = frozenset()
    bits: tuple[str, ...] = ()


def stretched_configs(automaton: RegisterAutomaton, setting: Setting) -> frozenset[int]:
    """Configs of loops that take one event after the other, with none between: one node stands for all of them.

    The ids of a stream without partitions have no gaps, so where such a stretch ends is known from what follows it.
    """
    if setting.partitions or automaton.simultaneous:
        return frozenset()
    waits: dict[int, set[Ends]] = {}
    for state in automaton.states:
        waits.setdefault(state.config, set()).add(state.ends)
    loops = {
        arc.target
        for arc in automaton.arcs
        if arc.source is not None and automaton.states[arc.source].config == arc.target
    }
    return frozenset(config for config in loops if waits[config] == {Ends.ANYTHING})
