"""Which plan a query is run by: what a sample tells, what each plan would cost, and which is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.sample import sample
from cepheid.plan.choice import AUTO, AUTOMATON, STACKS, Choice, Way, order_of
from cepheid.plan.cost import Estimate, choose, compare, preference
from cepheid.plan.join import Join
from cepheid.plan.statistics import Statistics

ENOUGH = 256
"""Events from which on a sample tells something."""


@dataclass(frozen=True)
class Decision:
    """A plan, and what it was chosen by."""

    choice: Choice
    reason: str
    estimates: tuple[Estimate, ...] = ()
    statistics: Statistics | None = None


def decide(blueprint: Blueprint, table: pa.Table, times: Any, forced: Choice = AUTO) -> Decision:
    """The plan for a stream of which a part is known; where it is forced, how its stream is split."""
    if blueprint.why_not_joined:
        return Decision(AUTOMATON, f"no other applies: {blueprint.why_not_joined}")
    if table.num_rows < ENOUGH:
        if forced != AUTO:
            return Decision(forced, "as was asked for")
        choice = AUTOMATON if blueprint.automaton is not None else STACKS
        return Decision(choice, f"with fewer than {ENOUGH} events there is nothing to gain")
    joins: list[tuple[tuple[str, ...] | None, Join]] = [(None, blueprint.join)]
    widest = blueprint.join  # the one that has most conditions over several events
    if len(blueprint.query.same) > 1 and (blueprint.query.within is None or blueprint.query.within.events is None):
        # SASE 4.2.2: all attributes split the stream, or one does and the others are compared when events are joined.
        widest = blueprint.split(()) or widest
        attributes = [(test.attribute,) for test in blueprint.query.same]
        joins += [(attribute, join) for attribute in attributes if (join := blueprint.split(attribute)) is not None]
    seen = sample(blueprint, widest, table, times)
    shares = {(j.test.condition, j.stacks): s for j, s in zip(widest.joints, seen.selectivity, strict=True)}
    found: list[Estimate] = []
    known: dict[tuple[str, ...] | None, Statistics] = {}
    for partition, join in joins:
        selectivity = tuple(shares.get((j.test.condition, j.stacks), 0.5) for j in join.joints)
        known[partition] = replace(seen, selectivity=selectivity)
        estimates = compare(join, blueprint.automaton, known[partition])
        if partition is not None:
            estimates = [e for e in estimates if e.choice.joins]
        found += [replace(e, choice=replace(e.choice, partition=partition)) for e in estimates]
    if len(joins) > 1:
        found.sort(key=preference)
    # How many matches an absent event prevents is not known.
    counts = blueprint.automaton is not None and not blueprint.join.negated
    choice, reason = choose(found, known[None], counts=counts)
    if forced != AUTO:
        reason = f"as was asked for; auto would take {choice.told}"
    if not forced.joins:
        choice = choice if forced == AUTO else forced
    else:
        wanted = order_of(forced, blueprint.join)
        trees = forced.way is Way.TREE
        alike = [
            replace(forced, partition=e.choice.partition)
            for e in found
            if e.choice.joins and (e.choice.way is Way.TREE) == trees and order_of(e.choice, blueprint.join) == wanted
        ]
        choice = alike[0] if alike else forced
    return Decision(choice, reason, tuple(found), known[choice.partition])
