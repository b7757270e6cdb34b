"""Which plans are candidates for a query, why others are none, and that the driver refuses a broken one."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from cepheid import Query, UsageError
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.planning.candidates import CANDIDATES, Candidate, NoCandidate, Question, automaton, last_first
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import consider, decide, estimate
from cepheid.engine.planning.invariants import InvalidCandidate, check_estimate
from cepheid.engine.planning.sample import ENOUGH, StreamSample, take_sample
from cepheid.plan.cost import Estimate
from cepheid.plan.join import make_join
from cepheid.plan.spec import AUTO, AUTOMATON, STACKS, TREE, PlanKind, PlanSpec, read_plan

SCHEMA = pa.schema({"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "s": pa.string(), "x": pa.int64()})
KEYED = "SEQ(A a, B b) WHERE [k] AND [s] AND a.x < b.x WITHIN 50"
SIX = f"SEQ({', '.join(f'{t} {t.lower()}' for t in 'ABCDEF')}) WITHIN 50"
INTERPRETED = "SEQ(A a, !(C n), B b) WHERE n.x < b.x WITHIN 50"


def question(text: str, plan: str = "auto") -> Question:
    query = Query(f"PATTERN {text}")
    return Question(CompiledQuery(query.compiled.bind(query.compiled.schema(SCHEMA))[0]), read_plan(plan))


def sampled(asked: Question, events: int = 1_000) -> Question:
    """With a sample of a stream in which a type is the rarer the later in the alphabet."""
    chance = Random(5)
    kinds = chance.choices("ABCDEF", weights=[32, 16, 8, 4, 2, 1], k=events)
    rows = [{"ts": t, "type": k, "k": t % 7, "s": f"s{t % 3}", "x": chance.randrange(99)} for t, k in enumerate(kinds)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    schema = asked.compiled.query.schema
    return replace(
        asked, sample=take_sample(asked.compiled, Batch(StreamCodes(schema), table, ticks(schema, table), 0))
    )


def told(asked: Question) -> list[str]:
    return [candidate.plan.label for candidate in consider(asked).candidates]


def refused(asked: Question) -> list[str]:
    return [refusal.why for refusal in consider(asked).refusals]


# The list.


def test_the_list() -> None:
    assert [maker.__name__ for maker in CANDIDATES] == [
        "automaton",
        "last_first",
        "every_order",
        "promising_orders",
        "tree",
        "split_by_one_attribute",
        "interpreter",
    ]


def test_the_candidates_of_a_sequence_of_three() -> None:
    asked = question("SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 50")
    assert told(asked) == [
        "automaton",
        "stacks",
        "lazy(a, b, c)",
        "lazy(a, c, b)",
        "lazy(b, a, c)",
        "lazy(b, c, a)",
        "lazy(c, a, b)",
        "tree",
    ]
    assert refused(asked) == [
        "all orders of at most 5 events are candidates anyway",
        "fewer than two equivalence attributes",
        "a kernel runs the automaton",
    ]


def test_that_an_absent_event_is_in_no_order() -> None:
    assert told(question("SEQ(A a, !(C n), B b) WITHIN 50")) == ["automaton", "stacks", "lazy(a, b)", "tree"]


def test_the_candidates_of_several_equivalence_attributes() -> None:
    whole = ["stacks", "lazy(a, b)", "tree"]
    split = [f"{plan} by {attribute}" for attribute in "ks" for plan in whole]
    assert told(question(KEYED)) == ["automaton", *whole, *split]


def test_that_a_window_of_events_is_not_split_by_one() -> None:
    asked = question("SEQ(A a, B b) WHERE [k] AND [s] WITHIN 50 events")
    assert told(asked) == ["automaton", "stacks", "lazy(a, b)", "tree"]
    assert "a window of events counts those that agree on all equivalence attributes" in refused(asked)


def test_that_an_attribute_twice_is_one() -> None:
    asked = question("SEQ(A a, B b) WHERE [k] AND [k = 3] WITHIN 50")
    assert told(asked) == ["automaton", "stacks", "lazy(a, b)", "tree"]


def test_that_many_components_have_no_more_than_promising_orders() -> None:
    asked = question(SIX)
    assert told(asked) == ["automaton", "stacks", "lazy(a, b, c, d, e, f)", "tree"]
    assert "more than 5 events have too many orders" in refused(asked)
    leads = {candidate.plan.order[0] for candidate in consider(sampled(asked)).candidates if candidate.plan.order}
    assert leads == {"a", "e", "d"}  # the first of the text, and the rarest; from f on it is called stacks


@pytest.mark.parametrize("seen", [False, True])
def test_that_the_order_that_is_asked_for_is_a_candidate(seen: bool) -> None:
    asked = question(SIX, "lazy(b, d, f, a, c, e)")
    asked = sampled(asked) if seen else asked
    assert told(asked).count("lazy(b, d, f, a, c, e)") == 1
    assert decide(asked).choice == asked.asked


def test_what_has_runs_only() -> None:
    asked = question("SEQ(A a, B+ b[], C c) WITHIN 50")
    assert told(asked) == ["automaton"]
    assert refused(asked) == [*["a Kleene closure"] * 5, "a kernel runs the automaton"]
    decision = decide(asked)
    assert (decision.choice, decision.reason) == (AUTOMATON, "no other applies: a Kleene closure")
    decision = decide(replace(asked, asked=TREE))
    assert (decision.choice, decision.reason) == (AUTOMATON, "tree does not apply: a Kleene closure")


def test_what_would_be_interpreted() -> None:
    asked = question(INTERPRETED)
    assert told(asked) == ["stacks", "lazy(a, b)", "tree", "automaton"]
    assert [candidate.interpreted for candidate in consider(asked).candidates] == [False, False, False, True]
    decision = decide(asked)
    assert decision.choice == STACKS
    assert decision.reason == f"runs would be interpreted: {asked.compiled.why_interpreted}"
    runs = next(one for one in decide(sampled(asked)).estimates if one.plan == AUTOMATON)
    assert runs.nanoseconds > 20 * decide(sampled(asked)).estimates[0].nanoseconds


# What is decided.


def test_that_the_first_of_the_list_is_taken_where_nothing_is_known() -> None:
    asked = question(KEYED)
    few = sampled(asked, ENOUGH - 1)
    assert few.sample is None
    assert decide(few).choice == AUTOMATON
    assert decide(few).reason == "with fewer than 256 events there is nothing to gain"
    assert decide(few).estimates == ()


def test_that_every_candidate_is_estimated_once_and_the_cheapest_is_taken() -> None:
    asked = sampled(question(KEYED))
    decision = decide(asked)
    assert sorted(one.plan.label for one in decision.estimates) == sorted(told(asked))
    times = [one.nanoseconds for one in decision.estimates if one.plan.way is PlanKind.LAZY]
    assert times == sorted(times)
    assert decision.choice == next(one.plan for one in decision.estimates if one.plan.way is not PlanKind.TREE)


@pytest.mark.parametrize("plan", ["stacks", "lazy(b, a)", "lazy(a, b)", "tree", "automaton"])
def test_that_a_name_is_one_candidate_for_each_way_to_split_the_stream(plan: str) -> None:
    asked = sampled(question(KEYED, plan))
    named = consider(asked).named(asked.asked)
    splits = [None] if plan == "automaton" else [None, ("k",), ("s",)]
    assert [candidate.plan.partition for candidate in named] == splits
    decision = decide(asked)
    assert str(decision.choice) == plan  # as the user wrote it
    cheapest = next(one.plan for one in decision.estimates if one.plan in {candidate.plan for candidate in named})
    assert decision.choice.partition == cheapest.partition
    assert decision.reason == f"as was asked for; auto would take {decide(replace(asked, asked=AUTO)).choice.label}"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("SEQ(A a, B b, C c)", PlanKind.AUTOMATON),  # runs are alike: very many matches are a small graph
        ("AND(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND c.x < 2 * a.x", PlanKind.STACKS),  # each run is its own
    ],
)
def test_that_very_many_matches_are_left_to_runs_only_where_these_are_few(text: str, taken: PlanKind) -> None:
    asked = sampled(question(text))
    assert asked.sample is not None
    statistics = replace(asked.sample.statistics, events=10**6, window=10**5)
    decision = decide(replace(asked, sample=replace(asked.sample, statistics=statistics)))
    assert decision.estimates[0].matches * 10**6 > 2e7
    assert decision.choice.way is taken
    assert ("count them unmade" in decision.reason) == (taken is PlanKind.AUTOMATON)


def test_that_an_order_must_name_each_variable() -> None:
    for text in (KEYED, SIX):
        with pytest.raises(UsageError, match="CEP611"):
            consider(question(text, "lazy(a)"))


# What the driver refuses.


def broken(fault: str) -> Candidate:
    """What a maker would give that has made a mistake."""
    asked = question(KEYED)
    query, join = asked.compiled.query, asked.compiled.join
    by_k = make_join(query, ("k",))
    return {
        "does not name each": Candidate(PlanSpec(PlanKind.LAZY, ("a", "a")), join, ""),
        "has no join": Candidate(STACKS, None, ""),
        "has a join that it does not run": Candidate(AUTOMATON, join, ""),
        "runs are split by all": Candidate(replace(AUTOMATON, partition=("k",)), None, ""),
        "is it interpreted": Candidate(AUTOMATON, None, "", interpreted=True),
        "the query is no join": Candidate(STACKS, join, "", interpreted=True),
        "by what is no equivalence attribute": Candidate(replace(STACKS, partition=("x",)), join, ""),
        "has a join with other partitions": Candidate(STACKS, by_k, ""),
        "s neither splits the stream nor is compared": Candidate(
            replace(STACKS, partition=("k",)), replace(by_k, joints=by_k.joints[:1]), ""
        ),
    }[fault]


@pytest.mark.parametrize(
    "fault",
    [
        "does not name each",
        "has no join",
        "has a join that it does not run",
        "runs are split by all",
        "is it interpreted",
        "the query is no join",
        "by what is no equivalence attribute",
        "has a join with other partitions",
        "s neither splits the stream nor is compared",
    ],
)
def test_that_a_broken_candidate_is_refused(fault: str) -> None:
    def maker(_: Question) -> Iterator[Candidate | NoCandidate]:
        yield broken(fault)

    with pytest.raises(InvalidCandidate, match=fault):
        decide(question(KEYED), (maker,))


def test_that_a_window_of_events_must_not_be_split_by_one() -> None:
    asked = question("SEQ(A a, B b) WHERE [k] AND [s] WITHIN 50 events")

    def maker(_: Question) -> Iterator[Candidate | NoCandidate]:
        yield Candidate(replace(STACKS, partition=("k",)), asked.compiled.join, "")

    with pytest.raises(InvalidCandidate, match="a window of events counts by all"):
        decide(asked, (maker,))


def test_that_no_plan_is_a_candidate_twice() -> None:
    def maker(asked: Question) -> Iterator[Candidate | NoCandidate]:
        yield Candidate(
            PlanSpec(PlanKind.LAZY, ("b", "a")), asked.compiled.join, "the last-first order by another name"
        )

    with pytest.raises(InvalidCandidate, match=r"lazy\(b, a\): is a candidate twice"):
        decide(question(KEYED), (*CANDIDATES, maker))


def test_that_what_is_asked_for_must_be_a_candidate_or_refused() -> None:
    with pytest.raises(InvalidCandidate, match="tree: is neither a candidate nor refused"):
        consider(question(KEYED, "tree"), (automaton, last_first))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("name", ["nanoseconds", "tests", "kept", "matches"])
def test_that_an_estimate_must_be_a_number_that_can_be_compared(name: str, value: float) -> None:
    check_estimate(Estimate(STACKS, 0.0, 0.0, 0.0, 0.0))
    with pytest.raises(InvalidCandidate, match=f"stacks: {name} are estimated as"):
        check_estimate(replace(Estimate(STACKS, 1.0, 1.0, 1.0, 1.0), **{name: value}))


def test_that_the_driver_checks_estimates() -> None:
    asked = sampled(question(KEYED))
    assert asked.sample is not None
    endless = StreamSample(asked.sample.join, replace(asked.sample.statistics, window=float("inf")))
    with pytest.raises(InvalidCandidate, match="are estimated as"):
        estimate(consider(asked).candidates, endless)
