"""From an automaton to the source of its scan: one function, a loop over the events of a batch.

A state whose runs all behave alike is a *slot*: one node of the match store for each lane (partition), since runs with
equal registers are one run (SASE+ 5.2.2). Other states are *lists*: linked runs for each lane, each with its
registers; runs that became alike are merged when a list has doubled. Arrays never grow in here: where one could
overflow, the scan stops before the event and Python makes room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.automaton.liveness import pending, read
from cepheid.automaton.model import Arc, Automaton, Exit, Holds, NotNative, Register, Test, Update
from cepheid.kernel.expressions import Code, Emitter, all_of, any_of, kind_of
from cepheid.kernel.lines import Lines
from cepheid.kernel.registers import DTYPES, Get, Layout, layout
from cepheid.pattern import expressions as ex
from cepheid.pattern.tree import Output, Strategy
from cepheid.values.lanes import lane_of

NIL = 0xFFFFFFFF
NEVER = -(2**63)
CONTIGUOUS = (Strategy.STRICT, Strategy.PARTITION)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of the scan. `size`: what decides its length: events, lanes, a pool, nodes, matches, or one."""

    name: str
    dtype: str
    size: str
    initial: int = 0
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class Mask:
    """A condition on one event that is computed for a whole batch beforehand."""

    condition: ex.Expression
    variable: str


@dataclass(frozen=True, slots=True)
class Pool:
    """Runs of a list state, or matches that are not certain yet: their fields beside the links."""

    name: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Source:
    """The text of a scan and what it is called with."""

    text: str
    parameters: tuple[Parameter, ...]
    columns: tuple[str, ...]
    names: Mapping[str, str]  # of columns, as the source has them
    masks: tuple[Mask, ...]
    types: tuple[str, ...]
    pools: tuple[Pool, ...]
    slots: tuple[str, ...]
    coded: tuple[str, ...]  # arrays of the state that hold codes of strings
    shift: int  # a word of the match store is position << shift | config or exit


# Places in `meta`, which the scan reads at its start and writes at its end.
NODES, MATCHES, ERROR, MERGED, POOLS = 0, 1, 2, 3, 4


def tests_place(pools: Sequence[Pool]) -> int:
    """Where in `meta` it is counted how often conditions over several events were evaluated."""
    return POOLS + 2 * len(pools)


def generate(
    automaton: Automaton,
    nullable: frozenset[str],
    strings: Callable[[str], int],
    window: int | None,
    *,
    merge: bool = True,
) -> Source:
    """The source of a query's scan. `window` is in ticks, or in events; `merge=False` keeps every run apart."""
    return _Writer(automaton, nullable, strings, window, merge).source()


