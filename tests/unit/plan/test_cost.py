"""What plans are expected to cost: that the estimates tell apart what takes different time."""

from dataclasses import replace
from itertools import permutations

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.plan.cost import INTERPRETED, TREE_PLUS, TREE_TIMES, Costs
from cepheid.plan.join import make_join
from cepheid.plan.spec import AUTOMATON, STACKS, TREE, PlanKind, PlanSpec
from cepheid.plan.statistics import Statistics

SCHEMA = pa.schema({"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64()})


def costs(where: str, shares: tuple[float, ...], selectivity: tuple[float, ...], window: float = 1_000) -> Costs:
    query = Query(f"PATTERN SEQ(A a, B b, C c) WHERE {where} WITHIN 9")
    join = make_join(query.compiled.bind(query.compiled.schema(SCHEMA))[0])
    return Costs(join, Statistics(100_000, window, shares, selectivity, {"k": 10.0}))


def cheapest(known: Costs) -> tuple[str, ...]:
    orders = [PlanSpec(PlanKind.LAZY, order) for order in permutations("abc")]
    return min(orders, key=lambda plan: known.chain(plan).nanoseconds).order


@pytest.mark.parametrize("rare", [0, 1, 2])
def test_that_a_good_order_does_not_leave_the_rare_one_for_the_end(rare: int) -> None:
    shares = tuple(0.001 if x == rare else 0.4 for x in range(3))
    assert cheapest(costs("a.x < b.x AND b.x < c.x", shares, (0.5, 0.5)))[2] != "abc"[rare]


def test_that_a_range_costs_less_than_to_test_all() -> None:
    """Of `a.x < b.x` what is out of bounds is passed; of `b.x - a.x > 5` everything is tested."""
    given = (0.3, 0.3, 0.3), (0.001,)
    sorted_, tested = (costs(where, *given).chain(STACKS) for where in ("a.x < b.x", "b.x - a.x > 5"))
    assert tested.nanoseconds > 2 * sorted_.nanoseconds
    assert tested.tests > 2 * sorted_.tests
    assert tested.matches == sorted_.matches


def test_that_what_nothing_is_asked_of_comes_last() -> None:
    """Its candidates are all matches, which are written without a test."""
    assert cheapest(costs("a.x < b.x", (0.1, 0.1, 0.1), (0.5,)))[2] == "c"


def test_that_keys_divide_the_work() -> None:
    alone = costs("a.x < b.x", (0.3, 0.3, 0.3), (0.5,)).chain(STACKS)
    apart = costs("[k] AND a.x < b.x", (0.3, 0.3, 0.3), (0.5,)).chain(STACKS)
    assert apart.matches == pytest.approx(alone.matches / 100)
    assert apart.nanoseconds < alone.nanoseconds / 10


def test_that_a_tree_is_the_best_order_and_the_choice() -> None:
    known = costs("a.x < b.x", (0.3, 0.01, 0.3), (0.5,))
    chains = [known.chain(PlanSpec(PlanKind.LAZY, order)) for order in permutations("abc")]
    best = min(chains, key=lambda one: one.nanoseconds)
    expected = replace(best, plan=TREE, nanoseconds=TREE_TIMES * best.nanoseconds + TREE_PLUS)
    assert known.tree(TREE, chains) == expected


def test_that_runs_that_are_interpreted_cost_more() -> None:
    known = costs("a.x < b.x", (0.3, 0.01, 0.3), (0.5,))
    compiled, interpreted = (known.runs(AUTOMATON, interpreted=flag) for flag in (False, True))
    assert interpreted.nanoseconds == INTERPRETED * compiled.nanoseconds
    assert interpreted.tests == compiled.tests
    assert 0 < compiled.making < compiled.nanoseconds
