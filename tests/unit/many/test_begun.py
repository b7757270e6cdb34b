"""An event that may be any one matters to the rules that have begun, and to no others."""

import random

import numpy as np
import pytest
from rule_sets import Row, check, collect, rows

import cepheid as cep
from cepheid.engine.many.routed.routed import RoutedTier
from cepheid.engine.many.tables.begun import BegunRules

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

TEMPLATES = {
    "repetitions": "PATTERN SEQ(Stock a, Stock+ b[]) "
    "WHERE skip_till_next_match { a.price > low AND b[i].price > low } WITHIN 6",
    "for good": "PATTERN SEQ(Stock a, Other+ b[]) WHERE skip_till_next_match { a.price > low AND b[i].price > low }",
    "by symbol": "PATTERN SEQ(Stock+ a[], Other b) WHERE a[1].symbol = name AND a[i].price > low WITHIN 6",
    "contiguous": "PATTERN SEQ(Stock a, Stock+ b[]) WHERE strict_contiguity { a.price > low } WITHIN 6",
    "counted": "PATTERN SEQ(Stock a, Other b) WHERE skip_till_next_match { a.price > low } WITHIN 3 events",
    "absent": "PATTERN SEQ(!(Other n), Stock a, Stock+ b[], !(Other m)) "
    "WHERE n.symbol = name AND a.symbol = name WITHIN 4",
    "an automaton": "AUTOMATON q0 -> q2 ARC q0 -> q1 WHEN e.price > low ARC q1 -> q1 WHEN e.price >= 2 "
    "ARC q1 -> q2 WHEN e.price < 2 WITHIN 6",
}


def mixed(seed: int, count: int = 60) -> list[Row]:
    rnd = random.Random(seed)
    return [
        {"ts": 2 * ts // 3, "type": rnd.choice(["Other", "Stock", "Stock"]), "symbol": f"s{rnd.randrange(6)}"}
        | {"price": rnd.randrange(7)}
        for ts in range(count)
    ]


def rules(count: int) -> list[Row]:
    return [{"id": i, "name": f"s{i}", "low": 3 + i} for i in range(count)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_rule_gives_what_it_gives_alone(name: str) -> None:
    assert len(check(TEMPLATES[name], rules(8), mixed(1))) > 2


def counted(text: str, count: int) -> tuple[int, int]:
    """How often rules were touched, and how many matches there are."""
    session = cep.Queries(text, rules(count)).session(lateness=0)
    found = len(session.push(mixed(3))) + len(session.close())
    return session.stats.counters["touched"], found


@pytest.mark.parametrize("name", TEMPLATES)
def test_rules_that_no_event_concerns_are_not_touched(name: str) -> None:
    few = counted(TEMPLATES[name], 8)
    assert few[1] > 5
    assert counted(TEMPLATES[name], 4_000) == few


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_same_with_snapshots(name: str, earlier: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of an earlier release does not say which rules have begun."""
    if earlier:
        monkeypatch.setattr(RoutedTier, "dump", _earlier(RoutedTier.dump))
    queries, events = cep.Queries(TEMPLATES[name], rules(8)), mixed(2)
    given: dict[int, list[str]] = {}
    session = queries.session(lateness=0)
    for place in range(0, len(events), 7):
        collect(session.push(events[place : place + 7]), given)
        session = queries.restore(session.snapshot())
    collect(session.close(), given)
    expected = rows(queries.match(events), range(8))
    assert {name: sorted(own) for name, own in given.items()} == {name: sorted(own) for name, own in expected.items()}


def _earlier(dump):
    def changed(tier: RoutedTier):
        facts, arrays = dump(tier)
        count = facts.pop("routed")
        return facts, [*arrays[:7], *arrays[7 + count :]]

    return changed


def found(rules: BegunRules, times: list[int], *pairs: tuple[int, int]) -> list[tuple[int, int]]:
    events, numbers = (np.array(own, np.int64) for own in (zip(*pairs, strict=True) if pairs else ((), ())))
    places, owners = rules.find(np.array(times), np.arange(len(times)), events, numbers)
    return sorted(zip(places.tolist(), owners.tolist(), strict=True))


def test_rules_begin_for_a_while() -> None:
    begun = BegunRules(2)
    assert found(begun, [1, 1, 2, 4, 9], (1, 7), (2, 8), (2, 7)) == [(0, 7), (1, 7), (2, 7), (2, 8), (3, 7), (3, 8)]
    assert (begun.numbers.tolist(), begun.times.tolist()) == ([], [])
    assert found(begun, [10, 11], (1, 8)) == [(1, 8)]
    assert found(begun, [13, 14]) == [(0, 8)]
    assert found(begun, [14]) == []


def test_rules_begin_for_good() -> None:
    begun = BegunRules(None)
    assert found(begun, [1, 2, 3], (1, 7), (2, 7)) == [(1, 7), (2, 7)]
    assert found(begun, [4, 400], (0, 5)) == [(0, 5), (0, 7), (1, 5), (1, 7)]
    begun.remove(np.array([7]))
    assert found(begun, [401]) == [(0, 5)]
    assert found(begun.anew(), [402]) == []


def test_that_explain_says_it() -> None:
    told = str(cep.Queries(TEMPLATES["repetitions"], rules(8)).explain(mixed(1))).splitlines()[-1].strip()
    assert (
        told == "an event goes to the rules that it concerns: price > low or all rules that have begun, if it is Stock"
    )
    told = str(cep.Queries(TEMPLATES["counted"], rules(8)).explain(mixed(1))).splitlines()[-1].strip()
    assert told == (
        "an event goes to the rules that it concerns: price > low or all rules that have begun, "
        "since WITHIN 3 events counts all events of a partition"
    )