class _Writer(Lines):
    """Writes a scan, line by line."""

    def __init__(
        self,
        automaton: Automaton,
        nullable: frozenset[str],
        strings: Callable[[str], int],
        window: int | None,
        merge: bool,
    ) -> None:
        super().__init__()
        self.a = automaton
        self.query = automaton.query
        self.window = window
        self.merge = merge
        self.counted = self.query.within is not None and self.query.within.events is not None
        schema = self.query.schema
        names = names_of({column: column for column in schema.columns})
        self.emitter = Emitter(names, nullable, strings, self.unread)
        self.names = names
        self.masks: list[Mask] = []
        registers = names_of({r: r.name for r in automaton.registers})
        self.layouts = {r: layout(r, type_, self.emitter, registers[r]) for r, type_ in automaton.registers.items()}
        self.types = tuple(dict.fromkeys(self.all_types())) if schema.roles.type is not None else ()
        self.slot = [self.is_slot(number) for number in range(len(automaton.states))]
        self.single = [self.is_determined(number) for number in range(len(automaton.states))]
        # Without partitions there is one lane: its slots are variables of the loop, not elements of arrays.
        lanes = lane_of(self.query)
        self.alone = not lanes.columns + lanes.agreed
        self.nowhere = not nullable.isdisjoint(lanes.agreed)
        codes = len(automaton.configs) + len(automaton.exits)
        self.shift = max(1, (codes - 1).bit_length())
        # Under NON_OVERLAP a match ends all runs of its partition: every one of them began at or before its end.
        self.resets = (
            self.query.output is Output.NON_OVERLAP
            and self.query.having is None
            and not any(e.absent or e.fence or e.witnesses for e in automaton.exits)
            and not (self.query.same and Strategy.STRICT in self.query.strategies.values())
        )

    def unread(self, register: Register) -> Code:
        raise NotNative(f"a register of {register.variable} where there is none")

    def all_types(self) -> Iterator[str]:
        absent = [kill for exit_ in self.a.exits for kill in exit_.absent]
        for types in [
            *(arc.types for arc in self.a.arcs),
            *(kill.types for kill in (*self.a.kills, *absent)),
            *(witness.types for witness in self.a.witnesses),
        ]:
            yield from types

    # What each state is.

    def is_determined(self, number: int) -> bool:
        """Whether the registers of a state are those of the event that led to it: all such runs are alike."""
        if not self.merge:
            return False
        arcs = [arc for arc in self.a.arcs if arc.target == self.a.states[number].config]
        from_event = all(
            arc.transfer[r] is Update.SET and r.holds not in (Holds.START, Holds.WITNESS)
            for arc in arcs
            for r in self.a.live[number]
        )
        return from_event and not any(kill.target == number for kill in self.a.kills)

    def is_slot(self, number: int) -> bool:
        """Whether there is at most one run for each lane."""
        if not self.merge:
            return False
        if not self.a.live[number]:
            return True
        return self.is_determined(number) and self.a.states[number].strategy in CONTIGUOUS

    # The parts of the source.

    def source(self) -> Source:
        body = self.scan()
        parameters = tuple(self.parameters())
        head = f"def scan(i0, n, base, {', '.join(p.name for p in parameters)}):"
        text = "\n".join([head, *(("    " + line).rstrip() for line in body)]) + "\n"
        used = sorted(self.emitter.columns, key=list(self.query.schema.columns).index)
        return Source(
            text,
            parameters,
            tuple(used),
            self.names,
            tuple(self.masks),
            self.types,
            tuple(self.pools()),
            tuple(f"h{q}" for q, slot in enumerate(self.slot) if slot),
            tuple(self.coded()),
            self.shift,
        )

    def growth(self) -> tuple[int, int]:
        """The most nodes, runs or matches that one event makes: for each run of its lane, and besides."""
        states = 2 * max(map(len, self.a.entries), default=1) + 2
        sources = [arc.source for arc in self.a.arcs if arc.source is not None]
        per_run = Counter([*sources, *(kill.source for kill in self.a.kills)])
        return states * max(per_run.values(), default=1), states * (len(self.a.arcs) + len(self.a.kills) + 1) + 4

    def pools(self) -> Iterator[Pool]:
        for q, slot in enumerate(self.slot):
            if not slot:
                yield Pool(f"l{q}", tuple(self.fields(self.a.live[q])))
        for x, exit_ in enumerate(self.a.exits):
            if exit_.absent:
                yield Pool(f"d{x}", tuple(self.fields(pending(exit_))))

    def coded(self) -> Iterator[str]:
        """The arrays that hold codes of strings."""
        owners = [(f"{'h' if slot else 'l'}{q}", self.a.live[q]) for q, slot in enumerate(self.slot)]
        owners += [(f"d{x}", pending(exit_)) for x, exit_ in enumerate(self.a.exits) if exit_.absent]
        for name, registers in owners:
            yield from (f"{name}_{one.name}" for one in self.sorted(registers) if one.kind == "s")

    def fields(self, registers: frozenset[Register]) -> Iterator[tuple[str, str]]:
        for one in self.sorted(registers):
            yield from ((f"_{one.name}{suffix}", dtype) for suffix, dtype in one.fields)

    def sorted(self, registers: frozenset[Register]) -> list[Layout]:
        return sorted((self.layouts[r] for r in registers), key=lambda one: one.name)

    def parameters(self) -> Iterator[Parameter]:
        for column in sorted(self.emitter.columns, key=list(self.query.schema.columns).index):
            dtype = DTYPES[kind_of(self.query.schema.columns[column])]
            yield Parameter(f"c_{self.names[column]}", dtype, "events", 0, True)
            if column in self.emitter.nullable:
                yield Parameter(f"z_{self.names[column]}", "uint8", "events", 0, True)
        for k in range(len(self.masks)):
            yield Parameter(f"m{k}", "uint8", "events", 0, True)
        if self.types:
            yield Parameter("codes", "int32", "events", 0, True)
            yield Parameter("kinds", "uint16", "events", 0, True)
        yield Parameter("lanes", "uint32", "events", 0, True)
        if self.window is not None and not self.counted:
            yield Parameter("times", "int64", "events", 0, True)
        if self.window is not None and self.counted:
            yield Parameter("seen", "int64", "lanes", 0)
        for witness in self.a.witnesses:
            yield Parameter(f"w{witness.negation}", "int64", "lanes", NEVER)
        for q, slot in enumerate(self.slot):
            if slot:
                yield Parameter(f"h{q}", "uint32", "lanes", NIL)
                for suffix, dtype in self.fields(self.a.live[q]):
                    yield Parameter(f"h{q}{suffix}", dtype, "lanes")
        for pool in self.pools():
            yield Parameter(f"{pool.name}_head", "uint32", "lanes", NIL)
            yield Parameter(f"{pool.name}_count", "uint32", "lanes")
            if pool.name.startswith("l") and self.merge:
                yield Parameter(f"{pool.name}_mark", "uint32", "lanes", 8)
                yield Parameter(f"{pool.name}_table", "uint32", f"{pool.name} table", NIL)
            yield Parameter(f"{pool.name}_next", "uint32", pool.name)
            yield Parameter(f"{pool.name}_node", "uint32", pool.name, NIL)
            yield Parameter(f"{pool.name}_lane", "uint32", pool.name)
            for suffix, dtype in pool.fields:
                # A count that is kept since NULLs have come: what the runs of before have is of values.
                yield Parameter(f"{pool.name}{suffix}", dtype, pool.name, int(suffix.endswith("_n")))
        yield Parameter("n_word", "int64", "nodes")
        yield Parameter("n_next", "uint32", "nodes")
        yield Parameter("n_alt", "uint32", "nodes")
        yield Parameter("n_max", "int64", "nodes")
        yield Parameter("m_root", "uint32", "matches")
        yield Parameter("m_word", "int64", "matches")
        yield Parameter("m_low", "int64", "matches")
        yield Parameter("meta", "int64", "one")

    # The scan.

    def scan(self) -> list[str]:
        pools = list(self.pools())
        self.put(f"nn = U8(meta[{NODES}])", f"nm = U8(meta[{MATCHES}])", f"merged = meta[{MERGED}]")
        self.put(f"tests = meta[{tests_place(pools)}]")
        self.put("n_size = U8(len(n_word))", "m_size = U8(len(m_root))")
        for k, pool in enumerate(pools):
            self.put(
                f"{pool.name}_free = U4(meta[{POOLS + 2 * k}])", f"{pool.name}_used = U8(meta[{POOLS + 2 * k + 1}])"
            )
            self.put(f"{pool.name}_size = U8(len({pool.name}_next))")
        if self.alone:
            self.put("p = U4(0)")
            self.put(*(f"{local} = {name}[0]" for name, local in self.variables()))
        self.put("i = U8(i0)", "end = U8(n)")
        if pools:
            self.events(pools)
        else:
            self.in_strides(pools)
        if self.alone:
            self.put(*(f"{name}[0] = {local}" for name, local in self.variables()))
        self.put(f"meta[{NODES}] = nn", f"meta[{MATCHES}] = nm", f"meta[{MERGED}] = merged")
        self.put(f"meta[{tests_place(pools)}] = tests")
        for k, pool in enumerate(pools):
            self.put(f"meta[{POOLS + 2 * k}] = {pool.name}_free", f"meta[{POOLS + 2 * k + 1}] = {pool.name}_used")
        self.put("return i")
        return self.lines

    def events(self, pools: Sequence[Pool]) -> None:
        """One event after the other."""
        with self.block("while i < end:"):
            self.event(pools)
            self.put("i += U8(1)")

    def in_strides(self, pools: Sequence[Pool]) -> None:
        """Where only slots are, an event makes so many nodes at most: room is asked for once for many events."""
        _, least = self.growth()
        with self.block("while i < U8(n):"):
            self.put(f"end = i + (n_size - nn) // U8({least})", f"stride = i + (m_size - nm) // U8({least})")
            self.put("end = stride if stride < end else end", "end = U8(n) if end > U8(n) else end")
            with self.block("if end == i:"):
                self.put("break")
            self.events(pools)

    def variables(self) -> Iterator[tuple[str, str]]:
        """What a single lane keeps in variables: arrays, and their names in the loop."""
        if self.window is not None and self.counted:
            yield "seen", "t"
        for q, slot in enumerate(self.slot):
            if slot:
                yield f"h{q}", f"v{q}"
                yield from ((f"h{q}{suffix}", f"v{q}{suffix}") for suffix, _ in self.fields(self.a.live[q]))

    def event(self, pools: Sequence[Pool]) -> None:
        """What happens on one event."""
        if not self.alone:
            self.put("p = lanes[i]")
            if self.nowhere:
                with self.block("if p == NIL:  # in no partition"):
                    self.put("i += U8(1)", "continue")
        each, least = self.growth()
        if not pools:
            self.rest_of_event()
            return
        load = " + ".join(f"U8({pool.name}_count[p])" for pool in pools)
        self.put(f"room = U8({least})" + (f" + U8({each}) * ({load})" if load else ""))
        full = ["nn + room > n_size", "nm + room > m_size"]
        full += [f"{pool.name}_used + room > {pool.name}_size" for pool in pools]
        with self.block(f"if {' or '.join(full)}:"):
            self.put("break")
        self.rest_of_event()

    def rest_of_event(self) -> None:
        """The event's time and kind, and what follows from them."""
        if self.window is not None:
            if not self.counted:
                self.put("t = times[i]")
            else:
                self.put(*(["t += 1"] if self.alone else ["t = seen[p] + 1", "seen[p] = t"]))
            self.put(f"low = t - {self.window - 1}  # the first start that is still in the window")
        if self.types:
            self.put("kind = kinds[U4(codes[i])]")
        sees_all = any(s.strategy in CONTIGUOUS for s in self.a.states)
        counts = self.counted and any(e.absent for e in self.a.exits)
        if self.types and not sees_all and not counts:
            with self.block("if kind != 0:"):
                self.steps()
        else:
            self.steps()

    def steps(self) -> None:
        """Runs go on, wait or end; then runs begin. What is made on an event does not see that event."""
        states = range(len(self.a.states))
        self.put(f"at = (base + I8(i)) << {self.shift}")
        if self.resets:
            self.put("before = nm")
        for x, exit_ in enumerate(self.a.exits):
            if exit_.absent:
                self.refute(x, exit_)
        for q in states:
            self.open_state(q)
        for q in states:
            if self.slot[q]:
                self.decide_slot(q)
        for q in states:
            if self.slot[q]:
                self.leave_slot(q)
            else:
                self.walk_list(q)
        for arc in self.a.arcs:
            if arc.source is None:
                self.put(f"# {arc.variable} begins.")
                with self.when(self.fence(arc.types, arc.fence, None)):
                    self.enter(arc, None, None)
        for q in states:
            self.close_state(q)
        for witness in self.a.witnesses:
            with self.when(self.fence(witness.types, witness.fence, None)):
                self.put(f"w{witness.negation}[p] = t")
        if self.resets:
            with self.block("if nm > before:  # a match was given: what began before its end is over"):
                self.reset()

    def fence(self, types: Sequence[str], tests: Iterable[Test], get: Get | None) -> str:
        """The condition of an arc."""
        return all_of(self.fence_parts(types, tests, get))

    def fence_parts(self, types: Sequence[str], tests: Iterable[Test], get: Get | None) -> tuple[str, str]:
        """What an arc asks of the event alone, and what of the run.

        What can't be written is computed beforehand, if it reads one event only; that it could not be computed is
        told where the run asks, since another condition may have kept the event from it.
        """
        of_event = [self.of_types(types)]
        of_run: list[str] = []
        self.emitter.registers = lambda register: self.read(register, get)
        for test in tests:
            try:
                (of_event if test.unary else of_run).append(self.emitter.truth(test.condition).true)
            except NotNative:
                if not test.unary:
                    raise
                mask = Mask(test.original, test.variable)
                if mask not in self.masks:
                    self.masks.append(mask)
                k = self.masks.index(mask)
                of_run.append(f"(m{k}[i] == 1 or (m{k}[i] == 2 and fail(meta, i)))")
        return all_of(of_event), all_of(of_run)

    def of_types(self, types: Sequence[str]) -> str:
        """Whether the event at hand is of one of some types."""
        return any_of(f"kind == {self.types.index(name) + 1}" for name in types) if self.types and types else "True"

    def read(self, register: Register, get: Get | None) -> Code:
        """How a register is read in a place of the scan."""
        if get is None:
            return self.unread(register)
        one = self.layouts[register]
        return one.read(_fields_of(one, get))

    def open_state(self, q: int) -> None:
        """`y` is the run of a slot as the event finds it, `a` what it leaves; `s` are new runs of a list."""
        if self.slot[q]:
            stays = self.a.states[q].strategy not in CONTIGUOUS
            self.put(f"y{q} = {self.slot_of(q)}", f"a{q} = {f'y{q}' if stays else 'NIL'}")
            return
        self.put(f"s{q} = NIL", f"z{q} = NIL")
        if self.single[q]:
            self.put(f"a{q} = NIL")

    def decide_slot(self, q: int) -> None:
        """Which arcs hold for the run of a slot, and whether it goes on waiting: before anything is joined to it."""
        self.put(self.comment(q))
        get = self.slot_field(q)
        alive = all_of([f"y{q} != NIL", *([f"n_max[y{q}] >= low"] if self.window is not None else [])])
        deciding = []
        for k, arc in enumerate(arc for arc in self.a.arcs if arc.source == q):
            fence = self.fence(arc.types, arc.fence, get)
            unary = all(test.unary for test in arc.fence)
            self.put(f"f{q}_{k} = {all_of([fence, alive] if unary else [alive, fence])}")
            if arc.decides:
                deciding.append(f"f{q}_{k}")
        if self.a.states[q].strategy is Strategy.NEXT and deciding:
            with self.block(f"if {any_of(deciding)}:"):
                self.put(f"a{q} = NIL")
        if any(kill.source == q for kill in self.a.kills):
            with self.block(f"if a{q} != NIL:"):
                self.lose_ways(q, f"a{q}", get, f"a{q} = NIL")

    def leave_slot(self, q: int) -> None:
        """The arcs that hold."""
        for k, arc in enumerate(arc for arc in self.a.arcs if arc.source == q):
            with self.block(f"if f{q}_{k}:"):
                self.enter(arc, f"y{q}", self.slot_field(q))

    def comment(self, q: int) -> str:
        """What a state waits for, in the words of the query."""
        state, places = self.a.states[q], self.query.layout.places
        after = places[self.a.configs[state.config].place].variable
        others = " or ".join(dict.fromkeys(places[m.target].variable for m in state.others if m.target is not None))
        takes = f"one more {after}" if state.take is not None else ""
        return f"# After {after}: {' or '.join(text for text in (takes, others) if text)}."

    def walk_list(self, q: int) -> None:
        """The runs of a list, one after the other."""
        name, strategy = f"l{q}", self.a.states[q].strategy
        self.put(self.comment(q))
        arcs = [arc for arc in self.a.arcs if arc.source == q]
        get = self.getter(name, "r")
        self.put(f"r = {name}_head[p]", "last = NIL")
        with self.block("if r != NIL:"):
            fences = [self.fence_parts(arc.types, arc.fence, get) for arc in arcs]
            for k, (of_event, _) in enumerate(fences):
                self.put(f"u{k} = {of_event}")
            fits = [all_of([f"u{k}", of_run]) for k, (_, of_run) in enumerate(fences)]
            asked = [f"u{k}" for k, (_, of_run) in enumerate(fences) if of_run != "True"]
            if asked:
                with self.block(f"if {any_of(asked)}:"):
                    self.put(f"tests += I8({name}_count[p])")
            with self.block("while r != NIL:"):
                self.put(f"following = {name}_next[r]", f"y = {name}_node[r]")
                self.put(f"stays = {'n_max[y] >= low' if self.window is not None else 'True'}")
                with self.block("if stays:"):
                    for arc, fit in zip(arcs, fits, strict=True):
                        with self.block(f"if {fit}:"):
                            if strategy is Strategy.NEXT and arc.decides:
                                self.put("stays = False")
                            self.enter(arc, "y", get)
                    if any(kill.source == q for kill in self.a.kills):
                        with self.block("if stays:"):
                            self.lose_ways(q, "y", get, "stays = False")
                if strategy in CONTIGUOUS:  # no run waits longer than for one event
                    self.put(f"{name}_node[r] = NIL", f"{name}_next[r] = {name}_free", f"{name}_free = r")
                    self.put(f"{name}_used -= U8(1)", f"{name}_count[p] -= U4(1)")
                else:
                    self.unlink(name, "not stays")
                self.put("r = following")
            if strategy in CONTIGUOUS:
                self.put(f"{name}_head[p] = NIL")

    def unlink(self, name: str, condition: str) -> None:
        """Take the run `r` out of its list, or go on to the next."""
        with self.block(f"if {condition}:"):
            with self.block("if last == NIL:"):
                self.put(f"{name}_head[p] = following")
            with self.block("else:"):
                self.put(f"{name}_next[last] = following")
            self.put(
                f"{name}_node[r] = NIL",
                f"{name}_next[r] = {name}_free",
                f"{name}_free = r",
                f"{name}_used -= U8(1)",
                f"{name}_count[p] -= U4(1)",
            )
        with self.block("else:"):
            self.put("last = r")

    def enter(self, arc: Arc, node: str | None, get: Get | None) -> None:
        """Bind the event: new registers, then matches, then the states of the config."""
        for one in self.sorted(self.read_on_entry(arc.target)):
            # Where nothing is bound yet, no update reads what was.
            old = _fields_of(one, get if get is not None else str)
            self.put(*one.update(arc.transfer[one.register], old, f"x_{one.name}", f"w{one.register.number}[p]"))
        new: Get = "x_{}".format
        for x, exit_ in enumerate(self.a.exits):
            if exit_.config == arc.target:
                before = [f"x_{self.layouts[Register(Holds.WITNESS, number=n)].name} < low" for n in exit_.witnesses]
                with self.when(all_of([self.fence((), exit_.fence, new) if exit_.fence else "True", *before])):
                    self.complete(x, exit_, node, new)
        word = f"at | {arc.target}"
        for q in self.a.entries[arc.target]:
            if self.slot[q] or self.single[q]:
                self.extend(f"a{q}", word, node)
            else:
                self.extend(None, word, node)
                self.add(f"l{q}", f"s{q}", self.a.live[q], "U4(nn - U8(1))", new)

    def read_on_entry(self, config: int) -> frozenset[Register]:
        """The registers that matches and lists of a config are made with; slots take theirs from the event."""
        found: set[Register] = set()
        for exit_ in self.a.exits:
            if exit_.config == config:
                found |= read(exit_.fence) | pending(exit_)
                found |= {Register(Holds.WITNESS, number=negation) for negation in exit_.witnesses}
        for q in self.a.entries[config]:
            if not self.slot[q] and not self.single[q]:
                found |= self.a.live[q]
        return frozenset(found)

    def complete(self, x: int, exit_: Exit, node: str | None, new: Get) -> None:
        """A match; where something must be absent after it, it is not certain yet."""
        word = f"at | {len(self.a.configs) + x}"
        if not exit_.absent:
            self.emit(node or "NIL", word, "low" if self.window is not None else "0")
            return
        self.extend(None, word, node)
        self.put(f"q = d{x}_free", f"d{x}_free = d{x}_next[q]", f"d{x}_used += U8(1)", f"d{x}_count[p] += U4(1)")
        self.put(f"d{x}_next[q] = d{x}_head[p]", f"d{x}_head[p] = q", f"d{x}_node[q] = U4(nn - U8(1))")
        self.put(f"d{x}_lane[q] = p")
        for one in self.sorted(pending(exit_)):
            self.put(*(f"d{x}_{one.name}{suffix}[q] = {new(one.name + suffix)}" for suffix, _ in one.fields))

    def refute(self, x: int, exit_: Exit) -> None:
        """Matches after which something must be absent: one whose window is over is certain, others may fall."""
        name = f"d{x}"
        get = self.getter(name, "r")
        self.put(f"r = {name}_head[p]", "last = NIL")
        with self.block("while r != NIL:"):
            self.put(f"following = {name}_next[r]", f"y = {name}_node[r]", "gone = n_max[y] < low")
            with self.block("if gone:"):
                self.emit("y", "-1", "n_max[y]")
            with self.block(f"elif {any_of(self.fence(kill.types, kill.fence, get) for kill in exit_.absent)}:"):
                self.put("gone = True")
            if self.counted:
                with self.block("elif n_max[y] == low:  # the last event of its window"):
                    self.put("gone = True")
                    self.emit("y", "-1", "n_max[y]")
            self.unlink(name, "gone")
            self.put("r = following")

    def emit(self, node: str, word: str, low: str) -> None:
        """Write a match down: the node that leads to it, and the starts that count."""
        self.put(f"m_root[nm] = {node}", f"m_word[nm] = {word}", f"m_low[nm] = {low}")
        self.put("nm += U8(1)")

    def extend(self, joined: str | None, word: str, node: str | None) -> None:
        """A node for the event after `node`, joined to what `joined` has: the younger start first."""
        alt = joined or "NIL"
        starts = self.window is not None
        start = f"n_max[{node}]" if node else "t"
        fused = [f"n_word[nn] = {word}", f"n_next[nn] = {node or 'NIL'}", f"n_alt[nn] = {alt}"]
        fused += [f"n_max[nn] = {start}"] if starts else []
        done = [*([f"{joined} = U4(nn)"] if joined else []), "nn += U8(1)"]
        if joined is not None:
            self.put(f"merged += I8({joined} != NIL)")
        if joined is None or node is None or not starts:
            self.put(*fused, *done)
            return
        with self.block(f"if {joined} != NIL and n_max[{joined}] > {start}:"):
            self.put(f"n_word[nn] = {word}", f"n_next[nn] = {node}", "n_alt[nn] = NIL", f"n_max[nn] = {start}")
            self.put("nn += U8(1)", "n_word[nn] = -1", f"n_next[nn] = {joined}", "n_alt[nn] = U4(nn - U8(1))")
            self.put(f"n_max[nn] = n_max[{joined}]", *done)
        with self.block("else:"):
            self.put(*fused, *done)

    def join(self, joined: str, node: str) -> None:
        """The histories of two nodes in one, the younger start first."""
        with self.block(f"if {joined} == NIL:"):
            self.put(f"{joined} = {node}")
        if self.window is not None:
            with self.block(f"elif n_max[{joined}] >= n_max[{node}]:"):
                self.put("n_word[nn] = -1", f"n_next[nn] = {joined}", f"n_alt[nn] = {node}")
                self.put(f"n_max[nn] = n_max[{joined}]", f"{joined} = U4(nn)", "nn += U8(1)")
        with self.block("else:"):
            self.put("n_word[nn] = -1", f"n_next[nn] = {node}", f"n_alt[nn] = {joined}")
            self.put(*([f"n_max[nn] = n_max[{node}]"] if self.window is not None else []))
            self.put(f"{joined} = U4(nn)", "nn += U8(1)")

    def lose_ways(self, q: int, node: str, get: Get, ended: str) -> None:
        """A run whose ways an absent event closes, one or several, goes to the state that has the others."""

        def settle(at: int | None, known: Mapping[str, bool]) -> None:
            for kill in (kill for kill in self.a.kills if kill.source == at):
                condition = self.fence(kill.types, kill.fence, get)
                if known.get(condition) is False:
                    continue
                if known.get(condition):
                    settle(kill.target, known)
                    return
                with self.block(f"if {condition}:"):
                    settle(kill.target, {**known, condition: True})
                with self.block("else:"):
                    settle(at, {**known, condition: False})
                return
            if at == q:
                return
            if at is not None and self.slot[at]:
                self.join(f"a{at}", node)
            elif at is not None:
                self.add(f"l{at}", f"s{at}", self.a.live[at], node, get)
            self.put(ended)

        settle(q, {"True": True, "False": False})

    def add(self, name: str, chain: str, registers: frozenset[Register], node: str, get: Get) -> None:
        """A new run of a list, kept aside until the event is over."""
        tail = "z" + chain[1:]
        self.put(
            f"q = {name}_free", f"{name}_free = {name}_next[q]", f"{name}_used += U8(1)", f"{name}_count[p] += U4(1)"
        )
        self.put(f"{name}_node[q] = {node}", f"{name}_lane[q] = p", f"{name}_next[q] = {chain}")
        with self.block(f"if {chain} == NIL:"):
            self.put(f"{tail} = q")
        self.put(f"{chain} = q")
        for one in self.sorted(registers):
            self.put(*(f"{name}_{one.name}{suffix}[q] = {get(one.name + suffix)}" for suffix, _ in one.fields))

    def close_state(self, q: int) -> None:
        """What the event leaves behind."""
        if self.slot[q]:
            self.put(f"{self.slot_of(q)} = a{q}")
            if self.a.live[q]:
                with self.block(f"if a{q} != NIL:"):
                    self.from_event(self.slot_field(q), q)
            return
        name = f"l{q}"
        if self.single[q]:
            with self.block(f"if a{q} != NIL:  # all that bound this event are alike"):
                self.add(name, f"s{q}", frozenset(), f"a{q}", str)
                self.from_event(self.getter(name, "q"), q)
        with self.block(f"if s{q} != NIL:"):
            self.put(f"{name}_next[z{q}] = {name}_head[p]", f"{name}_head[p] = s{q}")
            if self.merge:
                self.merge_list(q)

    def from_event(self, field: Get, q: int) -> None:
        """Registers that are those of the event at hand."""
        for one in self.sorted(self.a.live[q]):
            assert one.argument is not None
            self.put(f"{field(one.name)} = {one.argument.text}")
            if one.nullable:
                self.put(f"{field(one.name + '_z')} = U1({one.argument.null})")

    def slot_of(self, q: int) -> str:
        """The node of a slot."""
        return f"v{q}" if self.alone else f"h{q}[p]"

    def slot_field(self, q: int) -> Get:
        """The registers of a slot."""
        return (lambda field: f"v{q}_{field}") if self.alone else self.getter(f"h{q}", "p")

    def merge_list(self, q: int) -> None:
        """When a list has doubled: runs that agree on all registers become one."""
        name = f"l{q}"
        dtypes = {f"{name}{suffix}": dtype for suffix, dtype in self.fields(self.a.live[q])}
        fields = list(dtypes)
        equal = {"float64": "same({0}[w], {0}[r])"}  # NaN is NaN
        same = " and ".join(equal.get(dtypes[field], "{0}[w] == {0}[r]").format(field) for field in fields)

        def find(until: str) -> None:
            self.put("slot = U8(0)", *(f"slot = mix(slot, {field}[r])" for field in fields))
            self.put(f"slot = slot & (U8(len({name}_table)) - U8(1))", f"w = {name}_table[slot]")
            with self.block(f"while {until}:"):
                self.put(f"slot = (slot + U8(1)) & (U8(len({name}_table)) - U8(1))", f"w = {name}_table[slot]")

        with self.block(f"if {name}_count[p] > {name}_mark[p]:"):
            self.put(f"r = {name}_head[p]", "last = NIL")
            with self.block("while r != NIL:"):
                self.put(f"following = {name}_next[r]")
                find(f"w != NIL and not ({same})")
                with self.block("if w == NIL:"):
                    self.put(f"{name}_table[slot] = r")
                with self.block("else:"):
                    self.put("merged += 1", f"y = {name}_node[w]")
                    self.join("y", f"{name}_node[r]")
                    self.put(f"{name}_node[w] = y")
                self.unlink(name, "w != NIL")
                self.put("r = following")
            self.put(f"r = {name}_head[p]")
            with self.block("while r != NIL:  # the table is left empty"):
                find("w != r")
                self.put(f"{name}_table[slot] = NIL", f"r = {name}_next[r]")
            self.put(f"{name}_mark[p] = U4(2) * {name}_count[p] + U4(8)")

    def reset(self) -> None:
        """End all runs of the lane."""
        for q, slot in enumerate(self.slot):
            if slot:
                self.put(f"{self.slot_of(q)} = NIL")
                continue
            name = f"l{q}"
            self.put(f"r = {name}_head[p]", f"{name}_used -= U8({name}_count[p])", f"{name}_count[p] = U4(0)")
            self.put(f"{name}_head[p] = NIL")
            with self.block("while r != NIL:"):
                self.put(
                    f"following = {name}_next[r]",
                    f"{name}_node[r] = NIL",
                    f"{name}_next[r] = {name}_free",
                    f"{name}_free = r",
                    "r = following",
                )

    def getter(self, name: str, at: str) -> Get:
        return lambda field: f"{name}_{field}[{at}]"


def _fields_of(one: Layout, get: Get) -> Get:
    return lambda suffix: get(f"{one.name}{suffix}")


def names_of(wanted: Mapping[Any, str]) -> dict[Any, str]:
    """A distinct identifier for each: what is no letter or digit becomes an underscore."""
    found: dict[Any, str] = {}
    for key, text in wanted.items():
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
        name, number = base, 2
        while name in found.values():
            name, number = f"{base}_{number}", number + 1
        found[key] = name
    return found
