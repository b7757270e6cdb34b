"""A query as a join of stacks: events are stored as they come, matches are made when what they need is there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.blueprint import MOST_SPARE, Blueprint
from cepheid.engine.columns import Strings
from cepheid.engine.finish import finish
from cepheid.engine.found import Found, Many, arranged
from cepheid.engine.inputs import as_arguments, check_times, read_events
from cepheid.engine.lanes import LaneNumbers
from cepheid.engine.overlap import Chosen
from cepheid.engine.rows import Part, Rows
from cepheid.errors import CepheidError, EvaluationError
from cepheid.kernel.construct import JoinSource
from cepheid.kernel.load import as_python, compiled, signature
from cepheid.kernel.plain import TESTS
from cepheid.kernel.source import Parameter
from cepheid.kernel.stacks import COUNTS, ERROR, FOUND, RESUME, Function
from cepheid.pattern.tree import Output
from cepheid.plan.choice import Choice, Way, order_of

PART = 2**20
"""Events that are stored before matches are made of them."""
ROOM = 2**17
"""Matches that are written before the arrays change: larger ones would be new memory every time, which is slow."""
MOST_WORDS = 2**28
FEW, FEW_LANES, FEW_STRINGS = 1024, 16, 1024
SPAN = 4
"""A tree chooses anew after so many windows."""


class Joined:
    """One query over a stream that comes in parts."""

    kind = "joined"
    merged = 0
    replans = 0

    def __init__(
        self,
        blueprint: Blueprint,
        choice: Choice,
        *,
        native: bool,
        events: int | None = None,
        compile_after: int | None = None,
    ) -> None:
        self.blueprint = blueprint
        self.query = blueprint.query
        self.join = blueprint.join_of(choice)
        self.native = native
        self.compile_after = compile_after
        self.once = events is not None
        self.events = 0
        self.strings = Strings(blueprint.strings.codes)
        self.lanes = LaneNumbers(
            self.join.lanes, {name: t.kind for name, t in self.query.schema.columns.items()}, once=events is not None
        )
        self.window = blueprint.window
        self.timed = self.query.within is not None and self.query.within.events is None
        self.nullable: frozenset[str] = frozenset()
        self.clock = 0
        self.state: dict[str, Any] = {}
        self.work: dict[str, Any] = {}  # what is filled and read in one call
        self.parts: list[Part] = []  # matches that were made
        self.origin = 0  # from where their positions count
        self.count = 0
        self.room = ROOM if native else 256  # matches of a part
        self.enough = FEW
        self.enough_lanes = FEW_LANES
        self.enough_strings = FEW_STRINGS
        self.chosen = Chosen(self.query) if self.query.output is Output.NON_OVERLAP else None
        self.choice = choice
        self.take(choice)
        if native and self.once:
            self.take_over()

    @property
    def mode(self) -> str:
        """How the source runs."""
        return "compiled" if self.native else "plain"

    @property
    def plan(self) -> str:
        """The plan by its name."""
        return self.choice.told

    def take(self, choice: Choice) -> None:
        """Evaluate in this order from now on: the stacks are the same for all, their lanes are."""
        self.choice = replace(choice, partition=self.choice.partition, late=self.choice.late)
        self.order = order_of(choice, self.join)
        self.source = self.write()
        self.functions = self.load_functions()

    def write(self) -> JoinSource:
        """The source for the order, and for the columns that have NULLs so far."""
        order = None if self.choice.way is Way.TREE else self.order
        return self.blueprint.join_source(self.nullable, order, self.join)

    def load_functions(self) -> dict[str, Any]:
        """The functions of the source."""
        wanted = [f for f in (self.source.select, self.source.group, self.source.construct) if f is not None]
        if not self.native:
            return {f.name: as_python(f.text, f.name) for f in wanted}
        return {f.name: compiled(f.text, ((f.name, signature("int64", _types(f))),))[f.name] for f in wanted}

    # State.

    def array(self, dtype: str, size: int, initial: int | None = 0) -> Any:
        """A new array, or a list for plain Python."""
        if not self.native:
            return [initial or 0] * size
        made: Any = np.empty(size, np.dtype(dtype))
        if initial is not None:
            made.fill(initial)
        return made

    def fit(self, more: int) -> None:
        """Room for so many more events."""
        for parameter in self.source.select.parameters:
            if parameter.size == "lanes":
                self.lengthen(self.state, parameter, _rounded(len(self.lanes)))
            elif parameter.size.startswith("stack"):
                count = self.counts[int(parameter.size.split()[1])]
                self.lengthen(self.state, parameter, count + more)
            elif parameter.size == "batch":
                self.lengthen(self.work, parameter, more + 1)

    def hand_back(self) -> None:
        """The run is over: another one of the query can have its arrays, since to touch fresh memory takes long."""
        state, self.state, work, self.work = self.state, {}, self.work, {}
        used = sum(array.nbytes for array in (*state.values(), *work.values()))
        if used <= MOST_SPARE and not self.blueprint.spare_stacks:
            self.blueprint.spare_stacks.append((self.source.select.parameters, state, work))

    def take_over(self) -> None:
        """Begin with the arrays of an earlier run, as empty as new ones."""
        try:
            parameters, state, work = self.blueprint.spare_stacks.pop()
        except IndexError:
            return
        if parameters != self.source.select.parameters:
            return
        for parameter in parameters:
            if parameter.size == "lanes":
                state[parameter.name].fill(parameter.initial)
        state["meta"].fill(0)
        # What belongs to the construction may be of another order.
        self.state, self.work = state, {name: a for name, a in work.items() if not name.startswith("q")}

    def lengthen(self, arrays: dict[str, Any], parameter: Parameter, wanted: int) -> None:
        """Make an array as long as it has to be; what it has stays."""
        old = arrays.get(parameter.name)
        have = 0 if old is None else len(old)
        if have >= wanted and old is not None:
            return
        # What has no meaning yet is not written: memory that is never touched costs nothing.
        meant = parameter.size == "lanes" or "_z_" in parameter.name
        size = max(wanted, 2 * have if not self.once else 0, 16)
        new = self.array(parameter.dtype, size, parameter.initial if meant else None)
        if have:
            new[:have] = old
        arrays[parameter.name] = new

    @property
    def meta(self) -> Any:
        """Counts and places, as the source has them."""
        if "meta" not in self.state:
            self.state["meta"] = self.array("int64", COUNTS + len(self.join.stacks))
        return self.state["meta"]

    @property
    def counts(self) -> list[int]:
        """How many entries each stack has."""
        return [int(self.meta[COUNTS + x]) for x in range(len(self.join.stacks))]

    # Events.

    def feed(self, table: pa.Table, times: Any, base: int) -> None:
        """The next events in the order of S1; `base` is the position of the first."""
        check_times(times, self.window if self.timed else None)
        self.events += table.num_rows
        if not self.native and self.compile_after is not None and self.events > self.compile_after:
            self.go_native()
        read = (*self.source.columns, *self.lanes.agreed)
        empty = {name for name in read if table.column(name).null_count} - self.nullable
        if empty:
            # A kernel takes seconds to compile: a stream that has NULLs in one column may have them in others.
            self.nullable |= empty if self.once else set(read)
            self.source = self.write()
            self.functions = self.load_functions()
        errors: dict[int, CepheidError] = {}
        arrays = self.columns(table, times, errors)
        for begin in range(0, table.num_rows, PART):
            end = min(begin + PART, table.num_rows)
            self.store(arrays, begin, end, base, errors)
            self.clock = int(times[end - 1])
            if not self.join.waits:
                self.construct(base + begin, 0)
                self.forget(self.clock)

    def columns(self, table: pa.Table, times: Any, errors: dict[int, CepheidError]) -> dict[str, Any]:
        """The arguments that are of the events."""
        found = {"times": times}
        if self.lanes.columns:
            found["lanes"] = self.lanes.of(table)
        parameters = self.source.select.parameters
        found |= read_events(self.query, self.source, parameters, table, self.strings, errors)
        return as_arguments(found, native=self.native)

    def store(self, arrays: dict[str, Any], begin: int, end: int, base: int, errors: dict[int, CepheidError]) -> None:
        """Put events on the stacks."""
        self.fit(end - begin)
        owned = {**self.state, **self.work, **arrays, "meta": self.meta}
        arguments = [owned[p.name] for p in self.source.select.parameters]
        self.functions["select"](begin, end, base, *arguments)
        failed = int(self.meta[ERROR])
        if failed:
            raise errors[failed - 1]

    def construct(self, first: int, until: int) -> None:
        """Make the matches that are new: those with an event from position `first` on."""
        counts = self.counts
        if not all(counts[x] for x in self.join.positive):
            self.drop_last()
            return
        stacks: dict[str, Any]
        if self.source.group is None:
            lanes = 1
            stacks = dict(self.state)
            for x, count in enumerate(counts):
                stacks[f"b{x}"] = np.array([0, count], np.uint32) if self.native else [0, count]
        else:
            lanes, stacks = self.grouped(first, counts)
        length = len(self.join.positive)
        order = self.small("uint64", self.order)
        scratch = {
            "order": order,
            "seq": self.small("uint64", [0] * length),
            "c": self.small("uint64", [0] * self.source.shared),
            "tlo": self.small("int64", [0] * (length + 1)),
            "thi": self.small("int64", [0] * (length + 1)),
            "meta": self.meta,
        }
        tree = int(self.choice.way is Way.TREE)
        span = min(SPAN * (self.window or 0), 2**63 - 1 - max(self.clock, 0))  # a time and a span are in 64 bits
        self.meta[RESUME] = self.meta[RESUME + 1] = self.meta[RESUME + 2] = 0
        if not self.once:  # where all comes at once, positions fit as they are
            self.origin = min(int(self.state[f"s{x}_at"][0]) for x in self.join.positive)
        lane = 0
        while lane < lanes:
            if self.native and self.once and "o0" not in self.work:
                self.use_spare()
            for parameter in self.source.construct.parameters:
                if parameter.size == "found":
                    self.lengthen(self.work, parameter, self.room)
                elif parameter.name.startswith("q"):
                    self.lengthen(self.work, parameter, counts[int(parameter.size.split()[1])] + 1)
            owned = {**stacks, **scratch, **self.work}
            arguments = [owned[p.name] for p in self.source.construct.parameters]
            lane = int(self.functions["construct"](lane, lanes, tree, span, first, until, self.origin, *arguments))
            if lane < lanes:
                self.make_room()
        if not self.once:
            self.put_aside()  # the next ones may count from elsewhere
        self.drop_last()

    def make_room(self) -> None:
        """The construction has stopped at a lead whose matches have no room."""
        if not self.put_aside():
            self.room *= 2  # one lead has more than all arrays
        if (self.count + self.room) * len(self.join.positive) > MOST_WORDS:
            raise EvaluationError(
                "CEP505",
                f"more than {self.count:,} matches are too many to make one by one",
                "count them with plan='automaton' and count(), or add conditions or a shorter WITHIN",
            )

    def use_spare(self) -> None:
        """Write matches to where those of an earlier run were."""
        with suppress(IndexError):
            for x, array in enumerate(self.blueprint.spare_parts.pop()):
                self.work[f"o{x}"] = array
            self.room = max(self.room, len(self.work["o0"]))

    def put_aside(self) -> int:
        """Take the matches that were written, and how many these are; others are written to other arrays."""
        count = int(self.meta[FOUND])
        if count:
            names = [f"o{x}" for x in self.join.positive]
            found = [np.asarray(self.work[name][:count], np.uint32) for name in names]
            whole: tuple[Any, ...] = ()
            if 2 * count > self.room:  # the arrays go with the matches
                whole = tuple(self.work.pop(name) for name in names)
            elif self.native:
                found = [array.copy() for array in found]
            self.parts.append(Part(self.origin, found, whole if self.native else ()))
            self.count += count
            self.meta[FOUND] = 0
        return count

    def small(self, dtype: str, values: Any) -> Any:
        """A few numbers."""
        return np.array(values, np.dtype(dtype)) if self.native else list(values)

    def grouped(self, first: int, counts: list[int]) -> tuple[int, dict[str, Any]]:
        """The stacks of the lanes that could have a new match, each lane in one piece."""
        assert self.source.group is not None
        for parameter in self.source.group.parameters:
            if parameter.name in ("slot", "touched"):
                self.lengthen(self.work, parameter, _rounded(len(self.lanes)))
            elif parameter.size == "lanes and two":
                self.lengthen(self.work, parameter, _rounded(len(self.lanes)) + 2)
            elif parameter.name.startswith("g"):
                self.lengthen(self.work, parameter, max(1, counts[int(parameter.size.split()[1])]))
        owned = {**self.state, **self.work}
        arguments = [owned[p.name] for p in self.source.group.parameters]
        lanes = int(self.functions["group"](-1 if self.join.waits else first, *arguments))
        copies = {f"s{name[1:]}": array for name, array in self.work.items() if name.startswith("g")}
        begins = {name: array for name, array in self.work.items() if name.startswith("b")}
        return lanes, {**copies, **begins}

    def drop_last(self) -> None:
        """The last event of a sequence has had its matches when it is there."""
        last = self.join.members(self.join.groups - 1)
        if len(last) == 1 and not self.join.waits:
            self.meta[COUNTS + last[0]] = 0

    def go_native(self) -> None:
        """From plain Python to compiled code, in the middle of a stream: the state is the same."""
        dtypes = {p.name: p.dtype for p in self.source.select.parameters}
        self.native = True
        self.state = {name: np.array(array, np.dtype(dtypes[name])) for name, array in self.state.items()}
        self.put_aside()
        self.work = {}
        self.room = ROOM
        self.functions = self.load_functions()

    # Matches.

    def settle(self, now: int | None, kept: pa.Table, base: int) -> Found | Many:
        """The matches that became certain."""
        if self.join.waits:
            self.settle_waiting(now)
        found = self.rows(base)
        if now is not None:
            self.clear(now)
        elif self.once and self.native:
            self.hand_back()  # nothing of the state is read from here on
        if self.query.having is None and self.chosen is None:
            return found
        return finish(
            self.query, arranged(found.all()), kept, base, self.chosen, None if now is None else self.pending()
        )

    def rows(self, base: int) -> Rows:
        """The matches so far, which are given now."""
        self.put_aside()
        parts, self.parts, self.count = self.parts, [], 0
        reached = frozenset(self.join.stacks[x].variable for x in self.join.positive)
        ordered = self.join.groups == len(self.join.positive)
        spare = self.blueprint.spare_parts if self.once and self.native else None
        return Rows(parts, len(self.join.positive), reached, base, ordered, spare)

    def settle_waiting(self, now: int | None) -> None:
        """Matches after which something must be absent are made when their windows are over, first event by first."""
        assert self.window is not None
        (first,) = self.join.members(0)
        until = self.clock if now is None else now - self.window
        self.construct(-1, until)
        count = self.counts[first]
        if count:
            times = np.asarray(self.state[f"s{first}_t"][:count], np.int64)
            self.cut(first, int(np.searchsorted(times, until, side="right")))

    def pending(self) -> int | None:
        """The first position where a match ends that waits for an absence."""
        if not self.join.waits:
            return None
        (first,) = self.join.members(0)
        counts = self.counts
        if not counts[first]:
            return None
        start = int(self.state[f"s{first}_at"][0])
        ends = [
            int(found[found > start][0])
            for x in self.join.members(self.join.groups - 1)
            if len(found := np.asarray(self.state[f"s{x}_at"][: counts[x]], np.int64)) and (found > start).any()
        ]
        return min(ends, default=None)

    def unsettled(self) -> int | None:
        """The first position where a match ends that is not certain yet."""
        ends = [self.pending(), self.chosen.first_end() if self.chosen is not None else None]
        return min((end for end in ends if end is not None), default=None)

    # Clearing.

    def forget(self, now: int) -> None:
        """Let go of entries whose window is over, once there are many."""
        if sum(self.counts) < self.enough or self.window is None:
            return
        low = now - self.window + 1
        if self.join.waits:
            (first,) = self.join.members(0)
            if self.counts[first]:
                low = min(low, int(self.state[f"s{first}_t"][0]))
        for x, count in enumerate(self.counts):
            if not count:
                continue
            times = np.asarray(self.state[f"s{x}_t"][:count], np.int64)
            if self.timed:
                # A match that waits looks for what must be absent before it as far back as a window from its end.
                back = self.window if self.join.waits and not self.join.around(x)[0] else 0
                self.cut(x, int(np.searchsorted(times, low - (back if x in self.join.negated else 0))))
            else:
                lanes = np.asarray(self.state[f"s{x}_p"][:count]) if self.lanes.columns else np.zeros(count, np.int64)
                self.keep(x, times > np.asarray(self.state["seen"], np.int64)[lanes] - self.window)
        self.enough = 2 * sum(self.counts) + FEW

    def cut(self, x: int, count: int) -> None:
        """Let go of the first entries of a stack."""
        if count:
            kept: Any = np.ones(self.counts[x], bool)
            kept[:count] = False
            self.keep(x, kept)

    def keep(self, x: int, wanted: Any) -> None:
        """Some entries of a stack, in their order."""
        rest = int(wanted.sum())
        if rest == len(wanted):
            return
        for parameter in self.source.select.parameters:
            if parameter.size == f"stack {x}":
                array = self.state[parameter.name]
                left = np.asarray(array[: len(wanted)])[wanted]
                array[:rest] = left if self.native else left.tolist()
        self.meta[COUNTS + x] = rest

    def clear(self, now: int) -> None:
        """What no match to come can need: entries, then lanes, then strings."""
        if self.timed:
            self.forget(now)
        if len(self.lanes) > self.enough_lanes and self.lanes.columns:
            self.sweep()
        if len(self.strings.codes) > self.enough_strings:
            sizes = {f"s{x}_": count for x, count in enumerate(self.counts)}
            count_of = {name: sizes[name.split("_")[0] + "_"] for name in self.source.coded}
            held = {name: np.asarray(self.state[name][: count_of[name]], np.int64) for name in self.source.coded}
            for name, moved in self.strings.forget(len(self.blueprint.strings.codes), held).items():
                self.state[name][: count_of[name]] = moved if self.native else moved.tolist()
            self.enough_strings = 2 * len(self.strings.codes) + FEW_STRINGS

    def sweep(self) -> None:
        """Give up lanes that have no entry."""
        lanes = len(self.lanes)
        alive = np.zeros(lanes, bool)
        counts = self.counts
        for x, count in enumerate(counts):
            alive[np.asarray(self.state[f"s{x}_p"][:count], np.int64)] = True
        if not alive.all():
            self.lanes.keep(alive)
            kept = np.flatnonzero(alive)
            number: Any = np.zeros(lanes, np.uint32)
            number[kept] = np.arange(len(kept))
            for parameter in self.source.select.parameters:
                if parameter.size == "lanes":
                    array = np.asarray(self.state[parameter.name][:lanes])[kept]
                    self.state[parameter.name] = array if self.native else array.tolist()
            for x, count in enumerate(counts):
                moved = number[np.asarray(self.state[f"s{x}_p"][:count], np.int64)]
                self.state[f"s{x}_p"][:count] = moved if self.native else moved.tolist()
            self.fit(0)
            for name in ("slot", "touched"):
                self.work.pop(name, None)
        self.enough_lanes = 2 * len(self.lanes) + FEW_LANES

    def oldest(self) -> int | None:
        """The first position that a match to come can have among the events so far."""
        counts = self.counts
        found = [int(self.state[f"s{x}_at"][0]) for x in self.join.positive if counts[x]]
        held = self.chosen.first_start() if self.chosen is not None else None
        first = min([*found, *([held] if held is not None else [])], default=None)
        if self.chosen is not None:
            self.chosen.forget(first)
        return first

    @property
    def runs(self) -> int:
        """How many events are stored: no run exists before its match does."""
        return sum(self.counts)

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return int(self.meta[TESTS])

    def state_bytes(self) -> int:
        """The arrays of the state."""
        return sum(8 * len(a) if isinstance(a, list) else a.nbytes for a in self.state.values())

    # Snapshots.

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The stacks as they are."""
        names, arrays = [], []
        counts = self.counts
        for parameter in self.source.select.parameters:
            if parameter.size == "lanes":
                length = len(self.lanes)
            elif parameter.size.startswith("stack"):
                length = counts[int(parameter.size.split()[1])]
            elif parameter.name == "meta":
                length = len(self.meta)
            else:
                continue
            array = self.meta if parameter.name == "meta" else self.state.get(parameter.name, [])
            names.append(parameter.name)
            arrays.append(np.asarray(array[:length], np.dtype(parameter.dtype)))
        keys, numbers = self.lanes.dump()
        arrays.append(numbers)
        facts = {
            "names": names,
            "nullable": sorted(self.nullable),
            "strings": list(self.strings.codes),
            "lanes": keys,
            "clock": self.clock,
            "plan": [self.choice.way.value, list(self.choice.order)],
            "partition": self.choice.partition,
            "chosen": self.chosen.dump() if self.chosen is not None else None,
        }
        return facts, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], kept: pa.Table, base: int) -> None:
        """Take up a state that was dumped, by either kind of run."""
        self.nullable = frozenset(facts["nullable"])
        self.strings.codes = {text: code for code, text in enumerate(facts["strings"])}
        self.lanes.load(facts["lanes"], arrays[-1])
        self.clock = facts["clock"]
        self.source = self.write()
        self.functions = self.load_functions()
        given = zip(facts["names"], arrays[:-1], strict=True)
        self.state = {name: array.copy() if self.native else array.tolist() for name, array in given}
        self.work = {}
        self.fit(0)
        if self.chosen is not None:
            self.chosen.load(facts["chosen"])


def _types(function: Function) -> list[str]:
    arrays = [f"{p.dtype}[{'r' if p.readonly else 'w'}]" for p in function.parameters]
    return ["int64"] * function.numbers + arrays


def _rounded(size: int) -> int:
    return 1 << max(4, (max(size, 1) - 1).bit_length())
