"""The construction of matches from stacks as source: it takes the order as it is told (DEBS'15 5, 6).

For each event of the first component in the order, the *lead*, the others are bound one by one, each from the part of
its stack that can still be meant: after and before the events that are bound, and in the window with them. What follows
is looked for with the conditions that its variables allow. The order is a parameter: given, or chosen at each step as
the component with the fewest candidates. The component that is bound last has a loop of its own, without branches.

There is a small function for each thing that is done with a component, since a compiler's time grows faster than what
it is given. What they share is in `c`, a row of numbers, and has a name in the text of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from cepheid.automaton.model import Held
from cepheid.kernel.bounds import Bound, find_sorted
from cepheid.kernel.expressions import all_of, real
from cepheid.kernel.lines import Lines
from cepheid.kernel.plain import TESTS
from cepheid.kernel.registers import DTYPES
from cepheid.kernel.source import Mask, Parameter
from cepheid.kernel.stacks import FOUND, RESUME, Columns, Function, Group, Select
from cepheid.pattern.walk import walk
from cepheid.plan.join import Join, Joint

FEW = 32
"""Candidates that are tested one by one rather than sorted."""
NUMBERS = ("d0", "dn", "tree", "span", "first", "until", "origin")
SHARED = ("j", "n", "e", "u", "v", "H")
"""Of a component: the entry that is bound, the next candidate and their end, what goes with the lead, and its end."""
SORTED = ("sl", "sh", "sn", "fl", "fh", "sa", "sb", "m", "wl", "wh")
"""Of a sorted part: from where to where, how many, where the last search ended, what a search found, and its use."""


@dataclass(frozen=True)
class JoinSource:
    """The functions of a join and what they read."""

    select: Function
    group: Function | None  # None: there is one lane
    construct: Function
    columns: tuple[str, ...]
    names: Mapping[str, str]
    masks: tuple[Mask, ...]
    types: tuple[str, ...]
    coded: tuple[str, ...]  # arrays of the state that hold codes of strings
    shared: int  # how long the row is that the functions of the construction share

    @property
    def text(self) -> str:
        """All of it."""
        return "\n\n".join(f.text for f in (self.select, self.group, self.construct) if f is not None)


def generate_join(
    join: Join,
    nullable: frozenset[str],
    strings: Callable[[str], int],
    window: int | None,
    order: tuple[int, ...] | None = None,
) -> JoinSource:
    """The source of a join where some columns have NULLs. `window` is in ticks, or in events.

    order: what is not needed for it is left out, which is most of the time that compiling takes; None: any order.
    """
    columns = Columns(join, nullable, strings)
    construction = Construct(columns, window, order)
    construct = construction.function()
    columns.emitter.columns.clear()  # those of the construction are in the stacks
    writer = Select(columns, window)
    select = writer.function()
    group = None if columns.alone else Group(columns).function()
    coded = [f"s{x}_{name}" for x, stack in enumerate(join.stacks) for name in columns.fields(stack).coded]
    used = sorted(columns.emitter.columns, key=list(join.query.schema.columns).index)
    return JoinSource(
        select,
        group,
        construct,
        tuple(used),
        columns.names,
        tuple(writer.masks),
        writer.types,
        tuple(coded),
        len(construction.shared),
    )


class Construct(Lines):
    """Writes the construction, function by function."""

    def __init__(self, columns: Columns, window: int | None, order: tuple[int, ...] | None) -> None:
        super().__init__()
        self.columns = columns
        self.join = columns.join
        self.window = window
        self.order = order
        # Which components can be bound first, last, and between.
        every = tuple(self.join.positive)
        self.firsts, self.middles, self.ends = (every, every, every) if order is None else _split(order)
        self.count = len(self.join.positive)
        self.last = self.join.members(self.join.groups - 1)
        # In a sequence that ends with one event, that event is new; else one of several is, and no later one of them.
        self.pivots = self.last if len(self.last) > 1 and not self.join.waits else ()
        self.cuts = order is None and window is not None and not self.pivots and not self.join.waits
        self.late = [joint for joint in self.join.joints if joint.late]
        self.sorted = {
            y: found
            for y in self.join.positive
            if y in self.middles + self.ends
            and (found := find_sorted(self.join, y, lambda value: columns.emitter.value(value).kind)) is not None
        }
        names = [f"{name}{x}" for x in self.join.positive for name in SHARED]
        names += [f"{name}{y}" for y in self.sorted for name in SORTED]
        names += [f"{name}{n}" for n in self.join.negated for name in ("l", "h")]
        self.shared = {name: number for number, name in enumerate(names)}
        self.helpers: list[str] = []
        self.calls: dict[str, str] = {}  # of each helper: the arrays that it is called with

    def function(self) -> Function:
        """The construction."""
        for n in self.join.negated:
            self.helper(f"absent{n}", (), partial(self.witness, n))
        for y in self.sorted:
            self.helper(f"look{y}", ("bound", "lo", "hi", "origin"), partial(self.look_up, y))
        for y in self.firsts:
            self.helper(f"lead{y}", ("ln",), partial(self.lead, y))
        for y in self.middles if self.count > 2 else ():
            self.helper(f"next{y}", ("bound",), partial(self.advance, y))
            if self.count > 3:
                self.helper(f"span{y}", ("bound", "level"), partial(self.narrow, y))
        for y in self.ends:
            self.helper(f"leaf{y}", ("no", "size", "lead", "origin"), partial(self.leaf, y))
        self.lines = []
        self.body()
        parameters = tuple(self.parameters())
        head = f"def construct({', '.join([*NUMBERS, *(p.name for p in parameters)])}):"
        text = "\n".join([*self.helpers, head, *("    " + line for line in self.lines)]) + "\n"
        return Function("construct", text, len(NUMBERS), parameters)

    def helper(self, name: str, arguments: tuple[str, ...], write: Callable[[], None]) -> None:
        """A function of the source. It gets what its text mentions of the arrays, and its names of the shared row."""
        self.lines = []
        write()
        words = set(re.findall(r"\w+", "\n".join(self.lines)))
        arrays = ", ".join(p.name for p in self.parameters() if p.name in words | {"c"})
        used = [word for word in self.shared if word in words]
        # A line that saves names what is saved, so that only what changes is written back.
        lines = [f"{word} = c[{self.shared[word]}]" for word in used]
        for line in self.lines:
            indent = line[: len(line) - len(line.lstrip())]
            if line.strip().startswith("save "):
                names = line.split()[1:]
                lines += [f"{indent}c[{self.shared[word]}] = {word}" for word in names]
            else:
                lines.append(line)
        head = f"def {name}({', '.join([*arguments, arrays])}):"
        # What several functions call is not copied into each.
        self.helpers += [
            "@apart" if name.startswith("absent") else "@helper",
            head,
            *("    " + line for line in lines),
            "",
            "",
        ]
        self.calls[name] = arrays

    def call(self, name: str, *arguments: str) -> str:
        """The call of a helper."""
        return f"{name}({', '.join([*arguments, self.calls[name]])})"

    def save(self, *names: str) -> None:
        """Write names back to the shared row."""
        self.put(f"save {' '.join(names)}")

    def parameters(self) -> Iterator[Parameter]:
        for x in range(len(self.join.stacks)):
            yield from self.columns.arrays(x, lanes=False)
            yield Parameter(f"b{x}", "uint32", "lanes and two")
        for y, by in self.sorted.items():
            for name in ("key", "spare"):
                yield Parameter(f"q{y}_{name}", DTYPES[by.kind], f"stack {y}")
            for name in ("entry", "moved", "heads", "place"):
                yield Parameter(f"q{y}_{name}", "uint32", f"stack {y}")
        for x in self.join.positive:
            yield Parameter(f"o{x}", "uint32", "found")
        yield Parameter("order", "uint64", "one")
        yield Parameter("seq", "uint64", "one")
        yield Parameter("c", "uint64", "one")
        yield Parameter("tlo", "int64", "one")
        yield Parameter("thi", "int64", "one")
        yield Parameter("meta", "int64", "one")

    # What is known of two stacks.

    def is_before(self, x: int, y: int) -> bool:
        """Whether the events of a stack come before those of another."""
        return self.join.stacks[x].group < self.join.stacks[y].group

    def meets(self, x: int, y: int) -> bool:
        """Whether one event could be bound twice: in AND, to two variables of a type."""
        one, other = self.join.stacks[x], self.join.stacks[y]
        typed = self.join.query.schema.roles.type is not None
        return x != y and one.group == other.group and (not typed or bool(set(one.types) & set(other.types)))

    def joints(self, y: int) -> list[Joint]:
        """The tests of a stack with other positive ones."""
        return [j for j in self.join.joints if y in j.stacks and max(j.stacks) < self.count]

    def needs(self, absent: int) -> frozenset[int]:
        """What must be bound before it can be asked whether an event is absent."""
        before, after = self.join.around(absent)
        found = {x for j in self.join.joints if absent in j.stacks for x in j.stacks if x < self.count}
        found |= {*before, *after}
        if not before:
            found |= set(self.last)
        if not after:
            found |= set(self.join.members(0))
        return frozenset(found)

    def others_of(self, y: int) -> tuple[int, ...]:
        return tuple(x for x in self.join.positive if x != y)

    @property
    def reach(self) -> int:
        """How far apart two events of a match can be."""
        assert self.window is not None
        return self.window - 1

    def each(self, name: str, numbers: Iterable[int]) -> Iterator[int]:
        """A branch for each number that a name can be."""
        for k, number in enumerate(numbers):
            with self.block(f"{'el' if k else ''}if {name} == U8({number}):"):
                yield number

    def search(self, into: str, low: str, high: str, array: str, condition: str) -> None:
        """The first entry for which a condition does not hold; it holds for all before that one."""
        sign, value = condition.split()
        self.put(f"{into} = {'first_after' if sign == '<=' else 'first_from'}({array}, {low}, {high}, {value})")

    # The lanes.

    def body(self) -> None:
        self.put(f"no = U8(meta[{FOUND}])", "size = U8(len(o0))", "full = False")
        self.put(f"ln = U8(meta[{RESUME + 2}])  # where to go on: the lead, from 1", f"meta[{RESUME + 2}] = 0")
        for y in self.sorted:
            self.put(f"c[{self.shared[f'sl{y}']}] = U8(0)", f"c[{self.shared[f'sh{y}']}] = U8(0)")
        self.put("d = U8(d0)")
        with self.block("while d < U8(dn):"):
            for x in self.join.positive:
                self.put(f"l{x} = U8(b{x}[d])", f"h{x} = U8(b{x}[d + U8(1)])")
            for n in self.join.negated:
                self.put(f"c[{self.shared[f'l{n}']}] = b{n}[d]", f"c[{self.shared[f'h{n}']}] = b{n}[d + U8(1)]")
            if self.join.waits:
                (first,) = self.join.members(0)
                self.search(f"h{first}", f"l{first}", f"h{first}", f"s{first}_t", "<= until")
            if self.pivots:
                self.put(f"r = U8(meta[{RESUME}])")
                for x in self.pivots:
                    self.search(f"f{x}", f"l{x}", f"h{x}", f"s{x}_at", "< first")
                with self.block(f"while r < U8({len(self.pivots)}):"):
                    self.base_ranges()
                    self.leads()
                    self.put("r += U8(1)")
                self.put("r = U8(0)", f"meta[{RESUME}] = 0")
            elif self.cuts:
                self.segments()
            else:
                self.base_ranges()
                self.leads()
            self.put("d += U8(1)")
        self.put(f"meta[{FOUND}] = no", "return I8(d)")

    def base_ranges(self) -> None:
        """All that a lane has; the pivot is new, those of its group before it are not."""
        for x in self.join.positive:
            self.put(f"L{x} = l{x}", f"H{x} = h{x}")
        for k, x in enumerate(self.pivots):
            with self.block(f"if r == U8({k}):"):
                self.put(f"L{x} = f{x}", *(f"H{y} = f{y}" for y in self.pivots[:k]))

    def segments(self) -> None:
        """A lane in stretches of time: in each, a tree begins with the component that is rare there."""
        (z,) = self.last
        self.put(f"cut = U8(meta[{RESUME + 1}]) if ln > U8(0) else l{z}")
        for x in self.join.positive:
            self.put(f"L{x} = l{x}")
        with self.block(f"while cut < h{z}:"):
            self.put(*(f"H{x} = h{x}" for x in self.join.positive), f"L{z} = cut")
            with self.block("if tree != 0:"):
                self.put(f"limit = s{z}_t[cut] + span")
                self.search(f"H{z}", "cut", f"h{z}", f"s{z}_t", "<= limit")
                self.put(f"limit = s{z}_t[cut] - {self.reach}", f"ceiling = s{z}_at[H{z} - U8(1)]")
                for x in self.join.positive:
                    if x != z:
                        self.search(f"L{x}", f"L{x}", f"h{x}", f"s{x}_t", "< limit")
                        self.search(f"H{x}", f"L{x}", f"h{x}", f"s{x}_at", "< ceiling")
            self.leads()
            self.put(f"cut = H{z}")

    # The leads.

    def leads(self) -> None:
        """Every event of the first component in the order."""
        some = " and ".join(f"L{x} < H{x}" for x in self.join.positive)
        with self.block(f"if {some}:"):
            self.put("lead = order[0]")
            with self.block("if tree != 0:"):
                self.put("lead = U8(0)", "best = H0 - L0")
                for x in self.join.positive[1:]:
                    with self.block(f"if H{x} - L{x} < best:"):
                        self.put(f"lead = U8({x})", f"best = H{x} - L{x}")
            self.put("begin = ends = U8(0)")
            for x in self.each("lead", self.join.positive):
                self.put(f"begin = L{x} + U8(1)", f"ends = H{x} + U8(1)")
            for x in self.join.positive:
                self.put(*(f"c[{self.shared[f'{name}{x}']}] = L{x}" for name in "uv"))
                self.put(f"c[{self.shared[f'H{x}']}] = H{x}")
            self.put("ln = begin if ln == U8(0) else ln")
            with self.block("while ln < ends:"):
                self.put("before = no", "some = False")
                for x in self.each("lead", self.firsts):
                    self.put(f"some = {self.call(f'lead{x}', 'ln')}")
                self.put("ln += U8(1)")
                with self.block("if some:"):
                    self.complete()
                    with self.block("if full:"):
                        self.stop()
            self.put("ln = U8(0)")

    def stop(self) -> None:
        """No room for the matches of a lead: what it has given is taken back, and the caller makes room."""
        self.put(f"meta[{FOUND}] = before")
        if self.pivots:
            self.put(f"meta[{RESUME}] = r")
        if self.cuts:
            self.put(f"meta[{RESUME + 1}] = cut")
        self.put(f"meta[{RESUME + 2}] = ln - U8(1)", "return I8(d)")

    def lead(self, x: int) -> None:
        """The entries of the others that can go with a lead: both ends only move on from lead to lead."""
        self.put(f"j{x} = ln - U8(1)", f"a = s{x}_at[j{x}]")
        self.save(f"j{x}")
        if self.window is not None:
            self.put(f"t = s{x}_t[j{x}]")
        for y in self.others_of(x):
            if self.is_before(x, y):
                self.move(f"u{y}", f"H{y}", f"s{y}_at[u{y}] <= a")
            elif self.window is not None:
                self.move(f"u{y}", f"H{y}", f"s{y}_t[u{y}] < t - {self.reach}")
            with self.block(f"if v{y} < u{y}:"):
                self.put(f"v{y} = u{y}")
            if self.is_before(y, x):
                self.move(f"v{y}", f"H{y}", f"s{y}_at[v{y}] < a")
            elif self.window is not None:
                self.move(f"v{y}", f"H{y}", f"s{y}_t[v{y}] <= t + {self.reach}")
            else:
                self.put(f"v{y} = H{y}")
            self.save(f"u{y}", f"v{y}")
            with self.block(f"if u{y} >= v{y}:"):
                self.put("return False")
        if self.window is not None and self.count > 3:
            self.put("tlo[1] = t", "thi[1] = t")
        self.put("return True")

    def move(self, index: str, end: str, condition: str) -> None:
        """Move an index on while a condition holds."""
        with self.block(f"while {index} < {end} and {condition}:"):
            self.put(f"{index} += U8(1)")

    # The others.

    def complete(self) -> None:
        """All matches of a lead."""
        if self.count == 2:
            self.put("y = U8(1) - lead")
            self.leaves()
            return
        self.put("bound = U8(1) << lead", "level = U8(1)", "chosen = False")
        with self.block("while level > U8(0):"):
            with self.block("if not chosen:"):
                self.pick()
                self.put("chosen = True")
            self.put("y = seq[level]", "found = False")
            for y in self.each("y", self.middles):
                self.put(f"found = {self.call(f'next{y}', 'bound')}")
            with self.block("if not found:"):
                self.put("level -= U8(1)")
                with self.block("if level > U8(0):"):
                    self.put("bound ^= U8(1) << seq[level]")
                self.put("continue")
            self.put("bound |= U8(1) << y")
            with self.block(f"if level == U8({self.count - 2}):"):
                self.put("other = y", "y = U8(0)")
                with self.block("while (bound >> y) & U8(1) != U8(0):"):
                    self.put("y += U8(1)")
                self.leaves()
                self.put("bound ^= U8(1) << other")
                with self.block("if full:"):
                    self.put("break")
            if self.count > 3:
                with self.block("else:"):
                    self.put("chosen = False")
                    self.deeper()

    def deeper(self) -> None:
        """To the next component, and how far apart the events that are bound are by now."""
        if self.window is not None:
            self.put("low = tlo[level]", "high = thi[level]", "t = ZERO")
            for y in self.each("y", self.middles):
                self.put(f"t = s{y}_t[c[{self.shared[f'j{y}']}]]")
        self.put("level += U8(1)")
        if self.window is not None:
            self.put("tlo[level] = t if t < low else low", "thi[level] = t if t > high else high")

    def pick(self) -> None:
        """The component to bind next, and its candidates."""
        self.put("best = U8(0)", "wanted = order[level]", "y = U8(99)")
        for y in self.middles:
            at = {name: f"c[{self.shared[f'{name}{y}']}]" for name in ("n", "e", "u", "v")}
            with self.block(f"if bound & U8({1 << y}) == U8(0) and (tree != 0 or wanted == U8({y})):"):
                if self.count > 3:
                    self.put(self.call(f"span{y}", "bound", "level"))
                else:
                    self.put(f"{at['n']} = {at['u']}", f"{at['e']} = {at['v']}")
                self.put(f"weight = {at['e']} - {at['n']}")
                known = sorted({sum(1 << x for x in j.stacks if x != y) for j in self.joints(y) if not j.late})
                if self.order is None and known:
                    # Of what nothing is asked yet, every candidate goes on.
                    with self.block(f"if {' and '.join(f'bound & U8({m}) != U8({m})' for m in known)}:"):
                        self.put("weight *= U8(8)")
                with self.block("if y == U8(99) or weight < best:"):
                    self.put(f"y = U8({y})", "best = weight")
        self.put("seq[level] = y")
        for y in self.each("y", [y for y in self.sorted if y in self.middles]):
            at = {name: f"c[{self.shared[f'{name}{y}']}]" for name in ("n", "e", "sa", "sb", "wl", "wh")}
            with self.block(f"if {self.call(f'look{y}', 'bound', at['n'], at['e'], 'origin')}:"):
                self.put(f"{at['wl']} = {at['n']}", f"{at['wh']} = {at['e']}")
                self.put(f"{at['n']} = {at['sa']}", f"{at['e']} = {at['sb']}")

    def narrow(self, y: int) -> None:
        """Between the nearest events that are bound; where there is none on a side, the window is the end."""
        before = [x for x in self.join.positive if self.is_before(x, y)]
        after = [x for x in self.join.positive if self.is_before(y, x)]
        self.put(f"n{y} = u{y}", f"e{y} = v{y}", "floor = I8(-1)", "ceiling = FOREVER")
        with self.block("if level > U8(1):  # what goes with the lead is known"):
            for x in before:
                with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] > floor:"):
                    self.put(f"floor = s{x}_at[j{x}]")
            if before:
                with self.block("if floor >= 0:"):
                    self.search(f"n{y}", f"n{y}", f"e{y}", f"s{y}_at", "<= floor")
            if self.window is not None:
                with self.block("else:") if before else nullcontext():
                    self.put(f"limit = thi[level] - {self.reach}")
                    self.search(f"n{y}", f"n{y}", f"e{y}", f"s{y}_t", "< limit")
            for x in after:
                with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] < ceiling:"):
                    self.put(f"ceiling = s{x}_at[j{x}]")
            if after:
                with self.block("if ceiling < FOREVER:"):
                    self.search(f"e{y}", f"n{y}", f"e{y}", f"s{y}_at", "< ceiling")
            if self.window is not None:
                with self.block("else:") if after else nullcontext():
                    self.put(f"limit = tlo[level] + {self.reach}")
                    self.search(f"e{y}", f"n{y}", f"e{y}", f"s{y}_t", "<= limit")
        self.save(f"n{y}", f"e{y}")
        self.put("return 0")

    def advance(self, y: int) -> None:
        """The next candidate that passes the tests with what is bound."""
        self.columns.forms = {}
        joints = [j for j in self.joints(y) if not j.late]
        bounded = self.bounded(y)
        asked = [(j in bounded, sum(1 << x for x in j.stacks if x != y)) for j in joints]
        self.put("tests = 0", "found = False")
        for name, wanted in (("asks", (True, False)), ("asks_more", (False,))):
            some = [f"bound & U8({mask}) == U8({mask})" for own, mask in asked if own in wanted]
            self.put(f"{name} = 1 if {' or '.join(some) or 'False'} else 0")
        with self.block(f"while n{y} < e{y}:"):
            if y in self.sorted:
                with self.block(f"if m{y} != U8(0):"):
                    self.put(f"j{y} = U8(q{y}_entry[n{y}])", f"n{y} += U8(1)")
                    with self.block(f"if j{y} < wl{y} or j{y} >= wh{y}:"):
                        self.put("continue")
                    self.put("tests += asks_more")
                with self.block("else:"):
                    self.put(f"j{y} = n{y}", f"n{y} += U8(1)", "tests += asks")
            else:
                self.put(f"j{y} = n{y}", f"n{y} += U8(1)", "tests += asks")
            for x in self.join.positive:
                if self.meets(x, y):
                    with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] == s{y}_at[j{y}]:"):
                        self.put("continue")
            for joint in joints:
                others = sum(1 << x for x in joint.stacks if x != y)
                truth = self.columns.emitter.truth(joint.test.condition).true
                first = f"m{y} == U8(0) and " if joint in bounded else ""
                with self.block(f"if {first}bound & U8({others}) == U8({others}) and not {truth}:"):
                    self.put("continue")
            for absent in self.join.negated:
                needs = self.needs(absent)
                if y in needs:
                    others = sum(1 << x for x in needs if x != y)
                    with self.block(f"if bound & U8({others}) == U8({others}):"):
                        self.save(f"j{y}")
                        with self.block(f"if {self.call(f'absent{absent}')}:"):
                            self.put("continue")
            self.put("found = True", "break")
        self.save(f"j{y}", f"n{y}")
        self.put(f"meta[{TESTS}] += tests", "return found")

    def witness(self, absent: int) -> None:
        """Whether an event is there that must be absent: it is looked for between its neighbours."""
        self.columns.forms = {}
        before, after = self.join.around(absent)
        self.put("ceiling = FOREVER")
        for x in after:
            with self.block(f"if s{x}_at[j{x}] < ceiling:"):
                self.put(f"ceiling = s{x}_at[j{x}]")
        if before:
            self.extreme("floor", "at", before, ">")
            self.search("at", f"l{absent}", f"h{absent}", f"s{absent}_at", "<= floor")
        else:
            self.extreme("limit", "t", self.last, ">")
            self.put(f"limit -= {self.reach}")
            self.search("at", f"l{absent}", f"h{absent}", f"s{absent}_t", "< limit")
        inside = f"at < h{absent} and s{absent}_at[at] < ceiling"
        if not after:
            (first,) = self.join.members(0)
            inside += f" and s{absent}_t[at] <= s{first}_t[j{first}] + {self.reach}"
        joints = [j for j in self.join.joints if absent in j.stacks]
        if not joints:
            self.put(f"return {inside}")
            return
        with self.block(f"while {inside}:"):
            self.put(f"j{absent} = at", "at += U8(1)", f"meta[{TESTS}] += 1")
            with self.block(f"if {all_of(self.columns.emitter.truth(j.test.condition).true for j in joints)}:"):
                self.put("return True")
        self.put("return False")

    # Sorted stacks.

    def look_up(self, y: int) -> None:
        """The part of a sorted stack that its bounds leave. Sets m: whether it is used.

        What goes with a lead is sorted when it is first asked for, and serves all leads that it covers. Within the
        bounds there is no need to test; but a sorted part knows no positions, so where few entries are left between
        the neighbours these are tested one by one.
        """
        by = self.sorted[y]
        self.put(f"m{y} = U8(0)")
        applies = [sum(1 << x for x in bound.joint.stacks if x != y) for bound in by.bounds]
        some = " or ".join(f"bound & U8({need}) == U8({need})" for need in applies)
        with self.block(f"if hi - lo >= U8({FEW}) and ({some}):"):
            self.sort(y)
            self.put(f"sa{y} = U8(0)", f"sb{y} = sn{y}")
            for bound, need in zip(by.bounds, applies, strict=True):
                with self.block(f"if bound & U8({need}) == U8({need}):"):
                    self.restrict(y, bound)
            with self.block(f"if sb{y} < sa{y}:"):
                self.put(f"sb{y} = sa{y}")
            with self.block(f"if sb{y} - sa{y} < (hi - lo) * U8(4) + U8(32):"):
                self.put(f"m{y} = U8(1)")
            self.save(f"sa{y}", f"sb{y}", f"fl{y}", f"fh{y}")
        self.save(f"m{y}")
        self.put(f"return m{y} != U8(0)")

    def sort(self, y: int) -> None:
        """Sort what goes with the lead, and as much again where the leads are close to each other."""
        by = self.sorted[y]
        name = self.columns.names[by.column]
        with self.block(f"if u{y} < sl{y} or v{y} > sh{y}:"):
            self.put(f"stop = v{y}")
            with self.block(f"if sh{y} > u{y} + (v{y} - u{y}) // U8(2) and sl{y} <= u{y}:"):
                self.put(f"stop = v{y} + (v{y} - u{y})", f"stop = H{y} if stop > H{y} else stop")
            self.put(f"sl{y} = u{y}", f"sh{y} = stop", f"sn{y} = U8(0)", f"k = u{y}")
            there = f"s{y}_z_{name}[k] == 0" if by.column in self.columns.nullable else "True"
            self.copy_keys(y, name, all_of([there, *(["key == key"] if by.kind == "f" else [])]))
            self.put(f"sort_part(q{y}_key, q{y}_entry, q{y}_spare, q{y}_moved, q{y}_heads, sn{y})")
            if by.kind == "f":  # NaN is the greatest number
                with self.block(f"if sn{y} < stop - u{y}:"):
                    self.put(f"k = u{y}")
                    self.copy_keys(y, name, all_of([there, "key != key"]))
            self.put("k = U8(0)")
            with self.block(f"while k < sn{y}:"):
                self.put(f"q{y}_place[k] = U4(s{y}_at[U8(q{y}_entry[k])] - origin)", "k += U8(1)")
            self.put(f"fl{y} = U8(0)", f"fh{y} = U8(0)")
            self.save(f"sl{y}", f"sh{y}", f"sn{y}")

    def copy_keys(self, y: int, name: str, condition: str) -> None:
        """Copy the keys for which a condition holds."""
        with self.block("while k < stop:"):
            self.put(f"key = s{y}_c_{name}[k]", f"q{y}_key[sn{y}] = key", f"q{y}_entry[sn{y}] = U4(k)")
            self.put(f"sn{y} += {'U8(1)' if condition == 'True' else f'U8({condition})'}", "k += U8(1)")

    def restrict(self, y: int, bound: Bound) -> None:
        """One bound: below it, above it, or both."""
        self.columns.forms = {}
        value = self.columns.emitter.value(bound.value)
        text = real(value) if self.sorted[y].kind == "f" else value.text
        if value.null:
            with self.block(f"if {value.null}:"):
                self.put(f"sb{y} = U8(0)")
        if bound.operator in (">", ">=", "="):
            self.put(f"fl{y} = seek(q{y}_key, sn{y}, fl{y}, {text}, {bound.operator == '>'}, meta)")
            self.put(f"sa{y} = fl{y} if fl{y} > sa{y} else sa{y}")
        if bound.operator in ("<", "<=", "="):
            self.put(f"fh{y} = seek(q{y}_key, sn{y}, fh{y}, {text}, {bound.operator != '<'}, meta)")
            self.put(f"sb{y} = fh{y} if fh{y} < sb{y} else sb{y}")

    def bounded(self, y: int) -> list[Joint]:
        """The tests that a sorted stack makes needless."""
        return [bound.joint for bound in self.sorted[y].bounds] if y in self.sorted else []

    # The last one.

    def leaves(self) -> None:
        """All candidates of the component that is bound last."""
        self.put("end = no")
        for y in self.each("y", self.ends):
            self.put(f"end = {self.call(f'leaf{y}', 'no', 'size', 'lead', 'origin')}")
        with self.block("if end > size:"):
            self.put("full = True")
        with self.block("else:"):
            self.put("no = end")

    def leaf(self, y: int) -> None:
        """Every candidate of a component, the others being bound. Gives the end of the output, or what is beyond it."""
        self.leaf_range(y)
        if y in self.sorted:
            every = sum(1 << x for x in self.others_of(y))
            with self.block(f"if {self.call(f'look{y}', f'U8({every})', 'lo', 'hi', 'origin')}:"):
                # What the search has found is in the row by now.
                at = {name: f"c[{self.shared[f'{name}{y}']}]" for name in ("sa", "sb")}
                self.put(f"k = {at['sa']}", f"last = {at['sb']}")
                self.matches(y, sorted_=True)
        self.put("k = lo", "last = hi")
        self.matches(y, sorted_=False)

    def leaf_range(self, y: int) -> None:
        """As in `narrow`, but the neighbours are known; what a lead has settled is not looked for again."""
        self.put(f"lo = u{y}", f"hi = v{y}")
        if self.count == 2:
            return
        group = self.join.stacks[y].group
        before, after = self.join.members(group - 1), self.join.members(group + 1)
        if before:
            with self.unless_lead(before):
                self.extreme("floor", "at", before, ">")
                self.search("lo", "lo", "hi", f"s{y}_at", "<= floor")
        elif self.window is not None:
            ends = tuple(x for x in self.last if x != y) or self.others_of(y)
            with self.unless_lead(ends):
                self.extreme("limit", "t", ends, ">")
                self.put(f"limit -= {self.reach}")
                self.search("lo", "lo", "hi", f"s{y}_t", "< limit")
        if after:
            with self.unless_lead(after):
                self.extreme("ceiling", "at", after, "<")
                self.search("hi", "lo", "hi", f"s{y}_at", "< ceiling")
        elif self.window is not None:
            starts = tuple(x for x in self.join.members(0) if x != y) or self.others_of(y)
            with self.unless_lead(starts):
                self.extreme("limit", "t", starts, "<")
                self.put(f"limit += {self.reach}")
                self.search("hi", "lo", "hi", f"s{y}_t", "<= limit")

    def unless_lead(self, stacks: tuple[int, ...]) -> AbstractContextManager[None]:
        """A block that is passed where the lead is the only neighbour."""
        return self.when(f"lead != U8({stacks[0]})" if len(stacks) == 1 else "True")

    def extreme(self, into: str, suffix: str, stacks: tuple[int, ...], sign: str) -> None:
        """The latest or the earliest of some events."""
        self.put(f"{into} = s{stacks[0]}_{suffix}[j{stacks[0]}]")
        for x in stacks[1:]:
            with self.block(f"if s{x}_{suffix}[j{x}] {sign} {into}:"):
                self.put(f"{into} = s{x}_{suffix}[j{x}]")

    def matches(self, y: int, *, sorted_: bool) -> None:
        """Write the matches. Where it is only asked whether the tests hold, the answer moves the end of the output."""
        with self.block("if no + (last - k) > size:"):
            self.put("return size + U8(1)")
        others = self.others_of(y)
        joints = [j for j in self.joints(y) if not j.late and not (sorted_ and j in self.bounded(y))] + self.late
        self.put(*(f"a{x} = U4(s{x}_at[j{x}] - origin)" for x in others))
        # Values that stay the same in the loop.
        read = {n.register for j in joints for n in walk(j.test.condition) if isinstance(n, Held)}
        self.columns.forms = {}
        for x in others:
            stack = self.join.stacks[x]
            for register in sorted((r for r in read if r.variable == stack.variable), key=lambda r: r.column):
                name = self.columns.names[register.column]
                self.put(f"v{x}_c_{name} = s{x}_c_{name}[j{x}]")
                if register.column in self.columns.nullable:
                    self.put(f"v{x}_z_{name} = s{x}_z_{name}[j{x}]")
            self.columns.forms[stack.variable] = f"v{x}_c_{{}}", f"v{x}_z_{{}}"
        same = [f"s{y}_at[j{y}] != s{x}_at[j{x}]" for x in others if self.meets(x, y)]
        inside = [f"j{y} >= lo", f"j{y} < hi"] if sorted_ else []
        truths = [self.columns.emitter.truth(j.test.condition).true for j in joints]
        self.columns.forms = {}
        holds = all_of([*inside, *same, *truths])
        if joints:
            self.put(f"meta[{TESTS}] += I8(last - k)")
        absent = [n for n in self.join.negated if y in self.needs(n)]
        if sorted_ and not joints and not same and not absent:
            # Nothing is left to ask but whether the event is between its neighbours.
            self.put(f"begin = U4(s{y}_at[lo] - origin)", f"width = U4(s{y}_at[hi - U8(1)] - origin) - begin")
            with self.block("while k < last:"):
                self.put(f"place = q{y}_place[k]", "k += U8(1)")
                self.put(f"o{y}[no] = place", *(f"o{x}[no] = a{x}" for x in others))
                self.put("no += U8(place >= begin and place - begin <= width)")
            self.put("return no")
            return
        with self.block("while k < last:"):
            self.put(f"j{y} = {f'U8(q{y}_entry[k])' if sorted_ else 'k'}", "k += U8(1)")
            if absent:
                self.put(f"ok = {holds}")
                with self.block("if ok:"):
                    self.save(f"j{y}")
                    self.put(f"ok = not ({' or '.join(self.call(f'absent{n}') for n in absent)})")
                holds = "ok"
            self.put(f"o{y}[no] = U4(s{y}_at[j{y}] - origin)", *(f"o{x}[no] = a{x}" for x in others))
            self.put("no += U8(1)" if holds == "True" else f"no += U8({holds})")
        self.put("return no")


def _split(order: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return order[:1], order[1:-1], order[-1:]
