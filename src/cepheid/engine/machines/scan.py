"""An automaton on its kernel: every prefix of a match is a run (SASE+). What matches look like is another part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.machines.batch_pieces import BatchPieces
from cepheid.engine.machines.kernel_input import KernelInput, as_lists
from cepheid.engine.machines.policy import CompilePolicy, Policy
from cepheid.engine.machines.protocol import StateFacts
from cepheid.engine.matches.graph import MatchGraph
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arguments import EventFact
from cepheid.kernel.arrays import Array
from cepheid.kernel.compile import Compilable
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.kernel.scan.state import MOST_NODES, ScanState

STRIDE = 64
"""Events of the first piece of a batch."""


class TooManyRuns(Exception):  # noqa: N818
    """Runs that test HAVING are too many: the matches are to be tested one by one."""


class Scan:
    """A kernel, its state, and how it runs: as plain Python, unless it is certain that compiling pays.

    It goes native in the middle of the stream: the state is the same.
    events: how many there will be; 0: nobody knows. tracked: the kernel reports which events leave no runs.
    more: further kernels, to be compiled with it.
    """

    def __init__(
        self,
        compiled: CompiledQuery,
        codes: StreamCodes,
        policy: Policy,
        *,
        events: int = 0,
        native: bool = False,
        tracked: bool = False,
        more: Sequence[Compilable] = (),
    ) -> None:
        self.compiled = compiled
        self.query = compiled.query
        self.codes = codes
        self.policy = policy
        self._may_compile = policy.when is not CompilePolicy.NEVER
        self.clock = 0  # the time of the last event
        self.work = 0  # events so far, and the runs that they met: with the tests, what plain Python has done
        self.pieces = BatchPieces()
        codes.derive(compiled.derived, compiled.pieces)
        self.input = KernelInput(compiled, codes, compiled.query.partitions)
        window = (self.query.window or 0) if self.query.timed else 0
        self._margin = max(window, self.query.ahead, self.query.behind) or None
        self._tracked, self._more = tracked, tuple(more)
        self._take_kernel()
        self.native = native or policy.pays(self.kernels, events)
        self.state = self._spare_state() or self.new_state(events)
        self.state.fit(len(self.input.partition_index))

    def _take_kernel(self) -> None:
        kernel_for = self.compiled.tracked_scan if self._tracked else self.compiled.scan
        self.kernel: ScanKernel = kernel_for(self.input.nullable)
        self._function: Callable[..., int] | None = None  # the kernel as it runs, once it was called
        self.kernels: Sequence[Compilable] = (self.kernel.code, *self._more)
        self.waits = any(pool.waits for pool in self.kernel.pools)  # for what must be absent
        # What it reads, and `[attr]`: where that is NULL, an event is in no match.
        self.columns = (*self.kernel.columns, *self.input.partitions.agreed)

    def _spare_state(self) -> ScanState | None:
        """The arrays of an earlier run, as empty as new ones; that run may have ended with a kernel for other NULLs."""
        if not (self.native and self.codes.once and self.compiled.spare_scans):
            return None
        state = self.compiled.spare_scans.pop()
        state.change_kernel(self.kernel)
        return state

    def new_state(self, events: int = 0) -> ScanState:
        """Arrays that hold nothing, with room for so many events."""
        return ScanState(self.kernel, self.query.window, native=self.native, events=events, period=self.query.ahead)

    def release(self) -> None:
        """The run is over, and its matches are read: the next one can have the arrays."""
        if self.native and self.codes.once:
            self.compiled.take_back(self.state)

    def retime(self, compiled: CompiledQuery) -> None:
        """Go on with the same code of a query whose arcs come and go at other times, or have other constants."""
        self.compiled = compiled
        self.codes.derive(compiled.derived, compiled.pieces)

    # Plain or compiled.

    def consider(self, events: int) -> None:
        """Go native if that pays: for what was done already, and for the events that are known to come."""
        if self.policy.pays(self.kernels, events, self.work + self.state.tests):
            self.go_native()

    def go_native(self) -> None:
        """From plain Python to compiled code, from lists to arrays."""
        if not self.native:
            self.native = True
            self._function = None
            self.state.to_native()

    def change_kernel(self) -> None:
        """More columns have NULLs: another kernel, the same state."""
        self._take_kernel()
        self.state.change_kernel(self.kernel)

    # Events.

    def feed(self, batch: Batch, make_room: Callable[[bool], None]) -> None:
        """Run a batch. make_room: called where the kernel stops for want of room, with whether it is `stuck`."""
        times = batch.times
        if self._margin is not None:
            check_times(times, self._margin)
        if self.input.learns(batch, self.columns):
            self.change_kernel()
        kernel, size = self.kernel, len(times)
        if batch.floor is not None:
            times = np.full(size, batch.floor)  # no run may end because of the time in another partition
        lists = None if batch.report is not None else self.input.lists(kernel.events, kernel.types, batch)
        errors: Errors = {}
        arrays = self.input.arrays(kernel.events, kernel.types, batch, errors) if lists is None else []
        partitions = len(self.input.partition_index)
        if partitions != self.state.partitions:
            self.state.fit(partitions)
        if lists is not None:
            if self._may_compile and not self.native:
                self.consider(size if self.codes.once else 0)
            arrays = self._as_arrays(lists) if self.native else lists
            self._advance(arrays, batch.first, times, 0, size, 0, errors, make_room)
            self.work += size
            if self._may_compile:
                self._count_runs(size)
            return
        for begin, end in self.pieces.of(batch, STRIDE, self):
            self.run(arrays, batch.first, times, begin, end, errors, make_room)

    def _as_arrays(self, lists: Sequence[Array]) -> list[Array]:
        arrays = []
        for wanted, values in zip(self.kernel.events, lists, strict=True):
            arrays.append(np.array(values, wanted.array.element.name))
        return arrays

    def run(
        self,
        arrays: list[Array],
        first: int,
        times: Array,
        begin: int,
        end: int,
        errors: Errors,
        make_room: Callable[[bool], None],
    ) -> None:
        """Run some events, of which the first of the arrays has the id `first`. The state fits their partitions."""
        if self.native:
            self._advance(arrays, first, times, begin, end, 0, errors, make_room)
        else:
            lists = list(as_lists(self.kernel.events, arrays, begin, end))
            self._advance(lists, first, times, begin, end, begin, errors, make_room)
            if self._tracked:
                for wanted, array, values in zip(self.kernel.events, arrays, lists, strict=True):
                    if wanted.holds is EventFact.QUIET:  # which the kernel writes
                        array[begin:end] = values
        self.work += end - begin
        if self._may_compile:
            self._count_runs(end - begin)

    def _count_runs(self, events: int) -> None:
        """Each run that an event meets is work, whether or not it is tested."""
        if not self.native:
            self.work += events * (self.state.runs // max(1, self.state.partitions))

    def _advance(
        self,
        arrays: list[Array],
        first: int,
        times: Array,
        begin: int,
        end: int,
        offset: int,
        errors: Errors,
        make_room: Callable[[bool], None],
    ) -> None:
        """Call the kernel until it has run the events from `begin` to `end`; arrays begin with that of `offset`."""
        kernel, state = self.kernel, self.state
        constants = self.input.constants(kernel.constants) if kernel.constants else ()
        function = self._function
        if function is None:
            function = self._function = kernel.code.compiled() if self.native else kernel.code.as_python()
        at = begin
        while at < end:
            arguments = state.arguments()
            numbers = at - offset, end - offset, first + offset
            reached = offset + int(function(*numbers, *constants, *arrays, *arguments))
            if reached > begin:
                self.clock = int(times[reached - 1])
            failed = state.failed
            if failed is not None:
                raise errors[failed + offset]
            if reached < end:
                make_room(reached == at)  # the kernel has stopped before an event that could make an array overflow
                self.pieces.report(reached)  # a single event may meet so many runs that it takes long
            at = reached

    def make_room(self, *, stuck: bool, collect: Callable[[], None]) -> None:
        """Make room for more runs, nodes and matches. collect: takes the matches out of the store."""
        if self.codes.once and self.state.reserve(stuck=stuck, keeps=True):
            return  # where all events come at once, matches stay in the graph until they are asked for
        collect()
        self.state.end_old_runs(self.clock)
        self.state.collect(self.clock)
        if self.compiled.tries and 2 * self.state.nodes > MOST_NODES:
            raise TooManyRuns
        self.state.reserve(stuck=stuck, keeps=False)

    # Matches.

    def graph(self) -> MatchGraph:
        """The match store as it is."""
        nodes, matches = self.state.store()
        return MatchGraph(
            nodes,
            matches,
            self.state.matches,
            self.native,
            dense=not self.input.partitions.all,
            stretched=self.kernel.stretched,
            shift=self.kernel.shift,
        )

    # Snapshots.

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """The arrays as they are, and how they are run."""
        facts, arrays = self.state.dump()
        running = {
            "native": self.native,
            "work": self.work,
            "nullable": sorted(self.input.nullable),
            "clock": self.clock,
        }
        return running | facts, arrays

    def load(self, facts: StateFacts, arrays: list[Array]) -> None:
        """Restore a state; the kernel is that for the same NULLs, and compiled if it was."""
        self.native |= facts["native"] and self.policy.when is not CompilePolicy.NEVER
        self.work = facts["work"]
        self.input.nullable = frozenset(facts["nullable"])
        self.clock = facts["clock"]
        self._take_kernel()
        self.state = self.new_state()
        self.state.load(facts, arrays, len(self.input.partition_index))
