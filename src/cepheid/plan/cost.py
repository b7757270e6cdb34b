"""What a plan is expected to cost, in nanoseconds for each event of the stream, and what it keeps.

The events of each component are taken to come independently of each other. Of components in a row, k of which are in a
window that holds c of each, there are c^(k-1) / (k-1)! sequences for each event of one of them: whichever it is, the
others fill a simplex. The constants were measured (bench, row `choice`), and only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import exp, factorial, log2, prod
from typing import NamedTuple

from cepheid.plan.bounds import FEW, bounds_of, most_bounded
from cepheid.plan.join import Join
from cepheid.plan.spec import PlanSpec, order_of
from cepheid.plan.statistics import Statistics

# Nanoseconds.
SCAN, STORE, GROUP = 1.8, 10.0, 5.0  # of a join: an event that is passed, stored, grouped by its partition
LEAD, STEP, CALL, PROBE, SORT = 12.0, 3.0, 7.0, 5.0, 2.4  # a first event, a candidate, a step, a search in a range
LEAF, FILL = 1.7, 0.2  # a candidate of the last step, which is tested, or of which nothing is asked
WITNESS = 11.0  # to ask whether an event is absent
PARTITIONS = 90.0  # to number the partitions of several attributes
EVENT, VISIT, NODE = 6.0, 4.0, 37.0  # of the automaton: an event, a run that it meets, a run that it extends
OUT, WALK = 1.6, 10.0  # one position of a match: written, or read from the graph
INTERPRETED = 200  # times what a kernel takes
TREE_TIMES, TREE_PLUS = 1.1, 0.5  # of a tree: times the best order, and so much more, to choose


@dataclass(frozen=True)
class Estimate:
    """A plan and what it is expected to do, for each event of the stream.

    tests: of conditions over several events. kept: bytes, in all. making: nanoseconds to make the matches.
    """

    plan: PlanSpec
    nanoseconds: float
    tests: float
    kept: float
    matches: float
    making: float = 0.0


class StepCost(NamedTuple):
    """What it takes, for each event of the stream, to bind one more component: `calls` is how often it is begun."""

    calls: float
    work: float
    tests: float
    is_sorted: bool


class Costs:
    """The costs of plans for one join and one stream."""

    def __init__(self, join: Join, statistics: Statistics) -> None:
        self.join = join
        self.statistics = statistics
        self.partitions = 1.0
        for column in join.partitions.columns + join.partitions.agreed:
            self.partitions *= max(1.0, statistics.keys.get(column, 1.0))
        window = statistics.window if join.query.counted else statistics.window / self.partitions
        self.rate = 1 / max(window, 1e-9)  # of what there is once in a window: how often it is visited at an event
        self.near = [max(share * window, 1e-9) for share in statistics.shares]  # entries in a window, of one partition
        shares = dict(zip(join.joints, statistics.selectivity, strict=True))
        self.bounds = [
            [(bound.joint.stacks, shares[bound.joint]) for bound in most_bounded(bounds_of(join, x))]
            for x in join.positive
        ]
        self.conditions = list(zip((j.stacks for j in join.joints), statistics.selectivity, strict=True))
        self.absences = [(self.around(n), self.spared(n)) for n in join.negated]
        self.stored = [self._stored(x) for x in range(len(join.stacks))]
        # What orders have in common is computed once.
        self.selectivity = cache(self._selectivity)
        self.ways = cache(self._ways)
        self.asked = cache(self._asked)
        self.step = cache(self._step)

    def _selectivity(self, bound: frozenset[int]) -> float:
        """Of all conditions between some components."""
        selectivity = 1.0
        for stacks, share in (*self.conditions, *self.absences):
            selectivity *= share if stacks <= bound else 1.0
        return selectivity

    def _asked(self, bound: frozenset[int], y: int) -> tuple[list[float], int]:
        """What is asked when a component is the last of some: the selectivities of its conditions, and absences."""
        shares = [share for stacks, share in self.conditions if y in stacks and stacks <= bound]
        return shares, sum(y in stacks and stacks <= bound for stacks, _ in self.absences)

    def around(self, absent: int) -> frozenset[int]:
        """What must be bound before it is asked whether an event is absent."""
        before, after = self.join.around(absent)
        every = frozenset(self.join.positive)
        return frozenset(before + after) if before and after else every

    def spared(self, absent: int) -> float:
        """How often an event is absent: it could come in one of the gaps between all that are bound."""
        seen = self.near[absent] / len(self.join.positive)
        for stacks, share in self.conditions:
            seen *= share if absent in stacks else 1.0
        return max(0.02, exp(-seen))

    def tuples(self, bound: tuple[int, ...]) -> float:
        """For each event of the first of some components: how many ways there are to bind the others, untested."""
        return self.ways(frozenset(bound)) / self.near[bound[0]]

    def _ways(self, bound: frozenset[int]) -> float:
        groups = [self.join.stacks[x].group for x in bound]
        ways = 1.0 / factorial(len(bound) - 1)
        for group in set(groups):
            ways *= factorial(groups.count(group))
        for x in bound:
            ways *= self.near[x]
        return ways

    @cached_property
    def matches(self) -> float:
        """Matches for each event."""
        every = tuple(self.join.positive)
        return self.statistics.shares[0] * self.tuples(every) * self.selectivity(frozenset(every))

    def _stored(self, x: int) -> float:
        """Which part of the events is stored in a stack: those that come after what they must come after."""
        share = self.statistics.shares[x]
        group = self.join.stacks[x].group
        for y in self.join.positive:
            if self.join.stacks[y].group < group:
                share *= 1 - exp(-self.near[y])
        return share

    def chain(self, plan: PlanSpec) -> Estimate:
        """A join in an order."""
        order = order_of(plan, self.join)
        lead = order[0]
        work, tests, stored = self.storing + self.stored[lead] * LEAD, 0.0, sum(self.stored)
        alive = self.statistics.shares[lead]  # those for which there is something of every component
        for y in self.join.positive:
            alive *= 1.0 if y == lead else 1 - exp(-self.near[y])
        for k in range(1, len(order)):
            step = self.step(frozenset(order[:k]), order[k])
            work += step.work + (alive if k == 1 else step.calls) * CALL
            tests += step.tests
            if step.is_sorted:
                work += self.parts(alive, order[k]) * log2(self.near[order[k]]) * SORT
        kept = stored * self.statistics.window * 24
        return Estimate(plan, work, tests, kept, self.matches)

    @cached_property
    def storing(self) -> float:
        """What all orders do: events are stored, matches are written."""
        stored = sum(self.stored)
        work = SCAN + stored * STORE + self.matches * len(self.join.positive) * OUT
        columns = self.join.partitions.columns + self.join.partitions.agreed
        if columns:
            work += stored * GROUP + (PARTITIONS if len(columns) > 1 else 0.0)
        return work

    def _step(self, known: frozenset[int], y: int) -> StepCost:
        """From some components to one more."""
        every = known | {y}
        calls = self.rate * self.ways(known) * self.selectivity(known)
        candidates = self.rate * self.ways(every) * self.selectivity(known)
        asked, closed = self.asked(every, y)
        leaf = len(every) == len(self.join.positive)
        price = STEP if not leaf else LEAF if asked or closed else FILL
        work = candidates * prod(asked) * WITNESS * closed
        bounds = [share for stacks, share in self.bounds[y] if stacks <= every]
        between = candidates / calls  # the neighbours
        if bounds and between >= FEW:
            left = self.near[y] * prod(bounds)
            probes = calls * log2(self.near[y])
            visited = calls * (left if left < 4 * between + FEW else between)
            return StepCost(calls, work + visited * price + probes * PROBE, probes, is_sorted=True)
        return StepCost(calls, work + candidates * price, candidates if asked else 0.0, is_sorted=False)

    def parts(self, leads: float, y: int) -> float:
        """How many entries of a stack are sorted: those that go with a lead, but none much more often than twice."""
        return min(leads * self.near[y], 2 * self.statistics.shares[y])

    def tree(self, plan: PlanSpec, chains: Sequence[Estimate]) -> Estimate:
        """A join that chooses its order: as the best of some, with what it takes to choose."""
        best = min(chains, key=lambda estimate: estimate.nanoseconds)
        return replace(best, plan=plan, nanoseconds=TREE_TIMES * best.nanoseconds + TREE_PLUS)

    def runs(self, plan: PlanSpec, *, interpreted: bool) -> Estimate:
        """The automaton: every prefix is a run; runs that will behave alike are one."""
        order = tuple(sorted(self.join.positive, key=lambda x: self.join.stacks[x].group))
        work, tests, kept = SCAN, 0.0, 0.0
        if len(self.join.partitions.columns + self.join.partitions.agreed) > 1:
            work += PARTITIONS
        widest = max(len(self.join.members(group)) for group in range(self.join.groups))
        ways = factorial(widest)  # of AND, each order is a way of its own
        for k in range(1, len(order) + 1):
            known = order[:k]
            last = known[-1]
            # Runs that are made, for each event.
            made = self.statistics.shares[order[0]] * self.tuples(known) * self.selectivity(frozenset(known))
            work += self.statistics.shares[last] * EVENT
            if k == len(order):
                continue
            alike = self.alike(known)
            following = order[k]
            if alike == "slot":
                work += min(made, self.stored[last]) * EVENT * ways
                continue
            begun = self.stored[last] if alike == "event" else made
            alive = begun * self.near[last] / max(self.statistics.shares[last], 1e-12)
            visited = self.statistics.shares[following] * alive
            # Each run that goes on is joined to others, or is a run of its own.
            on = self.statistics.shares[order[0]] * self.tuples(order[: k + 1])
            on *= self.selectivity(frozenset(order[: k + 1])) if alike == "run" else 1.0
            extended = min(visited, on) if alike == "event" else on
            extended *= self.selectivity(frozenset((last, following))) if alike == "event" else 1.0
            work += (visited * VISIT + extended * NODE) * ways
            tests += visited * ways
            kept += alive * self.partitions * 48 * ways
        making = self.matches * len(order) * WALK
        times = INTERPRETED if interpreted else 1
        return Estimate(plan, times * (work + making), tests, kept, self.matches, times * making)

    def alike(self, known: tuple[int, ...]) -> str:
        """Which runs that have bound some components behave alike: all, those of one last event, or none."""
        read = {
            x for joint in self.join.joints if not joint.stacks <= frozenset(known) for x in joint.stacks if x in known
        }
        if self.join.waits:
            return "run"
        return "slot" if not read else "event" if read <= {known[-1]} else "run"
