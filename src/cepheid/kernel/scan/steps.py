"""The steps of a program as code: what an event does to the runs that it meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cepheid.automaton.model import Arc, Ends, Kill, Witness
from cepheid.kernel.arguments import NOWHERE, EventFact
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_at_once, all_of, any_of, choose, negate
from cepheid.kernel.code.types import BOOL, INT64, Scalar
from cepheid.kernel.reads import EventReader, I
from cepheid.kernel.runtime import NEVER
from cepheid.kernel.scan import program as p
from cepheid.kernel.scan.arcs import ArcCode
from cepheid.kernel.scan.graph import NO_EVENT, GraphCode
from cepheid.kernel.scan.lists import ListCode, Registered
from cepheid.kernel.scan.partition_values import PartitionValues
from cepheid.kernel.scan.registers import Read, ScanRegisters, new
from cepheid.kernel.scan.setting import Setting
from cepheid.kernel.scan.variables import (
    BEFORE,
    ENDED,
    FOLLOWING,
    HISTORY,
    MATCH_COUNT,
    MATCHES_BEFORE,
    NOW,
    OLDEST,
    OLDEST_END,
    REUSED,
    RUN,
    SETTLES,
    START,
    STAYS,
    TRIED,
    earlier_witness,
    goes,
    left_in,
    over,
    run_of,
    soon,
    witness,
)

Fence = tuple[n.Expr, n.Expr]
"""What is asked of the event, and what of the run."""


class StepCode:
    """Writes the code of steps."""

    def __init__(
        self,
        program: p.ScanProgram,
        setting: Setting,
        events: EventReader,
        registers: ScanRegisters,
        values: PartitionValues,
        graph: GraphCode,
        lists: Mapping[str, ListCode],
        arcs: ArcCode,
        window: n.Expr | None,
        periods: Mapping[int, n.Expr],
    ) -> None:
        self.program = program
        self.automaton = program.automaton
        self.setting = setting
        self.events = events
        self.registers = registers
        self.values = values
        self.graph = graph
        self.code = graph.code
        self.lists = lists  # by the name of a room or a hold
        self.arcs = arcs
        self.window = window
        self.apart = program.simultaneous
        self.periods = periods  # of witnesses that must have been absent for a while

    def all(self) -> None:
        """All steps, in order."""
        if any(isinstance(step, p.Restart) for step in self.program.steps):
            self.code.set(MATCHES_BEFORE, MATCH_COUNT)
        self.graph.filled.clear()
        opened = False
        for step in self.program.steps:
            if not opened and not isinstance(step, p.Refute):
                for room in self.program.rooms:
                    self.open(room)
                opened = True
            self.step(step)

    def is_unseen(self, negation: int) -> n.Expr:
        """Whether no witness came for a while before now; one of this very time is not before."""
        last = self.values.get(witness(negation))
        before = choose(last < NOW, last, self.values.get(earlier_witness(negation)))
        return before <= NOW - self.periods[negation]

    def remember(self, absent: Witness) -> None:
        """A witness came now."""
        if absent.lasting:
            with self.code.when(self.values.get(witness(absent.negation)) < NOW):
                self.values.put(earlier_witness(absent.negation), self.values.get(witness(absent.negation)))
        name = witness(absent.negation)
        self.values.put(soon(name) if self.apart and not absent.lasting else name, NOW)

    def step(self, step: p.Step) -> None:
        """The code of one step."""
        code = self.code
        match step:
            case p.Refute(hold=hold):
                self.refute(hold)
            case p.Decide():
                self.decide(step)
            case p.Meet():
                self.meet(step)
            case p.Follow(room=room, arcs=arcs):
                for k, arc in enumerate(arcs):
                    with code.when(goes(room, k), flat=self.is_guess(arc) and self.arcs.is_flat(arc)):
                        self.arcs.enter(arc, run_of(room), self.slot_field(room))
            case p.Walk():
                self.walk(step)
            case p.Begin(arc=arc):
                code.note(f"{arc.label} begins.")
                fence = self.events.fence(arc.types, arc.fence, self.registers.translator(None))
                unseen = [self.is_unseen(number) for number in arc.unseen]
                flat = not unseen and self.is_guess(arc) and self.arcs.is_flat(arc)
                with code.when(all_of([*fence, *unseen]), flat=flat):
                    self.arcs.enter(arc, None, None)
            case p.Leave(room=room):
                self.leave(room)
            case p.Merge(rooms=rooms):
                code.note("Runs that are alike become one.")
                self.lists[rooms[0].name].merge(
                    rooms, {room.name: self.lost(room) for room in rooms if self.kills(room)}
                )
            case p.Remember(witness=absent):
                with code.when(all_of(self.events.fence(absent.types, absent.fence))):
                    self.remember(absent)
            case p.Restart():
                with code.when(MATCHES_BEFORE < MATCH_COUNT):
                    code.note("A match was found: what began before its end is over.")
                    self.restart()
            case _:
                raise TypeError(f"no code for {step!r}")

    def kills(self, room: p.Room) -> list[Kill]:
        """What ends runs of a room that no event need meet, since they make no result."""
        return [kill for kill in self.automaton.kills if self.automaton.valued and kill.source == room.number]

    def lost(self, room: p.Room) -> n.Expr:
        """Whether the run at hand can't go on."""
        translator = self.registers.translator(self.lists[room.name].field(RUN))
        return any_of(all_of(self.events.fence(kill.types, kill.fence, translator)) for kill in self.kills(room))

    def concerned(self) -> n.Expr:
        """Whether the event can begin a run or end a wait, as far as that does not depend on runs."""
        translator = self.registers.translator(None)
        deciding = [arc for arc in self.automaton.arcs if arc.source is None or arc.decides]
        alone = [tuple(test for test in arc.fence if test.unary) for arc in deciding]
        fences = [
            self.events.fence(arc.types, tests, translator)[0] for arc, tests in zip(deciding, alone, strict=True)
        ]
        return any_of(dict.fromkeys(fences))

    def open(self, room: p.Room) -> None:
        """The run of a slot as the event finds it, what the event leaves of it, and new runs of a list."""
        if room.is_slot:
            run = self.code.set(run_of(room), self.values.get(room.name))
            if self.apart:
                self.code.set(left_in(room), self.values.get(soon(room.name)))
                self.graph.filled.add(left_in(room))
                return
            self.code.set(left_in(room), NOWHERE if room.state.ends.contiguous else run)
            if not room.state.ends.contiguous:
                self.graph.filled.add(left_in(room))
            return
        self.lists[room.name].open(room)
        if room.keeping is p.Keeping.BUNDLES:
            self.code.set(left_in(room), NOWHERE)

    def is_guess(self, asked: Arc | Kill) -> bool:
        """Whether it is not known before an event is read whether it will do, and its type decides."""
        return not asked.fence and self.events.is_guess(self.events.is_of(asked.types))

    def drops(self, kill: Kill) -> bool:
        """Whether an event of some types drops the run, which is all that it does."""
        return self.is_guess(kill) and kill.target is None and kill.closes is None

    # Slots.

    def slot_field(self, room: p.Room) -> Read:
        """The registers of a slot."""
        return lambda name, _: self.values.get(f"{name}_{room.name}")

    def decide(self, step: p.Decide) -> None:
        """Which arcs hold for the run of a slot, and whether it goes on waiting."""
        code, room = self.code, step.room
        code.note(self.told(room))
        field, alive = self.slot_field(room), self.is_alive(run_of(room))
        translator = self.registers.translator(field)
        deciding = []
        for k, arc in enumerate(step.arcs):
            of_event, of_run = self.events.fence(arc.types, arc.fence, translator)
            together = all_at_once if self.is_guess(arc) else all_of
            code.set(goes(room, k), together([of_event, alive, of_run]))
            deciding += [goes(room, k)] if arc.decides else []
        if room.state.ends is Ends.DECISION and deciding:
            with code.when(any_of(deciding)):
                code.set(left_in(room), NOWHERE)
        left = left_in(room)
        if step.kills and all(map(self.drops, step.kills)):
            ends = any_of(self.events.is_of(kill.types) for kill in step.kills)
            with code.when(ends, flat=True):
                code.set(left, NOWHERE)
        elif step.kills:
            with code.when(left.differs(NOWHERE)):
                self.lose_ways(room, left, field, lambda: code.set(left, NOWHERE))

    def meet(self, step: p.Meet) -> None:
        """The arcs that hold for the run of a slot, which does not stay, or not beyond the instant if it is ended."""
        code, room = self.code, step.room
        code.note(self.told(room))
        field = self.slot_field(room)
        translator = self.registers.translator(field)
        with code.when(self.is_alive(run_of(room))):
            for arc in step.arcs:
                with code.when(all_of(self.events.fence(arc.types, arc.fence, translator))):
                    self.arcs.enter(arc, run_of(room), field)
                    if room.state.ends is Ends.DECISION and arc.decides:
                        self.values.put(over(room.name), 1)
            if step.kills:
                self.lose_ways(room, run_of(room), field, lambda: self.values.put(over(room.name), 1))

    def is_alive(self, run: n.Local) -> n.Expr:
        """Whether there is a run, and its window is not over."""
        return all_of([run.differs(NOWHERE), *([START[run] >= OLDEST] if self.setting.windowed else [])])

    def told(self, room: p.Room) -> str:
        """What a state waits for."""
        after = self.automaton.configs[room.state.config].label
        return f"After {after}: {room.state.waits_for}."

    # Lists.

    def walk(self, step: p.Walk) -> None:
        """The runs of a list, one after the other."""
        code, room, lists = self.code, step.room, self.lists[step.room.name]
        contiguous = room.state.ends.contiguous and not self.apart
        code.note(self.told(room))
        translator = self.registers.translator(lists.field(RUN))
        code.set(RUN, lists.first(room.name))
        if not contiguous:
            code.set(BEFORE, NOWHERE)
        fences = [self.events.fence(arc.types, arc.fence, translator) for arc in step.arcs]
        # Several runs may lead to one room.
        self.graph.filled |= {
            left_in(self.program.rooms[q]) for arc in step.arcs for q in self.automaton.entries[arc.target]
        }
        with code.when(RUN.differs(NOWHERE)):
            fits, asked = self.hoist(fences)
            with code.loop(RUN.differs(NOWHERE)):
                code.set(FOLLOWING, lists.next[RUN])
                code.set(HISTORY, lists.node[RUN])
                if asked:
                    code.step(TRIED, any_of(asked))
                reuses = self.go(step, fits)
                reused = REUSED if reuses else n.FALSE
                if contiguous:
                    with code.when(negate(reused)):
                        lists.release()
                else:
                    lists.unlink(room.name, negate(STAYS), reused)
                code.set(RUN, FOLLOWING)

    def go(self, step: p.Walk, fits: Sequence[n.Expr]) -> bool:
        """The run at hand goes by its arcs, and stays or ends; whether another may have its entry then."""
        code, room = self.code, step.room
        contiguous, decided = room.state.ends.contiguous, room.state.ends is Ends.DECISION
        in_window = START[HISTORY] >= OLDEST if self.setting.windowed else n.TRUE
        listed = any(
            self.program.rooms[q].keeping is p.Keeping.LIST
            for arc in step.arcs
            for q in self.automaton.entries[arc.target]
        )
        # Of the arcs that the run goes by, the last one may have its entry: those before it still read its registers.
        # Which they are is found out first.
        reuses = listed and (contiguous or decided)
        if reuses:
            code.set(REUSED, n.FALSE)
        stays = self.apart or not contiguous  # beyond the event, as far as is known now
        if stays:
            code.set(STAYS, in_window)
        with code.when(in_window if not stays else STAYS if self.setting.windowed else n.TRUE):
            if self.apart and contiguous:
                code.set(STAYS, negate(SETTLES))
            conditions = list(fits)
            ahead = reuses and len(fits) > 1
            if ahead:
                conditions = [
                    fit if isinstance(fit, n.Local) else code.set(goes(room, k), fit) for k, fit in enumerate(fits)
                ]
                if decided:
                    with code.when(any_of(c for c, arc in zip(conditions, step.arcs, strict=True) if arc.decides)):
                        self.end(room)
            for k, (arc, condition) in enumerate(zip(step.arcs, conditions, strict=True)):
                later = any_of(conditions[k + 1 :])
                ends = decided and arc.decides
                with code.when(condition):
                    if ends and not ahead:
                        self.end(room)
                    gone = n.TRUE if contiguous or ends else negate(STAYS) if ahead else n.FALSE
                    gone = all_of([gone, SETTLES]) if self.apart else gone
                    with code.when(self.is_open(arc, self.lists[room.name])):
                        self.arcs.enter(arc, HISTORY, self.lists[room.name].field(RUN), all_of([gone, negate(later)]))
            if step.kills:
                with code.when(STAYS):
                    field = self.lists[room.name].field(RUN)
                    self.close_ways(step.kills, self.lists[room.name])
                    self.lose_ways(room, HISTORY, field, lambda: self.end(room))
        return reuses

    def is_open(self, arc: Arc, lists: ListCode) -> n.Expr:
        """Whether no event that must be absent came before the event at hand started."""
        field = lists.field(RUN)
        start = self.events.fact(EventFact.START)[I] if arc.closing else NOW
        return all_of(start <= field(register.name, INT64) for register in arc.closing)

    def close_ways(self, kills: Sequence[Kill], lists: ListCode) -> None:
        """The run at hand notes when the first event came that must be absent."""
        field = lists.field(RUN)
        for kill in kills:
            if kill.closes is not None:
                time, name = self.events.fact(EventFact.TIME)[I], kill.closes.name
                fence = self.events.fence(kill.types, kill.fence, self.registers.translator(field))
                with self.code.when(all_of([*fence, time < field(name, INT64)])):
                    lists.change_field(name, INT64, time)

    def end(self, room: p.Room) -> None:
        """The run at hand of a list ends: with the event or, where more may come, with the instant."""
        if not self.apart:
            self.code.set(STAYS, n.FALSE)
            return
        with self.code.when(SETTLES):
            self.code.set(STAYS, n.FALSE)
            self.lists[room.name].forget_end()
        with self.code.otherwise():
            self.lists[room.name].end(room.name)

    def hoist(self, fences: Sequence[Fence]) -> tuple[list[n.Expr], list[n.Expr]]:
        """What is asked of the event is computed once for all runs; what each arc asks, and which ask runs."""
        known: dict[n.Expr, n.Expr] = {}
        fits, asked = [], []
        for of_event, of_run in fences:
            if of_event not in known:
                trivial = isinstance(of_event, n.Immediate)
                known[of_event] = of_event if trivial else self.code.let(f"fits_{len(known)}", of_event)
            fits.append(all_of([known[of_event], of_run]))
            asked += [known[of_event]] if of_run != n.TRUE else []
        return fits, asked

    # Absences.

    def refute(self, hold: p.Hold) -> None:
        """Matches after which something must be absent: one whose wait is over is certain, others may fall."""
        code, lists = self.code, self.lists[hold.name]
        translator = self.registers.translator(lists.field(RUN))
        gone = n.Local("gone", BOOL)
        code.set(RUN, lists.first(hold.name))
        code.set(BEFORE, NOWHERE)
        with code.loop(RUN.differs(NOWHERE)):
            code.set(FOLLOWING, lists.next[RUN])
            code.set(HISTORY, lists.node[RUN])
            ended = lists.field(RUN)(ENDED, INT64) if hold.exit.lasting else None
            code.set(gone, START[HISTORY] < OLDEST if ended is None else ended < OLDEST_END)
            with code.when(gone):
                low = START[HISTORY] if ended is None else self.oldest_start(ended)
                self.registers.write_given(code, hold.exit.gives, lists.field(RUN))
                self.graph.emit(HISTORY, NO_EVENT, low)
            with code.otherwise():
                fences = (all_of(self.events.fence(a.types, a.fence, translator)) for a in hold.exit.absent)
                with code.when(any_of(fences)):
                    code.set(gone, n.TRUE)
                if self.setting.counted:
                    with code.otherwise(), code.when(START[HISTORY].equals(OLDEST)):
                        code.note("The last event of its window.")
                        code.set(gone, n.TRUE)
                        self.registers.write_given(code, hold.exit.gives, lists.field(RUN))
                        self.graph.emit(HISTORY, NO_EVENT, START[HISTORY])
            lists.unlink(hold.name, gone)
            code.set(RUN, FOLLOWING)

    def oldest_start(self, ended: n.Expr) -> n.Expr:
        """The oldest start that is in one window with an end."""
        return n.Immediate(0, INT64) if self.window is None else ended - self.window + 1

    def lose_ways(self, room: p.Room, history: n.Local, field: Read, ended: Callable[[], object]) -> None:
        """A run whose ways an absent event closes, one or several, goes to the state that has the others."""
        translator = self.registers.translator(field)

        def settle(at: int | None, known: Mapping[n.Expr, bool]) -> None:
            for kill in (kill for kill in self.automaton.kills if kill.source == at and kill.closes is None):
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

    def move(self, room: p.Room, history: n.Local, field: Read) -> None:
        """A run goes on in another state."""
        if room.is_slot:
            self.graph.join(left_in(room), history)
        else:
            self.lists[room.name].add(room, history, Registered((), new, room.registers, field), n.FALSE)

    # After the event.

    def leave(self, room: p.Room) -> None:
        """What the event leaves behind."""
        left = left_in(room)
        if room.is_slot and self.apart:
            self.values.put(soon(room.name), left)
            return
        if room.is_slot:
            self.values.put(room.name, left)
            if room.registers:
                with self.code.when(left.differs(NOWHERE)):
                    self.from_event(room, lambda name, _, value: self.values.put(f"{name}_{room.name}", value))
            return
        lists = self.lists[room.name]
        if room.keeping is p.Keeping.BUNDLES:
            with self.code.when(left.differs(NOWHERE)):
                self.code.note("All that bound this event are alike.")
                lists.add(room, left, Registered((), new), n.FALSE)
                self.from_event(room, lists.put_field)
        lists.close(room)

    def from_event(self, room: p.Room, put: Callable[[str, Scalar, n.Expr], object]) -> None:
        """Registers that are those of the event at hand: every arc to the state assigns the same."""
        arc = next(arc for arc in self.automaton.arcs if arc.target == room.state.config)
        translator = self.registers.translator(None)
        for register in room.registers:
            kept = self.registers.kept[register]
            value = translator.value(arc.transfer[register])
            for (name, scalar), part in zip(kept.fields, kept.parts(value), strict=True):
                put(name, scalar, part)

    # After an instant.

    def settle(self) -> None:
        """What the instant has ended goes, and what it has made comes."""
        for room in self.program.rooms:
            if room.is_slot:
                self.settle_slot(room)
            elif room.state.ends.contiguous:
                self.lists[room.name].clear(room.name)
                self.lists[room.name].admit(room.name)
        waiting = [room for room in self.program.rooms if not room.is_slot and not room.state.ends.contiguous]
        if waiting:
            # What a single event ends and makes is so at once.
            with self.code.when(self.events.fact(EventFact.SETTLES)[I].equals(1)):
                for room in waiting:
                    if self.program.may_end(room):
                        self.lists[room.name].drop_ended(room.name)
                    self.lists[room.name].admit(room.name)
        for hold in self.program.holds:
            self.lists[hold.name].admit(hold.name)
        for name in (witness(w.negation) for w in self.automaton.witnesses if not w.lasting):
            with self.code.when(self.values.get(soon(name)).differs(NEVER)):
                self.values.put(name, self.values.get(soon(name)))
                self.values.put(soon(name), NEVER)

    def settle_slot(self, room: p.Room) -> None:
        """The run of a slot. What does not change is not written: in many partitions that takes long."""
        run, added = run_of(room), self.values.get(soon(room.name))
        if room.state.ends.contiguous:
            self.values.put(room.name, added)
            self.values.put(soon(room.name), NOWHERE)
            return
        if self.program.may_end(room):
            with self.code.when(self.values.get(over(room.name)).differs(0)):
                self.values.put(room.name, NOWHERE)
                self.values.put(over(room.name), 0)
        with self.code.when(added.differs(NOWHERE)):
            self.code.set(run, self.values.get(room.name))
            self.graph.filled.add(run)
            self.graph.join(run, added)
            self.values.put(room.name, run)
            self.values.put(soon(room.name), NOWHERE)

    def restart(self) -> None:
        """End all runs of the partition."""
        for room in self.program.rooms:
            if room.is_slot:
                self.values.put(room.name, NOWHERE)
            else:
                self.lists[room.name].clear(room.name)
