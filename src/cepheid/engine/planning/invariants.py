"""What must be true of every candidate plan, whichever maker it is from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isfinite

from cepheid.engine.planning.candidates import Candidate, Question
from cepheid.plan.cost import Estimate
from cepheid.plan.join import Join, equated
from cepheid.plan.spec import PlanKind, PlanSpec, identity


class InvalidCandidate(Exception):  # noqa: N818  a mistake of a maker, which no user can make
    """A candidate that would emit other matches, or that can't be compared with the others."""

    def __init__(self, plan: PlanSpec, fault: str) -> None:
        super().__init__(f"candidate {plan.label}: {fault}")


def check_candidates(question: Question, candidates: Sequence[Candidate]) -> None:
    """Raise if one of them is invalid, or if two are the same plan."""
    splits: set[tuple[tuple[str, ...] | None, int]] = set()
    known = set()
    for candidate in candidates:
        plan, join = candidate.plan, candidate.join
        if join is None:
            _check_runs(question, candidate)
        else:
            _check_order(question, candidate, join)
            if (plan.partition, id(join)) not in splits:
                splits.add((plan.partition, id(join)))
                _check_split(plan, join)
        key = identity(plan, join), plan.partition
        if key in known:
            raise InvalidCandidate(plan, "is a candidate twice")
        known.add(key)


def check_estimate(estimate: Estimate) -> None:
    """Raise if an estimate can't be compared with others."""
    for name in ("nanoseconds", "tests", "kept", "matches"):
        value = getattr(estimate, name)
        if not (isfinite(value) and value >= 0):
            raise InvalidCandidate(estimate.plan, f"{name} are estimated as {value}")


def _check_runs(question: Question, candidate: Candidate) -> None:
    plan = candidate.plan
    if plan.way is not PlanKind.AUTOMATON:
        raise InvalidCandidate(plan, "has no join")
    if plan.partition is not None:
        raise InvalidCandidate(plan, "runs are split by all equivalence attributes")
    if candidate.interpreted != bool(question.compiled.why_interpreted):
        raise InvalidCandidate(plan, f"is it interpreted? {question.compiled.why_interpreted or 'a kernel runs it'}")


def _check_order(question: Question, candidate: Candidate, join: Join) -> None:
    plan = candidate.plan
    if not plan.joins:
        raise InvalidCandidate(plan, "has a join that it does not run")
    if candidate.interpreted or question.compiled.why_not_joined:
        raise InvalidCandidate(plan, f"the query is no join: {question.compiled.why_not_joined or 'interpreted'}")
    names = [join.stacks[x].variable for x in join.positive]
    if plan.way is PlanKind.LAZY and sorted(plan.order) != sorted(names):
        raise InvalidCandidate(plan, f"does not name each of {', '.join(names)} once")


def _check_split(plan: PlanSpec, join: Join) -> None:
    """All equivalence attributes split the stream, or are compared."""
    attributes = {test.attribute for test in join.query.same}
    if plan.partition is not None:
        if join.query.counted:
            raise InvalidCandidate(plan, "a window of events counts by all equivalence attributes")
        if not attributes.issuperset(plan.partition):
            raise InvalidCandidate(plan, "splits the stream by what is no equivalence attribute")
    if not set(join.partitions.agreed).issuperset(attributes if plan.partition is None else plan.partition):
        raise InvalidCandidate(plan, "has a join with other partitions")
    for attribute in sorted(attributes.difference(join.partitions.agreed)):
        compared = {joint.stacks for joint in join.joints if equated(joint) == attribute}
        pairs = {frozenset(pair) for pair in combinations(join.positive, 2)}
        absent = [y for y in join.negated if not any(y in pair for pair in compared)]
        if not pairs <= compared or absent:
            raise InvalidCandidate(plan, f"{attribute} neither splits the stream nor is compared")
