"""A query as a join of stacks: events are stored as they come, matches are made when what they need is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from cepheid.engine.encoding.batch import Batch, StreamCodes, check_times
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.batch_pieces import BatchPieces
from cepheid.engine.machines.kernel_input import KernelInput, as_lists
from cepheid.engine.machines.output_rules import OutputRules, oldest_start
from cepheid.engine.machines.policy import TREE_EFFORT, CompilePolicy, Policy
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.matches.choice import KeptEvents, Open
from cepheid.engine.matches.join_matches import JoinMatches
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable, arranged
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.arrays import Array
from cepheid.kernel.compile import Compilable
from cepheid.kernel.join.kernel import JoinKernel
from cepheid.kernel.join.output import MatchBuffers
from cepheid.kernel.join.run import construct, put_aside, select
from cepheid.kernel.join.state import StackState
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import PlanKind, PlanSpec, order_of

PART = 2**20
"""Events that are stored before matches are made of them."""
STRIDE = 2**13
"""Events of the first piece of a batch: matches are made after each, which costs more than a few events."""


class StackMachine:
    """One query over a stream that comes in batches, as a join of its components.

    It begins as plain Python, unless it is certain that compiling pays, and goes native in the middle of the stream:
    the state is the same.
    """

    kind = "stacks"
    merged = 0
    splits = False  # stacks are in the order of the whole stream

    def __init__(
        self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy, choice: PlanSpec, events: int = 0
    ) -> None:
        self.compiled = compiled
        self.query = compiled.query
        self.codes = codes
        self.policy = policy
        self._may_compile = policy.when is not CompilePolicy.NEVER
        self.choice = choice
        self.clock = 0  # the time of the last event
        self.work = 0  # events so far: with the tests, what plain Python has done
        self.join = compiled.join_of(choice)
        self.order = order_of(choice, self.join)
        codes.derive(compiled.derived, compiled.pieces)
        self.input = KernelInput(compiled, codes, self.join.partitions)
        window = (self.query.window or 0) if self.query.timed else 0
        self._margin = max(window, self.query.ahead, self.query.behind) or None
        self._pieces = BatchPieces()
        self._rules = OutputRules(self.query, self._pieces.report)
        self._take_kernel()
        self.native = policy.pays(self.kernel.functions, events, effort=self._effort)
        self.state = self._spare_state() or self._new_state()
        self.output = self._new_output()

    def _take_kernel(self) -> None:
        """The kernels for the order, and for the columns that have NULLs so far."""
        order = None if self.choice.way is PlanKind.TREE else self.order
        self._functions: dict[str, Callable[..., int]] = {}  # the kernels as they run, once they were called
        self.kernel: JoinKernel = self.compiled.join_kernel(self.join, self.input.nullable, order)
        # What it reads, and `[attr]`: where that is NULL, an event is in no match.
        self._columns = (*self.kernel.columns, *self.input.partitions.agreed)

    def _new_state(self) -> StackState:
        state = StackState(self.join, self.kernel, self.query.window, native=self.native, once=self.codes.once)
        state.fit(len(self.input.partition_index))
        return state

    def _spare_state(self) -> StackState | None:
        """The arrays of an earlier run, as empty as new ones."""
        if not (self.native and self.codes.once):
            return None
        state = self.compiled.spare_stack(self.kernel)
        if state is not None:
            state.change_kernel(self.kernel)
        return state

    def _new_output(self) -> MatchBuffers:
        spare = self.compiled.spare_parts if self.codes.once and self.native else None
        return MatchBuffers(len(self.join.positive), native=self.native, spare=spare)

    @property
    def mode(self) -> str:
        return "compiled" if self.native else "plain"

    @property
    def plan(self) -> str:
        """The plan by its name."""
        return self.choice.label

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return self.state.tests

    @property
    def runs(self) -> int:
        """How many events are stored: no run exists before its match does."""
        return self.state.entries

    def change_plan(self, choice: PlanSpec) -> bool:
        """Evaluate in another order from then on: the stacks are the same for all, if their partitions are."""
        if not choice.joins or choice.partition != self.choice.partition:
            return False
        self.choice = replace(choice, partition=self.choice.partition, late=self.choice.late)
        self.order = order_of(choice, self.join)
        self._change_kernel()
        return True

    def _change_kernel(self) -> None:
        self._take_kernel()
        self.state.change_kernel(self.kernel)

    # Plain or compiled.

    @property
    def _effort(self) -> int:
        """How many times longer than usual its kernels take to compile: a tree has the code for all orders."""
        return TREE_EFFORT if self.choice.way is PlanKind.TREE else 1

    def reserve(self, events: int) -> None:
        """So many events are to be expected: where that is worth it, be compiled from the first one on."""
        if not self.native:
            self.consider(events)

    def consider(self, events: int) -> None:
        """Go native if that pays: for what was done already, and for the events that are known to come."""
        if self.policy.pays(self.kernel.functions, events, self.work + self.state.tests, self._effort):
            self.go_native()

    def go_native(self) -> None:
        """From plain Python to compiled code, from lists to arrays."""
        if not self.native:
            self.native = True
            self._functions = {}
            put_aside(self.state, self.output)
            self.state.to_native()
            self.output.to_native()

    def _function(self, kernel: Compilable) -> Callable[..., int]:
        """A kernel as it runs, compiled or plain."""
        name = kernel.function.name
        if name not in self._functions:
            self._functions[name] = kernel.compiled() if self.native else kernel.as_python()
        return self._functions[name]

    # Events.

    def feed(self, batch: Batch) -> None:
        if self._margin is not None:
            check_times(batch.times, self._margin)
        if self.input.learns(batch, self._columns):
            self._change_kernel()
        storing, types, size = self.kernel.select, self.kernel.types, len(batch.times)
        lists = None if batch.report is not None else self.input.lists(storing.events, types, batch)
        errors: Errors = {}
        if lists is not None:
            if self._may_compile and not self.native:
                self.consider(size if self.codes.once else 0)
            self._run(batch, self._as_arrays(lists) if self.native else lists, 0, size, 0, errors)
            self.work += size
            return
        arrays = self.input.arrays(storing.events, types, batch, errors)
        for begin, end in self._pieces.of(batch, STRIDE, self):
            if self.native:
                self._run(batch, arrays, begin, end, 0, errors)
            else:
                self._run(batch, list(as_lists(storing.events, arrays, begin, end)), begin, end, begin, errors)
            self.work += end - begin

    def _as_arrays(self, lists: Sequence[Array]) -> list[Array]:
        arrays = []
        for wanted, values in zip(self.kernel.select.events, lists, strict=True):
            arrays.append(np.array(values, wanted.array.element.name))
        return arrays

    def _run(self, batch: Batch, arrays: list[Array], begin: int, end: int, offset: int, errors: Errors) -> None:
        """Store some events, and make the matches that they complete; arrays begin with the event of `offset`."""
        for first in range(begin, end, PART):
            last = min(first + PART, end)
            self.state.reserve(last - first, len(self.input.partition_index))
            place = batch.first + offset
            select(self.state, self._function, self.input.constants, arrays, first - offset, last - offset, place)
            failed = self.state.failed
            if failed is not None:
                raise errors[failed + offset]
            self.clock = int(batch.times[last - 1])
            if not self.join.waits:
                self._construct(first=batch.first + first, until=0)
                if not (self.codes.once and last == len(batch)):  # else nothing is to come that could need less
                    self.state.drop_used()
                    self.state.compact(self.clock)

    def _construct(self, *, first: int, until: int) -> None:
        """Make the matches that are new."""
        construct(
            self.state,
            self.output,
            self._function,
            self.input.constants,
            first=first,
            until=until,
            clock=self.clock,
        )

    # Matches.

    def settle(self, watermark: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | LazyMatches:
        """The matches that became certain."""
        if self.join.waits:
            self._settle_waiting(horizon if watermark is None else watermark)
        put_aside(self.state, self.output)
        if not self.output.parts and watermark is not None and not self._rules.any:
            return NONE
        matches = self._matches(rows.base)
        if watermark is None and self.codes.once and self.native:
            self.compiled.take_back_stack(self.state)  # nothing of the state is read from here on
        return self._rules.apply(arranged(matches.all()), rows, watermark, self) if self._rules.any else matches

    def _settle_waiting(self, watermark: int | None) -> None:
        """Matches after which something must be absent are made when their windows are over, first event by first."""
        window = self.query.window
        assert window is not None
        until = self.clock if watermark is None else watermark - window
        self._construct(first=-1, until=until)
        self.state.drop_certain(until)

    def _matches(self, base: int) -> JoinMatches:
        """The matches so far, which are emitted at once."""
        reached = frozenset(self.join.stacks[x].variable for x in self.join.positive)
        ordered = self.join.groups == len(self.join.positive)
        spare = self.compiled.spare_parts if self.codes.once and self.native else None
        return JoinMatches(self.output.take(), len(self.join.positive), reached, base, ordered, spare)

    def opened(self, watermark: int, events: KeptEvents) -> Open:
        """Any event can be the first one of a match until its window is over."""
        window = self.query.window
        assert window is not None
        open_from = events.first_at(watermark - window + 1)
        return lambda key, bound: max(open_from, bound)

    def first_uncertain(self) -> int | None:
        """The first event at which a match ends that waits for an absence."""
        return self.state.first_uncertain()

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet, or waits to be chosen."""
        return min((end for end in (self.first_uncertain(), self._rules.first_end()) if end is not None), default=None)

    # Partitions.

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """No partition is ahead of others."""

    def end_runs(self, before: int) -> None:
        """There are no runs, and what is stored is cleared by the times of events."""

    def held_partitions(self) -> Iterable[tuple[Partitioning, Array]]:
        """The partitions that have an entry."""
        partitions = self.input.partitions
        return [(partitions, self.state.held_partitions())] if partitions.all else []

    def keep_partitions(self, partitions: Partitioning, alive: Array) -> None:
        """Drop some partitions; the others have other places."""
        if partitions == self.input.partitions:
            self.state.keep_partitions(alive)

    # Clearing and snapshots.

    def compact(self, watermark: int) -> int | None:
        """Drop entries whose window is over."""
        if self.query.timed:
            self.state.compact(watermark)
        return self._rules.first_needed(self.state.oldest_event(), self.clock, self._oldest_start)

    def _oldest_start(self) -> int:
        return oldest_start(self.query, self.clock, self._rules)

    def held_strings(self) -> Iterable[Array]:
        """The codes that entries hold."""
        return self.state.held_strings()

    def renumber_strings(self, number: Array) -> None:
        self.state.renumber_strings(number)

    def state_bytes(self) -> int:
        """The arrays of the state."""
        return self.state.nbytes()

    def dump(self) -> tuple[StateFacts, list[Array]]:
        """The stacks as they are."""
        facts, arrays = self.state.dump()
        running = {
            "native": self.native,
            "work": self.work,
            "nullable": sorted(self.input.nullable),
            "clock": self.clock,
            "chosen": self._rules.dump(),
            "plan": [self.choice.way.value, list(self.choice.order)],
            "partition": self.choice.partition,
        }
        return running | facts, arrays

    def load(self, facts: StateFacts, arrays: list[Array], rows: KeptRows) -> None:
        """Restore a state that was dumped, by either kind of run."""
        self.native |= facts["native"] and self.policy.when is not CompilePolicy.NEVER
        self.work = facts["work"]
        self.input.nullable = frozenset(facts["nullable"])
        self.clock = facts["clock"]
        self._rules.load(facts["chosen"])
        self._take_kernel()
        self.state = self._new_state()
        self.state.load(facts, arrays, len(self.input.partition_index))
        self.output = self._new_output()
