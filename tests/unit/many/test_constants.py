"""Constants of many rules at the borders of what there is."""

import math
from typing import Any

import pyarrow as pa
import pytest
from rule_sets import check, heads, quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

NAN = math.nan
MOST, LEAST = 2**63 - 1, -(2**63)

STEPS = "PATTERN SEQ(Stock a, Stock b) WHERE {} {{ {} }} WITHIN 9"
PRICES = [None, NAN, -0.0, 0.0, 1.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("relation", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match", "strict_contiguity"])
def test_odd_floats(relation: str, strategy: str) -> None:
    text = STEPS.format(strategy, f"a.price {relation} first AND b.price {relation} second")
    rules = [{"id": i * 10 + j, "first": a, "second": b} for i, a in enumerate(PRICES) for j, b in enumerate(PRICES)]
    events = quotes(*((ts, "X", price) for ts, price in enumerate([*PRICES, *PRICES])))
    assert check(text, rules[:: 2 if strategy == "skip_till_next_match" else 7], events)


@pytest.mark.parametrize("relation", ["=", "!=", "<", "<=", ">", ">="])
def test_integers_at_their_borders(relation: str) -> None:
    """Floats cannot tell these apart."""
    edges = [LEAST, LEAST + 1, -(2**53) - 1, -1, 0, 2**53, 2**53 + 1, MOST - 1, MOST, None]
    text = STEPS.format("skip_till_next_match", f"a.price {relation} first")
    rules = [{"id": i, "first": edge} for i, edge in enumerate(edges)]
    assert check(text, rules, quotes(*((ts, "X", edge) for ts, edge in enumerate(edges))))


@pytest.mark.parametrize("relation", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("together", [1, 12])
def test_integers_at_the_borders_of_32_bits(relation: str, together: int) -> None:
    """Most integers are compared by 32 bits alone, whether one rule is looked at or many are looked up."""
    edges = [edge + more for edge in (-(2**32), -(2**31), 2**31, 2**32) for more in (-2, -1, 0, 1, 2)]
    text = STEPS.format("skip_till_next_match", f"a.price = 7 AND b.price {relation} second")
    events = quotes((0, "X", 7), *((1, "X", edge) for edge in edges), (2, "X", None))
    rules = [{"id": i, "second": edge} for i, edge in enumerate(edges)]
    given = [check(text, rules[at : at + together], events) for at in range(0, len(rules), together)]
    assert any(given)


def test_integers_beside_floats() -> None:
    """A column of integers and constants that are no integers, and the other way round."""
    rules = [{"id": i, "low": low} for i, low in enumerate([0.5, 1.0, -0.0, NAN, 1e300, None, 2.0**53])]
    for relation in ("=", "<", ">=", "!="):
        text = STEPS.format("skip_till_next_match", f"a.price {relation} low AND b.price >= a.price")
        check(text, rules, quotes(*((ts, "X", price) for ts, price in enumerate([0, 1, None, 2**53 + 1, 2**53, 3]))))
        integers = [{"id": i, "low": low} for i, low in enumerate([0, 1, None, 2**53 + 1])]
        floats = [0.0, -0.0, 0.5, 1.0, NAN, None, 2.0**53, 3.0]
        check(text, integers, quotes(*((ts, "X", price) for ts, price in enumerate(floats))))


def test_negative_zero_is_zero_also_where_it_is_looked_up() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price = zero AND b.price = a.price }"
    rules = [{"id": "plus", "zero": 0.0}, {"id": "minus", "zero": -0.0}]
    found = check(text, rules, quotes((1, "X", -0.0), (2, "X", 0.0), (3, "X", -0.0)))
    assert {name: len(own) for name, own in found.items()} == {"plus": 2, "minus": 2}


def test_nan_equals_nan_and_is_the_greatest() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price = wanted AND b.price >= a.price }"
    found = check(
        text, [{"id": 1, "wanted": NAN}, {"id": 2, "wanted": 1.0}], quotes((1, "X", 1.0), (2, "X", NAN), (3, "X", NAN))
    )
    assert {name: len(own) for name, own in found.items()} == {1: 1, 2: 1}


def test_contradictory_rules_give_nothing_and_harm_nobody() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE [symbol = name] AND [symbol] AND a.price > low AND a.price < high"
    rules = [
        {"id": "none", "name": "X", "low": 5, "high": 3},
        {"id": "hair", "name": "X", "low": 3, "high": 4},
        {"id": "some", "name": "X", "low": 3, "high": 5},
    ]
    assert list(check(text, rules, quotes((1, "X", 4), (2, "X", 4)))) == ["some"]
    twice = "PATTERN Stock a WHERE a.symbol = one AND a.symbol = two"
    rules = [{"id": 1, "one": "X", "two": "Y"}, {"id": 2, "one": "X", "two": "X"}, {"id": 3, "one": "Y", "two": "X"}]
    assert list(check(twice, rules, quotes((1, "X", 4), (2, "Y", 4)))) == [2]
    never = "PATTERN SEQ(Stock a, Stock b) WHERE FALSE AND a.price > low"
    assert not check(never, [{"id": 1, "low": 0}], quotes((1, "X", 4), (2, "Y", 4)))


def test_texts_that_were_never_seen() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.symbol = one AND b.symbol = two }"
    rules = [
        {"id": i, "one": one, "two": two} for i, (one, two) in enumerate([("X", "never"), ("never", "X"), ("X", "Y")])
    ]
    assert list(check(text, rules, quotes((1, "X", 1), (2, "Y", 1), (3, "Z", 1), (4, "X", 1)))) == [2]
    session = cep.Queries(text, rules).session(lateness=0)
    session.push(quotes((1, "X", 1)))
    given = [
        *heads(session.push(quotes((2, "never", 1)))),
        *heads(session.push(quotes((3, "X", 1)))),
        *heads(session.close()),
    ]
    assert given == [(0, 1, 2), (1, 2, 3)]  # seen for the first time while it runs


