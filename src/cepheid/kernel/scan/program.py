"""Between the automaton and the code: what is kept of the runs of each state, and what an event does, step by step.

A state whose runs all behave alike is a *slot*: one node of the match store for each partition, since runs
with equal registers are one run (SASE+ 5.2.2). Other states are *lists*: linked runs for each partition, each with its
registers.

Where events of one time are simultaneous (S2), what they make is kept apart, and runs whose wait they end stay, until
the instant is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cepheid.automaton.liveness import pending, registers_in
from cepheid.automaton.model import Absent, Arc, Ends, Exit, Kill, Register, RegisterAutomaton, State, Witness
from cepheid.kernel.names import distinct


class Keeping(Enum):
    """How the runs of a state are kept."""

    SLOT = "slot"  # at most one run for each partition
    LIST = "list"  # runs of their own
    BUNDLES = "bundles"  # a list in which the runs that bound the same event are one


@dataclass(frozen=True, slots=True)
class Room:
    """Where the runs of a state are, by the name of what they have bound."""

    number: int
    name: str
    keeping: Keeping
    registers: tuple[Register, ...]
    state: State

    @property
    def is_slot(self) -> bool:
        """Whether there is at most one run for each partition."""
        return self.keeping is Keeping.SLOT


@dataclass(frozen=True, slots=True)
class Hold:
    """Where the matches of an exit are that are not certain yet."""

    number: int
    name: str
    registers: tuple[Register, ...]
    exit: Exit


# What happens on an event.


@dataclass(frozen=True, slots=True)
class Refute:
    """Matches that wait for an absence: those whose window is over are certain, the event may refute others."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class Decide:
    """For the run of a slot: which arcs the event takes it over, and whether it goes on waiting."""

    room: Room
    arcs: tuple[Arc, ...]
    kills: tuple[Kill, ...]


@dataclass(frozen=True, slots=True)
class Meet:
    """The run of a slot to which nothing is joined while the event is at hand: it goes on by the arcs that hold.

    It waits for this event only, or the instant is not over.
    """

    room: Room
    arcs: tuple[Arc, ...]
    kills: tuple[Kill, ...]


