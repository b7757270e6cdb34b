"""Rules that ask for ranges: an event meets those whose bounds it passes, and gives what each rule gives alone."""

import math
from random import Random
from typing import Any

import pytest
from rule_sets import Row, check, quotes

import cepheid as cep
from cepheid.engine.many.tables import node_tables, ranges

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
MOST, LEAST = 2**63 - 1, -(2**63)
WHOLE = [0, 1, 2, 3, 4, 5, -1, None, MOST, MOST - 1, LEAST + 3]
REAL = [0.0, -0.0, 0.5, 1.0, 2.5, -1.5, None, math.nan, math.inf, -math.inf]
TEMPLATES = {
    "above": "PATTERN Stock s WHERE s.price > p",
    "at least": "PATTERN Stock s WHERE p <= s.price",
    "below": "PATTERN Stock s WHERE s.price < p",
    "at most": "PATTERN Stock s WHERE s.price <= p",
    "between": "PATTERN Stock s WHERE s.price BETWEEN p AND q",
    "two columns": "PATTERN Stock s WHERE s.price > p AND s.volume <= q",
    "two ranges": "PATTERN Stock s WHERE s.price >= p AND s.price < q AND s.volume >= r AND s.volume <= t",
    "and a text": "PATTERN Stock s WHERE s.symbol = name AND s.price > p AND s.volume < q",
    "and more": "PATTERN Stock s WHERE s.price > p AND s.price < q AND s.price + s.volume < r",
    "after another": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_any_match "
    "{ a.price >= 2 AND b.price > p AND b.volume < q } WITHIN 4",
    "per key": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol] AND a.price > p AND b.price < q }",
}


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few edges are many, and columns have few cells."""
    for module in (node_tables, ranges):
        monkeypatch.setattr(module, "MANY", 3)
    monkeypatch.setattr(ranges, "CELLS", 5)


def events(chance: Random, values: list[Any], count: int = 16) -> list[Row]:
    found = quotes(*((ts // 2, chance.choice("uvw"), chance.choice(values)) for ts in range(count)))
    return [{**row, "volume": chance.choice(values)} for row in found]


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("kind", ["whole", "real"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_each_rule_gives_what_it_gives_alone(name: str, kind: str) -> None:
    chance = Random(f"{name} {kind}")
    values = WHOLE if kind == "whole" else REAL
    rules = [
        {"id": k, "name": chance.choice("uvwx"), **{p: chance.choice([*values, *values[:6]]) for p in "pqrt"}}
        for k in range(25)
    ]
    assert check(TEMPLATES[name], rules, events(chance, [v for v in values if v not in (MOST, MOST - 1)]))


@pytest.mark.usefixtures("_few")
def test_times_and_durations_have_ranges() -> None:
    text = "PATTERN Stock s WHERE s.at >= p AND s.at < q"
    found = [{**row, "at": ts % 7} for ts, row in enumerate(quotes(*((ts, "u", 0) for ts in range(20))))]
    assert check(text, [{"id": k, "p": k % 5, "q": k % 5 + k % 3} for k in range(20)], found)


@pytest.mark.usefixtures("_few")
def test_rules_that_come_and_go_with_their_ranges() -> None:
    queries = cep.Queries("PATTERN Stock s WHERE s.price > p", [{"id": k, "p": k} for k in range(8)])
    session = queries.session(lateness=0)
    assert len(session.push(quotes((1, "u", 3)))) == 0
    session.add([{"id": k, "p": k - 8} for k in range(8, 16)])
    session.remove([0, 9], at=2)
    assert len(session.push(quotes((2, "u", 3), (3, "u", 3)))) == 9
    session = queries.restore(session.snapshot())
    assert sorted(row["query"] for row in session.close().to_pylist()) == [1, 2, 8, 10]


def told(text: str, rules: list[Row]) -> tuple[int, int]:
    """How many comparisons there were, and how many matches."""
    session = cep.Queries(text, rules).session(lateness=0)
    stream = [{**row, "volume": ts % 5} for ts, row in enumerate(quotes(*((ts, "u", ts % 7) for ts in range(100))))]
    found = len(session.push(stream)) + len(session.close())
    return session.stats.counters["touched"], found


@pytest.mark.parametrize(
    ("text", "far"),
    [
        ("PATTERN Stock s WHERE s.price > p", {"p": 1_000}),
        ("PATTERN Stock s WHERE s.price < p", {"p": -1_000_000}),
        ("PATTERN Stock s WHERE s.price BETWEEN p AND q", {"p": 1_000, "q": 100_000}),
        ("PATTERN Stock s WHERE s.price > p AND s.volume > q", {"p": 1_000, "q": 0}),
        ("PATTERN Stock s WHERE s.price > p AND s.volume > q", {"p": 0, "q": 1_000}),
        ("PATTERN Stock s WHERE s.volume > 0 AND s.price > p", {"p": 1_000}),
    ],
)
def test_rules_whose_bounds_no_event_passes_are_not_touched(text: str, far: Row) -> None:
    near = [{"id": -1 - k, "p": k, "q": 5 - k} for k in range(5)]
    few = told(text, [*near, *({"id": k, **{p: v + k for p, v in far.items()}} for k in range(1_000))])
    many = told(text, [*near, *({"id": k, **{p: v + k for p, v in far.items()}} for k in range(10_000))])
    assert many[1] == few[1]
    assert many[0] - few[0] < 20  # cells have other ends; to compare all would be 900,000 more


ROUTED = {
    "above": "PATTERN Stock s WHERE s.price > p HAVING s.price >= 0",
    "below": "PATTERN Stock s WHERE s.price <= p AND s.volume < q HAVING s.volume < 9",
    "between": "PATTERN Stock s WHERE s.price BETWEEN p AND q RETURN s.price + p AS x",
    "one constant": "PATTERN Stock s WHERE s.price >= p AND s.volume <= p HAVING s.price >= 0",
    "a real equality": "PATTERN Stock s WHERE s.price = p RETURN s.price + p AS x",
    "steps": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price > p AND b.price < q } "
    "HAVING a.price >= 0",
    "an absence": "PATTERN SEQ(Stock a, !(Sale n), Stock b) WHERE skip_till_any_match "
    "{ a.price > p AND b.price < q AND n.volume > r } WITHIN 5",
    "all of a type": "PATTERN SEQ(Stock a, !(Sale n), Stock b) WHERE skip_till_any_match "
    "{ a.price > p AND b.price < q } WITHIN 5",
    "a repetition": "PATTERN SEQ(Stock a, Stock+ b[]) WHERE skip_till_any_match "
    "{ a.price > p AND b[].price < q } WITHIN 3",
}


@pytest.mark.parametrize("kind", ["whole", "real"])
@pytest.mark.parametrize("name", ROUTED)
def test_joined_streams_have_ranges(name: str, kind: str) -> None:
    chance = Random(f"{name} {kind}")
    values = WHOLE if kind == "whole" else REAL
    rules = [{"id": k, **{p: chance.choice([*values, *values[:6]]) for p in "pqr"}} for k in range(12)]
    stream = events(chance, [v for v in values if v not in (MOST, MOST - 1)])
    stream = [{**row, "type": chance.choice(["Stock", "Stock", "Sale"])} for row in stream]
    assert check(ROUTED[name], rules, stream)


def test_rules_of_joined_streams_whose_bounds_no_event_passes_are_not_touched() -> None:
    text = "PATTERN Stock s WHERE s.price > p HAVING s.volume >= 0"
    few, many = (told(text, [{"id": k, "p": k} for k in range(count)]) for count in (10, 5_000))
    assert many == few == (295, 295)
