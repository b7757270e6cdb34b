"""Which plan a query is run by. One driver runs the makers of candidates, checks, estimates, and takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.engine.planning.candidates import CANDIDATES, Candidate, Maker, NoCandidate, Question
from cepheid.engine.planning.invariants import InvalidCandidate, check_candidates, check_estimate
from cepheid.engine.planning.sample import ENOUGH, StreamSample
from cepheid.plan.cost import Costs, Estimate
from cepheid.plan.spec import AUTO, AUTOMATON, TREE, PlanKind, PlanSpec, identity
from cepheid.plan.statistics import Statistics

MUCH, DEARER = 2e7, 4.0
"""Matches beyond which they are better kept in a graph, which can be counted without them, if finding them does not
take so many times longer than to make them by a join."""
PREFERENCE = {PlanKind.AUTOMATON: 0.95, PlanKind.STACKS: 0.98}
"""Of plans that cost about the same: the one that is compiled soonest, then the one that a reader knows."""


@dataclass(frozen=True)
class Decision:
    """A plan, and what it was chosen by. `estimates`: the best first."""

    choice: PlanSpec
    reason: str
    estimates: tuple[Estimate, ...] = ()
    statistics: Statistics | None = None


@dataclass(frozen=True)
class Considered:
    """What the makers answered to a question, checked."""

    candidates: tuple[Candidate, ...]
    refusals: tuple[NoCandidate, ...]

    def named(self, asked: PlanSpec) -> tuple[Candidate, ...]:
        """Those that a plan by its name can be: one for each way to split the stream; all for `auto`."""
        if asked == AUTO:
            return self.candidates
        return tuple(
            candidate
            for candidate in self.candidates
            if candidate.plan.joins == asked.joins
            and identity(candidate.plan, candidate.join) == identity(asked, candidate.join)
        )

    def why_not(self, way: PlanKind) -> str:
        """Why there is no plan of a kind; empty if there is one."""
        if any(candidate.plan.way is way for candidate in self.candidates):
            return ""
        return next((refusal.why for refusal in self.refusals if refusal.way is way), "")


def consider(question: Question, makers: Sequence[Maker] = CANDIDATES) -> Considered:
    """All candidates for a question, each of them valid, and why others are none."""
    answers = [answer for maker in makers for answer in maker(question)]
    candidates = tuple(answer for answer in answers if isinstance(answer, Candidate))
    check_candidates(question, candidates)
    considered = Considered(candidates, tuple(answer for answer in answers if isinstance(answer, NoCandidate)))
    if not considered.named(question.asked) and not considered.why_not(question.asked.way):
        raise InvalidCandidate(question.asked, "is neither a candidate nor refused")
    return considered


def decide(question: Question, makers: Sequence[Maker] = CANDIDATES) -> Decision:
    """The plan to take. Where one is asked for, it is that, split in the cheapest way."""
    asked, sample = question.asked, question.sample
    considered = consider(question, makers)
    named = considered.named(asked)
    if not named:
        why = considered.why_not(asked.way)
        return Decision(considered.candidates[0].plan, f"{asked} does not apply: {why}")
    if not any(candidate.plan.joins for candidate in considered.candidates):
        return Decision(named[0].plan, f"no other applies: {considered.why_not(PlanKind.STACKS)}")
    if sample is None:
        return _decide_unseen(asked, considered)
    estimates = estimate(considered.candidates, sample)
    statistics = sample.of(question.compiled.join)
    # How many matches an absent event prevents is not known.
    counts = not question.compiled.why_interpreted and not question.compiled.join.negated
    choice, reason = _choose(estimates, statistics, counts=counts)
    if asked != AUTO:
        reason = f"as was asked for; auto would take {choice.label}"
        wanted = {candidate.plan for candidate in named}
        best = next(candidate_.plan for candidate_ in estimates if candidate_.plan in wanted)
        choice = replace(asked, partition=best.partition)
    joined = next(
        candidate_.join
        for candidate_ in considered.candidates
        if candidate_.join and candidate_.plan.partition == choice.partition
    )
    return Decision(choice, reason, tuple(estimates), sample.of(joined))


def estimate(candidates: Sequence[Candidate], sample: StreamSample) -> list[Estimate]:
    """What each candidate is expected to cost, the one to be preferred first."""
    joins = {candidate_.plan.partition: candidate_.join for candidate_ in candidates if candidate_.join is not None}
    costs = {partition: Costs(join, sample.of(join)) for partition, join in joins.items()}
    estimates: list[Estimate] = []
    for partition, cost in costs.items():
        plans = [
            candidate_.plan
            for candidate_ in candidates
            if candidate_.join is not None and candidate_.plan.partition == partition
        ]
        chains = [cost.chain(plan) for plan in plans if plan.way is not PlanKind.TREE]
        estimates += chains
        estimates += [cost.tree(plan, chains) for plan in plans if plan.way is PlanKind.TREE]
    runs = [candidate_ for candidate_ in candidates if candidate_.join is None]
    estimates += [costs[None].runs(candidate_.plan, interpreted=candidate_.interpreted) for candidate_ in runs]
    for candidate_ in estimates:
        check_estimate(candidate_)
    return sorted(estimates, key=lambda candidate_: candidate_.nanoseconds * PREFERENCE.get(candidate_.plan.way, 1.0))


def _decide_unseen(asked: PlanSpec, considered: Considered) -> Decision:
    """Without a sample: what is asked for, or the first of the list."""
    if asked != AUTO:
        return Decision(asked, "as was asked for")
    first = considered.candidates[0].plan
    if first != AUTOMATON:
        return Decision(first, f"runs would be interpreted: {_why_interpreted(considered)}")
    return Decision(first, f"with fewer than {ENOUGH} events there is nothing to gain")


def _why_interpreted(considered: Considered) -> str:
    return next(candidate.why for candidate in considered.candidates if candidate.interpreted)


def _choose(estimates: Sequence[Estimate], statistics: Statistics, *, counts: bool) -> tuple[PlanSpec, str]:
    """What `auto` takes, and why. `counts`: whether runs can be kept together and counted without being made."""
    best = estimates[0]
    total = best.matches * statistics.events
    runs = next(estimate_ for estimate_ in estimates if not estimate_.plan.joins)
    cheap = runs.nanoseconds - runs.making <= DEARER * best.nanoseconds
    if total > MUCH and best.plan.joins and counts and cheap:
        return AUTOMATON, f"about {total:,.0f} matches are expected: runs keep them together, and count them unmade"
    if statistics.varies and best.plan.joins:
        return TREE, "different components are the rare one at different times"
    best = next(estimate_ for estimate_ in estimates if estimate_.plan.way is not PlanKind.TREE)
    second = next(estimate_ for estimate_ in estimates if estimate_.plan.joins != best.plan.joins)
    times = second.nanoseconds / max(best.nanoseconds, 1e-9)
    return best.plan, f"{times:,.1f} times less work expected than by {second.plan}"
