"""What queries on generated kernels have in common: NULLs, partitions, strings, plain or compiled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import Any

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.event_arrays import Errors, Reader, reader
from cepheid.engine.machines.policy import ENOUGH_TO_COMPILE, ENOUGH_TO_LOOK, CompilePolicy, Policy
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.matches.choice import Choice, KeptEvents, Open
from cepheid.engine.matches.having import keep_having
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.progress import Report
from cepheid.kernel.arguments import EventArray
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constant
from cepheid.kernel.join.state import StackState
from cepheid.kernel.runtime import NEVER
from cepheid.kernel.scan.state import ScanState
from cepheid.pattern.tree.nodes import Output
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import PlanSpec

OFTEN = 0.1
"""Seconds of work that are worth a report."""
PIECE = 2_048
"""The most events that plain Python goes over before it is asked whether compiled code is ready."""
_FASTER = 4  # times as many events, after a piece that took less time than that; as many times fewer, if more


class KernelMachine(ABC):
    """One query over a stream that comes in batches, on generated kernels.

    It begins as plain Python, unless it is certain that compiling pays, and goes native in the middle of the stream:
    the state is the same.
    """

    stride = 64  # events of the first piece: an event may meet very many runs, so that pieces grow while they are quick
    tests_having = False  # whether its matches are those that pass HAVING
    state: ScanState | StackState

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, partitions: Partitioning, policy: Policy) -> None:
        self.compiled = compiled
        self.query = compiled.query
        self.codes = codes
        codes.derive(compiled.derived, compiled.pieces)
        self.partitions = partitions
        self.partition_numbers = codes.partitions(partitions)
        self.policy = policy
        self.native = False
        self.window = self.query.window
        self.nullable: frozenset[str] = frozenset()
        self.clock = 0  # the time of the last event
        self.told = 0  # events of the batch that it has told of
        self.report: Report | None = None  # whom it tells
        self.work = 0  # events so far, and the runs that they met: with the tests, what plain Python has done
        self.chosen = Choice(self.query) if self.query.output is not Output.ALL else None
        self._wanted: Sequence[EventArray] = ()
        self._readers: list[Reader] = []  # of what is wanted

    @property
    def mode(self) -> str:
        """How the kernels run."""
        return "compiled" if self.native else "plain"

    def change_plan(self, choice: PlanSpec) -> bool:
        """Runs are of no other plan."""
        return False

    # What a plan has of its own.

    @property
    @abstractmethod
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""

    @property
    def runs_met(self) -> int:
        """How many runs an event meets, about: each is work, whether or not it is tested."""
        return 0

    @property
    def effort(self) -> int:
        """How many times longer than usual its kernels take to compile."""
        return 1

    @property
    @abstractmethod
    def kernels(self) -> Sequence[Compilable]:
        """The functions that it calls for each batch."""

    @property
    @abstractmethod
    def read_columns(self) -> Iterable[str]:
        """The columns whose NULLs a kernel must know of."""

    @abstractmethod
    def change_kernels(self) -> None:
        """More columns have NULLs: other kernels, the same state."""

    @abstractmethod
    def to_native(self) -> None:
        """The state becomes that of compiled code."""

    @abstractmethod
    def run(self, batch: Batch, begin: int, end: int, errors: Errors) -> None:
        """Go over some events of a batch."""

    # Plain or compiled.

    def reserve(self, events: int) -> None:
        """So many events are to be expected: where that is worth it, be compiled from the first one on."""
        if not self.native:
            self.consider(events)

    def consider(self, events: int) -> None:
        """Go native if that pays: for what was done already, and for the events that are known to come."""
        if self.pays(events, self.work + self.tests):
            self.go_native()

    def go_native(self) -> None:
        """From plain Python to compiled code, in the middle of a stream: the state is the same."""
        if not self.native:
            self.native = True
            self.to_native()

    def pays(self, events: int, done: int = 0) -> bool:
        """Whether compiled code is there, or so much is to be done that it is worth the wait.

        events: are known to come; nobody knows how many tests they need. done: how much work there was so far.
        """
        work = events + done
        if self.policy.when is CompilePolicy.NEVER or self.policy.at_once:
            return self.policy.at_once
        if work < ENOUGH_TO_LOOK:
            return False
        much = events >= ENOUGH_TO_COMPILE or work >= ENOUGH_TO_COMPILE * self.effort
        if not much and not all(kernel.is_at_hand() for kernel in self.kernels):
            return False
        # All of them begin at once.
        return self.policy.when is CompilePolicy.NOW or min([kernel.compile_beside() for kernel in self.kernels])

    # Events.

    def feed(self, batch: Batch) -> None:
        """The next events."""
        window = (self.window or 0) if self.query.timed else 0
        check_times(batch.times, max(window, self.query.ahead, self.query.behind) or None)
        empty = {name for name in self.read_columns if batch.has_nulls(name)} - self.nullable
        if empty:
            # A stream that has NULLs in one column may have them in others, and another kernel takes time.
            self.nullable |= empty if self.codes.once else set(self.read_columns)
            self.change_kernels()
        errors: Errors = {}
        begin, stride = 0, self.stride
        self.told, self.report = 0, batch.report
        while begin < len(batch):
            if not self.native:
                # What is left of the batch is certain to come.
                self.consider(len(batch) - begin if self.codes.once else 0)
            end = len(batch)
            if not self.native:
                end = min(begin + min(stride, PIECE), end)
            elif batch.report is not None:
                end = min(begin + stride, end)
            begun = monotonic()
            self.run(batch, begin, end, errors)
            self.tell(end)
            quick = monotonic() - begun < OFTEN
            stride = stride * _FASTER if quick else max(1, stride // _FASTER)  # each call costs something
            self.work += (end - begin) * (1 + (0 if self.native else self.runs_met))
            begin = end

    def tell(self, gone: int | None = None) -> None:
        """Tell how many events of the batch are gone over; None: as many as before, but the work goes on."""
        if self.report is not None:
            gone = self.told if gone is None else gone
            self.report(gone - self.told)
            self.told = gone

    def event_arguments(
        self, wanted: Sequence[EventArray], types: Sequence[str], batch: Batch, errors: Errors
    ) -> list[Any]:
        """The arrays of the events, of all of them."""
        if wanted is not self._wanted:
            self._wanted = wanted
            self._readers = [reader(one, self.compiled.flat, self.partition_numbers, types) for one in wanted]
        arrays = [read(batch, errors) for read in self._readers]
        for one, array in zip(wanted, arrays, strict=True):
            # Machine code goes over all of them by the number of events.
            if len(array) != len(batch) and one.of_each:
                raise IndexError(f"{one.array.name} has {len(array)} values for {len(batch)} events")
        return arrays

    def as_lists(
        self, wanted: Sequence[EventArray], arrays: Sequence[Any], begin: int, end: int
    ) -> Iterator[list[Any]]:
        """The arrays of some events for plain Python; what is known of types or times is of all of them."""
        for one, array in zip(wanted, arrays, strict=True):
            yield (array[begin:end] if one.of_each else array).tolist()

    def constant_arguments(self, constants: Sequence[Constant]) -> list[int | float]:
        """The constants of the query."""
        return [constant.argument(self.codes.strings.code) for constant in constants]

    def function(self, kernel: Compilable) -> Callable[..., int]:
        """A kernel as it runs now."""
        return kernel.compiled() if self.native else kernel.as_python()

    # Matches.

    def finish(self, matches: MatchTable, rows: KeptRows, now: int | None) -> MatchTable:
        """HAVING, and the choice of those that are apart, given all events before a time (None: all)."""
        tested = self.tests_having or self.query.having is None
        passed = matches if tested else keep_having(self.query, matches, rows.kept, self.tell)
        if self.chosen is None:
            return passed
        events = KeptEvents(self.query, rows.kept, rows.base)
        if self.chosen.longest:
            return self.chosen.choose_longest(passed, events, None if now is None else self.opened(now, events))
        return self.chosen.choose(passed, events, None if now is None else self.first_uncertain())

    @abstractmethod
    def opened(self, now: int, events: KeptEvents) -> Open:
        """With which events matches may start that are not known yet, when all events before a time are in."""

    @property
    def finishes(self) -> bool:
        """Whether more is to be done with matches than to find them."""
        return (self.query.having is not None and not self.tests_having) or self.chosen is not None

    def first_uncertain(self) -> int | None:
        """The first event at which a match ends that waits for an absence."""
        return self.state.first_uncertain()

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet."""
        ends = [self.first_uncertain()]
        if self.chosen is not None:
            ends += [self.chosen.first_end(), self.first_waiting()]
        return min((end for end in ends if end is not None), default=None)

    def first_waiting(self) -> int | None:
        """The first event at which a match ends that waits in the state to be chosen."""
        return None

    def first_needed(self, first: int | None) -> int | None:
        """The first event that a match to come can have: of the state, or of a match that waits."""
        held = self.chosen.first_start() if self.chosen is not None else None
        found = min((one for one in (first, held) if one is not None), default=None)
        if self.chosen is not None:
            self.chosen.forget(found, self.clock if found is None else self.oldest_start())
        return found

    def oldest_start(self) -> int:
        """A time before which no match to come starts; NEVER if that is not known."""
        if self.window is None or not self.query.timed or (self.chosen is not None and len(self.chosen.held)):
            return NEVER
        return self.clock - self.window

    # Clearing.

    def keep_partitions(self, partitions: Partitioning, alive: Any) -> None:
        """Partitions are numbered anew."""
        if partitions == self.partitions:
            self.state.keep_partitions(alive)

    def held_strings(self) -> Iterable[Any]:
        """The codes that runs or entries hold."""
        return self.state.held_strings()

    def renumber_strings(self, number: Any) -> None:
        """Strings have other codes."""
        self.state.renumber_strings(number)

    def state_bytes(self) -> int:
        """The arrays of the state."""
        return self.state.nbytes()

    # Snapshots.

    def dump_facts(self) -> dict[str, Any]:
        """What all kernel machines write into a header."""
        return {
            "native": self.native,
            "work": self.work,
            "nullable": sorted(self.nullable),
            "clock": self.clock,
            "chosen": self.chosen.dump() if self.chosen is not None else None,
        }

    def load_facts(self, facts: dict[str, Any]) -> None:
        """Take up what was dumped; the kernels are those for the same NULLs, and compiled if they were."""
        self.native |= facts["native"] and self.policy.when is not CompilePolicy.NEVER
        self.work = facts["work"]
        self.nullable = frozenset(facts["nullable"])
        self.clock = facts["clock"]
        if self.chosen is not None:
            self.chosen.load(facts["chosen"])
