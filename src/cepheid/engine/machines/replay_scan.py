"""A scan that replays parts of a stream: each part is a partition of its own, without any state before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import Errors, reader
from cepheid.engine.encoding.grown import Grown
from cepheid.engine.machines.forms.events import EventForm
from cepheid.engine.machines.policy import Policy
from cepheid.engine.machines.scan import Scan
from cepheid.engine.matches.difference import check_count
from cepheid.engine.matches.graph_matches import GraphMatches
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventArray, EventFact
from cepheid.kernel.arrays import Array
from cepheid.kernel.compile import library_kernel
from cepheid.kernel.stretches import SKIPPED

LONG_AGO = -(2**62)
LONG = 1 << 16
"""Events on the tape from which on those are dropped that no run has."""
BESIDE = (
    "sort_events", "merge_events", "find_parts", "note_parts", "drop_events", "affected_matches", "different_matches",
    "copy_matches", "free_lists",
)  # fmt: skip
"""What is called with every part of a stream: no push waits until it is compiled."""
Columns = dict[str, Array]
"""Arrays of events as the scan reads them, by the names of its parameters."""


class ReplayScan:
    """Runs of a query in partitions that its caller indexes. An event may be in several, one after the other.

    The caller encodes the events once, scans some of them in the order of their partitions, and takes the matches.
    """

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy) -> None:
        self.scan = Scan(compiled, codes, policy, tracked=True, more=tuple(map(library_kernel, BESIDE)))
        self.form = EventForm()
        self.form.begin(self.scan)
        self.tape = Grown(np.int32)  # the event of each id
        self._partitions = 0
        self._free: list[int] = []
        self._rehearses = False

    # Partitioning.

    def new_partitions(self, count: int) -> Array:
        """Partitions that have no runs."""
        taken = self._free[len(self._free) - min(count, len(self._free)) :]
        del self._free[len(self._free) - len(taken) :]
        fresh = range(self._partitions, self._partitions + count - len(taken))
        self._partitions += len(fresh)
        return np.array([*taken, *fresh], np.int64)

    def clear(self, partitions: Array) -> None:
        """End the runs of some partitions, which may be used again."""
        if len(partitions):
            self.scan.state.clear_partitions(partitions)
            self._free += partitions.tolist()

    # Events.

    def encode(self, batch: Batch) -> tuple[Columns, Errors]:
        """The arrays of events, each event by itself; and what could not be computed, by the event."""
        errors: Errors = {}
        columns: Columns = {}
        kernel = self.scan.kernel
        for wanted in kernel.events:
            match wanted.holds:
                case EventFact.PARTITION | EventFact.QUIET | EventFact.SKIP | EventFact.TYPES | EventFact.TIME:
                    continue
                case EventFact.TYPE:
                    codes = batch.type_codes[0]
                    narrow = np.uint8 if len(kernel.types) < 256 else np.int32  # to be held; 0 is no type
                    columns[wanted.array.name] = batch.type_numbers(kernel.types)[codes].astype(narrow)
                case _:
                    read = reader(wanted, self.scan.compiled.flat, self.scan.input.partition_index, kernel.types)
                    columns[wanted.array.name] = read(batch, errors)
        return columns, errors

    def run(
        self, events: Array, partitions: Array, times: Array, skip: Array, columns: Columns, errors: Errors
    ) -> Array:
        """Scan events, given by their numbers, each in a partition.

        skip: where to go on after an event that leaves its partition without runs; 0: at the next one.
        columns, errors: of these events. Returns for each event 1 if it left its partition without runs, 0 if not, and
        `SKIPPED` if it was skipped.
        """
        scan = self.scan
        quiet = np.full(len(events), SKIPPED, np.uint8)
        arrays = [self._argument(wanted, partitions, times, skip, quiet, columns) for wanted in scan.kernel.events]
        if not scan.native:
            scan.consider(len(events))
        oldest = np.full(len(events), int(times.min()))  # no run may end because of the time in another partition
        scan.state.expect(2 * len(events))
        scan.state.fit(self._partitions)
        scan.run(arrays, self.tape.size, oldest, 0, len(events), errors, self._make_room)
        self.tape.add(events)
        return quiet

    def _make_room(self, stuck: bool) -> None:
        self.scan.make_room(stuck=stuck, collect=self._collect)

    def _argument(
        self, wanted: EventArray, partitions: Array, times: Array, skip: Array, quiet: Array, columns: Columns
    ) -> Array:
        match wanted.holds:
            case EventFact.PARTITION:
                return partitions.astype(np.uint32)
            case EventFact.TIME:
                return times
            case EventFact.TYPE:
                return columns[wanted.array.name].astype(np.int32)
            case EventFact.TYPES:  # the numbers of types are known already
                return np.arange(len(self.scan.kernel.types) + 1, dtype=np.uint16)
            case EventFact.QUIET:
                return quiet
            case EventFact.SKIP:
                return skip
        return columns[wanted.array.name]

    def taken(self) -> MatchTable:
        """The matches that were found since the last time; their rows are numbers of events."""
        scan = self.scan
        if scan.state.matches:
            decoder = self.form.decoder()
            if decoder.subsets:
                check_count(GraphMatches(scan.graph(), decoder, 0).bound()[0])
        self._collect()
        matches = self.form.collected()
        variables = matches.variables
        if len(scan.query.positive) <= 256:
            variables = variables.astype(np.uint8)
        matches = MatchTable(self.tape.all[matches.rows], variables, matches.offsets, matches.reached, matches.reaches)
        if self.tape.size > LONG:
            scan.state.collect(LONG_AGO)
            self.shorten()
        return matches

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Events that are scanned only for their runs: their matches are known."""
        self._rehearses = True
        try:
            yield
            self._collect()
        finally:
            self._rehearses = False

    def _collect(self) -> None:
        """Take the matches out of the store; those of a rehearsal are known."""
        if self._rehearses:
            self.scan.state.take_matches()
        else:
            self.form.collect()

    def forget(self, oldest: int) -> None:
        """Forget what no run can need; no event comes before a time."""
        self.scan.state.end_old_runs(oldest)
        self.scan.state.collect(oldest)

    def shorten(self, number: Array = None) -> None:
        """Drop events from the tape that no run has. number: the new number of each event, if they have others."""
        self.tape.keep(self.scan.state.renumber_events())
        if number is not None:
            self.tape.all[:] = number[self.tape.all]
