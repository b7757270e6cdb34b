"""The stacks of a join as source: events go into them as they come, and are grouped by lane before they are joined.

An event is stored where it can be part of a match: it passes the tests on one event, and what must come before it is
there, in its lane and in the window (SASE 4.1, 4.3). Stacks are arrays in the order of the stream. Without partitions
they are joined as they are; else the lanes that could have a new match are copied out, each in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cepheid.automaton.model import NotNative, Now, Register
from cepheid.kernel.expressions import Code, Emitter, all_of, any_of, kind_of
from cepheid.kernel.lines import Lines
from cepheid.kernel.registers import DTYPES
from cepheid.kernel.source import NEVER, NIL, Mask, Parameter, names_of
from cepheid.plan.join import Join, Stack

# Places in `meta`, beside TESTS; `fail` writes the event of an error to the third.
FOUND, ERROR, RESUME, COUNTS = 0, 2, 4, 8


@dataclass(frozen=True)
class Function:
    """A function of generated source and what it is called with, after its numbers."""

    name: str
    text: str
    numbers: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Fields:
    """What the entries of one stack have: suffixes and dtypes. `coded`: those that hold codes of strings."""

    all: tuple[tuple[str, str], ...]
    coded: tuple[str, ...]


class Columns:
    """How the source names the columns, and which of them it reads."""

    def __init__(self, join: Join, nullable: frozenset[str], strings: Callable[[str], int]) -> None:
        self.join = join
        self.query = join.query
        self.names: Mapping[str, str] = names_of({column: column for column in self.query.schema.columns})
        self.nullable = nullable
        self.emitter = Emitter(self.names, nullable, strings, self.held)
        self.forms: dict[str, tuple[str, str]] = {}  # of a variable: how a value and its flag are read, if not as usual

    @property
    def timed(self) -> bool:
        """Whether the window is of time."""
        within = self.query.within
        return within is not None and within.events is None

    @property
    def counted(self) -> bool:
        """Whether the window is of events."""
        within = self.query.within
        return within is not None and within.events is not None

    @property
    def alone(self) -> bool:
        """Whether there is one lane only."""
        return not self.join.lanes.columns + self.join.lanes.agreed

    def held(self, register: Register) -> Code:
        """An attribute of an event in a stack."""
        names = [stack.variable for stack in self.join.stacks]
        x = names.index(register.variable)
        name, kind = self.names[register.column], kind_of(self.query.schema.columns[register.column])
        value, flag = self.forms.get(register.variable, (f"s{x}_c_{{}}[j{x}]", f"s{x}_z_{{}}[j{x}]"))
        null = f"{flag.format(name)} != 0" if register.column in self.nullable else ""
        return Code(value.format(name), kind, null)

    def fields(self, stack: Stack) -> Fields:
        """What is stored of an event."""
        found = [("at", "int64")]
        coded = []
        if self.query.within is not None:
            found.append(("t", "int64"))
        if not self.alone:
            found.append(("p", "uint32"))
        for column in stack.columns:
            kind = kind_of(self.query.schema.columns[column])
            found.append((f"c_{self.names[column]}", DTYPES[kind]))
            if kind == "s":
                coded.append(f"c_{self.names[column]}")
            if column in self.nullable:
                found.append((f"z_{self.names[column]}", "uint8"))
        return Fields(tuple(found), tuple(coded))

    def arrays(self, x: int, *, readonly: bool = False, lanes: bool = True) -> Iterator[Parameter]:
        """The arrays of a stack."""
        for suffix, dtype in self.fields(self.join.stacks[x]).all:
            if lanes or suffix != "p":
                yield Parameter(f"s{x}_{suffix}", dtype, f"stack {x}", 0, readonly)


class Select(Lines):
    """Writes the scan that stores events. `free`: whatever came before them, to see what passes the tests."""

    def __init__(self, columns: Columns, window: int | None, *, free: bool = False) -> None:
        super().__init__()
        self.free = free
        self.columns = columns
        self.join = columns.join
        self.window = window
        self.masks: list[Mask] = []
        schema = columns.query.schema
        types = [name for stack in self.join.stacks for name in stack.types]
        self.types = tuple(dict.fromkeys(types)) if schema.roles.type is not None else ()
        # Of these it is remembered when the last one came: what comes after them is stored only if they are there.
        self.heard = sorted({y for x in range(len(self.join.stacks)) for y in self.before(x)})

    def before(self, x: int) -> tuple[int, ...]:
        """The stacks of the group before a stack."""
        if self.free:
            return ()
        return self.join.members(self.join.stacks[x].group - 1)

    def function(self) -> Function:
        """The scan."""
        body = self.body()
        parameters = tuple(self.parameters())
        head = f"def select(i0, n, base, {', '.join(p.name for p in parameters)}):"
        return Function("select", "\n".join([head, *("    " + line for line in body)]) + "\n", 3, parameters)

    def parameters(self) -> Iterator[Parameter]:
        schema, emitter = self.columns.query.schema, self.columns.emitter
        for column in sorted(emitter.columns, key=list(schema.columns).index):
            name = self.columns.names[column]
            yield Parameter(f"c_{name}", DTYPES[kind_of(schema.columns[column])], "events", 0, True)
            if column in emitter.nullable:
                yield Parameter(f"z_{name}", "uint8", "events", 0, True)
        for k in range(len(self.masks)):
            yield Parameter(f"m{k}", "uint8", "events", 0, True)
        if self.types:
            yield Parameter("codes", "int32", "events", 0, True)
            yield Parameter("kinds", "uint16", "events", 0, True)
        if not self.columns.alone:
            yield Parameter("lanes", "uint32", "events", 0, True)
        if self.columns.timed:
            yield Parameter("times", "int64", "events", 0, True)
        if self.columns.counted:
            yield Parameter("seen", "int64", "lanes", 0)
        if self.types and not self.columns.counted:
            yield Parameter("chosen", "uint32", "batch")
        for x in self.heard:
            yield Parameter(f"s{x}_last", "int64", "lanes", NEVER)
        for x in range(len(self.join.stacks)):
            yield from self.columns.arrays(x)
        yield Parameter("meta", "int64", "one")

    def body(self) -> list[str]:
        for x in range(len(self.join.stacks)):
            self.put(f"n{x} = U8(meta[{COUNTS + x}])")
        self.put("i = U8(i0)", "end = U8(n)")
        if self.types and not self.columns.counted:
            # Most events are of no interest: to pass them without a branch is faster than to ask of each, and a few
            # types fit into one number.
            self.put("m = U8(0)", "wanted = U8(0)", "k = U8(0)")
            with self.block("while k < U8(len(kinds)) and k < U8(64):"):
                self.put("wanted |= U8(kinds[k] != 0) << k", "k += U8(1)")
            with self.block("if len(kinds) <= 64:"), self.block("while i < end:"):
                self.put("chosen[m] = U4(i)", "m += (wanted >> U8(codes[i])) & U8(1)", "i += U8(1)")
            with self.block("while i < end:"):
                self.put("chosen[m] = U4(i)", "m += U8(kinds[U4(codes[i])] != 0)", "i += U8(1)")
            self.put("k = U8(0)")
            with self.block("while k < m:"):
                self.put("i = U8(chosen[k])", "k += U8(1)")
                self.event()
        else:
            with self.block("while i < end:"):
                self.event()
                self.put("i += U8(1)")
        for x in range(len(self.join.stacks)):
            self.put(f"meta[{COUNTS + x}] = n{x}")
        self.put("return 0")
        return self.lines

    def event(self) -> None:
        """What happens on one event."""
        if self.columns.alone:
            self.put("p = U4(0)")
        else:
            self.put("p = lanes[i]")
            if not self.columns.nullable.isdisjoint(self.join.lanes.agreed):
                step = ["i += U8(1)"] if self.columns.counted or not self.types else []
                with self.block("if p == NIL:  # in no partition"):
                    self.put(*step, "continue")
        if self.columns.timed:
            self.put("t = times[i]", f"low = t - {self.window - 1 if self.window else 0}")
        elif self.columns.counted:
            self.put("t = seen[p] + 1", "seen[p] = t", f"low = t - {self.window - 1 if self.window else 0}")
        if self.types:
            self.put("kind = kinds[U4(codes[i])]")
        # The last ones first: an event does not come after itself.
        order = sorted(range(len(self.join.stacks)), key=lambda x: -self.join.stacks[x].group)
        types = [name for stack in self.join.stacks for name in stack.types]
        apart = bool(self.types) and len(set(types)) == len(types)  # an event is of one stack at most
        for k, x in enumerate(order):
            if apart:
                with self.block(f"{'el' if k else ''}if {self.of_types(x)}:"), self.when(self.condition(x)):
                    self.store(x)
            else:
                with self.when(all_of([self.of_types(x), self.condition(x)])):
                    self.store(x)

    def of_types(self, x: int) -> str:
        """Whether an event has a type of a stack."""
        names = self.join.stacks[x].types
        return any_of(f"kind == {self.types.index(name) + 1}" for name in names) if self.types else "True"

    def condition(self, x: int) -> str:
        """Whether an event of its types is stored in a stack."""
        stack = self.join.stacks[x]
        low = "low" if self.window is not None else str(NEVER + 1)
        parts = [f"s{y}_last[p] >= {low}" for y in self.before(x)]
        for test in stack.tests:
            try:
                parts.append(self.columns.emitter.truth(test.condition).true)
            except NotNative:
                mask = Mask(test.original, test.variable)
                if mask not in self.masks:
                    self.masks.append(mask)
                k = self.masks.index(mask)
                parts.append(f"(m{k}[i] == 1 or (m{k}[i] == 2 and fail(meta, i)))")
        return all_of(parts)

    def store(self, x: int) -> None:
        """One more entry."""
        stack, schema = self.join.stacks[x], self.columns.query.schema
        self.put(f"s{x}_at[n{x}] = base + I8(i)")
        if self.window is not None:
            self.put(f"s{x}_t[n{x}] = t")
        if not self.columns.alone:
            self.put(f"s{x}_p[n{x}] = p")
        for column in stack.columns:
            value = self.columns.emitter.value(Now(column, schema.columns[column]))
            name = self.columns.names[column]
            self.put(f"s{x}_c_{name}[n{x}] = {value.text}")
            if column in self.columns.nullable:
                self.put(f"s{x}_z_{name}[n{x}] = z_{name}[i]")
        if x in self.heard:
            self.put(f"s{x}_last[p] = {'t' if self.window is not None else '0'}")
        self.put(f"n{x} += U8(1)")


class Group(Lines):
    """Writes the grouping by lane: of the lanes only in which a new match could end."""

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self.columns = columns
        self.join = columns.join

    def function(self) -> Function:
        """The grouping; `first` is the position of the first event that is new."""
        body = self.body()
        parameters = tuple(self.parameters())
        head = f"def group(first, {', '.join(p.name for p in parameters)}):"
        return Function("group", "\n".join([head, *("    " + line for line in body)]) + "\n", 1, parameters)

    def parameters(self) -> Iterator[Parameter]:
        yield Parameter("slot", "uint32", "lanes", NIL)
        yield Parameter("touched", "uint32", "lanes")
        for x in range(len(self.join.stacks)):
            yield from self.columns.arrays(x)
            for p in self.columns.arrays(x, lanes=False):
                yield Parameter(f"g{p.name[1:]}", p.dtype, p.size)
            yield Parameter(f"b{x}", "uint32", "lanes and two")
        yield Parameter("meta", "int64", "one")

    def body(self) -> list[str]:
        self.put("d = U8(0)")
        last = self.join.members(0) if self.join.waits else self.join.members(self.join.groups - 1)
        for x in last:
            self.put(f"k = U8(meta[{COUNTS + x}])")
            with self.block(f"while k > U8(0) and s{x}_at[k - U8(1)] >= first:"):
                self.put("k -= U8(1)", f"p = s{x}_p[k]")
                with self.block("if slot[p] == NIL:"):
                    self.put("slot[p] = U4(d)", "touched[d] = p", "d += U8(1)")
        for x in range(len(self.join.stacks)):
            self.put(f"n = U8(meta[{COUNTS + x}])", "k = U8(0)")
            with self.block("while k < d + U8(2):"):
                self.put(f"b{x}[k] = U4(0)", "k += U8(1)")
            self.put("k = U8(0)")
            with self.block("while k < n:"):
                self.put(f"q = slot[s{x}_p[k]]", "k += U8(1)")
                with self.block("if q != NIL:"):
                    self.put(f"b{x}[U8(q) + U8(2)] += U4(1)")
            self.put("k = U8(1)")
            with self.block("while k < d + U8(2):"):
                self.put(f"b{x}[k] += b{x}[k - U8(1)]", "k += U8(1)")
            self.put("k = U8(0)")
            with self.block("while k < n:"):
                self.put(f"q = slot[s{x}_p[k]]")
                with self.block("if q != NIL:"):
                    self.put(f"w = U8(b{x}[U8(q) + U8(1)])", f"b{x}[U8(q) + U8(1)] = U4(w + U8(1))")
                    for p in self.columns.arrays(x, lanes=False):
                        self.put(f"g{p.name[1:]}[w] = {p.name}[k]")
                self.put("k += U8(1)")
        self.put("k = U8(0)")
        with self.block("while k < d:"):
            self.put("slot[touched[k]] = NIL", "k += U8(1)")
        self.put("return I8(d)")
        return self.lines
