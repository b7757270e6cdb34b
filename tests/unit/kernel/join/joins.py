"""A join on events that are given, and the same by trying every combination of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.front.fronts import analyse, bind
from cepheid.front.runnable import Runnable
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray, EventFact
from cepheid.kernel.compile import Compilable, Run
from cepheid.kernel.join import run
from cepheid.kernel.join.generate import generate_join
from cepheid.kernel.join.kernel import JoinKernel
from cepheid.kernel.join.output import MatchBuffers
from cepheid.kernel.join.state import StackState
from cepheid.kernel.runtime import NIL
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.pattern.tree.uses import variables
from cepheid.plan.join import Join, make_join
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.keys import group_key
from cepheid.values.rows import Event, read_rows

SCHEMA = pa.schema(
    {"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64(), "f": pa.float64(), "s": pa.string()}
)
Rows = set[tuple[int, ...]]


def bound(text: str, schema: pa.Schema = SCHEMA, **roles: Any) -> Runnable:
    """A query that can be run."""
    query = parse(f"PATTERN {text}").queries[0]
    return bind(analyse(query, {}, Roles(**roles)), make_schema(schema, Roles(**roles)), {})


def events(seed: int, size: int, types: str = "AABBCCX", **columns: list[Any]) -> pa.Table:
    """A stream of which two events have each time."""
    chance = Random(seed)
    values = {
        "k": [0, 1],
        "x": [0, 1, 2, 3],
        "f": [0.0, -0.0, 1.5, 2.0, float("nan")],
        "s": ["u", "v", "w"],
    }
    made = {"ts": [at // 2 for at in range(size)], "type": [chance.choice(types) for _ in range(size)]}
    made |= {name: [chance.choice(some) for _ in range(size)] for name, some in {**values, **columns}.items()}
    return pa.table(made, schema=SCHEMA)


class Machine:
    """A join that goes over a stream; `room`: for so few matches there is room at first."""

    def __init__(
        self,
        query: Runnable,
        order: tuple[int, ...] | None,
        *,
        native: bool = False,
        nullable: frozenset[str] = frozenset(),
        join: Join | None = None,
        room: int | None = None,
    ) -> None:
        self.query = query
        self.join = join or make_join(query)
        self.native = native
        self.window = query.window
        self.kernel: JoinKernel = generate_join(self.join, nullable, self.window, order)
        self.state = StackState(self.join, self.kernel, self.window, native=native)
        self.output = MatchBuffers(len(self.join.positive), native=native)
        self.output.room = room or self.output.room
        self.partitions: dict[tuple[Any, ...], int] = {} if self.join.partitions.all else {(): 0}
        self.strings: dict[str, int] = {}
        self.clock = 0
        self.calls: Counter[str] = Counter()

    def load(self, code: Compilable) -> Run:
        """A function as it runs."""
        self.calls[code.function.name] += 1
        return code.compiled() if self.native else code.as_python()

    def constants(self, wanted: Any) -> list[Any]:
        return [constant.argument(self.code) for constant in wanted]

    def code(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def feed(self, table: pa.Table, base: int = 0) -> None:
        """The next events, of which the first has a position."""
        arrays = [self.array(wanted, table) for wanted in self.kernel.select.events]
        self.state.reserve(table.num_rows, len(self.partitions))
        run.select(self.state, self.load, self.constants, arrays, 0, table.num_rows, base)
        self.clock = table.column("ts")[-1].as_py()
        if not self.join.waits:
            self.construct(base, 0)
            self.state.drop_used()
            self.state.compact(self.clock)

    def construct(self, first: int, until: int) -> None:
        run.construct(self.state, self.output, self.load, self.constants, first=first, until=until, clock=self.clock)

    def array(self, wanted: EventArray, table: pa.Table) -> Any:
        def column(name: str) -> list[Any]:
            values: list[Any] = table.column(name).to_pylist()
            return values

        match wanted.holds:
            case EventFact.TIME:
                found = column("ts")
            case EventFact.PARTITION:
                found = [self.partition(row) for row in zip(*map(column, self.join.partitions.all), strict=True)]
            case EventFact.TYPE:
                types = sorted(set(column("type")))
                found = [types.index(name) for name in column("type")]
            case EventFact.TYPES:
                kinds = self.kernel.types
                found = [kinds.index(name) + 1 if name in kinds else 0 for name in sorted(set(column("type")))]
            case ColumnValues(column=name):
                blank = -1 if name == "s" else 0
                found = [blank if v is None else self.code(v) if isinstance(v, str) else v for v in column(name)]
            case ColumnNulls(column=name):
                found = [int(value is None) for value in column(name)]
            case _:
                raise TypeError(wanted)
        return np.array(found, wanted.array.element.name) if self.native else found

    def partition(self, key: tuple[Any, ...]) -> int:
        """The number of a partition; none where a value of `[attr]` is NULL."""
        if None in key[len(self.join.partitions.columns) :]:
            return NIL
        return self.partitions.setdefault(tuple(map(group_key, key)), len(self.partitions))

    def settle(self, now: int | None = None) -> Rows:
        """The matches so far, as positions."""
        if self.join.waits:
            assert self.window is not None
            until = self.clock if now is None else now - self.window
            self.construct(-1, until)
            self.state.drop_certain(until)
            self.state.compact(self.clock)
        run.put_aside(self.state, self.output)
        found = [
            tuple(int(at) + part.origin for at in row)
            for part in self.output.take()
            for row in zip(*part.positions, strict=True)
        ]
        assert len(set(found)) == len(found)
        return set(found)


def find(query: Runnable, table: pa.Table, order: tuple[int, ...] | None, parts: int = 1, **options: Any) -> Rows:
    """The matches of a join over a stream that comes in parts."""
    nullable = frozenset(name for name in table.column_names if table.column(name).null_count)
    machine = Machine(query, order, nullable=nullable, **options)
    found: Rows = set()
    step = -(-table.num_rows // parts)
    for begin in range(0, table.num_rows, step):
        machine.feed(table.slice(begin, step), begin)
        if begin + step < table.num_rows:
            found |= machine.settle(machine.clock)
    return found | machine.settle()


# Every combination.


def enumerate_all(query: Runnable, table: pa.Table) -> Rows:
    """The matches by definition."""
    join, rows = make_join(query), read_rows(table, query.schema)
    asked = _conditions(query)
    typed = query.schema.roles.type is not None
    stacks = [[e for e in rows if not typed or e.type in stack.types] for stack in join.stacks]
    partitions = {e.row: _partition(query, e) for e in rows}
    numbers: dict[int, int] = {}
    seen: dict[Any, int] = {}
    for e in rows:
        numbers[e.row] = seen[partitions[e.row]] = seen.get(partitions[e.row], 0) + 1

    def holds(chosen: dict[str, Event], *, also: str | None = None) -> bool:
        there = Bindings({name: (e,) for name, e in chosen.items()}, chosen)
        return all(test(there) for names, test in asked if names <= chosen.keys() and (also is None or also in names))

    def inside(events: Sequence[Event]) -> bool:
        if query.within is None:
            return True
        if query.within.events is not None:
            places = [numbers[e.row] for e in events]
            return max(places) - min(places) < query.within.events
        times = [e.values["ts"] for e in events]
        return max(times) - min(times) < query.window

    def absent(chosen: dict[str, Event]) -> bool:
        return not any(_refutes(x, e, chosen) for x in join.negated for e in stacks[x])

    def _refutes(x: int, event: Event, chosen: dict[str, Event]) -> bool:
        bound_, name = list(chosen.values()), join.stacks[x].variable
        before, after = ([chosen[join.stacks[y].variable].row for y in side] for side in join.around(x))
        placed = event.row > max(before, default=-1) and event.row < min(after, default=len(rows))
        if not after and event.row <= max(e.row for e in bound_):
            return False
        near = placed and inside([*bound_, event]) and partitions[event.row] == partitions[bound_[0].row] is not None
        return near and holds({**chosen, name: event}, also=name) and holds({name: event})

    found: Rows = set()
    names = [join.stacks[x].variable for x in join.positive]
    groups = [join.stacks[x].group for x in join.positive]
    for combination in product(*(stacks[x] for x in join.positive)):
        places = [e.row for e in combination]
        if (
            len(set(places)) < len(places)
            or len({partitions[at] for at in places}) > 1
            or partitions[places[0]] is None
        ):
            continue
        placed = list(zip(places, groups, strict=True))
        ordered = all(p < q for p, g in placed for q, h in placed if g < h)
        chosen = dict(zip(names, combination, strict=True))
        if ordered and inside(combination) and holds(chosen) and absent(chosen):
            found.add(tuple(places))
    return found


def _conditions(query: Runnable) -> list[tuple[frozenset[str], Any]]:
    placed = query.placement
    found = [c for conditions in placed.at_place.values() for _, c in conditions]
    found += [c for conditions in (*placed.at_exit.values(), *placed.of_witness.values()) for c in conditions]
    return [(variables(c), Compiler(query).condition(c)) for c in dict.fromkeys(found)]


def _partition(query: Runnable, event: Event) -> Any:
    """None: in no match."""
    agreed = [event.values[test.attribute] for test in query.same]
    return None if None in agreed else (*map(group_key, agreed), *(event.values[name] for name in query.partition_by))
