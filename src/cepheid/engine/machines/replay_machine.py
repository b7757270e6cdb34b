"""A scan that replays parts of a stream: each part is a partition of its own, without any state before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import Errors, reader
from cepheid.engine.encoding.grown import Grown
from cepheid.engine.machines.policy import Policy
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.matches.difference import check_count
from cepheid.engine.matches.graph_matches import GraphMatches
from cepheid.engine.matches.match_table import NONE, MatchTable, concatenate
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventArray, EventFact
from cepheid.kernel.compile import Compilable, library_kernel
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.kernel.stretches import SKIPPED

LONG_AGO = -(2**62)
LONG = 1 << 16
"""Events on the tape from which on those are dropped that no run has."""
BESIDE = (
    "sort_events", "merge_events", "find_parts", "note_parts", "drop_events", "affected_matches", "different_matches",
    "copy_matches", "free_lists",
)  # fmt: skip
"""What is called with every part of a stream: no push waits until it is compiled."""
Columns = dict[str, Any]
"""Arrays of events as the scan reads them, by the names of its parameters."""


class ReplayMachine(ScanMachine):
    """Runs of a query in partitions that its caller indexes. An event may be in several, one after the other."""

    kind = "replay"

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy) -> None:
        self._partitions = 0
        self._free: list[int] = []
        self.tape = Grown(np.int32)  # the event of each id
        self._rehearses = False
        super().__init__(compiled, codes, policy)

    def kernel_for(self, nullable: frozenset[str]) -> ScanKernel:
        """The scan that says after which events a partition has no runs."""
        return self.compiled.tracked_scan(nullable)

    @property
    def kernels(self) -> Sequence[Compilable]:
        """The scan, and what is done before and after it."""
        return (self.kernel.code, *map(library_kernel, BESIDE))

    # Partitioning.

    @property
    def partition_count(self) -> int:
        """How many partitions there are."""
        return self._partitions

    def new_partitions(self, count: int) -> Any:
        """Partitions that have no runs."""
        taken = self._free[len(self._free) - min(count, len(self._free)) :]
        del self._free[len(self._free) - len(taken) :]
        fresh = range(self._partitions, self._partitions + count - len(taken))
        self._partitions += len(fresh)
        return np.array([*taken, *fresh], np.int64)

    def clear(self, partitions: Any) -> None:
        """End the runs of some partitions, which may be used again."""
        if len(partitions):
            self.state.clear_partitions(partitions)
            self._free += partitions.tolist()

    # Events.

    def encode(self, batch: Batch) -> tuple[Columns, Errors]:
        """The arrays of events, each event by itself; and what could not be computed, by the event."""
        errors: Errors = {}
        found: Columns = {}
        for wanted in self.kernel.events:
            match wanted.holds:
                case EventFact.PARTITION | EventFact.QUIET | EventFact.SKIP | EventFact.TYPES | EventFact.TIME:
                    continue
                case EventFact.TYPE:
                    codes = batch.type_codes[0]
                    narrow = np.uint8 if len(self.kernel.types) < 256 else np.int32  # to be held; 0 is no type
                    found[wanted.array.name] = batch.type_numbers(self.kernel.types)[codes].astype(narrow)
                case _:
                    read = reader(wanted, self.compiled.flat, self.partition_numbers, self.kernel.types)
                    found[wanted.array.name] = read(batch, errors)
        return found, errors

    def scan(self, events: Any, partitions: Any, times: Any, skip: Any, columns: Columns, errors: Errors) -> Any:
        """Go over events, given by their numbers, each in a partition.

        skip: where to go on after an event that leaves its partition without runs; 0: at the next one.
        columns, errors: of these events. Returns for each event 1 if it left its partition without runs, 0 if not, and
        `SKIPPED` if it was skipped.
        """
        quiet = np.full(len(events), SKIPPED, np.uint8)
        arrays = [self._argument(wanted, partitions, times, skip, quiet, columns) for wanted in self.kernel.events]
        if not self.native:
            self.consider(len(events))
        oldest = np.full(len(events), int(times.min()))  # no run may end because of the time in another partition
        self.state.expect(2 * len(events))
        self.go_over(arrays, self.tape.size, oldest, 0, len(events), errors)
        self.tape.add(events)
        self.work += len(events) * (1 + (0 if self.native else self.runs_met))
        return quiet

    def _argument(
        self, wanted: EventArray, partitions: Any, times: Any, skip: Any, quiet: Any, columns: Columns
    ) -> Any:
        match wanted.holds:
            case EventFact.PARTITION:
                return partitions.astype(np.uint32)
            case EventFact.TIME:
                return times
            case EventFact.TYPE:
                return columns[wanted.array.name].astype(np.int32)
            case EventFact.TYPES:  # the numbers of types are known already
                return np.arange(len(self.kernel.types) + 1, dtype=np.uint16)
            case EventFact.QUIET:
                return quiet
            case EventFact.SKIP:
                return skip
        return columns[wanted.array.name]

    def taken(self) -> MatchTable:
        """The matches that were found since the last time; their rows are numbers of events."""
        if self.decoder.subsets and self.state.matches:
            check_count(GraphMatches(self.graph(), self.decoder, 0).bound()[0])
        self.flush()
        found = concatenate(self.given) if self.given else NONE
        self.given = []
        variables = found.variables.astype(np.uint8) if len(self.query.positive) <= 256 else found.variables
        found = MatchTable(self.tape.all[found.rows], variables, found.offsets, found.reached, found.reaches)
        if self.tape.size > LONG:
            self.state.collect(LONG_AGO)
            self.shorten()
        return found

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Events that are gone over only for their runs: their matches are known."""
        self._rehearses = True
        try:
            yield
            self.flush()
        finally:
            self._rehearses = False

    def flush(self) -> None:
        """Enumerate the matches so far, so that their nodes can go."""
        if self._rehearses:
            self.state.take_matches()
        else:
            super().flush()

    def forget(self, oldest: int) -> None:
        """Forget what no run can need; no event comes before a time."""
        self.state.end_old_runs(oldest)
        self.state.collect(oldest)

    def shorten(self, number: Any = None) -> None:
        """Drop events from the tape that no run has. number: the new number of each event, if they have others."""
        self.tape.keep(self.state.renumber_events())
        if number is not None:
            self.tape.all[:] = number[self.tape.all]
