"""Which plan a query is run by: what a sample tells, what each plan would cost, and which is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.sample import sample
from cepheid.plan.cost import Estimate, choose, compare, preference
from cepheid.plan.join import Join
from cepheid.plan.spec import AUTO, AUTOMATON, STACKS, PlanSpec, Way, order_of
from cepheid.plan.statistics import Statistics, moved

ENOUGH = 256
"""Events from which on a sample tells something."""


@dataclass(frozen=True)
class Decision:
    """A plan, and what it was chosen by."""

    choice: PlanSpec
    reason: str
    estimates: tuple[Estimate, ...] = ()
    statistics: Statistics | None = None


ALIKE = 1.25
"""How much the shares of types may differ between runs that take the same plan."""


@dataclass
class Remembered:
    """A decision of an earlier run, the number of its events and the share of each component's types."""

    decision: Decision
    events: int
    shares: tuple[float, ...]
    uses: int = 0

    def suits(self, events: int, shares: tuple[float, ...]) -> bool:
        """Whether another run is on events like these; after some uses it is sampled anew all the same."""
        self.uses += 1
        size = max(events, self.events) <= 2 * min(events, self.events)
        return size and self.uses < MOST_USES and not moved(self.shares, shares, ALIKE)


MOST_USES = 32


def decide(compiled: CompiledQuery, batch: Batch, forced: PlanSpec = AUTO) -> Decision:
    """The plan for a stream of which a part is known; where it is forced, how its stream is split."""
    if compiled.why_not_joined:
        return Decision(AUTOMATON, f"no other applies: {compiled.why_not_joined}")
    if len(batch) < ENOUGH:
        if forced != AUTO:
            return Decision(forced, "as was asked for")
        choice = AUTOMATON if not compiled.why_interpreted else STACKS
        return Decision(choice, f"with fewer than {ENOUGH} events there is nothing to gain")
    joins: list[tuple[tuple[str, ...] | None, Join]] = [(None, compiled.join)]
    widest = compiled.join  # the one that has most conditions over several events
    if len(compiled.query.same) > 1 and (compiled.query.within is None or compiled.query.within.events is None):
        # SASE 4.2.2: all attributes split the stream, or one does and the others are compared when events are joined.
        widest = compiled.split(()) or widest
        attributes = [(test.attribute,) for test in compiled.query.same]
        joins += [(attribute, join) for attribute in attributes if (join := compiled.split(attribute)) is not None]
    seen = sample(compiled, widest, batch)
    shares = {(j.test.condition, j.stacks): s for j, s in zip(widest.joints, seen.selectivity, strict=True)}
    found: list[Estimate] = []
    known: dict[tuple[str, ...] | None, Statistics] = {}
    for partition, join in joins:
        selectivity = tuple(shares.get((j.test.condition, j.stacks), 0.5) for j in join.joints)
        known[partition] = replace(seen, selectivity=selectivity)
        estimates = compare(join, None if compiled.why_interpreted else compiled.automaton, known[partition])
        if partition is not None:
            estimates = [e for e in estimates if e.choice.joins]
        found += [replace(e, choice=replace(e.choice, partition=partition)) for e in estimates]
    if len(joins) > 1:
        found.sort(key=preference)
    # How many matches an absent event prevents is not known.
    counts = not compiled.why_interpreted and not compiled.join.negated
    choice, reason = choose(found, known[None], counts=counts)
    if forced != AUTO:
        reason = f"as was asked for; auto would take {choice.told}"
    if not forced.joins:
        choice = choice if forced == AUTO else forced
    else:
        wanted = order_of(forced, compiled.join)
        trees = forced.way is Way.TREE
        alike = [
            replace(forced, partition=e.choice.partition)
            for e in found
            if e.choice.joins and (e.choice.way is Way.TREE) == trees and order_of(e.choice, compiled.join) == wanted
        ]
        choice = alike[0] if alike else forced
    return Decision(choice, reason, tuple(found), known[choice.partition])