@dataclass(frozen=True, slots=True)
class Follow:
    """The arcs of a slot that were decided on."""

    room: Room
    arcs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """The runs of a list, one after the other."""

    room: Room
    arcs: tuple[Arc, ...]
    kills: tuple[Kill, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """A run begins."""

    arc: Arc


@dataclass(frozen=True, slots=True)
class Leave:
    """What the event leaves behind in a room."""

    room: Room


@dataclass(frozen=True, slots=True)
class Merge:
    """Where the runs of some lists have become many: those that are alike become one."""

    rooms: tuple[Room, ...]


@dataclass(frozen=True, slots=True)
class Remember:
    """An event that must be absent before a first one was seen."""

    witness: Witness


@dataclass(frozen=True, slots=True)
class Restart:
    """If there was a match: all runs of the partition began at or before its end, and are over (S12)."""


Step = Refute | Decide | Meet | Follow | Walk | Begin | Leave | Merge | Remember | Restart


@dataclass(frozen=True)
class ScanProgram:
    """A scan, before it is code."""

    automaton: RegisterAutomaton
    rooms: tuple[Room, ...]  # by state
    holds: tuple[Hold, ...]
    steps: tuple[Step, ...]
    types: tuple[str, ...]  # that it asks for

    @property
    def simultaneous(self) -> bool:
        """Whether the events of an instant are seen together."""
        return self.automaton.simultaneous

    def may_end(self, room: Room) -> bool:
        """Whether an event can end the wait of some runs of a room, and not of all."""
        ends_some = room.state.ends is Ends.DECISION
        return ends_some or any(kill.source == room.number and kill.closes is None for kill in self.automaton.kills)

    @property
    def sees_all(self) -> bool:
        """Whether an event of any type matters."""
        return any(room.state.ends.contiguous for room in self.rooms) or not all(_asked(self.automaton))

    def lines(self) -> Iterator[str]:
        """For a reader: what is kept, and the steps."""
        for room in self.rooms:
            held = ", ".join(register.name for register in room.registers) or "nothing"
            yield f"{room.name}: {room.keeping.value}, holds {held}, ends by {room.state.ends.value}"
        for hold in self.holds:
            yield f"{hold.name}: matches that wait for an absence"
        yield from map(self._told, self.steps)
        if self.simultaneous:
            yield "after an instant: what it ended goes, what it made comes"

    def _told(self, step: Step) -> str:
        match step:
            case Decide(room=room, arcs=arcs) | Walk(room=room, arcs=arcs) | Meet(room=room, arcs=arcs):
                ways = ", ".join(self._way(arc) for arc in arcs)
                killed = f"; {len(step.kills)} must be absent" if step.kills else ""
                return f"{type(step).__name__.lower()} {room.name}: {ways or 'nothing'}{killed}"
            case Follow(room=room) | Leave(room=room):
                return f"{type(step).__name__.lower()} {room.name}"
            case Begin(arc=arc):
                return f"begin {self._way(arc)}"
            case Merge(rooms=rooms):
                return f"merge {', '.join(room.name for room in rooms)}"
            case Refute(hold=hold):
                return f"refute {hold.name}"
            case Remember(witness=witness):
                return f"remember {' or '.join(witness.types)}"
            case Restart():
                return "restart"

    def _way(self, arc: Arc) -> str:
        of_run = sum(not test.unary for test in arc.fence)
        tests = f" with {len(arc.fence)} tests, {of_run} of the run" if arc.fence else ""
        gives = any(exit_.config == arc.target for exit_ in self.automaton.exits)
        into = [self.rooms[q].name for q in self.automaton.entries[arc.target]] + ["a match"] * gives
        return f"{arc.label}{tests} to {' and '.join(into) or 'nothing'}"


def make_program(automaton: RegisterAutomaton, *, typed: bool, resets: bool, merge: bool = True) -> ScanProgram:
    """The program of an automaton.

    typed: events have types. resets: a match ends all runs of its partition. merge: runs that are alike become one.
    """
    rooms = tuple(_rooms(automaton, merge))
    holds = tuple(
        Hold(number, f"pending_{number}", _sorted(pending(exit_)), exit_)
        for number, exit_ in enumerate(automaton.exits)
        if exit_.absent
    )
    types = tuple(dict.fromkeys(_types(automaton))) if typed else ()
    lists = tuple(room for room in rooms if merge and not room.is_slot)
    return ScanProgram(automaton, rooms, holds, tuple(_steps(automaton, rooms, holds, lists, resets)), types)


def _rooms(automaton: RegisterAutomaton, merge: bool) -> Iterator[Room]:
    labels = {q: f"after_{automaton.configs[state.config].label}" for q, state in enumerate(automaton.states)}
    names = distinct(labels)
    for q, state in enumerate(automaton.states):
        keeping = _keeping(automaton, q) if merge else Keeping.LIST
        yield Room(q, names[q], keeping, _sorted(automaton.live[q]), state)


def _keeping(automaton: RegisterAutomaton, q: int) -> Keeping:
    if automaton.lasting or automaton.valued:
        return Keeping.LIST
    if not automaton.live[q]:
        return Keeping.SLOT
    if not _is_determined(automaton, q):
        return Keeping.LIST
    # Of an instant, every event may lead to the state, each with registers of its own.
    alone = automaton.states[q].ends.contiguous and not automaton.simultaneous
    return Keeping.SLOT if alone else Keeping.BUNDLES


def _is_determined(automaton: RegisterAutomaton, q: int) -> bool:
    """Whether the registers of a state are those of the event that led to it: all such runs are alike."""
    if any(kill.target == q for kill in automaton.kills):
        return False
    arcs = [arc for arc in automaton.arcs if arc.target == automaton.states[q].config]
    for register in automaton.live[q]:
        assigned = {arc.transfer.get(register) for arc in arcs}
        (value,) = assigned if len(assigned) == 1 else (None,)
        if value is None or registers_in(value):
            return False
    return True


def _steps(
    automaton: RegisterAutomaton,
    rooms: tuple[Room, ...],
    holds: tuple[Hold, ...],
    merged: tuple[Room, ...],
    resets: bool,
) -> Iterator[Step]:
    """Runs go on, wait or end; then runs begin. What is made on an event does not see that event."""
    arcs = {room.number: tuple(arc for arc in automaton.arcs if arc.source == room.number) for room in rooms}
    kills = {room.number: tuple(kill for kill in automaton.kills if kill.source == room.number) for room in rooms}
    yield from map(Refute, holds)
    # Before anything is joined to a slot whose run may stay, it is decided what that run does.
    apart = automaton.simultaneous  # nothing is joined to it before the instant is over
    staying = [room for room in rooms if room.is_slot and not room.state.ends.contiguous and not apart]
    yield from (Decide(room, arcs[room.number], kills[room.number]) for room in staying)
    for room in rooms:
        if room in staying:
            yield Follow(room, arcs[room.number])
        elif room.is_slot:
            yield Meet(room, arcs[room.number], kills[room.number])
        else:
            yield Walk(room, arcs[room.number], kills[room.number])
    yield from (Begin(arc) for arc in automaton.arcs if arc.source is None)
    yield from map(Leave, rooms)
    if merged:
        yield Merge(merged)
    yield from map(Remember, automaton.witnesses)
    if resets:
        yield Restart()


def _sorted(registers: frozenset[Register]) -> tuple[Register, ...]:
    return tuple(sorted(registers, key=lambda register: register.name))


def _types(automaton: RegisterAutomaton) -> Iterator[str]:
    for types in _asked(automaton):
        yield from types


def _asked(automaton: RegisterAutomaton) -> Iterator[tuple[str, ...]]:
    """The types that are asked for; none: any type will do."""
    asked: list[Arc | Kill | Absent | Witness] = [*automaton.arcs]
    asked += () if automaton.valued else automaton.kills  # what lasted too long makes no result, and may go later
    asked += [absent for exit_ in automaton.exits for absent in exit_.absent]
    yield from (step.types for step in (*asked, *automaton.witnesses))
