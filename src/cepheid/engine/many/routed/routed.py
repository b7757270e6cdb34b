"""Rules that share a kernel: the events that concern each are joined with its constants, and a rule is a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.scope_filter import ScopeFilter
from cepheid.engine.machines.plans import Plans
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.many.lifetimes import ALWAYS
from cepheid.engine.many.protocol import RULE, Router, RuleMatches
from cepheid.engine.many.results import Part, found_of, rows_of
from cepheid.engine.many.routed.joined_stream import JoinedRows, JoinedStream
from cepheid.engine.many.routed.routers import router_of
from cepheid.engine.many.routed.rule_places import FOREVER, RulePlaces
from cepheid.engine.matches.match_table import MatchTable, returned
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.query_stream import QueryStream
from cepheid.front.templates.template import Joined
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Output
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.json import Json

MOST_ROWS = 2**18
"""Rows of a joined stream that are made at a time; those of one instant are made together, however many they are."""

Factory = Callable[[CompiledQuery, StreamCodes, str | None], Plans]


class RoutedTier:
    """The rules of one variant of a template."""

    reloads = False

    def __init__(
        self,
        template: int,
        joined: Joined,
        factory: Factory,
        router: Router | None = None,
        rules: RulePlaces | None = None,
    ) -> None:
        self.template = template
        self.joined = joined
        self.query = joined.bound
        self.compiled = CompiledQuery(joined.bound)
        self.factory = factory
        router_, why = router_of(self.compiled)
        self.router: Router = router_ if router is None else router
        self.why_all = why if router is None else ""  # why events are joined with all rules, or all that have begun
        constants = [(n, t.arrow) for n, t in self.query.schema.columns.items() if n in self.query.schema.constants]
        self.rules = RulePlaces(pa.schema(constants[1:])) if rules is None else rules  # the first is the number
        self.stream = JoinedStream(self.query.schema, self.rules)
        self.running = self._run(None)
        self.filter = None if self.query.scope is None else ScopeFilter(self.query)
        self.seen = StreamCodes(self.query.schema)  # of rows that FROM may leave out
        self.found: list[Part] = []  # matches that are certain
        self.queue: list[Batch] = []
        self.ending: dict[int, list[Any]] = {}  # rules that end at a time, in ticks
        self.gone: np.ndarray = np.zeros(0, np.int64)  # rules that emit nothing any more
        self.events = self.touched = 0

    def anew(self, factory: Factory) -> RoutedTier:
        """The same rules, from the beginning of another stream."""
        tier = RoutedTier(self.template, self.joined, factory, self.router.copy(), self.rules.copy())
        tier.why_all = self.why_all
        return tier

    def _run(self, kind: str | None) -> QueryStream:
        return QueryStream(
            self.query, self.stream, lambda kind: self.factory(self.compiled, self.stream.codes, kind), kind
        )

    # Rules.

    def add(self, numbers: list[int] | np.ndarray, constants: pa.Table, at: int | None, kind: object = None) -> None:
        """Rules with their constants, which see the events after a time."""
        self.rules.add(numbers, constants, at)
        self.router.add(np.asarray(numbers, np.int64), constants)

    def remove(self, numbers: np.ndarray, at: int) -> None:
        """Rules that see no event after a time."""
        self.rules.end(numbers, at)
        self.ending.setdefault(at, []).append(np.asarray(numbers, np.int64))

    def settle_rules(self) -> None:
        """They are found by what they are equal to when an event comes."""

    # Events.

    def feed(self, batch: Batch) -> None:
        """The next events; they are processed when their time has come."""
        if len(batch):
            self.queue.append(batch)
            self.events += len(batch)

    def _process(self, until: int | None) -> None:
        """Go over the events up to a time; None: all."""
        while self.queue:
            batch = self.queue[0]
            count = len(batch) if until is None else int(np.searchsorted(batch.times, until, "right"))
            if not count:
                return
            if count < len(batch):
                self.queue[0] = part_of(batch, count, len(batch))
            else:
                self.queue.pop(0)
            for piece in self._pieces(part_of(batch, 0, count)):
                self._join(piece)

    def _pieces(self, batch: Batch) -> Iterator[Batch]:
        """Parts of a batch whose rows can be made together."""
        begin = 0
        for end in cuts(batch.times, MOST_ROWS, self.router.most(batch)):
            yield part_of(batch, begin, end)
            begin = end

    def _join(self, batch: Batch) -> None:
        events, numbers = self.router.route(batch)
        if self.rules.last:
            places, times = self.rules.places(numbers), batch.times[events]
            seen = (times > self.rules.since[places]) & (times <= self.rules.until[places])
            events, numbers = events[seen], numbers[seen]
        begin = 0
        times = batch.times[events]
        for end in cuts(times, MOST_ROWS):
            rows = JoinedRows(self.query.schema, batch, events[begin:end], self.rules, numbers[begin:end])
            self._take(rows, times[begin:end])
            begin = end

    def _take(self, rows: JoinedRows, times: np.ndarray) -> None:
        if self.filter is not None:
            places = self.filter.places(Batch(self.seen, rows, times, 0))
            if places is not None:
                rows, times = rows.only(places), times[places]
        if len(times):
            self.touched += len(times)
            self.running.feed(self.stream.append(rows, np.ascontiguousarray(times)))
            # A batch may have far more rows than events. Matches are taken out before the rows go that they have.
            last_time = int(times[-1])
            self.found += self._certain(self.running.emit(last_time))
            self._compact(last_time)

    # Matches.

    def settle(self, watermark: int | None, rows: KeptRows) -> list[RuleMatches]:
        """The matches that became certain, given all events before a time (None: all)."""
        self.stream.source = rows
        parts: list[Part] = []
        for at in sorted(at for at in self.ending if watermark is None or at < watermark):
            self._process(at)
            ended = np.concatenate(self.ending.pop(at))
            parts += self._ended(ended, at)
            self.router.remove(ended)
            self.gone = np.union1d(self.gone, ended)
            self._end_partitions(ended)
        self._process(None)
        parts += [*self._taken(), *self._certain(self.running.emit(watermark))]
        return found_of(self.template, self.joined, parts, rows)

    def _ended(self, ended: np.ndarray, at: int) -> list[Part]:
        """The last matches of rules that end at a time: absences are known up to then (S17)."""
        parts = [*self._taken(), *self._certain(self.running.emit(at))]
        if self.query.waits or self.query.output is not Output.ALL:
            # What is still open is decided in a copy, which is as if the input had ended.
            facts, arrays = self.running.dump()
            copy = self._run(self.running.kind)
            copy.load(facts, [array.copy() for array in arrays])
            for numbers, table in self._certain(copy.emit(None, at)):
                mine = np.flatnonzero(np.isin(numbers, ended))
                assert isinstance(table, MatchTable)
                parts.append((numbers[mine], table.take(mine)))
        return parts

    def _taken(self) -> list[Part]:
        """The matches that were taken out on the way."""
        parts, self.found = self.found, []
        return parts

    def _certain(self, emitted: Any) -> list[Part]:
        """Matches of rules that are there, with the ids of their events."""
        if isinstance(emitted, Matches):
            numbers, rows = rows_of(emitted)
            assert isinstance(rows, pa.Table)
            there = np.isin(numbers, self.gone, invert=True)
            return [(numbers[there], rows.filter(from_numpy(there)))]
        table: MatchTable = emitted.all()
        if not len(table):
            return []
        if self.joined.returns_constants and table.values is None:
            table = self._with_values(table)
        if len(self.gone):
            there = np.isin(self.stream.pairs(table.last)[1], self.gone, invert=True)
            table = table.take(np.flatnonzero(there))
        ids, owners = self.stream.pairs(table.rows)
        numbers = owners[table.offsets[:-1]]
        known = MatchTable(ids, table.variables, table.offsets, table.reached, table.reaches, table.values)
        return [(numbers, known)]

    def _with_values(self, table: MatchTable) -> MatchTable:
        """RETURN, where it depends on the rule."""
        used, place = np.unique(table.rows, return_inverse=True)
        matches = MatchTable(place, table.variables, table.offsets, table.reached, table.reaches)
        made = returned(self.query, self.stream.taken(used), matches, matches.columns(len(self.query.positive)))
        nothing = [None] * len(table)  # of events, which are found in their own table
        values = tuple(
            nothing if isinstance(result.expression, ex.Rows) else _in_one(made[result.name])
            for result in self.query.returns
        )
        return MatchTable(table.rows, table.variables, table.offsets, table.reached, table.reaches, values)

    def deadline(self) -> int | None:
        """When the first rules end; at any time if a match waits, since each rule can have a window of its own."""
        return ALWAYS if self.running.unsettled() is not None else min((at + 1 for at in self.ending), default=None)

    # Clearing.

    def compact(self, watermark: int) -> int | None:
        """Drop what no match to come can need; the first event that one can have among those so far."""
        self._compact(watermark)
        if len(self.gone):
            self._forget()
        first_ids = [self.stream.first_event, *(batch.first for batch in self.queue)]
        return min((first_id for first_id in first_ids if first_id is not None), default=None)

    def _compact(self, watermark: int) -> None:
        machine = self.running.machine
        self.stream.compact(watermark, [] if machine is None else [machine])

    def _end_partitions(self, ended: np.ndarray) -> None:
        """End the runs of rules: without a window, they would wait for ever. Others end with their window."""
        machine, by_rule = self.running.machine, self.query.partitions.all[:1] == (RULE,)
        if isinstance(machine, ScanMachine) and self.query.within is None and by_rule:
            over = set(ended.tolist())
            partitions = [
                partition for partition, key in enumerate(machine.scan.input.partition_index.known()) if key[0] in over
            ]
            machine.end_partitions(np.array(partitions, np.int64))

    def _forget(self) -> None:
        """Rules that are gone, once no row has them."""
        kept = self.stream.all_pairs[1]
        held = np.isin(self.rules.numbers, self.gone, invert=True) | np.isin(self.rules.numbers, kept)
        if 2 * int(held.sum()) < len(held):
            self.rules.keep(held)
            self.gone = np.intersect1d(self.gone, self.rules.numbers)

    # Snapshots.

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The state with the rules: facts for a header, and flat arrays."""
        assert not self.queue, "what was fed is settled before it is written down"
        stream, rules = self.stream, self.rules
        machine_facts, machine_arrays = self.running.dump()
        routed = self.router.dump()
        partitions, keys = [], []
        for split, numbers in stream.codes.keys.items():
            named, array = numbers.dump()
            partitions.append([list(split.columns), list(split.agreed), split.one_key, named])
            keys.append(array)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rules.constants.schema) as writer:
            writer.write_table(rules.constants)
        constants = np.frombuffer(sink.getvalue(), np.uint8)
        facts = {
            "kind": self.running.kind,
            "machine": machine_facts,
            "stream": [stream.base, stream.events, stream.last],
            "strings": list(stream.codes.strings.codes),
            "lanes": partitions,
            "ending": [[at, np.concatenate(numbers).tolist()] for at, numbers in self.ending.items()],
            "counts": [self.events, self.touched],
            "routed": len(routed),
        }
        kept = [rules.numbers, rules.since, rules.until, constants, self.gone, *stream.all_pairs]
        return facts, [*kept, *routed, *keys, *machine_arrays]

    def load(self, facts: Json, arrays: list[np.ndarray], rows: KeptRows) -> None:
        """Take up a state that was dumped; it has its rules."""
        numbers, since, until, constants, gone, ids, owners, *rest = arrays
        routed = facts.get("routed", 0)  # there were none in earlier releases
        begun, rest = rest[:routed], rest[routed:]
        with pa.ipc.open_stream(pa.py_buffer(np.ascontiguousarray(constants))) as reader:
            self.rules.restore(numbers, reader.read_all(), since, until)
        self.gone = gone
        alive = np.isin(numbers, gone, invert=True)
        places = from_numpy(np.flatnonzero(alive))
        self.router.clear()
        self.router.add(numbers[alive], self.rules.constants.take(places))
        self.router.load(begun, numbers[alive], facts["stream"][2])
        self.stream.restore_pairs(ids, owners, *facts["stream"])
        self.stream.source = rows
        self.stream.codes.strings.codes = {text: code for code, text in enumerate(facts["strings"])}
        count = len(facts["lanes"])
        for (columns, agreed, one_key, keys), array in zip(facts["lanes"], rest[:count], strict=True):
            self.stream.codes.partitions(Partitioning(tuple(columns), tuple(agreed), one_key)).load(keys, array)
        self.stream.postpone()
        self.ending = {at: [np.array(over, np.int64)] for at, over in facts["ending"]}
        self.events, self.touched = facts["counts"]
        self.running = self._run(facts["kind"])
        self.running.load(facts["machine"], rest[count:])

    def counters(self) -> Mapping[str, int]:
        """What it has done: events, rules that were touched, runs that are alive."""
        return {
            "events": self.events,
            "touched": self.touched,
            "rules": int((self.rules.until == FOREVER).sum()),
            "runs": 0 if self.running.machine is None else self.running.machine.runs,
            "tests": self.running.tests,
        }


def part_of(batch: Batch, begin: int, end: int) -> Batch:
    """Some events of a batch, one after the other."""
    if begin == 0 and end == len(batch):
        return batch
    return Batch(batch.codes, batch.only(np.arange(begin, end)), batch.times[begin:end], batch.first + begin)


def cuts(times: np.ndarray, most: int, weights: np.ndarray | None = None) -> Iterator[int]:
    """Where rows, of which each weighs 1 or more, are cut into parts of at most so much; an instant stays together."""
    begin, count = 0, len(times)
    total = np.arange(1, count + 1) if weights is None else np.cumsum(np.maximum(weights, 1))
    while begin < count:
        before = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, before + most, "right")))
        if end < count:
            first = int(np.searchsorted(times, times[end], "left"))
            end = first if first > begin else int(np.searchsorted(times, times[begin], "right"))
        yield end
        begin = end


def _in_one(column: Any) -> Any:
    """A column as one array, or as a list."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
