"""From a program to the code of its scan: one function, a loop over the events of a batch.

Arrays never grow in here: where one could overflow, the scan stops before the event, and its caller makes room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cepheid.automaton.model import Arc, Ended, Exit, Kill, RegisterAutomaton, Started, Time, Witness, Witnessed
from cepheid.kernel.arguments import CELLS, NOWHERE, EventFact, Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, any_of, choose
from cepheid.kernel.code.types import INT64, UINT8
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constants
from cepheid.kernel.expressions import KernelSort, Value
from cepheid.kernel.reads import KIND, PIECE, EventReader, I
from cepheid.kernel.runtime import NEVER, NIL, TESTS
from cepheid.kernel.scan import program as p
from cepheid.kernel.scan.arcs import ArcCode
from cepheid.kernel.scan.graph import GraphCode, NoGraph
from cepheid.kernel.scan.kernel import (
    MATCH_ROOM,
    MATCHES,
    MERGED,
    NODE_ROOM,
    NODES,
    Pool,
    ScanKernel,
    event_arrays,
    parameters,
)
from cepheid.kernel.scan.lists import ListCode
from cepheid.kernel.scan.partition_values import PartitionValues
from cepheid.kernel.scan.registers import ScanRegisters, new
from cepheid.kernel.scan.setting import Setting, stretched_configs
from cepheid.kernel.scan.steps import StepCode
from cepheid.kernel.scan.variables import (
    ASKED,
    ASKED_COUNT,
    AT,
    BLOCK,
    BLOCK_BEGIN,
    END,
    FIRST_ID,
    MATCH_COUNT,
    MATCH_LIMIT,
    MERGES,
    NODE_COUNT,
    NODE_LIMIT,
    NOW,
    OLDEST,
    OLDEST_END,
    PARTITION,
    SETTLES,
    SPARSE,
    STORE,
    TRIED,
    earlier_witness,
    over,
    soon,
    witness,
)
from cepheid.pattern.expressions import nodes as ex

MANY_ASKED = BLOCK * 3 // 4
LASTING_BITS = 12
"""Of a word that says what an event is bound by, where states may be added while nodes have such words."""


def generate_scan(
    program: p.ScanProgram,
    setting: Setting,
    nullable: frozenset[str],
    window: int | None,
    period: int = 0,
    before: Mapping[int, int] = MappingProxyType({}),
) -> ScanKernel:
    """The scan of a program where some columns have NULLs.

    The window is in ticks, or in events. period: for how many ticks an absence lasts, where the setting says so.
    before: likewise, of each witness whose absence lasts for a while before a first event.
    """
    return _Generator(program, setting, nullable, window, period, before).kernel()


def check_scan(automaton: RegisterAutomaton) -> None:
    """Raise the reason why a kernel can't compute what an automaton asks, if there is one."""
    events = EventReader((), frozenset(), Constants())

    def leaf(node: ex.Expression) -> Value | None:
        return (
            Value(NOW, KernelSort.INTEGER)
            if isinstance(node, Time | Started | Ended | Witnessed)
            else events.leaf(node)
        )

    registers = ScanRegisters(automaton, leaf, events.translator)
    translator = registers.translator(new)
    asked: list[Arc | Kill | Exit | Witness] = [
        *automaton.arcs,
        *automaton.kills,
        *automaton.exits,
        *automaton.witnesses,
    ]
    fences = [*(step.fence for step in asked), *(absent.fence for e in automaton.exits for absent in e.absent)]
    for fence in fences:
        events.fence((), fence, translator)


