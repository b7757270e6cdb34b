"""An arc as code: the event is bound, which gives new registers, matches, and runs of the states that follow."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.automaton.liveness import pending, read, registers_in
from cepheid.automaton.model import Arc, Exit, Register
from cepheid.kernel.arguments import NOWHERE
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.fold import all_of
from cepheid.kernel.code.types import INT64
from cepheid.kernel.scan import program as p
from cepheid.kernel.scan.graph import NEWEST, GraphCode
from cepheid.kernel.scan.lists import ListCode, Registered
from cepheid.kernel.scan.registers import Read, ScanRegisters, new
from cepheid.kernel.scan.setting import Setting
from cepheid.kernel.scan.variables import ENDED, HISTORY, NOW, OLDEST, left_in


class ArcCode:
    """Writes the code of arcs."""

    def __init__(
        self,
        program: p.ScanProgram,
        setting: Setting,
        registers: ScanRegisters,
        graph: GraphCode,
        lists: Mapping[str, ListCode],
        stretched: frozenset[int],
    ) -> None:
        self.program = program
        self.automaton = program.automaton
        self.setting = setting
        self.registers = registers
        self.graph = graph
        self.code = graph.code
        self.lists = lists  # by the name of a room or a hold
        self.stretched = stretched

    def enter(self, arc: Arc, history: n.Local | None, field: Read | None, reuse: n.Expr = n.FALSE) -> None:
        """Bind the event: new registers, then matches, then the states of the config.

        reuse: whether a run of a list that this one becomes is over, so that it can have the entry.
        """
        code = self.code
        wanted = sorted(self.read_on_entry(arc), key=lambda register: register.name)
        self.registers.assign(code, wanted, arc.transfer, field)
        translator = self.registers.translator(new)
        for number, exit_ in enumerate(self.automaton.exits):
            if exit_.config == arc.target:
                holds = [translator.holds(test.condition) for test in exit_.fence]
                unseen = [new(register.name, INT64) < OLDEST for register in exit_.witnesses]
                with code.when(all_of([*holds, *unseen])):
                    self.complete(number, exit_, history)
        rooms = [self.program.rooms[q] for q in self.automaton.entries[arc.target]]
        again = arc.source is not None and self.automaton.states[arc.source].config == arc.target
        stretches = (again and arc.target in self.stretched) or (self.automaton.own and history is not None)
        word = self.graph.word(arc.target)
        lists = [room for room in rooms if room.keeping is p.Keeping.LIST]
        for room in rooms:
            if room not in lists and stretches:
                assert history is not None
                self.graph.join(left_in(room), history)
            elif room not in lists:
                self.graph.extend(left_in(room), word, history)
            else:
                if not stretches:
                    self.graph.append(word, history)
                changed = [register for register in room.registers if register in arc.transfer]
                kept = [register for register in room.registers if register not in arc.transfer]
                registered = Registered(changed, new, kept, field)
                last = reuse if room is lists[-1] else n.FALSE
                # The run of a slot that goes on in a list has another history than what a list had at hand.
                node = self.graph.newest if not stretches else None if history == HISTORY else history
                self.lists[room.name].add(room, node, registered, last)

    def is_flat(self, arc: Arc) -> bool:
        """Whether to bind the event only writes behind what the match store has, so that no branch is needed."""
        exits = [exit_ for exit_ in self.automaton.exits if exit_.config == arc.target]
        rooms = [self.program.rooms[q] for q in self.automaton.entries[arc.target]]
        if self.automaton.own or self.automaton.valued or self.program.simultaneous or self.read_on_entry(arc):
            return False
        if any(exit_.fence or exit_.absent or exit_.gives for exit_ in exits):
            return False
        return all(room.is_slot for room in rooms) if arc.source is None else not rooms

    def read_on_entry(self, arc: Arc) -> frozenset[Register]:
        """The registers whose new values are needed: matches read them, lists keep those that change."""
        registers: set[Register] = set()
        for exit_ in self.automaton.exits:
            if exit_.config == arc.target:
                registers |= read(exit_.fence) | (pending(exit_) - exit_.gives.keys()) | set(exit_.witnesses)
                registers |= {register for value in exit_.gives.values() for register in registers_in(value)}
        for q in self.automaton.entries[arc.target]:
            if self.program.rooms[q].keeping is p.Keeping.LIST:
                registers |= self.automaton.live[q] & arc.transfer.keys()
        return frozenset(registers)

    def complete(self, number: int, exit_: Exit, history: n.Local | None) -> None:
        """A match; where something must be absent after it, it is not certain yet."""
        word = self.graph.word(len(self.automaton.configs) + number)
        if exit_.gives:
            self.registers.assign(self.code, exit_.gives, exit_.gives, new)
        if not exit_.absent:
            self.registers.write_given(self.code, exit_.gives, new)
            oldest = OLDEST if self.setting.windowed else n.Immediate(0, INT64)
            self.graph.emit(history if history is not None else NOWHERE, word, oldest)
            return
        self.graph.append(word, history)
        hold = next(hold for hold in self.program.holds if hold.number == number)
        self.lists[hold.name].put_first(hold.name, NEWEST)
        self.lists[hold.name].fill(hold.registers, new)
        if exit_.lasting:
            self.lists[hold.name].put_field(ENDED, INT64, NOW)
