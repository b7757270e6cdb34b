"""From a program to the code of its scan: one function, a loop over the events of a batch.

Arrays never grow in here: where one could overflow, the scan stops before the event, and its caller makes room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.automaton.liveness import pending, read
from cepheid.automaton.model import Arc, Automaton, Ends, Exit, Kill, Register, Time, Witness, Witnessed
from cepheid.kernel.arguments import CELLS, NOWHERE, EventFact, Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.fold import all_of, any_of, choose, negate
from cepheid.kernel.code.types import BOOL, INT64, UINT32, UINT64, Scalar
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constants
from cepheid.kernel.expressions import Sort, Value
from cepheid.kernel.reads import KIND, EventReader, I
from cepheid.kernel.runtime import NEVER, NIL, TESTS
from cepheid.kernel.scan import program as p
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
from cepheid.kernel.scan.registers import Read, Registers, new
from cepheid.pattern import expressions as ex

# The match store.
WORD, NEXT = n.Array("node_word", INT64), n.Array("node_next", UINT32)
OTHER, START = n.Array("node_other", UINT32), n.Array("node_start", INT64)
ROOT, LAST, LOW = n.Array("match_root", UINT32), n.Array("match_word", INT64), n.Array("match_low", INT64)
STORE = (
    *(StateArray(array, Extent.NODES) for array in (WORD, NEXT, OTHER, START)),
    *(StateArray(array, Extent.MATCHES) for array in (ROOT, LAST, LOW)),
)
SEEN = n.Array("seen", INT64)  # events of each lane, where the window counts these

END = n.Variable("end", INT64)
FIRST_ID = n.Variable("first_id", INT64)  # of the event 0: an id is what a node knows of an event, for good
LANE = n.Variable("lane", UINT32)
NOW, OLDEST = n.Variable("now", INT64), n.Variable("oldest", INT64)
NODE_COUNT, MATCH_COUNT = n.Variable("nodes", INT64), n.Variable("matches", INT64)
NODE_LIMIT, MATCH_LIMIT = n.Variable("node_room", INT64), n.Variable("match_room", INT64)
MERGES, TRIED = n.Variable("merged", INT64), n.Variable("tests", INT64)
RUN, BEFORE, FOLLOWING = (n.Variable(name, UINT32) for name in ("run", "before", "following"))
HISTORY, FRESH = n.Variable("history", UINT32), n.Variable("fresh", UINT32)
STAYS = n.Variable("stays", BOOL)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a scan is generated for, besides its program: how events are split, and what the window counts.

    nowhere: an event may belong to no lane.
    """

    lanes: bool
    nowhere: bool
    windowed: bool
    counted: bool  # the window is of events


def generate_scan(program: p.Program, setting: Setting, nullable: frozenset[str], window: int | None) -> ScanKernel:
    """The scan of a program where some columns have NULLs; the window is in ticks, or in events."""
    return _Generator(program, setting, nullable, window).kernel()


def check_scan(automaton: Automaton) -> None:
    """Raise the reason why a kernel can't compute what an automaton asks, if there is one."""
    events = EventReader((), frozenset(), Constants())

    def leaf(node: ex.Expression) -> Value | None:
        return Value(NOW, Sort.INTEGER) if isinstance(node, Time | Witnessed) else events.leaf(node)

    registers = Registers(automaton, leaf, events.translator)
    translator = registers.translator(new)
    asked: list[Arc | Kill | Exit | Witness] = [
        *automaton.arcs,
        *automaton.kills,
        *automaton.exits,
        *automaton.witnesses,
    ]
    fences = [*(one.fence for one in asked), *(absent.fence for e in automaton.exits for absent in e.absent)]
    for fence in fences:
        events.fence((), fence, translator)


