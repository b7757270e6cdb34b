"""Many rules in one place, and their ids (S23)."""

import pyarrow as pa
import pytest
from rule_sets import heads, quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def test_a_node_with_50_000_children() -> None:
    """The first step is the same in all rules, the second is another in each: by equality, and by a range."""
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol] AND a.price = 10 AND b.price = wanted }"
    rules = pa.table({"id": range(50_000), "wanted": range(50_000)})
    events = quotes((1, "X", 10), (2, "Y", 777), (3, "X", 777), (4, "X", 49_999), (5, "X", 50_000), (6, "X", 777))
    found = cep.Queries(text, rules).match(events)
    assert heads(found) == [(777, 1, 3), (49_999, 1, 4)]
    ranges = cep.Queries(text.replace("b.price = wanted", "b.price < wanted"), rules)
    events = quotes((1, "X", 10), (2, "X", 60_000), (3, "X", 49_989), (4, "X", 49_979), (5, "X", -1))
    found = heads(ranges.match(events))
    assert found[:20] == [(49_990 + i, 1, 3) for i in range(10)] + [(49_980 + i, 1, 4) for i in range(10)]
    assert found[20:] == [(i, 1, 5) for i in range(49_980)]


def test_a_first_step_with_50_000_constants() -> None:
    rules = pa.table({"id": [f"user {i}" for i in range(50_000)], "name": [f"s{i}" for i in range(50_000)]})
    text = (
        "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol = name] AND b.price > a.price } WITHIN 10"
    )
    events = quotes((1, "s7", 1), (2, "s49999", 5), (3, "never", 9), (4, "s7", 2), (5, "s49999", 4), (30, "s49999", 9))
    assert heads(cep.Queries(text, rules).match(events)) == [("user 7", 1, 4)]


def test_a_thousand_equal_rules_give_each_its_own() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol] AND a.price > high AND b.price < 3 }"
    names = [f"r{i}" for i in range(1_000)]
    queries = cep.Queries(text, [{"id": name, "high": 5} for name in names])
    events = quotes((1, "X", 6), (2, "Y", 6), (3, "X", 2), (4, "Y", 1))
    found = queries.match(events)
    assert heads(found) == [(name, 1, 3) for name in names] + [(name, 2, 4) for name in names]
    session = queries.session(lateness=0)
    session.push(events[:2])
    session.remove(names[::2], at=2)
    found = [*heads(session.push(events[2:])), *heads(session.close())]
    assert found == [(name, 1, 3) for name in names[1::2]] + [(name, 2, 4) for name in names[1::2]]


def test_equal_rules_are_one_node() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol] AND a.price > high AND b.price < 3 }"
    rules = pa.table({"id": pa.array(range(40_000)), "high": pa.array([5] * 40_000)})
    queries = cep.Queries(text, rules)
    events = quotes((1, "X", 6), (2, "X", 2))
    assert queries.match(events).queries.to_pylist() == list(range(40_000))
    told = [line.split() for line in str(queries.explain(events)).splitlines()]
    assert ["all", "80,000", "2"] in told


def test_equal_texts_give_each_its_own() -> None:
    text = "PATTERN Stock a WHERE a.price > 5"
    queries = cep.Queries([text, "PATTERN  Stock a WHERE price > 5", text], ids=["c", "a", "b"])
    assert heads(queries.match(quotes((1, "X", 6), (1, "Y", 7)))) == [
        (name, 1, 1) for name in ("c", "c", "a", "a", "b", "b")
    ]


@pytest.mark.slow
def test_400_000_ids_that_are_text() -> None:
    count = 400_000
    rules = pa.table({"id": [f"customer-{i:09}" for i in range(count)], "name": [f"s{i % 1000}" for i in range(count)]})
    text = "PATTERN Stock a WHERE [symbol = name] AND a.price > 5"
    found = cep.Queries(text, rules).match(quotes((1, "s999", 6), (2, "s1000", 9)))
    assert heads(found) == [(f"customer-{i:09}", 1, 1) for i in range(999, count, 1000)]


def test_ids_are_told_apart_by_all_of_their_text() -> None:
    names = ["", " ", "a", "A", "a ", "ä", "a\u0308", "1", "01", "NULL", "x" * 1_000, "x" * 999 + "y", "'", '"', "☃"]
    queries = cep.Queries("PATTERN Stock a", [{"id": name} for name in names])
    assert heads(queries.match(quotes((1, "X", 1)))) == [(name, 1, 1) for name in names]


def test_ids_keep_their_position_not_their_rank() -> None:
    queries = cep.Queries("PATTERN Stock a WHERE a.price > low", [{"id": i, "low": 0} for i in (5, -3, 2**62, 0)])
    assert heads(queries.match(quotes((1, "X", 1)))) == [(i, 1, 1) for i in (5, -3, 2**62, 0)]
