"""A query as a join of stacks: events are stored as they come, matches are made when what they need is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import Errors
from cepheid.engine.encoding.partition_times import PartitionTimes
from cepheid.engine.machines.kernel_machine import KernelMachine
from cepheid.engine.machines.policy import TREE_EFFORT, Policy
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.matches.choice import KeptEvents, Open
from cepheid.engine.matches.join_matches import JoinMatches
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable, arranged
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.kernel.compile import Compilable
from cepheid.kernel.join.kernel import JoinKernel
from cepheid.kernel.join.output import MatchBuffers
from cepheid.kernel.join.run import construct, put_aside, select
from cepheid.kernel.join.state import StackState
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.spec import PlanKind, PlanSpec, order_of

PART = 2**20
"""Events that are stored before matches are made of them."""


class StackMachine(KernelMachine):
    """One query over a stream that comes in batches, as a join of its components."""

    kind = "stacks"
    stride = 2**13  # matches are made after each piece, which costs more than a few events
    state: StackState
    merged = 0
    splits = False  # stacks are in the order of the whole stream

    def __init__(
        self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy, choice: PlanSpec, events: int = 0
    ) -> None:
        self.join = compiled.join_of(choice)
        super().__init__(compiled, codes, self.join.partitions, policy)
        self.choice = choice
        self.order = order_of(choice, self.join)
        self.kernel: JoinKernel = self._kernel()
        self.native = self.pays(events)
        self.state = self._spare_state() or self._new_state()
        self.output = self._new_output()

    def _kernel(self) -> JoinKernel:
        """The kernels for the order, and for the columns that have NULLs so far."""
        order = None if self.choice.way is PlanKind.TREE else self.order
        return self.compiled.join_kernel(self.join, self.nullable, order)

    def _new_state(self) -> StackState:
        state = StackState(self.join, self.kernel, self.window, native=self.native, once=self.codes.once)
        state.fit(len(self.partition_numbers))
        return state

    def _spare_state(self) -> StackState | None:
        """The arrays of an earlier run, as empty as new ones."""
        if not (self.native and self.codes.once):
            return None
        found = self.compiled.spare_stack(self.kernel)
        if found is not None:
            found.change_kernel(self.kernel)
        return found

    def _new_output(self) -> MatchBuffers:
        spare = self.compiled.spare_parts if self.codes.once and self.native else None
        return MatchBuffers(len(self.join.positive), native=self.native, spare=spare)

    @property
    def effort(self) -> int:
        """How many times longer than usual its kernels take to compile: a tree has the code for all orders."""
        return TREE_EFFORT if self.choice.way is PlanKind.TREE else 1

    @property
    def plan(self) -> str:
        """The plan by its name."""
        return self.choice.told

    @property
    def tests(self) -> int:
        """How often conditions over several events were evaluated."""
        return self.state.tests

    @property
    def runs(self) -> int:
        """How many events are stored: no run exists before its match does."""
        return self.state.entries

    @property
    def kernels(self) -> Sequence[Compilable]:
        """The functions that store, group and join."""
        return self.kernel.functions

    @property
    def read_columns(self) -> Iterable[str]:
        """What is read of the events, and `[attr]`: where that is NULL, an event is in no match."""
        return (*self.kernel.columns, *self.partitions.agreed)

    def change_kernels(self) -> None:
        """More columns have NULLs."""
        self.kernel = self._kernel()
        self.state.change_kernel(self.kernel)

    def change_plan(self, choice: PlanSpec) -> bool:
        """Evaluate in another order from now on: the stacks are the same for all, if their partitions are."""
        if not choice.joins or choice.partition != self.choice.partition:
            return False
        self.choice = replace(choice, partition=self.choice.partition, late=self.choice.late)
        self.order = order_of(choice, self.join)
        self.change_kernels()
        return True

    def to_native(self) -> None:
        """From lists to arrays."""
        put_aside(self.state, self.output)
        self.state.to_native()
        self.output.to_native()

    # Events.

    def run(self, batch: Batch, begin: int, end: int, errors: Errors) -> None:
        """Store some events, and make the matches that they complete."""
        wanted = self.kernel.select.events
        arrays = self.event_arguments(wanted, self.kernel.types, batch, errors)
        offset = 0
        if not self.native:
            arrays, offset = list(self.as_lists(wanted, arrays, begin, end)), begin
        for first in range(begin, end, PART):
            last = min(first + PART, end)
            self.state.reserve(last - first, len(self.partition_numbers))
            place = batch.first + offset
            select(self.state, self.function, self.constant_arguments, arrays, first - offset, last - offset, place)
            if self.state.failed is not None:
                raise errors[self.state.failed + offset]
            self.clock = int(batch.times[last - 1])
            if not self.join.waits:
                self.construct(first=batch.first + first, until=0)
                if not (self.codes.once and last == len(batch)):  # else nothing is to come that could need less
                    self.state.drop_used()
                    self.state.compact(self.clock)

    def construct(self, *, first: int, until: int) -> None:
        """Make the matches that are new."""
        construct(
            self.state,
            self.output,
            self.function,
            self.constant_arguments,
            first=first,
            until=until,
            clock=self.clock,
        )

    # Matches.

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | LazyMatches:
        """The matches that became certain."""
        if self.join.waits:
            self.settle_waiting(horizon if now is None else now)
        put_aside(self.state, self.output)
        if not self.output.parts and now is not None and not self.finishes:
            return NONE
        found = self.matches(rows.base)
        if now is None and self.codes.once and self.native:
            self.compiled.take_back_stack(self.state)  # nothing of the state is read from here on
        if self.finishes:
            return self.finish(arranged(found.all()), rows, now)
        return found

    def reach_partitions(self, ahead: PartitionTimes | None) -> None:
        """No partition is ahead of others."""

    def end_runs(self, before: int) -> None:
        """There are no runs, and what is stored is cleared by the times of events."""

    def settle_waiting(self, now: int | None) -> None:
        """Matches after which something must be absent are made when their windows are over, first event by first."""
        assert self.window is not None
        until = self.clock if now is None else now - self.window
        self.construct(first=-1, until=until)
        self.state.drop_certain(until)

    def opened(self, now: int, events: KeptEvents) -> Open:
        """Any event can be the first one of a match until its window is over."""
        assert self.window is not None
        open_from = events.first_at(now - self.window + 1)
        return lambda key, bound: max(open_from, bound)

    def matches(self, base: int) -> JoinMatches:
        """The matches so far, which are given now."""
        reached = frozenset(self.join.stacks[x].variable for x in self.join.positive)
        ordered = self.join.groups == len(self.join.positive)
        spare = self.compiled.spare_parts if self.codes.once and self.native else None
        return JoinMatches(self.output.take(), len(self.join.positive), reached, base, ordered, spare)

    # Clearing.

    def compact(self, now: int) -> int | None:
        """Let go of entries whose window is over."""
        if self.query.timed:
            self.state.compact(now)
        return self.first_needed(self.state.oldest_event())

    def held_partitions(self) -> Iterable[tuple[Partitioning, Any]]:
        """The partitions that have an entry."""
        return [(self.partitions, self.state.held_partitions())] if self.partitions.all else []

    # Snapshots.

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The stacks as they are."""
        facts, arrays = self.state.dump()
        plan = {"plan": [self.choice.way.value, list(self.choice.order)], "partition": self.choice.partition}
        return {**self.dump_facts(), **facts, **plan}, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Take up a state that was dumped, by either kind of run."""
        self.load_facts(facts)
        self.kernel = self._kernel()
        self.state = self._new_state()
        self.state.load(facts, arrays, len(self.partition_numbers))
        self.output = self._new_output()
