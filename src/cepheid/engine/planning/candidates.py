"""The plans that a query could be run by. `CANDIDATES` is the list of their makers; no other place makes a plan.

Each maker looks at one question and makes candidates, or says why it has none. It neither estimates nor chooses: that
is the driver's part (`decision.py`). Where nothing is known of the stream, the first candidate is the one to take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.sample import StreamSample
from cepheid.plan.cost import Costs
from cepheid.plan.join import Join
from cepheid.plan.spec import AUTO, AUTOMATON, STACKS, TREE, PlanKind, PlanSpec, order_of

MOST_ORDERS = 5
"""Components up to which all orders are candidates."""
LEADS = 3
"""How many of the rarest components are tried as the first of an order where there are more components than that."""


@dataclass(frozen=True)
class Question:
    """What a plan is chosen for: a query, the plan that the user asks for, and a sample of the stream, if there is one.

    join: replaces that of the query; fewer attributes split its stream.
    """

    compiled: CompiledQuery
    asked: PlanSpec = AUTO
    sample: StreamSample | None = None
    join: Join | None = None


@dataclass(frozen=True)
class Candidate:
    """A plan that could be taken, and why it applies.

    join: what it runs on, None for runs. interpreted: whether no kernel runs it.
    """

    plan: PlanSpec
    join: Join | None
    why: str
    interpreted: bool = False


@dataclass(frozen=True)
class NoCandidate:
    """Why a maker has no candidate. `way`: which kind of plan it would have been."""

    way: PlanKind
    why: str


Maker = Callable[[Question], Iterator[Candidate | NoCandidate]]

_ON_A_KERNEL = "a kernel runs the automaton"


def automaton(question: Question) -> Iterator[Candidate | NoCandidate]:
    """The candidate that follows runs on a kernel, or the reason why none can."""
    if question.compiled.why_interpreted:
        yield NoCandidate(PlanKind.AUTOMATON, question.compiled.why_interpreted)
    else:
        yield Candidate(AUTOMATON, None, _ON_A_KERNEL)


def last_first(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Stacks, from the last component back to the first."""
    join = _join(question)
    if isinstance(join, str):
        yield NoCandidate(PlanKind.STACKS, join)
    else:
        yield Candidate(STACKS, join, "single events, in any order")


def every_order(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Stacks, in every other order."""
    join = _join(question)
    if isinstance(join, str):
        yield NoCandidate(PlanKind.LAZY, join)
    elif len(join.positive) > MOST_ORDERS:
        yield NoCandidate(PlanKind.LAZY, f"more than {MOST_ORDERS} events have too many orders")
    else:
        yield from _lazy(join, list(permutations(join.positive)), f"one of all orders of {len(join.positive)} events")


def promising_orders(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Stacks, of many components: in the order of the text, from the rarest on, and in the order that is asked for."""
    join = _join(question)
    if isinstance(join, str):
        yield NoCandidate(PlanKind.LAZY, join)
    elif len(join.positive) <= MOST_ORDERS:
        yield NoCandidate(PlanKind.LAZY, f"all orders of at most {MOST_ORDERS} events are candidates anyway")
    else:
        orders = [tuple(join.positive)]
        if question.sample is not None:
            orders += _rarest_first(join, question.sample)
        yield from _lazy(join, orders, "one of the orders that promise most")
        if question.asked.way is PlanKind.LAZY and order_of(question.asked, join) not in orders:
            yield from _lazy(join, [order_of(question.asked, join)], "the order that is asked for")


def tree(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Stacks, in an order that is chosen at each step."""
    join = _join(question)
    if isinstance(join, str):
        yield NoCandidate(PlanKind.TREE, join)
    else:
        yield Candidate(TREE, join, "single events, in any order")


def split_by_one_attribute(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Stacks that one of several `[attr]` splits; the others are compared when events are joined (SASE 4.2.2)."""
    query = question.compiled.query
    attributes = dict.fromkeys(test.attribute for test in query.same)
    if question.compiled.why_not_joined:
        yield NoCandidate(PlanKind.STACKS, question.compiled.why_not_joined)
    elif len(attributes) < 2:
        yield NoCandidate(PlanKind.STACKS, "fewer than two equivalence attributes")
    elif query.counted:
        yield NoCandidate(PlanKind.STACKS, "a window of events counts those that agree on all equivalence attributes")
    else:
        for attribute in attributes:
            join = question.compiled.split((attribute,))
            if isinstance(join, str):
                yield NoCandidate(PlanKind.STACKS, join)
                continue
            for maker in (last_first, every_order, promising_orders, tree):
                for candidate in maker(replace(question, join=join)):
                    if isinstance(candidate, Candidate):
                        candidate = replace(candidate, plan=replace(candidate.plan, partition=(attribute,)))
                    yield candidate


def interpreter(question: Question) -> Iterator[Candidate | NoCandidate]:
    """Runs, one event after the other, where no kernel can run the automaton."""
    if question.compiled.why_interpreted:
        yield Candidate(AUTOMATON, None, question.compiled.why_interpreted, interpreted=True)
    else:
        yield NoCandidate(PlanKind.AUTOMATON, _ON_A_KERNEL)


CANDIDATES: tuple[Maker, ...] = (
    automaton,
    last_first,
    every_order,
    promising_orders,
    tree,
    split_by_one_attribute,
    interpreter,
)


def _join(question: Question) -> Join | str:
    """The join that is asked about, or why the query is none."""
    return question.join or question.compiled.why_not_joined or question.compiled.join


def _lazy(join: Join, orders: list[tuple[int, ...]], why: str) -> Iterator[Candidate]:
    """Each of some orders once, but for that which is called `stacks`."""
    for order in dict.fromkeys(orders):
        if order != order_of(STACKS, join):
            yield Candidate(PlanSpec(PlanKind.LAZY, tuple(join.stacks[x].variable for x in order)), join, why)


def _rarest_first(join: Join, sample: StreamSample) -> list[tuple[int, ...]]:
    """By how rare the components are, and from each of the rarest on to what leaves least."""
    costs = Costs(join, sample.of(join))
    rare = sorted(join.positive, key=lambda x: costs.statistics.shares[x])
    return [tuple(rare), *(_greedy(costs, first) for first in rare[:LEADS])]


def _greedy(costs: Costs, first: int) -> tuple[int, ...]:
    """From one component on, always to the one that leaves least."""
    order = [first]
    while len(order) < len(costs.join.positive):
        rest = [x for x in costs.join.positive if x not in order]
        left = {x: costs.near[x] * (costs.selectivity(frozenset([*order, x])) + 1e-6) for x in rest}
        order.append(min(rest, key=left.__getitem__))
    return tuple(order)
