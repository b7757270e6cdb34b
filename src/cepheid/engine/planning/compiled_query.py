"""What is made of a query once, for all of its runs on events of one schema; each part when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cepheid.automaton.build import build
from cepheid.automaton.model import NotNative, RegisterAutomaton
from cepheid.engine.encoding.derived import Derived
from cepheid.engine.encoding.pieces import Pieces
from cepheid.engine.planning.flatten import Flattened
from cepheid.engine.planning.lifetimes import TimedArcs, TrackedAutomaton
from cepheid.front.automata.bound import automaton_in
from cepheid.front.runnable import Runnable
from cepheid.kernel.join.generate import generate_join
from cepheid.kernel.join.kernel import JoinKernel
from cepheid.kernel.join.state import StackState
from cepheid.kernel.join.trial import Trial, check_join, make_trial
from cepheid.kernel.scan.generate import check_scan, generate_scan
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.kernel.scan.program import ScanProgram, make_program
from cepheid.kernel.scan.setting import Setting
from cepheid.kernel.scan.state import ScanState
from cepheid.pattern.binding.having import Folding, folding
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import Output, Strategy
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.plan.join import Join, NotJoined, make_join
from cepheid.plan.spec import PlanSpec

if TYPE_CHECKING:
    from cepheid.engine.planning.decision import Decision
    from cepheid.engine.planning.remembered import RememberedDecision

MOST_SPARE = 256 * 2**20
"""Bytes of arrays that are kept for the next run: to touch fresh memory takes longer than many a scan."""


JoinKey = tuple[frozenset[str], tuple[int, ...] | None, Partitioning, bool]
"""Columns with NULLs, the order, the partitions, and whether a joint is late: a join has a kernel for each."""

TrialKey = tuple[frozenset[str], Partitioning]


class CompiledQuery:
    """A bound query, its automaton, its joins, and the kernels that were generated for it.

    tries: its runs test HAVING even where there may be too many of them for that.
    lasts: the arcs of an automaton of one's own may change while it runs.
    """

    def __init__(self, query: Runnable, *, merge: bool = True, tries: bool = False, lasts: bool = False) -> None:
        self.query = query
        self.merge = merge
        self.tries = tries
        self.lasts = lasts
        self.spare_scans: list[ScanState] = []  # states that an earlier run has done with (SASE+ 5.3)
        self.spare_stacks: list[StackState] = []  # likewise, of a join
        self.spare_parts: list[tuple[np.ndarray, ...]] = []  # and those that its matches were in
        self.decisions: dict[
            PlanSpec, RememberedDecision
        ] = {}  # what was decided for an earlier run, by the plan that was asked for
        self.unsampled: dict[PlanSpec, Decision] = {}  # and what is decided without a sample
        self._lasting: CompiledQuery | None = None
        self._borrowed = False  # whether the automaton is that of a query with other constants
        self._scans: dict[frozenset[str], ScanKernel] = {}
        self._tracked: dict[frozenset[str], ScanKernel] = {}
        self._joins: dict[JoinKey, JoinKernel] = {}
        self._trials: dict[TrialKey, Trial] = {}
        self._splits: dict[tuple[str, ...], Join | str] = {}

    @cached_property
    def _flattened(self) -> Flattened:
        return Flattened(self.query, having=self._folds_having, lasts=self.lasts)

    @cached_property
    def _folds_having(self) -> bool:
        return self.tries or self._folding is Folding.ALWAYS

    @cached_property
    def _folding(self) -> Folding:
        query, arrays = self.query, [c.variable for c in self.query.positive if c.array]
        if query.having is None:
            return Folding.NEVER
        return folding(query.having, query.strategies, arrays, windowed=query.within is not None)

    @cached_property
    def tried(self) -> CompiledQuery | None:
        """The same query with runs that test HAVING, where they may be too many: discarded if they are."""
        if self.tries or not self.merge or self._folding is not Folding.TRIED:
            return None
        tried = CompiledQuery(self.query, tries=True)
        return tried if tried.tests_having else None

    @property
    def lasting(self) -> CompiledQuery:
        """The same automaton of one's own for a stream, while which its arcs may change."""
        if self._lasting is None:
            self._lasting = CompiledQuery(self.query, lasts=True)
        return self._lasting

    def retimed(self, settled: TrackedAutomaton) -> CompiledQuery:
        """The same code for arcs that come and go at other times, or with other constants."""
        arcs = TimedArcs(settled.members, settled.shapes)
        compiled = copy(self)
        compiled.query = self.query.with_parts(body=replace(automaton_in(self.query), arcs=arcs))
        compiled._flattened = self._flattened.retimed(settled)
        compiled._lasting = None if self._lasting is None else self._lasting.retimed(settled)
        return compiled

    def with_constants(self, query: Runnable) -> CompiledQuery:
        """What runs a query that differs in constants only; it has no kernels yet.

        The automaton stays, for what it says of runs. Before code is made of it, it is built anew.
        """
        compiled = CompiledQuery(query, merge=self.merge)
        compiled._built = self._built
        compiled._borrowed = True
        return compiled

    def _generates(self) -> None:
        """Before code is generated from the automaton."""
        if self._borrowed:
            self._built = self._build()
            self.program = self._make_program()
            self._borrowed = False

    @property
    def scans(self) -> Mapping[frozenset[str], ScanKernel]:
        """The scans that were generated."""
        return self._scans

    @property
    def tracked(self) -> Mapping[frozenset[str], ScanKernel]:
        """The kernels of scans that replay parts of partitions."""
        return self._tracked

    @property
    def joins(self) -> Mapping[JoinKey, JoinKernel]:
        """The joins that were generated."""
        return self._joins

    def use_kernels(
        self,
        scans: dict[frozenset[str], ScanKernel],
        tracked: dict[frozenset[str], ScanKernel],
        joins: dict[JoinKey, JoinKernel],
    ) -> None:
        """Take kernels that were generated for a query of the same shape."""
        self._scans, self._tracked, self._joins = scans, tracked, joins

    @property
    def settled(self) -> TrackedAutomaton | None:
        """How arcs come and go, if they do."""
        return self._flattened.settled

    @property
    def pieces(self) -> Pieces | None:
        """The same as a kernel reads it."""
        return None if self.settled is None else self.settled.pieces

    @property
    def flat(self) -> Runnable:
        """The query as kernels see it: it reads columns only, some of which are derived."""
        return self._flattened.query

    @property
    def derived(self) -> Mapping[str, Derived]:
        """The columns that are computed for each batch."""
        return self._flattened.derived

    # The automaton.

    @cached_property
    def _built(self) -> tuple[RegisterAutomaton | str, bool]:
        return self._build()

    def _build(self) -> tuple[RegisterAutomaton | str, bool]:
        """The automaton, or the reason why no kernel can run it; and whether it tests HAVING."""
        if self._folds_having:
            with suppress(NotNative):
                automaton = build(self.flat, having=True)
                check_scan(automaton)
                return automaton, True
        try:
            automaton = build(self.flat, lasting=self.lasts)
            check_scan(automaton)
        except NotNative as reason:
            return str(reason), False
        return automaton, False

    @property
    def _automaton(self) -> RegisterAutomaton | str:
        return self._built[0]

    @property
    def tests_having(self) -> bool:
        """Whether the automaton tests HAVING, so that its matches are those that pass."""
        return self._built[1]

    @property
    def automaton(self) -> RegisterAutomaton:
        """The query as an automaton."""
        assert isinstance(self._automaton, RegisterAutomaton), self._automaton
        return self._automaton

    @property
    def why_interpreted(self) -> str:
        """Why no kernel can run the automaton; empty if one can."""
        return self._automaton if isinstance(self._automaton, str) else ""

    @cached_property
    def program(self) -> ScanProgram:
        """What a scan does, step by step."""
        return self._make_program()

    def _make_program(self) -> ScanProgram:
        query, automaton = self.query, self.automaton
        # Under NON_OVERLAP a match ends all runs of its partition: every one of them began at or before its end.
        resets = (
            query.output is Output.NON_OVERLAP
            and not automaton.simultaneous
            and query.schema.start is None
            and not query.cooldown
            and query.having is None
            and not any(e.absent or e.fence or e.witnesses for e in automaton.exits)
            and not (query.same and Strategy.STRICT in query.strategies.values())
        )
        typed = query.schema.roles.type is not None
        return make_program(automaton, typed=typed, resets=resets, merge=self.merge)

    def scan(self, nullable: frozenset[str]) -> ScanKernel:
        """Return the scan for events where some columns have NULLs."""
        if nullable not in self._scans:
            self._generates()
            query, partitions = self.query, self.query.partitions
            setting = Setting(
                partitions=bool(partitions.all),
                nowhere=not nullable.isdisjoint(partitions.agreed),
                windowed=query.within is not None,
                counted=query.counted,
                lasting=bool(query.ahead),
                timed=frozenset(() if self.pieces is None else self.pieces.values),
                bits=tuple(() if self.pieces is None else self.pieces.bits),
            )
            before = {w.negation: query.ticks(query.periods[w.negation]) for w in self.automaton.witnesses if w.lasting}
            self._scans[nullable] = generate_scan(self.program, setting, nullable, query.window, query.ahead, before)
        return self._scans[nullable]

    def tracked_scan(self, nullable: frozenset[str]) -> ScanKernel:
        """Return the scan that replays parts of partitions: it reports after which events a partition has no runs."""
        if nullable not in self._tracked:
            self._generates()
            query = self.query
            setting = Setting(
                partitions=True, nowhere=False, windowed=query.within is not None, counted=query.counted, tracked=True
            )
            before = {w.negation: query.ticks(query.periods[w.negation]) for w in self.automaton.witnesses if w.lasting}
            self._tracked[nullable] = generate_scan(self.program, setting, nullable, query.window, 0, before)
        return self._tracked[nullable]

    def take_back(self, state: ScanState) -> None:
        """A run has done with its arrays."""
        if not self.spare_scans and state.nbytes() <= MOST_SPARE:
            state.reset()
            self.spare_scans.append(state)

    # The join.

    @cached_property
    def _join(self) -> Join | str:
        """The join, or the reason why the query is not one."""
        try:
            join = make_join(self.flat)
            check_join(join)
        except (NotJoined, NotNative) as reason:
            return str(reason)
        return join

    @property
    def join(self) -> Join:
        """The query as a join, its partitions being those of all its equivalence attributes."""
        assert isinstance(self._join, Join), self._join
        return self._join

    @property
    def why_not_joined(self) -> str:
        """Why the query is not a join; empty if it is one."""
        return self._join if isinstance(self._join, str) else ""

    @property
    def hollow(self) -> bool:
        """Whether a column has no type, as those of an empty stream, and there is no join for that reason."""
        return bool(self.why_not_joined) and any(t.kind is Kind.NULL for t in self.query.schema.columns.values())

    def join_of(self, choice: PlanSpec) -> Join:
        """The query as a join whose partitions are those of a plan."""
        if choice.partition is None:
            return self.join
        if choice.late:
            return make_join(self.flat, choice.partition, late=True)
        split_join = self.split(choice.partition)
        assert isinstance(split_join, Join), split_join  # else it would not have been a candidate
        return split_join

    def split(self, partition: tuple[str, ...]) -> Join | str:
        """The join whose stream some attributes split, or why no kernel can compare the others."""
        if partition not in self._splits:
            try:
                join = make_join(self.flat, partition)
                check_join(join)
                self._splits[partition] = join
            except (NotJoined, NotNative) as reason:
                self._splits[partition] = str(reason)
        return self._splits[partition]

    def join_kernel(self, join: Join, nullable: frozenset[str], order: tuple[int, ...] | None) -> JoinKernel:
        """The kernels of a join in an order (None: chosen at each step), where some columns have NULLs."""
        key = nullable, order, join.partitions, any(joint.late for joint in join.joints)
        if key not in self._joins:
            self._joins[key] = generate_join(join, nullable, self.query.window, order)
        return self._joins[key]

    def spare_stack(self, kernel: JoinKernel) -> StackState | None:
        """The arrays of an earlier run that had the same stacks."""
        if not self.spare_stacks:
            return None
        stack = self.spare_stacks.pop()
        return stack if stack.kernel.select.state == kernel.select.state else None

    def take_back_stack(self, state: StackState) -> None:
        """A run has done with its arrays."""
        if not self.spare_stacks and state.nbytes() <= MOST_SPARE:
            state.reset()
            self.spare_stacks.append(state)

    def trial(self, join: Join, nullable: frozenset[str]) -> Trial:
        """Return the conditions of a join as functions that can be tried on a sample."""
        key = nullable, join.partitions
        if key not in self._trials:
            self._trials[key] = make_trial(join, nullable, self.query.window)
        return self._trials[key]