class _Generator:
    """Builds a scan: what is kept, and the loop."""

    def __init__(
        self,
        program: p.ScanProgram,
        setting: Setting,
        nullable: frozenset[str],
        window: int | None,
        period: int,
        before: Mapping[int, int],
    ) -> None:
        automaton = program.automaton
        self.program = program
        self.setting = setting
        self.code = Code()
        self.constants = Constants()
        self.window = self.constants.named("window", window) if window is not None else None
        self.period = self.constants.named("period", period) if setting.lasting else None
        self.before = before
        self.events = EventReader(program.types, nullable, self.constants, setting.timed, setting.bits)
        self.values = PartitionValues(self.code, partitions=setting.partitions)
        self.apart = program.simultaneous
        if setting.counted:
            self.values.declare("seen", INT64)
        for absent in automaton.witnesses:
            self.values.declare(witness(absent.negation), INT64, NEVER)
            if self.apart and not absent.lasting:
                self.values.declare(soon(witness(absent.negation)), INT64, NEVER)
            if absent.lasting:
                self.values.declare(earlier_witness(absent.negation), INT64, NEVER)
        periods = {number: self.constants.named(f"period_{number}", ticks) for number, ticks in before.items()}
        self.registers = ScanRegisters(automaton, self.leaf, self.events.translator)
        self.declare_slots()
        bits = (len(automaton.configs) + len(automaton.exits) - 1).bit_length()
        shift = max(LASTING_BITS if automaton.lasting else 1, bits)
        graph = NoGraph if automaton.valued else GraphCode
        self.graph = graph(self.code, shift, windowed=setting.windowed, own=automaton.own)
        merges = any(isinstance(step, p.Merge) for step in program.steps)
        self.lists = [
            ListCode(
                self.code,
                pool,
                self.registers,
                self.values,
                self.graph,
                merges=merges and not pool.waits,
                apart=self.apart,
            )
            for pool in program_pools(program, lasting=setting.lasting)
        ]
        by_name = {name: lists for lists in self.lists for name in lists.pool.lists}
        self.stretched = stretched_configs(automaton, setting)
        arcs = ArcCode(program, setting, self.registers, self.graph, by_name, self.stretched)
        self.steps = StepCode(
            program, setting, self.events, self.registers, self.values, self.graph, by_name, arcs, self.window, periods
        )

    def leaf(self, node: ex.Expression) -> Value | None:
        """What a test or a transfer reads, but for registers."""
        match node:
            case Time():
                return Value(NOW, KernelSort.INTEGER)
            case Started():
                return Value(self.events.fact(EventFact.START)[I], KernelSort.INTEGER)
            case Ended():
                return Value(self.events.fact(EventFact.TIME)[I], KernelSort.INTEGER)
            case Witnessed(negation=negation):
                return Value(self.values.get(witness(negation)), KernelSort.INTEGER)
        return self.events.leaf(node)

    def declare_slots(self) -> None:
        """A slot has a node and registers for each partition."""
        for room in self.program.rooms:
            if self.apart and self.program.may_end(room):
                self.values.declare(over(room.name), UINT8)
            if room.is_slot:
                self.values.declare(room.name, initial=NIL)
                if self.apart:
                    self.values.declare(soon(room.name), initial=NIL)
                for name, scalar, coded in self.registers.fields(room.registers):
                    self.values.declare(f"{name}_{room.name}", scalar, coded=coded)

    # The function and what it is called with.

    def kernel(self) -> ScanKernel:
        """The scan."""
        self.scan()
        state = tuple(self.state())
        events = event_arrays(self.events.arrays)
        constants = tuple(self.constants)
        inputs = (I, END, FIRST_ID, *parameters(constants, events, state), CELLS)
        return ScanKernel(
            code=Compilable(n.Function("scan", inputs, self.code.block)),
            constants=constants,
            events=events,
            state=state,
            slots=tuple(
                name
                for room in self.program.rooms
                if room.is_slot
                for name in (room.name, *([soon(room.name)] if self.apart else []))
            ),
            pools=tuple(lists.pool for lists in self.lists),
            witnesses=tuple(witness(w.negation) for w in self.program.automaton.witnesses if not w.lasting),
            lasting={witness(negation): ticks for negation, ticks in self.before.items()},
            types=self.program.types,
            shift=self.graph.shift,
            stretched=tuple(number in self.stretched for number in range(2**self.graph.shift)),
            valued=self.program.automaton.valued,
        )

    def state(self) -> Iterator[StateArray]:
        """The arrays that outlast a call."""
        yield from self.values.state()
        for lists in self.lists:
            yield from lists.state()
        yield from () if self.program.automaton.valued else STORE
        yield from self.registers.given(self.program.automaton)
        if self.looks_ahead:
            yield StateArray(ASKED, Extent.BLOCK)

    def scan(self) -> None:
        """The function."""
        code = self.code
        for variable, cell in self.cells():
            code.set(variable, CELLS[cell])
        code.set(NODE_LIMIT, CELLS[NODE_ROOM])
        code.set(MATCH_LIMIT, CELLS[MATCH_ROOM])
        for lists in self.lists:
            code.set(lists.room, CELLS[lists.pool.cells.room])
        if not self.setting.partitions:
            code.set(PARTITION, 0)
        if self.setting.timed or self.setting.bits:
            code.set(PIECE, 0)
        self.values.load()
        if self.looks_ahead:
            code.set(SPARSE, n.TRUE)
        if self.lists:
            self.loop(END)
        else:
            self.in_strides()
        self.values.store()
        for variable, cell in self.cells():
            code.put(CELLS, cell, variable)
        code.give(I)

    def cells(self) -> Iterator[tuple[n.Local, int]]:
        """What is counted through all calls."""
        yield from [(NODE_COUNT, NODES), (MATCH_COUNT, MATCHES), (MERGES, MERGED), (TRIED, TESTS)]
        for lists in self.lists:
            yield lists.free, lists.pool.cells.free
            yield lists.used, lists.pool.cells.used

    # The loop.

    def loop(self, end: n.Expr) -> None:
        """One event after the other."""
        with self.code.loop(I < end):
            self.event()
            self.code.step(I)

    def in_strides(self) -> None:
        """Where only slots are, an event makes so many nodes at most: room is asked for once for many events."""
        code, (_, least) = self.code, self.growth()
        stop, other = n.Local("stop", INT64), n.Local("other_stop", INT64)
        width = (least - 1).bit_length()  # a shift is faster than a division
        with code.loop(I < END):
            code.set(stop, I + ((MATCH_LIMIT - MATCH_COUNT) >> width))
            if not self.program.automaton.valued:
                code.set(other, I + ((NODE_LIMIT - NODE_COUNT) >> width))
                code.set(stop, choose(other < stop, other, stop))
            code.set(stop, choose(END < stop, END, stop))
            with code.when(stop.equals(I)):
                code.leave()
            if self.looks_ahead:
                code.set(stop, choose(I + BLOCK < stop, I + BLOCK, stop))
                self.asked(stop)
            else:
                self.loop(stop)

    @property
    def looks_ahead(self) -> bool:
        """Whether the events that are asked for are found before the runs that they meet: others change nothing."""
        every = self.program.sees_all or self.setting.counted or self.setting.tracked or self.apart
        return bool(self.program.types) and not self.lists and not every

    def asked(self, stop: n.Local) -> None:
        """The events of a block that are of types that the query names.

        Whether the next event is one of them, no processor can predict: to note all and count those that are takes no
        branch. Where nearly all are, they are not looked for any more.
        """
        code = self.code
        code.set(BLOCK_BEGIN, I)
        code.set(ASKED_COUNT, stop - I)
        with code.when(SPARSE):
            code.set(ASKED_COUNT, 0)
            with code.loop(I < stop):
                code.put(ASKED, ASKED_COUNT, I - BLOCK_BEGIN)
                code.step(ASKED_COUNT, self.events.kind().differs(0).to(INT64))
                code.step(I)
            with code.when(ASKED_COUNT > MANY_ASKED):
                code.set(SPARSE, n.FALSE)
                code.set(AT, 0)
                with code.loop(AT < BLOCK):
                    code.put(ASKED, AT, AT)
                    code.step(AT)
                code.set(ASKED_COUNT, stop - BLOCK_BEGIN)
        code.set(AT, 0)
        with code.loop(AT < ASKED_COUNT):
            code.set(I, BLOCK_BEGIN + ASKED[AT].to(INT64))
            self.event()
            code.step(AT)
        code.set(I, stop)

    def growth(self) -> tuple[int, int]:
        """The most nodes, runs or matches that one event makes: for each run of its partition, and besides."""
        automaton = self.program.automaton
        states = 2 * max(map(len, automaton.entries), default=1) + 2
        sources = [arc.source for arc in automaton.arcs if arc.source is not None]
        per_run = Counter([*sources, *(kill.source for kill in automaton.kills)])
        least = states * (len(automaton.arcs) + len(automaton.kills) + 1) + 4
        # After an instant, what it has made is joined to each slot.
        return states * max(per_run.values(), default=1), least + (len(self.program.rooms) if self.apart else 0)

    def event(self) -> None:
        """What happens on one event."""
        code = self.code
        if self.setting.partitions:
            code.set(PARTITION, self.events.fact(EventFact.PARTITION)[I])
            if self.setting.nowhere:
                with code.when(PARTITION.equals(NOWHERE)):
                    code.note("In no partition.")
                    code.step(AT if self.looks_ahead else I)
                    code.again()
        if self.lists:
            self.check_room()
        if self.setting.windowed or self.setting.lasting or self.before:
            self.tell_time()
        if self.setting.timed or self.setting.bits:
            with code.loop(self.events.fact(EventFact.PIECES)[PIECE] <= self.events.fact(EventFact.TIME)[I]):
                code.step(PIECE)
            for word, array in self.events.piece_words():
                code.set(word, array[PIECE])
        if self.program.types:
            code.set(KIND, self.events.kind())
        if self.apart:
            code.set(SETTLES, self.events.fact(EventFact.SETTLES)[I].differs(0))
        counts = self.setting.counted and bool(self.program.holds)
        asked = n.TRUE if not self.program.types or self.program.sees_all or counts else KIND.differs(0)
        if self.program.automaton.valued:
            asked = self.steps.concerned()
        with code.when(asked):
            self.steps.all()
        if self.apart:
            several = self.events.fact(EventFact.SETTLES)[I].equals(1)  # of which another may have been asked
            with code.when(all_of([SETTLES, any_of([asked, several])])):
                code.note("The instant is over.")
                self.steps.settle()
        if self.setting.tracked:
            self.note_quiet()

    def note_quiet(self) -> None:
        """Whether no run of the partition is under way; if so, events that meet none may be skipped."""
        pools = {name: lists.pool for lists in self.lists for name in lists.pool.lists}
        held = [room.name if room.is_slot else pools[room.name].first(room.name) for room in self.program.rooms]
        empty = all_of(self.values.get(name).equals(NOWHERE) for name in held)
        code, quiet, skip = self.code, self.events.fact(EventFact.QUIET), self.events.fact(EventFact.SKIP)
        with code.when(empty):
            code.put(quiet, I, 1)
            with code.when(skip[I].differs(0)):
                code.note("What follows is as it was.")
                code.set(I, skip[I] - 1)
        with code.otherwise():
            code.put(quiet, I, 0)

    def check_room(self) -> None:
        """Stop before an event that could make an array overflow."""
        each, least = self.growth()
        first, *others = (lists.count for lists in self.lists)
        load = first + others[0] if others else first
        needed = self.code.let("needed", load * each + least)
        full = [] if self.program.automaton.valued else [NODE_COUNT + needed > NODE_LIMIT]
        full += [MATCH_COUNT + needed > MATCH_LIMIT]
        full += [lists.used + needed > lists.room for lists in self.lists]
        with self.code.when(any_of(full)):
            self.code.leave()

    def tell_time(self) -> None:
        """When the event is, the oldest start that is in one window with it, and the oldest end that still waits."""
        if self.setting.counted:
            self.code.set(NOW, self.values.get("seen") + 1)
            self.values.put("seen", NOW)
        else:
            self.code.set(NOW, self.events.fact(EventFact.TIME)[I])
        if self.window is not None:
            self.code.set(OLDEST, NOW - self.window + 1)
        if self.period is not None:
            self.code.set(OLDEST_END, NOW - self.period + 1)


def program_pools(program: p.ScanProgram, *, lasting: bool) -> Iterator[Pool]:
    """The pools of a program: all lists of runs share one, all matches that are not certain another."""
    rooms = {room.name: room.registers for room in program.rooms if not room.is_slot}
    holds = {hold.name: hold.registers for hold in program.holds}
    kinds = [kind for kind in (("runs", False, rooms), ("pending", True, holds)) if kind[2]]
    ending = program.simultaneous and any(program.may_end(room) for room in program.rooms if not room.is_slot)
    for number, (name, waits, lists) in enumerate(kinds):
        registers = sorted(
            {r for registers_of_list in lists.values() for r in registers_of_list}, key=lambda register: register.name
        )
        names = (*lists, *(map(soon, lists) if program.simultaneous else ()))
        yield Pool(name, number, waits, names, tuple(registers), ending and not waits, lasting and waits)