class _Generator:
    """Builds a scan, step by step."""

    def __init__(self, program: p.Program, setting: Setting, nullable: frozenset[str], window: int | None) -> None:
        self.program = program
        self.automaton: Automaton = program.automaton
        self.setting = setting
        self.code = Code()
        self.constants = Constants()
        self.window = self.constants.named("window", window) if window is not None else None
        self.events = EventReader(program.types, nullable, self.constants)
        self.registers = Registers(self.automaton, self.leaf, self.events.translator)
        rooms = [(room.name, False, room.registers) for room in program.rooms if not room.is_slot]
        rooms += [(hold.name, True, hold.registers) for hold in program.holds]
        self.pools = {
            name: Pool(name, k, waits, tuple((f, s) for f, s, _ in self.registers.fields(registers)))
            for k, (name, waits, registers) in enumerate(rooms)
        }
        self.filled: set[n.Variable] = set()  # what may hold a history by now, that another is joined to
        self.shift = max(1, (len(self.automaton.configs) + len(self.automaton.exits) - 1).bit_length())

    def leaf(self, node: ex.Expression) -> Value | None:
        """What a test or a transfer reads, but for registers."""
        match node:
            case Time():
                return Value(NOW, Sort.INTEGER)
            case Witnessed(negation=negation):
                return Value(_witness(negation)[LANE], Sort.INTEGER)
        return self.events.leaf(node)

    # The function and what it is called with.

    def kernel(self) -> ScanKernel:
        self.scan()
        state = tuple(self.state())
        events = event_arrays(self.events.arrays)
        constants = tuple(self.constants)
        inputs = (I, END, FIRST_ID, *parameters(constants, events, state), CELLS)
        function = n.Function("scan", inputs, self.code.block)
        return ScanKernel(
            code=Compilable(function),
            constants=constants,
            events=events,
            state=state,
            slots=tuple(room.name for room in self.program.rooms if room.is_slot),
            pools=tuple(self.pools.values()),
            witnesses=tuple(_witness(witness.negation).name for witness in self.automaton.witnesses),
            types=self.program.types,
            shift=self.shift,
        )

    def state(self) -> Iterator[StateArray]:
        if self.setting.counted:
            yield StateArray(SEEN, Extent.LANES)
        for witness in self.automaton.witnesses:
            yield StateArray(_witness(witness.negation), Extent.LANES, NEVER)
        for room in self.program.rooms:
            if room.is_slot:
                yield StateArray(n.Array(room.name, UINT32), Extent.LANES, NIL)
                for name, scalar, coded in self.registers.fields(room.registers):
                    yield StateArray(n.Array(f"{name}_{room.name}", scalar), Extent.LANES, 0, coded=coded)
        kept = {room.name: room.registers for room in self.program.rooms}
        kept |= {hold.name: hold.registers for hold in self.program.holds}
        for pool in self.pools.values():
            for what, extent, initial in (
                ("head", Extent.LANES, NIL),
                ("count", Extent.LANES, 0),
                *([("mark", Extent.LANES, 8), ("table", Extent.TABLE, NIL)] if self.merges(pool) else []),
                ("next", Extent.RUNS, 0),
                ("node", Extent.RUNS, NIL),
                ("lane", Extent.RUNS, 0),
            ):
                yield StateArray(n.Array(pool.array(what), UINT32), extent, initial, pool.name)
            for name, scalar, coded in self.registers.fields(kept[pool.name]):
                yield StateArray(n.Array(pool.array(name), scalar), Extent.RUNS, 0, pool.name, coded)
        yield from STORE

    def merges(self, pool: Pool) -> bool:
        """Whether runs of a pool are merged when they have become many."""
        return self.program.merge and not pool.waits

    # The loop.

    def scan(self) -> None:
        code = self.code
        for variable, cell in self.cells():
            code.set(variable, CELLS[cell])
        code.set(NODE_LIMIT, CELLS[NODE_ROOM])
        code.set(MATCH_LIMIT, CELLS[MATCH_ROOM])
        for pool in self.pools.values():
            code.set(_of(pool, "room"), CELLS[pool.cells.room])
        if not self.setting.lanes:
            code.set(LANE, 0)
            for array, local in self.single():
                code.set(local, array[0])
        if self.pools:
            self.loop(END)
        else:
            self.in_strides()
        if not self.setting.lanes:
            for array, local in self.single():
                code.put(array, 0, local)
        for variable, cell in self.cells():
            code.put(CELLS, cell, variable)
        code.give(I)

    def cells(self) -> Iterator[tuple[n.Variable, int]]:
        """What is counted through all calls."""
        yield from [(NODE_COUNT, NODES), (MATCH_COUNT, MATCHES), (MERGES, MERGED), (TRIED, TESTS)]
        for pool in self.pools.values():
            yield _of(pool, "free", UINT32), pool.cells.free
            yield _of(pool, "used"), pool.cells.used

    def single(self) -> Iterator[tuple[n.Array, n.Variable]]:
        """What a stream without lanes keeps in variables while the loop runs."""
        if self.setting.counted:
            yield SEEN, NOW
        for room in self.program.rooms:
            if room.is_slot:
                yield n.Array(room.name, UINT32), n.Variable(f"the_{room.name}", UINT32)
                for name, scalar, _ in self.registers.fields(room.registers):
                    full = f"{name}_{room.name}"
                    yield n.Array(full, scalar), n.Variable(f"the_{full}", scalar)

    def loop(self, end: n.Expression) -> None:
        """One event after the other."""
        with self.code.loop(I < end):
            self.event()
            self.code.step(I)

    def in_strides(self) -> None:
        """Where only slots are, an event makes so many nodes at most: room is asked for once for many events."""
        code, (_, least) = self.code, self.growth()
        stop, other = n.Variable("stop", INT64), n.Variable("other_stop", INT64)
        width = (least - 1).bit_length()  # a shift is faster than a division
        with code.loop(I < END):
            code.set(stop, I + ((NODE_LIMIT - NODE_COUNT) >> width))
            code.set(other, I + ((MATCH_LIMIT - MATCH_COUNT) >> width))
            code.set(stop, choose(other < stop, other, stop))
            code.set(stop, choose(END < stop, END, stop))
            with code.when(stop.equals(I)):
                code.leave()
            self.loop(stop)

    def growth(self) -> tuple[int, int]:
        """The most nodes, runs or matches that one event makes: for each run of its lane, and besides."""
        automaton = self.automaton
        states = 2 * max(map(len, automaton.entries), default=1) + 2
        sources = [arc.source for arc in automaton.arcs if arc.source is not None]
        per_run = Counter([*sources, *(kill.source for kill in automaton.kills)])
        return states * max(per_run.values(), default=1), states * (len(automaton.arcs) + len(automaton.kills) + 1) + 4

    def event(self) -> None:
        """What happens on one event."""
        code = self.code
        if self.setting.lanes:
            code.set(LANE, self.events.fact(EventFact.LANE)[I])
            if self.setting.nowhere:
                with code.when(LANE.equals(NOWHERE)):
                    code.note("In no partition.")
                    code.step(I)
                    code.again()
        if self.pools:
            self.check_room()
        if self.setting.windowed:
            self.tell_time()
        if self.program.types:
            code.set(KIND, self.events.kind())
        counts = self.setting.counted and bool(self.program.holds)
        asked = n.TRUE if not self.program.types or self.program.sees_all or counts else KIND.differs(0)
        with code.when(asked):
            self.steps()

    def check_room(self) -> None:
        """Stop before an event that could make an array overflow."""
        each, least = self.growth()
        load: n.Expression = n.Constant(0, INT64)
        counts = [self.of(pool, "count")[LANE].to(INT64) for pool in self.pools.values()]
        load = counts[0]
        for count in counts[1:]:
            load = load + count
        room = self.code.let("needed", load * each + least)
        full = [NODE_COUNT + room > NODE_LIMIT, MATCH_COUNT + room > MATCH_LIMIT]
        full += [_of(pool, "used") + room > _of(pool, "room") for pool in self.pools.values()]
        with self.code.when(any_of(full)):
            self.code.leave()

    def tell_time(self) -> None:
        """When the event is, and the oldest start that is in one window with it."""
        code = self.code
        assert self.window is not None
        if not self.setting.counted:
            code.set(NOW, self.events.fact(EventFact.TIME)[I])
        elif self.setting.lanes:
            code.set(NOW, SEEN[LANE] + 1)
            code.put(SEEN, LANE, NOW)
        else:
            code.step(NOW)
        code.set(OLDEST, NOW - self.window + 1)

    # The steps.

    def steps(self) -> None:
        code = self.code
        if any(isinstance(step, p.Restart) for step in self.program.steps):
            code.let("matches_before", MATCH_COUNT)
        self.filled.clear()
        opened = False
        for step in self.program.steps:
            if not opened and not isinstance(step, p.Refute):
                for room in self.program.rooms:
                    self.open(room)
                opened = True
            self.step(step)

    def step(self, step: p.Step) -> None:
        match step:
            case p.Refute(hold=hold):
                self.refute(hold)
            case p.Decide():
                self.decide(step)
            case p.Meet():
                self.meet(step)
            case p.Follow(room=room, arcs=arcs):
                for k, arc in enumerate(arcs):
                    with self.code.when(_goes(room, k)):
                        self.enter(arc, _run(room), self.slot_field(room))
            case p.Walk():
                self.walk(step)
            case p.Begin(arc=arc):
                self.code.note(f"{arc.label} begins.")
                with self.code.when(all_of(self.events.fence(arc.types, arc.fence, self.registers.translator(None)))):
                    self.enter(arc, None, None)
            case p.Leave(room=room):
                self.leave(room)
            case p.Remember(witness=witness):
                with self.code.when(all_of(self.events.fence(witness.types, witness.fence))):
                    self.code.put(_witness(witness.negation), LANE, NOW)
            case p.Restart():
                with self.code.when(n.Variable("matches_before", INT64) < MATCH_COUNT):
                    self.code.note("A match was found: what began before its end is over.")
                    self.restart()
            case _:
                raise TypeError(f"no code for {step!r}")

    def open(self, room: p.Room) -> None:
        """The run of a slot as the event finds it, what the event leaves of it, and new runs of a list."""
        code = self.code
        if room.is_slot:
            run = code.set(_run(room), self.slot(room))
            code.set(_left(room), NOWHERE if room.state.ends.contiguous else run)
            if not room.state.ends.contiguous:
                self.filled.add(_left(room))
            return
        code.set(_chain(room), NOWHERE)
        code.set(_tail(room), NOWHERE)
        if room.keeping is p.Keeping.BUNDLES:
            code.set(_left(room), NOWHERE)

    def decide(self, step: p.Decide) -> None:
        """Which arcs hold for the run of a slot, and whether it goes on waiting."""
        code, room = self.code, step.room
        code.note(self.told(room))
        field, alive = self.slot_field(room), self.is_alive(_run(room))
        translator = self.registers.translator(field)
        deciding = []
        for k, arc in enumerate(step.arcs):
            of_event, of_run = self.events.fence(arc.types, arc.fence, translator)
            code.set(_goes(room, k), all_of([of_event, alive, of_run]))
            deciding += [_goes(room, k)] if arc.decides else []
        if room.state.ends is Ends.DECISION and deciding:
            with code.when(any_of(deciding)):
                code.set(_left(room), NOWHERE)
        if step.kills:
            left = _left(room)
            with code.when(left.differs(NOWHERE)):
                self.lose_ways(room, left, field, lambda: code.set(left, NOWHERE))

    def meet(self, step: p.Meet) -> None:
        """The arcs that hold for the run of a slot, which does not stay."""
        code, room = self.code, step.room
        code.note(self.told(room))
        field = self.slot_field(room)
        translator = self.registers.translator(field)
        with code.when(self.is_alive(_run(room))):
            for arc in step.arcs:
                with code.when(all_of(self.events.fence(arc.types, arc.fence, translator))):
                    self.enter(arc, _run(room), field)

    def is_alive(self, run: n.Variable) -> n.Expression:
        """Whether there is a run, and its window is not over."""
        return all_of([run.differs(NOWHERE), *([START[run] >= OLDEST] if self.setting.windowed else [])])

    def told(self, room: p.Room) -> str:
        """What a state waits for."""
        after = self.automaton.configs[room.state.config].label
        return f"After {after}: {room.state.waits_for}."

    def walk(self, step: p.Walk) -> None:
        """The runs of a list, one after the other."""
        code, room, pool = self.code, step.room, self.pools[step.room.name]
        code.note(self.told(room))
        field = self.field(pool, RUN)
        translator = self.registers.translator(field)
        code.set(RUN, self.of(pool, "head")[LANE])
        code.set(BEFORE, NOWHERE)
        fences = [self.events.fence(arc.types, arc.fence, translator) for arc in step.arcs]
        # Several runs may lead to one room.
        self.filled |= {_left(self.program.rooms[q]) for arc in step.arcs for q in self.automaton.entries[arc.target]}
        with code.when(RUN.differs(NOWHERE)):
            fits, asked = self.hoist(fences)
            with code.when(any_of(asked)):
                code.step(TRIED, self.of(pool, "count")[LANE])
            with code.loop(RUN.differs(NOWHERE)):
                code.set(FOLLOWING, self.of(pool, "next")[RUN])
                code.set(HISTORY, self.of(pool, "node")[RUN])
                code.set(STAYS, START[HISTORY] >= OLDEST if self.setting.windowed else n.TRUE)
                with code.when(STAYS if self.setting.windowed else n.TRUE):
                    for arc, fit in zip(step.arcs, fits, strict=True):
                        with code.when(fit):
                            if room.state.ends is Ends.DECISION and arc.decides:
                                code.set(STAYS, n.FALSE)
                            self.enter(arc, HISTORY, field)
                    if step.kills:
                        with code.when(STAYS):
                            self.lose_ways(room, HISTORY, field, lambda: code.set(STAYS, n.FALSE))
                if room.state.ends.contiguous:  # no run waits longer than for one event
                    self.release(pool)
                else:
                    self.unlink(pool, negate(STAYS))
                code.set(RUN, FOLLOWING)
            if room.state.ends.contiguous:
                code.put(self.of(pool, "head"), LANE, NOWHERE)

    def hoist(
        self, fences: Sequence[tuple[n.Expression, n.Expression]]
    ) -> tuple[list[n.Expression], list[n.Expression]]:
        """What is asked of the event is computed once for all runs; what each arc asks, and which ask runs."""
        known: dict[n.Expression, n.Expression] = {}
        fits, asked = [], []
        for of_event, of_run in fences:
            if of_event not in known:
                trivial = isinstance(of_event, n.Constant)
                known[of_event] = of_event if trivial else self.code.let(f"fits_{len(known)}", of_event)
            fits.append(all_of([known[of_event], of_run]))
            asked += [known[of_event]] if of_run != n.TRUE else []
        return fits, asked

    def enter(self, arc: Arc, history: n.Variable | None, field: Read | None) -> None:
        """Bind the event: new registers, then matches, then the states of the config."""
        code = self.code
        wanted = sorted(self.read_on_entry(arc.target), key=lambda register: register.name)
        self.registers.assign(code, wanted, arc.transfer, field)
        translator = self.registers.translator(new)
        for number, exit_ in enumerate(self.automaton.exits):
            if exit_.config == arc.target:
                holds = [translator.holds(test.condition) for test in exit_.fence]
                unseen = [new(register.name, INT64) < OLDEST for register in exit_.witnesses]
                with code.when(all_of([*holds, *unseen])):
                    self.complete(number, exit_, history)
        word = self.word(arc.target)
        for q in self.automaton.entries[arc.target]:
            room = self.program.rooms[q]
            if room.keeping is p.Keeping.LIST:
                self.extend(None, word, history)
                self.add(self.pools[room.name], room, NODE_COUNT - 1, room.registers, new)
            else:
                self.extend(_left(room), word, history)

    def read_on_entry(self, config: int) -> frozenset[Register]:
        """The registers that matches and lists of a config are made with; others take theirs from the event."""
        found: set[Register] = set()
        for exit_ in self.automaton.exits:
            if exit_.config == config:
                found |= read(exit_.fence) | pending(exit_) | set(exit_.witnesses)
        for q in self.automaton.entries[config]:
            if self.program.rooms[q].keeping is p.Keeping.LIST:
                found |= self.automaton.live[q]
        return frozenset(found)

    def complete(self, number: int, exit_: Exit, history: n.Variable | None) -> None:
        """A match; where something must be absent after it, it is not certain yet."""
        code = self.code
        word = self.word(len(self.automaton.configs) + number)
        if not exit_.absent:
            oldest = OLDEST if self.setting.windowed else n.Constant(0, INT64)
            self.emit(history if history is not None else NOWHERE, word, oldest)
            return
        self.extend(None, word, history)
        hold = next(hold for hold in self.program.holds if hold.number == number)
        pool = self.pools[hold.name]
        self.take(pool, NODE_COUNT - 1)
        code.put(self.of(pool, "next"), FRESH, self.of(pool, "head")[LANE])
        code.put(self.of(pool, "head"), LANE, FRESH)
        self.fill(pool, FRESH, hold.registers, new)

    def refute(self, hold: p.Hold) -> None:
        """Matches after which something must be absent: one whose window is over is certain, others may fall."""
        code, pool = self.code, self.pools[hold.name]
        translator = self.registers.translator(self.field(pool, RUN))
        gone = n.Variable("gone", BOOL)
        code.set(RUN, self.of(pool, "head")[LANE])
        code.set(BEFORE, NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, self.of(pool, "next")[RUN])
            code.set(HISTORY, self.of(pool, "node")[RUN])
            code.set(gone, START[HISTORY] < OLDEST)
            with code.when(gone):
                self.emit(HISTORY, n.Constant(-1, INT64), START[HISTORY])
            with code.otherwise():
                fences = (all_of(self.events.fence(a.types, a.fence, translator)) for a in hold.exit.absent)
                with code.when(any_of(fences)):
                    code.set(gone, n.TRUE)
                if self.setting.counted:
                    with code.otherwise(), code.when(START[HISTORY].equals(OLDEST)):
                        code.note("The last event of its window.")
                        code.set(gone, n.TRUE)
                        self.emit(HISTORY, n.Constant(-1, INT64), START[HISTORY])
            self.unlink(pool, gone)
            code.set(RUN, FOLLOWING)

    # The match store.

    def word(self, number: int) -> n.Expression:
        """The event, and the config or the exit that it is bound by."""
        return FIRST_ID + I << self.shift | number

    def emit(self, node: n.Expression, word: n.Expression, low: n.Expression) -> None:
        """Write a match down: the node that leads to it, and the oldest start that counts."""
        self.code.put(ROOT, MATCH_COUNT, node)
        self.code.put(LAST, MATCH_COUNT, word)
        self.code.put(LOW, MATCH_COUNT, low)
        self.code.step(MATCH_COUNT)

    def node(
        self, word: n.Expression, following: n.Expression, other: n.Expression, start: n.Expression | None
    ) -> None:
        """One more node."""
        self.code.put(WORD, NODE_COUNT, word)
        self.code.put(NEXT, NODE_COUNT, following)
        self.code.put(OTHER, NODE_COUNT, other)
        if start is not None:
            self.code.put(START, NODE_COUNT, start)
        self.code.step(NODE_COUNT)

    def extend(self, joined: n.Variable | None, word: n.Expression, history: n.Variable | None) -> None:
        """A node for the event after a history, joined to what a variable has: the younger start first."""
        code, windowed = self.code, self.setting.windowed
        start = None if not windowed else NOW if history is None else START[history]
        following = NOWHERE if history is None else history
        if joined is None or joined not in self.filled:
            self.node(word, following, NOWHERE, start)
            if joined is not None:
                self.filled.add(joined)
                code.set(joined, NODE_COUNT - 1)
            return
        code.step(MERGES, joined.differs(NOWHERE))
        if history is not None and start is not None:
            with code.when(all_of([joined.differs(NOWHERE), START[joined] > start])):
                self.node(word, following, NOWHERE, start)
                self.node(n.Constant(-1, INT64), joined, NODE_COUNT - 1, START[joined])
            with code.otherwise():
                self.node(word, following, joined, start)
        else:
            self.node(word, following, joined, start)
        code.set(joined, NODE_COUNT - 1)

    def join(self, joined: n.Variable, history: n.Expression) -> None:
        """Two histories in one, the younger start first."""
        code, union = self.code, n.Constant(-1, INT64)
        self.filled.add(joined)
        with code.when(joined.equals(NOWHERE)):
            code.set(joined, history)
        with code.otherwise():
            if self.setting.windowed:
                with code.when(START[joined] >= START[history]):
                    self.node(union, joined, history, START[joined])
                with code.otherwise():
                    self.node(union, history, joined, START[history])
            else:
                self.node(union, history, joined, None)
            code.set(joined, NODE_COUNT - 1)

    def lose_ways(self, room: p.Room, history: n.Variable, field: Read, ended: Callable[[], object]) -> None:
        """A run whose ways an absent event closes, one or several, goes to the state that has the others."""
        translator = self.registers.translator(field)

        def settle(at: int | None, known: Mapping[n.Expression, bool]) -> None:
            for kill in (kill for kill in self.automaton.kills if kill.source == at):
                condition = all_of(self.events.fence(kill.types, kill.fence, translator))
                if known.get(condition) is False:
                    continue
                if known.get(condition):
                    settle(kill.target, known)
                    return
                with self.code.when(condition):
                    settle(kill.target, {**known, condition: True})
                with self.code.otherwise():
                    settle(at, {**known, condition: False})
                return
            if at == room.number:
                return
            if at is not None:
                self.move(self.program.rooms[at], history, field)
            ended()

        settle(room.number, {n.TRUE: True, n.FALSE: False})

    def move(self, room: p.Room, history: n.Variable, field: Read) -> None:
        """A run goes on in another state."""
        if room.is_slot:
            self.join(_left(room), history)
        else:
            self.add(self.pools[room.name], room, history, room.registers, field)

    # Lists.

    def take(self, pool: Pool, node: n.Expression) -> None:
        """A free entry of a pool."""
        code = self.code
        code.set(FRESH, _of(pool, "free", UINT32))
        code.set(_of(pool, "free", UINT32), self.of(pool, "next")[FRESH])
        code.step(_of(pool, "used"))
        count = self.of(pool, "count")
        code.put(count, LANE, count[LANE] + 1)
        code.put(self.of(pool, "node"), FRESH, node)
        code.put(self.of(pool, "lane"), FRESH, LANE)

    def fill(self, pool: Pool, at: n.Variable, registers: Sequence[Register], field: Read) -> None:
        """The registers of an entry."""
        for name, scalar, _ in self.registers.fields(registers):
            self.code.put(n.Array(pool.array(name), scalar), at, field(name, scalar))

    def add(self, pool: Pool, room: p.Room, node: n.Expression, registers: Sequence[Register], field: Read) -> None:
        """A new run of a list, kept aside until the event is over."""
        code, chain = self.code, _chain(room)
        self.take(pool, node)
        code.put(self.of(pool, "next"), FRESH, chain)
        with code.when(chain.equals(NOWHERE)):
            code.set(_tail(room), FRESH)
        code.set(chain, FRESH)
        self.fill(pool, FRESH, registers, field)

    def release(self, pool: Pool) -> None:
        """The entry of a run is free."""
        code = self.code
        code.put(self.of(pool, "node"), RUN, NOWHERE)
        code.put(self.of(pool, "next"), RUN, _of(pool, "free", UINT32))
        code.set(_of(pool, "free", UINT32), RUN)
        code.set(_of(pool, "used"), _of(pool, "used") - 1)
        count = self.of(pool, "count")
        code.put(count, LANE, count[LANE] - 1)

    def unlink(self, pool: Pool, condition: n.Expression) -> None:
        """Take the run out of its list, or go on to the next."""
        code = self.code
        with code.when(condition):
            with code.when(BEFORE.equals(NOWHERE)):
                code.put(self.of(pool, "head"), LANE, FOLLOWING)
            with code.otherwise():
                code.put(self.of(pool, "next"), BEFORE, FOLLOWING)
            self.release(pool)
        with code.otherwise():
            code.set(BEFORE, RUN)

    def leave(self, room: p.Room) -> None:
        """What the event leaves behind."""
        code = self.code
        left = _left(room)
        if room.is_slot:
            self.set_slot(room, left)
            if room.registers:
                with code.when(left.differs(NOWHERE)):
                    self.from_event(room, lambda name, scalar, value: self.set_field(room, name, scalar, value))
            return
        pool = self.pools[room.name]
        if room.keeping is p.Keeping.BUNDLES:
            with code.when(left.differs(NOWHERE)):
                code.note("All that bound this event are alike.")
                self.add(pool, room, left, (), new)
                self.from_event(
                    room, lambda name, scalar, value: code.put(n.Array(pool.array(name), scalar), FRESH, value)
                )
        chain = _chain(room)
        with code.when(chain.differs(NOWHERE)):
            code.put(self.of(pool, "next"), _tail(room), self.of(pool, "head")[LANE])
            code.put(self.of(pool, "head"), LANE, chain)
            if self.merges(pool):
                with code.when(self.of(pool, "count")[LANE] > self.of(pool, "mark")[LANE]):
                    self.merge_alike(pool)

    def from_event(self, room: p.Room, put: Callable[[str, Scalar, n.Expression], object]) -> None:
        """Registers that are those of the event at hand: every arc to the state assigns the same."""
        arc = next(arc for arc in self.automaton.arcs if arc.target == room.state.config)
        translator = self.registers.translator(None)
        for register in room.registers:
            kept = self.registers.kept[register]
            value = translator.value(arc.transfer[register])
            for (name, scalar), part in zip(kept.fields, kept.parts(value), strict=True):
                put(name, scalar, part)

    def merge_alike(self, pool: Pool) -> None:
        """When a list has doubled: runs that agree on all registers become one."""
        code, table = self.code, self.of(pool, "table")
        place, found = n.Variable("place", UINT64), n.Variable("found", UINT32)
        mask = n.Variable("mask", UINT64)
        fields = [n.Array(pool.array(name), scalar) for name, scalar in pool.fields]

        def find(until: n.Expression) -> None:
            code.set(place, n.Constant(0, UINT64))
            for field in fields:
                code.set(place, n.Call("mix", (place, field[RUN]), UINT64))
            code.set(place, place & mask)
            code.set(found, table[place])
            with code.loop(until):
                code.set(place, (place + 1) & mask)
                code.set(found, table[place])

        unlike = negate(all_of(_alike(field[found], field[RUN]) for field in fields))
        code.set(mask, (_of(pool, "room").to(UINT64) * 2) - 1)
        code.set(RUN, self.of(pool, "head")[LANE])
        code.set(BEFORE, NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, self.of(pool, "next")[RUN])
            find(all_of([found.differs(NOWHERE), unlike]))
            with code.when(found.equals(NOWHERE)):
                code.put(table, place, RUN)
            with code.otherwise():
                code.step(MERGES)
                code.set(HISTORY, self.of(pool, "node")[found])
                self.join(HISTORY, self.of(pool, "node")[RUN])
                code.put(self.of(pool, "node"), found, HISTORY)
            self.unlink(pool, found.differs(NOWHERE))
            code.set(RUN, FOLLOWING)
        code.note("The table is left empty.")
        code.set(RUN, self.of(pool, "head")[LANE])
        with code.loop(RUN.differs(NOWHERE)):
            find(found.differs(RUN))
            code.put(table, place, NOWHERE)
            code.set(RUN, self.of(pool, "next")[RUN])
        code.put(self.of(pool, "mark"), LANE, self.of(pool, "count")[LANE] * 2 + 8)

    def restart(self) -> None:
        """End all runs of the lane."""
        code = self.code
        for room in self.program.rooms:
            if room.is_slot:
                self.set_slot(room, NOWHERE)
                continue
            pool = self.pools[room.name]
            code.set(RUN, self.of(pool, "head")[LANE])
            code.set(_of(pool, "used"), _of(pool, "used") - self.of(pool, "count")[LANE].to(INT64))
            code.put(self.of(pool, "count"), LANE, 0)
            code.put(self.of(pool, "head"), LANE, NOWHERE)
            with code.loop(RUN.differs(NOWHERE)):
                code.set(FOLLOWING, self.of(pool, "next")[RUN])
                code.put(self.of(pool, "node"), RUN, NOWHERE)
                code.put(self.of(pool, "next"), RUN, _of(pool, "free", UINT32))
                code.set(_of(pool, "free", UINT32), RUN)
                code.set(RUN, FOLLOWING)

    # Where things are.

    def slot(self, room: p.Room) -> n.Expression:
        """The node of a slot."""
        if not self.setting.lanes:
            return n.Variable(f"the_{room.name}", UINT32)
        return n.Array(room.name, UINT32)[LANE]

    def set_slot(self, room: p.Room, value: n.Expression) -> None:
        """The node of a slot changes."""
        slot = self.slot(room)
        if isinstance(slot, n.Variable):
            self.code.set(slot, value)
        else:
            self.code.put(n.Array(room.name, UINT32), LANE, value)

    def set_field(self, room: p.Room, name: str, scalar: Scalar, value: n.Expression) -> None:
        """A register of a slot changes."""
        full = f"{name}_{room.name}"
        if self.setting.lanes:
            self.code.put(n.Array(full, scalar), LANE, value)
        else:
            self.code.set(n.Variable(f"the_{full}", scalar), value)

    def slot_field(self, room: p.Room) -> Read:
        """The registers of a slot."""
        if not self.setting.lanes:
            return lambda name, scalar: n.Variable(f"the_{name}_{room.name}", scalar)
        return lambda name, scalar: n.Array(f"{name}_{room.name}", scalar)[LANE]

    def field(self, pool: Pool, at: n.Variable) -> Read:
        """The registers of an entry."""
        return lambda name, scalar: n.Array(pool.array(name), scalar)[at]

    def of(self, pool: Pool, what: str) -> n.Array:
        """One of the arrays that link the entries of a pool."""
        return n.Array(pool.array(what), UINT32)


def _of(pool: Pool, what: str, scalar: Scalar = INT64) -> n.Variable:
    return n.Variable(f"{what}_{pool.name}", scalar)


def _witness(negation: int) -> n.Array:
    return n.Array(f"witness_{negation}", INT64)


def _run(room: p.Room) -> n.Variable:
    return n.Variable(f"run_{room.name}", UINT32)


def _left(room: p.Room) -> n.Variable:
    return n.Variable(f"left_{room.name}", UINT32)


def _goes(room: p.Room, k: int) -> n.Variable:
    return n.Variable(f"goes_{k}_{room.name}", BOOL)


def _chain(room: p.Room) -> n.Variable:
    return n.Variable(f"new_{room.name}", UINT32)


def _tail(room: p.Room) -> n.Variable:
    return n.Variable(f"tail_{room.name}", UINT32)


def _alike(one: n.Expression, other: n.Expression) -> n.Expression:
    return n.Call("same", (one, other), BOOL) if one.type.real else one.equals(other)
