"""Partitions under strategies that see every event: what is next to an event is next in its partition (S6)."""

import itertools
import random

import pytest
from rule_sets import Row, check

import cepheid as cep

STRATEGIES = ("strict_contiguity", "partition_contiguity", "skip_till_next_match", "skip_till_any_match")
EVENTS = [
    {"ts": ts, "type": type_, "k": k} for ts, type_, k in ((1, "A", "x"), (2, "B", "y"), (3, "B", "x"), (4, "C", "x"))
]


def times(found) -> list[tuple[int, int, int]]:
    return [(m["query"], m["match_start"], m["match_end"]) for m in found]


def test_that_what_is_strict_is_so_in_its_partition() -> None:
    two = "PATTERN SEQ(A a, B b) WHERE strict_contiguity { } PARTITION BY k"
    three = "PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity { } PARTITION BY k"
    whole = "PATTERN SEQ(A a, B b) WHERE strict_contiguity { }"
    assert times(cep.Queries([two, three, whole]).match(EVENTS)) == [(2, 1, 2), (0, 1, 3), (1, 1, 4)]


@pytest.mark.parametrize("by", ["", "PARTITION BY k", "PARTITION BY j, k"])
@pytest.mark.parametrize("key", ["", "[k] AND", "[j] AND"])
def test_that_strategies_can_be_mixed(by: str, key: str) -> None:
    rnd = random.Random(by + key)
    events = [
        {"ts": ts, "type": rnd.choice("ABC"), "k": rnd.choice("xxy"), "j": rnd.choice("uuw"), "v": 1}
        for ts in range(60)
    ]
    texts = [
        f"PATTERN SEQ(A a, B b, C c) WHERE {first}(a), {second}(b), {third}(c) {{ {key} c.v >= 0 }} {by} WITHIN 30 ms"
        for first, second, third in itertools.product(STRATEGIES, repeat=3)
        if by or key or "partition_contiguity" not in (first, second, third)
    ]
    queries = cep.Queries(texts)
    expected = times(queries.match(events, engine="reference"))
    assert len(expected) > 20
    assert times(queries.match(events)) == expected


CONTIGUOUS = {
    "an automaton": "AUTOMATON q0 -> q2 REGISTER c INT = 0 ARC q0 -> q1 WHEN e.v > low SET c = e.v "
    "ARC q1 -> q1 WHEN e.v > r.c SET c = e.v ARC q1 -> q2 WHEN e.v < r.c WHERE [k = own] WITHIN 20 ms",
    "an automaton by partition": "AUTOMATON q0 -> q1 ARC q0 -> q0 WHEN e.v > low ARC q0 -> q1 WHEN e.v = low "
    "WHERE [k = own] PARTITION BY j WITHIN 20 ms",
    "repetitions": "PATTERN SEQ(A+ a[], B b) WHERE partition_contiguity { [k = own] AND b.v > low } WITHIN 20 ms",
    "strict repetitions": "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity { [k = own] AND b.v > low } WITHIN 20 ms",
    "by partition": "PATTERN SEQ(A+ a[], B b) WHERE strict_contiguity { [k = own] AND b.v > low } "
    "PARTITION BY k WITHIN 20 ms",
    "absences": "PATTERN SEQ(!(C n), A a, A+ b[], !(B m)) WHERE partition_contiguity { [k = own] AND a.v > low } "
    "WITHIN 5 ms",
    "events counted": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k = own] AND b.v > low } WITHIN 3 events",
    "events counted in an automaton": "AUTOMATON q0 -> q1 ARC q0 -> q0 WHEN e.v >= low ARC q0 -> q1 WHEN e.v = low "
    "WHERE [k = own] WITHIN 3 events",
    "events counted by two keys": "PATTERN SEQ(A+ a[], B b) WHERE [k = own] AND [j] AND b.v > low WITHIN 3 events",
    "events counted by partition": "PATTERN SEQ(A a, A+ b[]) WHERE strict_contiguity { [k = own] AND b[].v >= low } "
    "PARTITION BY k WITHIN 3 events",
    "events counted in the whole input": "PATTERN SEQ(A a, A+ b[]) "
    "WHERE strict_contiguity { [k = own] AND b[].v >= low } WITHIN 2 events",
    "events counted with absences": "PATTERN SEQ(!(C n), A a, !(B m)) WHERE [k = own] AND a.v > low WITHIN 4 events",
    "events counted of steps that ask for it": "PATTERN SEQ(A a, B b) WHERE a.k = own AND b.k = own AND b.v > low "
    "WITHIN 5 events",
    "events counted in some partitions": "PATTERN SEQ(A a, B b) WHERE a.k = own AND b.v > low PARTITION BY k, j "
    "WITHIN 5 events",
}


@pytest.mark.parametrize("name", CONTIGUOUS)
@pytest.mark.parametrize("seed", range(3))
def test_that_rules_of_a_partition_see_that_partition_alone(name: str, seed: int) -> None:
    rnd = random.Random(seed)
    events = [
        {"ts": ts // 2, "type": rnd.choice("AAB" if ts % 9 else "C"), "k": rnd.choice(["x", "y", "z", None])}
        | {"j": rnd.choice("uw"), "v": rnd.randrange(4)}
        for ts in range(160)
    ]
    rules = [{"id": n, "own": "xyzw"[n % 4], "low": n % 3} for n in range(12)]
    queries = cep.Queries(CONTIGUOUS[name], rules)
    expected = queries.match(events, engine="reference").to_pylist()
    assert expected
    assert queries.match(events).to_pylist() == expected


@pytest.mark.parametrize("clause", ["partition_contiguity {{ {} }}", "skip_till_next_match {{ {} }} WITHIN 3 events"])
@pytest.mark.parametrize("pattern", ["C a, C b", "C a, A b", "A a, C b"])
def test_a_constant_key_of_events_that_do_not_have_it(clause: str, pattern: str) -> None:
    """The constant says of which partition a run is, also before an event has it."""
    given = [("C", 1), ("A", 5), ("A", -1), ("A", 7), ("A", 5), ("C", 1), ("A", 3), ("C", 2), ("A", -1), ("A", -1)]
    events = [{"ts": ts, "type": type_, "x": x, "y": 0} for ts, (type_, x) in enumerate(given)]
    text = f"PATTERN SEQ({pattern}) WHERE {clause.format('[x = v]')}"
    rules: list[Row] = [{"id": v, "v": v} for v in (-1, 5, 9)]
    assert check(text, rules, events, types={"A": ["x"], "C": ["y"]})