def test_texts_by_order() -> None:
    for relation in ("<", "<=", ">", ">=", "!="):
        text = STEPS.format("skip_till_next_match", f"a.symbol {relation} one AND b.symbol {relation} one")
        words = ["", "a", "ab", "b", "ä", "☃", "never", None]
        rules = [{"id": i, "one": word} for i, word in enumerate(words)]
        check(text, rules, quotes(*((ts, word, 1) for ts, word in enumerate(["b", "a", "", None, "ä", "𝒳", "ab"]))))


def test_sets() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE a.symbol IN names AND b.price IN prices"
    sets: list[tuple[list[Any], list[Any]]] = [
        (["X"], [1]),
        (["X", "Y"], [1, 2]),
        ([], [1]),
        (["Z", "X"], [None, 2]),
        (["X"], []),
    ]
    rules = [{"id": i, "names": names, "prices": prices} for i, (names, prices) in enumerate(sets)]
    found = check(text, rules, quotes((1, "X", 1), (2, "Y", 1), (3, "Z", 2), (4, None, 2)))
    assert list(found) == [0, 1, 3]


def test_a_null_in_not_in() -> None:
    text = "PATTERN Stock a WHERE a.price NOT IN prices"
    rules = [{"id": 1, "prices": [1, None]}, {"id": 2, "prices": [1]}, {"id": 3, "prices": []}]
    assert list(check(text, rules, quotes((1, "X", 2), (2, "X", None)))) == [2, 3]


def test_a_parameter_with_the_name_of_a_column() -> None:
    """In a pattern of a single event the column is meant; elsewhere a bare name is the parameter."""
    text = "PATTERN SEQ(Stock a, Stock b) WHERE a.price > price AND b.symbol = symbol"
    rules = [{"id": 1, "price": 2, "symbol": "X"}, {"id": 2, "price": 0, "symbol": "Y"}]
    assert check(text, rules, quotes((1, "X", 1), (2, "Y", 3), (3, "X", 4)))


def test_a_column_that_is_null_at_first() -> None:
    text, rules = "PATTERN SEQ(Stock a, Stock b) WHERE b.price > low", [{"id": 1, "low": 0.5}]
    session = cep.Queries(text, rules).session(lateness=0)
    session.push(pa.Table.from_pylist(quotes((1, "X", 1.0))).slice(0, 0))
    given = heads(session.push(quotes((1, "X", None)))) + heads(session.push(quotes((2, "X", 1.0))))
    assert given + heads(session.close()) == [(1, 1, 2)]
