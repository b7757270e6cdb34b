"""The construction of matches from stacks as source: one function that takes the order as it is told (DEBS'15 5, 6).

For each event of the first component in the order, the *lead*, the others are bound one by one, each from the part of
its stack that can still be meant: after and before the events that are bound, and in the window with them. What follows
is looked for with the conditions that its variables allow. The order is a parameter: given, or chosen at each step as
the component with the fewest candidates. The component that is bound last has a loop of its own, without branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from cepheid.kernel.expressions import all_of
from cepheid.kernel.lines import Lines
from cepheid.kernel.source import Mask, Parameter
from cepheid.kernel.stacks import FOUND, RESUME, TESTS, Columns, Function, Group, Select
from cepheid.plan.join import Join, Joint

NUMBERS = ("d0", "dn", "tree", "span", "first", "until")


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

    @property
    def text(self) -> str:
        """All of it."""
        return "\n\n".join(f.text for f in (self.select, self.group, self.construct) if f is not None)


def generate_join(
    join: Join, nullable: frozenset[str], strings: Callable[[str], int], window: int | None
) -> JoinSource:
    """The source of a join where some columns have NULLs. `window` is in ticks, or in events."""
    columns = Columns(join, nullable, strings)
    construct = Construct(columns, window).function()
    columns.emitter.columns.clear()  # those of the construction are in the stacks
    writer = Select(columns, window)
    select = writer.function()
    group = None if columns.alone else Group(columns).function()
    coded = [f"s{x}_{name}" for x, stack in enumerate(join.stacks) for name in columns.fields(stack).coded]
    used = sorted(columns.emitter.columns, key=list(join.query.schema.columns).index)
    return JoinSource(
        select, group, construct, tuple(used), columns.names, tuple(writer.masks), writer.types, tuple(coded)
    )


class Construct(Lines):
    """Writes the construction."""

    def __init__(self, columns: Columns, window: int | None) -> None:
        super().__init__()
        self.columns = columns
        self.join = columns.join
        self.window = window
        self.count = len(self.join.positive)
        self.last = self.join.members(self.join.groups - 1)
        # In a sequence that ends with one event, that event is new; else one of several is, and no later one of them.
        self.pivots = self.last if len(self.last) > 1 and not self.join.waits else ()
        self.cuts = window is not None and not self.pivots and not self.join.waits
        self.late = [joint for joint in self.join.joints if joint.late]

    def function(self) -> Function:
        """The construction."""
        body = self.body()
        parameters = tuple(self.parameters())
        head = f"def construct({', '.join([*NUMBERS, *(p.name for p in parameters)])}):"
        return Function(
            "construct", "\n".join([head, *("    " + line for line in body)]) + "\n", len(NUMBERS), parameters
        )

    def parameters(self) -> Iterator[Parameter]:
        for x in range(len(self.join.stacks)):
            yield from self.columns.arrays(x, lanes=False)
            yield Parameter(f"b{x}", "uint32", "lanes and two")
        for x in self.join.positive:
            yield Parameter(f"o{x}", "int64", "found")
        yield Parameter("order", "uint64", "one")
        yield Parameter("seq", "uint64", "one")
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

    # The lanes.

    def body(self) -> list[str]:
        self.put(f"no = U8(meta[{FOUND}])", "size = U8(len(o0))", f"tests = meta[{TESTS}]", "full = False")
        self.put(f"ln = U8(meta[{RESUME + 2}])  # where to go on: the lead, from 1", f"meta[{RESUME + 2}] = 0")
        # What a compiler must know of every variable before the branches.
        every = [name for x in self.join.positive for name in (f"j{x}", f"n{x}", f"e{x}", f"u{x}", f"v{x}")]
        self.put(" = ".join([*every, "U8(0)"]))
        self.put("d = U8(d0)")
        with self.block("while d < U8(dn):"):
            for x in range(len(self.join.stacks)):
                self.put(f"l{x} = U8(b{x}[d])", f"h{x} = U8(b{x}[d + U8(1)])")
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
        self.put(f"meta[{FOUND}] = no", f"meta[{TESTS}] = tests", "return I8(d)")
        return self.lines

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

    @property
    def reach(self) -> int:
        """How far apart two events of a match can be."""
        assert self.window is not None
        return self.window - 1

    def search(self, into: str, low: str, high: str, array: str, condition: str) -> None:
        """The first entry for which a condition does not hold; it holds for all before that one."""
        sign, value = condition.split()
        self.put(f"{into} = {'first_after' if sign == '<=' else 'first_from'}({array}, {low}, {high}, {value})")

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
            for x in self.join.positive:
                self.put(f"u{x} = L{x}", f"v{x} = L{x}")
            with self.block("if ln == U8(0):"):
                for x in self.join.positive:
                    with self.block(f"{'el' if x else ''}if lead == U8({x}):"):
                        self.put(f"ln = L{x} + U8(1)")
            self.put("ends = U8(0)")
            for x in self.join.positive:
                with self.block(f"{'el' if x else ''}if lead == U8({x}):"):
                    self.put(f"ends = H{x} + U8(1)")
            with self.block("while ln < ends:"):
                self.put("before = no", "some = False")
                for x in self.join.positive:
                    with self.block(f"{'el' if x else ''}if lead == U8({x}):"):
                        self.lead(x)
                self.put("ln += U8(1)")
                with self.block("if some:"):
                    self.complete()
                    with self.block("if full:"):
                        self.stop()
            self.put("ln = U8(0)")

    def stop(self) -> None:
        """No room for the matches of a lead: what it has given is taken back, and the caller makes room."""
        self.put(f"meta[{FOUND}] = before", f"meta[{TESTS}] = tests")
        if self.pivots:
            self.put(f"meta[{RESUME}] = r")
        if self.cuts:
            self.put(f"meta[{RESUME + 1}] = cut")
        self.put(f"meta[{RESUME + 2}] = ln - U8(1)", "return I8(d)")

    def lead(self, x: int) -> None:
        """The entries of the others that can go with a lead: both ends only move on from lead to lead."""
        self.put(f"j{x} = ln - U8(1)", f"a = s{x}_at[j{x}]")
        if self.window is not None:
            self.put(f"t = s{x}_t[j{x}]")
        for y in self.join.positive:
            if y == x:
                continue
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
        self.put("some = " + " and ".join(f"u{y} < v{y}" for y in self.join.positive if y != x))
        if self.window is not None and self.count > 3:
            self.put("tlo[1] = t", "thi[1] = t")

    def move(self, index: str, end: str, condition: str) -> None:
        """Move an index on while a condition holds."""
        with self.block(f"while {index} < {end} and {condition}:"):
            self.put(f"{index} += U8(1)")

    # The others.

    def complete(self) -> None:
        """All matches of a lead."""
        if self.count == 2:
            self.put("y = U8(1) - lead", "level = U8(0)")
            self.leaf()
            return
        self.put("bound = U8(1) << lead", "level = U8(1)", "chosen = False")
        with self.block("while level > U8(0):"):
            with self.block("if not chosen:"):
                self.pick()
                self.put("chosen = True")
            self.put("y = seq[level]", "found = False")
            for y in self.join.positive:
                with self.block(f"{'el' if y else ''}if y == U8({y}):"):
                    self.advance(y)
            with self.block("if not found:"):
                self.put("level -= U8(1)")
                with self.block("if level > U8(0):"):
                    self.put("bound ^= U8(1) << seq[level]")
                self.put("continue")
            self.put("bound |= U8(1) << y")
            with self.block(f"if level == U8({self.count - 2}):"):
                self.put("other = y")
                self.put("y = U8(0)")
                with self.block("while (bound >> y) & U8(1) != U8(0):"):
                    self.put("y += U8(1)")
                self.leaf()
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
            for y in self.join.positive:
                with self.block(f"{'el' if y else ''}if y == U8({y}):"):
                    self.put(f"t = s{y}_t[j{y}]")
        self.put("level += U8(1)")
        if self.window is not None:
            self.put("tlo[level] = t if t < low else low", "thi[level] = t if t > high else high")

    def pick(self) -> None:
        """The component to bind next, and its candidates."""
        self.put("best = U8(0)", "wanted = order[level]", "y = U8(99)")
        for y in self.join.positive:
            bit = 1 << y
            with self.block(f"if bound & U8({bit}) == U8(0) and (tree != 0 or wanted == U8({y})):"):
                self.put(f"lo = u{y}", f"hi = v{y}")
                if self.count > 3:
                    with self.block("if level > U8(1):  # what goes with the lead is known"):
                        self.narrow(y)
                    self.put("hi = lo if hi < lo else hi")
                with self.block("if y == U8(99) or hi - lo < best:"):
                    self.put(f"y = U8({y})", "best = hi - lo", f"n{y} = lo", f"e{y} = hi")
        self.put("seq[level] = y")

    def narrow(self, y: int) -> None:
        """Between the nearest events that are bound; where there is none on a side, the window is the end."""
        before = [x for x in self.join.positive if self.is_before(x, y)]
        after = [x for x in self.join.positive if self.is_before(y, x)]
        self.put("top = hi", "floor = I8(-1)")
        for x in before:
            with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] > floor:"):
                self.put(f"floor = s{x}_at[j{x}]")
        if before:
            with self.block("if floor >= 0:"):
                self.search("lo", "lo", "top", f"s{y}_at", "<= floor")
        if self.window is not None:
            with self.block("else:") if before else nullcontext():
                self.put(f"limit = thi[level] - {self.reach}")
                self.search("lo", "lo", "top", f"s{y}_t", "< limit")
        self.put("bottom = lo", "ceiling = FOREVER")
        for x in after:
            with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] < ceiling:"):
                self.put(f"ceiling = s{x}_at[j{x}]")
        if after:
            with self.block("if ceiling < FOREVER:"):
                self.search("top", "bottom", "top", f"s{y}_at", "< ceiling")
        if self.window is not None:
            with self.block("else:") if after else nullcontext():
                self.put(f"limit = tlo[level] + {self.reach}")
                self.search("top", "bottom", "top", f"s{y}_t", "<= limit")
        self.put("lo = bottom", "hi = top")

    def advance(self, y: int) -> None:
        """The next candidate that passes the tests with what is bound."""
        self.columns.index = {}
        joints = [j for j in self.joints(y) if not j.late]
        with self.block(f"while n{y} < e{y}:"):
            self.put(f"j{y} = n{y}", f"n{y} += U8(1)")
            if joints:
                self.put("tests += 1")
            for x in self.join.positive:
                if self.meets(x, y):
                    with self.block(f"if bound & U8({1 << x}) != U8(0) and s{x}_at[j{x}] == s{y}_at[j{y}]:"):
                        self.put("continue")
            for joint in joints:
                others = sum(1 << x for x in joint.stacks if x != y)
                truth = self.columns.emitter.truth(joint.test.condition).true
                with self.block(f"if bound & U8({others}) == U8({others}) and not {truth}:"):
                    self.put("continue")
            for absent in self.join.negated:
                needs = self.needs(absent)
                if y in needs:
                    others = sum(1 << x for x in needs if x != y)
                    with self.block(f"if bound & U8({others}) == U8({others}):"):
                        self.witness(absent)
                        with self.block("if hit:"):
                            self.put("continue")
            self.put("found = True", "break")

    def witness(self, absent: int) -> None:
        """Whether an event is there that must be absent: it is looked for between its neighbours."""
        before, after = self.join.around(absent)
        self.put("floor = I8(-1)", "ceiling = FOREVER")
        for x in before:
            with self.block(f"if s{x}_at[j{x}] > floor:"):
                self.put(f"floor = s{x}_at[j{x}]")
        for x in after:
            with self.block(f"if s{x}_at[j{x}] < ceiling:"):
                self.put(f"ceiling = s{x}_at[j{x}]")
        self.put("hit = False")
        if before:
            self.search("at", f"l{absent}", f"h{absent}", f"s{absent}_at", "<= floor")
        else:
            self.put(f"limit = s{self.last[0]}_t[j{self.last[0]}]")
            for x in self.last[1:]:
                with self.block(f"if s{x}_t[j{x}] > limit:"):
                    self.put(f"limit = s{x}_t[j{x}]")
            self.put(f"limit -= {self.reach}")
            self.search("at", f"l{absent}", f"h{absent}", f"s{absent}_t", "< limit")
        inside = f"at < h{absent} and s{absent}_at[at] < ceiling"
        if not after:
            (first,) = self.join.members(0)
            inside += f" and s{absent}_t[at] <= s{first}_t[j{first}] + {self.reach}"
        joints = [j for j in self.join.joints if absent in j.stacks]
        if not joints:
            self.put(f"hit = {inside}")
            return
        with self.block(f"while {inside}:"):
            self.put(f"j{absent} = at", "at += U8(1)", "tests += 1")
            with self.block(f"if {all_of(self.columns.emitter.truth(j.test.condition).true for j in joints)}:"):
                self.put("hit = True", "break")

    # The last one.

    def leaf(self) -> None:
        """All candidates of the component that is bound last."""
        for y in self.join.positive:
            with self.block(f"{'el' if y else ''}if y == U8({y}):"):
                self.leaf_of(y)

    def leaf_of(self, y: int) -> None:
        """Every candidate of a component, the others being bound."""
        self.leaf_range(y)
        with self.block("if no + (hi - lo) > size:"):
            self.put("full = True")
        with self.block("else:"):
            self.matches(y)

    def leaf_range(self, y: int) -> None:
        """As in `narrow`, but the neighbours are known; what a lead has settled is not looked for again."""
        self.put(f"lo = u{y}", f"hi = v{y}")
        if self.count == 2:
            return
        group = self.join.stacks[y].group
        before, after = self.join.members(group - 1), self.join.members(group + 1)
        self.put("top = hi", "bottom = lo")
        if before:
            with self.unless_lead(before):
                self.extreme("floor", "at", before, ">")
                self.search("bottom", "bottom", "top", f"s{y}_at", "<= floor")
        elif self.window is not None:
            ends = tuple(x for x in self.last if x != y) or self.others_of(y)
            with self.unless_lead(ends):
                self.extreme("limit", "t", ends, ">")
                self.put(f"limit -= {self.reach}")
                self.search("bottom", "bottom", "top", f"s{y}_t", "< limit")
        if after:
            with self.unless_lead(after):
                self.extreme("ceiling", "at", after, "<")
                self.search("top", "bottom", "top", f"s{y}_at", "< ceiling")
        elif self.window is not None:
            starts = tuple(x for x in self.join.members(0) if x != y) or self.others_of(y)
            with self.unless_lead(starts):
                self.extreme("limit", "t", starts, "<")
                self.put(f"limit += {self.reach}")
                self.search("top", "bottom", "top", f"s{y}_t", "<= limit")
        self.put("lo = bottom", "hi = top if top > bottom else bottom")

    def others_of(self, y: int) -> tuple[int, ...]:
        return tuple(x for x in self.join.positive if x != y)

    def unless_lead(self, stacks: tuple[int, ...]) -> AbstractContextManager[None]:
        """A block that is passed where the lead is the only neighbour."""
        return self.when(f"lead != U8({stacks[0]})" if len(stacks) == 1 else "True")

    def extreme(self, into: str, suffix: str, stacks: tuple[int, ...], sign: str) -> None:
        """The latest or the earliest of some events."""
        self.put(f"{into} = s{stacks[0]}_{suffix}[j{stacks[0]}]")
        for x in stacks[1:]:
            with self.block(f"if s{x}_{suffix}[j{x}] {sign} {into}:"):
                self.put(f"{into} = s{x}_{suffix}[j{x}]")

    def matches(self, y: int) -> None:
        """Write the matches. Where it is only asked whether the tests hold, the answer moves the end of the output."""
        others = self.others_of(y)
        joints = [j for j in self.joints(y) if not j.late] + self.late
        self.put(*(f"a{x} = s{x}_at[j{x}]" for x in others))
        # Values that stay the same in the loop.
        self.columns.index = {}
        for x in others:
            stack = self.join.stacks[x]
            for suffix, _ in self.columns.fields(stack).all:
                if suffix not in ("at", "t", "p") and joints:
                    self.put(f"s{x}_{suffix}_j = s{x}_{suffix}[j{x}]")
            self.columns.index[stack.variable] = "_j"
        same = [f"s{y}_at[j{y}] != a{x}" for x in others if self.meets(x, y)]
        truths = [self.columns.emitter.truth(j.test.condition).true for j in joints]
        self.columns.index = {}
        holds = all_of([*same, *truths])
        if joints:
            self.put("tests += I8(hi - lo)")
        absent = [n for n in self.join.negated if y in self.needs(n)]
        self.put(f"j{y} = lo", "stop = hi")
        with self.block(f"while j{y} < stop:"):
            if absent:
                self.put(f"ok = {holds}")
                for n in absent:
                    with self.block("if ok:"):
                        self.witness(n)
                        self.put("ok = not hit")
                holds = "ok"
            self.put(f"o{y}[no] = s{y}_at[j{y}]", *(f"o{x}[no] = a{x}" for x in others))
            self.put("no += U8(1)" if holds == "True" else f"no += U8({holds})", f"j{y} += U8(1)")
