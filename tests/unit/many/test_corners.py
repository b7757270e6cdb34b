"""Corners of many queries (S23), each against what the queries give alone or against counting."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.testing.outcomes import to_json

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
Row = dict[str, Any]
NAN = math.nan
MOST, LEAST = 2**63 - 1, -(2**63)


def quotes(*rows: tuple[int, str, Any]) -> list[Row]:
    return [{"ts": ts, "type": "Stock", "symbol": symbol, "price": price} for ts, symbol, price in rows]


def rows(found: Any, names: Iterable[Any]) -> dict[Any, list[str]]:
    """What each gave; those that gave nothing are left out."""
    own = {name: list(map(to_json, found.of(name).to_pylist())) for name in names}
    return {name: given for name, given in own.items() if given}


def alone(
    template: str, rules: Iterable[Mapping[str, Any]], events: Any, engine: str = "reference", **options: Any
) -> dict[Any, list[str]]:
    found = {}
    for rule in rules:
        params = {name: value for name, value in rule.items() if name != "id"}
        given = cep.Query(template, params=params, **options).match(events, engine=engine).to_pylist()
        if given:
            found[rule["id"]] = list(map(to_json, given))
    return found


def check(template: str, rules: list[Row], events: Any, **options: Any) -> dict[Any, list[str]]:
    """All at once and in a session, event by event, against each alone."""
    queries = cep.Queries(template, rules, **options)
    names = [rule["id"] for rule in rules]
    expected = alone(template, rules, events, **options)
    assert rows(queries.match(events), names) == expected
    session, given = queries.session(lateness=0), dict[Any, list[str]]()
    for event in events if isinstance(events, list) else events.to_pylist():
        collect(session.push([event]), given)
    collect(session.close(), given)
    assert {name: sorted(own) for name, own in given.items()} == {name: sorted(own) for name, own in expected.items()}
    return expected


def collect(found: Any, given: dict[Any, list[str]]) -> None:
    for name in {row["query"] for row in found.to_pylist()}:
        given.setdefault(name, []).extend(map(to_json, found.of(name).to_pylist()))


def heads(found: Any) -> list[tuple[Any, int, int]]:
    return [(row["query"], row["match_start"], row["match_end"]) for row in found.to_pylist()]


# Many rules in one place.


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


# Constants.

STEPS = "PATTERN SEQ(Stock a, Stock b) WHERE {} {{ {} }} WITHIN 9"
PRICES = [None, NAN, -0.0, 0.0, 1.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("relation", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "skip_till_any_match", "strict_contiguity"])
def test_odd_floats(relation: str, strategy: str) -> None:
    text = STEPS.format(strategy, f"a.price {relation} first AND b.price {relation} second")
    rules = [{"id": i * 10 + j, "first": a, "second": b} for i, a in enumerate(PRICES) for j, b in enumerate(PRICES)]
    events = quotes(*((ts, "X", price) for ts, price in enumerate([*PRICES, *PRICES])))
    assert check(text, rules[:: 1 if strategy == "skip_till_next_match" else 7], events)


@pytest.mark.parametrize("relation", ["=", "!=", "<", "<=", ">", ">="])
def test_integers_at_their_borders(relation: str) -> None:
    """Floats cannot tell these apart."""
    edges = [LEAST, LEAST + 1, -(2**53) - 1, -1, 0, 2**53, 2**53 + 1, MOST - 1, MOST, None]
    text = STEPS.format("skip_till_next_match", f"a.price {relation} first")
    rules = [{"id": i, "first": edge} for i, edge in enumerate(edges)]
    assert check(text, rules, quotes(*((ts, "X", edge) for ts, edge in enumerate(edges))))


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


# Time.


def test_65_events_at_one_instant() -> None:
    """More than there are bits in a word: in their order, simultaneous, and by the algebra."""
    events = [{"ts": 1 + i // 65, "type": "AB"[i % 2], "x": i % 5, "n": i} for i in range(135)]
    rules = [{"id": i, "x": i} for i in range(6)]
    for text in (
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.x = x AND b.x >= a.x } WITHIN 2",
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x = x AND b.x = 3 } WITHIN 2 TIES SIMULTANEOUS",
        "PATTERN SEQ(A a, B b, A c) WHERE strict_contiguity { a.x = x }",
        "CESAR LET S1 := A LET S2 := B THEN[S2.x > S1.x](SELECT[S1.x = x](S1), S2)".replace("= x]", "= wanted]"),
        "CESAR LET S1 := A LET S2 := B ITERATE[SELECT[S2.x >= S2.x.last], S2.n % 9 = 3](SELECT[S1.x = wanted](S1), S2)",
    ):
        named = "wanted" if "wanted" in text else "x"
        found = check(text, [{"id": rule["id"], named: rule["x"]} for rule in rules], events)
        assert 2 < len(found) < 6


def test_a_rule_of_30_days_among_rules_of_a_minute() -> None:
    begin = datetime(2026, 3, 1)
    text = (
        "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol = name] AND b.price < a.price } WITHIN span"
    )
    rules = [{"id": f"minute {i}", "name": f"s{i % 40}", "span": timedelta(minutes=1)} for i in range(200)]
    rules.insert(77, {"id": "month", "name": "s7", "span": timedelta(days=30)})
    events = []
    for hour in range(24 * 31):
        for k in (hour % 40, 7):
            at = begin + timedelta(hours=hour, seconds=30 * (k == 7 and hour % 40 == 7))
            events.append({"ts": at, "type": "Stock", "symbol": f"s{k}", "price": float(hour if k == 7 else 1)})
    events.append({"ts": begin + timedelta(days=30), "type": "Stock", "symbol": "s7", "price": 0.5})
    events.sort(key=lambda row: row["ts"])
    table = pa.Table.from_pylist(events)
    queries = cep.Queries(text, pa.Table.from_pylist(rules))
    found = queries.match(table)
    expected = alone(text, [rule for rule in rules if rule["name"] == "s7"], table, engine="auto")
    assert rows(found, [rule["id"] for rule in rules]) == expected
    assert len(expected["month"]) > 500
    session, given = queries.session(lateness=0), 0
    for place in range(0, table.num_rows, 100):
        given += len(session.push(table.slice(place, 100)).of("month"))
        session = queries.restore(session.snapshot())
    assert given + len(session.close().of("month")) == len(expected["month"])


def test_windows_are_strict_for_each_rule() -> None:
    text = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price = 1 AND b.price = 2 } WITHIN span"
    rules = [{"id": span, "span": span} for span in (7, 1, 3, 2, 1_000_000, 4)]
    found = check(text, rules, quotes((0, "X", 1), (3, "X", 2)))
    assert list(found) == [7, 1_000_000, 4]


# Rules that come and go.

PAIR = "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { a.price > low AND b.price > low }"


def test_a_rule_added_at_a_tie_sees_none_of_its_events() -> None:
    """At t is after all events of t, those that are still to come too."""
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.add([{"id": "new", "low": 0}], at=5)
    session.push(quotes((5, "Y", 3), (6, "X", 4), (7, "X", 5)))
    found = heads(session.close())
    assert [head for head in found if head[0] == "new"] == [("new", 6, 7)]
    assert [head for head in found if head[0] == "old"] == [("old", 1, 5), ("old", 5, 5), ("old", 5, 6), ("old", 6, 7)]


def test_a_rule_removed_at_a_tie_sees_all_of_its_events() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}, {"id": "other", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.remove(["old"], at=5)
    session.push(quotes((5, "Y", 3), (6, "X", 4)))
    found = heads(session.close())
    assert [head for head in found if head[0] == "old"] == [("old", 1, 5), ("old", 5, 5)]
    assert [head for head in found if head[0] == "other"] == [("other", 1, 5), ("other", 5, 5), ("other", 5, 6)]


def test_by_default_a_change_is_after_what_came() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session()
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.add([{"id": "new", "low": 0}])
    session.remove(["old"])
    session.push(quotes((6, "X", 4), (7, "X", 5)))
    assert heads(session.close()) == [("old", 1, 5), ("new", 6, 7)]


def test_a_rule_added_shares_the_state_of_none() -> None:
    """An equal rule has a run that began before; the new one has not."""
    session = cep.Queries(PAIR, [{"id": 1, "low": 0}]).session(lateness=0)
    session.push(quotes((1, "X", 1)))
    session.add([{"id": 2, "low": 0}], at=1)
    given = heads(session.push(quotes((2, "X", 2)))) + heads(session.push(quotes((3, "X", 2)))) + heads(session.close())
    assert given == [(1, 1, 2), (1, 2, 3), (2, 2, 3)]


def test_an_absence_that_was_not_decided_when_its_rule_went() -> None:
    """S17.2, S10: removed at u it gives matches whose absences were decided by u."""
    text = "PATTERN SEQ(Stock a, !(Stock b)) WHERE a.price > low AND b.price < 0 WITHIN 10"
    session = cep.Queries(text, [{"id": name, "low": 0} for name in ("gone", "stays", "late")]).session(lateness=0)
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    session.remove(["gone"], at=11)
    session.remove(["late"], at=10)
    given = heads(session.push(quotes((12, "X", 0), (40, "X", 0)))) + heads(session.close())
    assert sorted(given) == [("gone", 1, 1), ("stays", 1, 1), ("stays", 5, 5)]


def test_a_refused_change_alters_nothing() -> None:
    session = cep.Queries(PAIR, [{"id": "old", "low": 0}]).session(lateness=0)
    session.push(quotes((1, "X", 1), (5, "X", 2)))
    with pytest.raises(cep.CepheidError):
        session.add([{"id": "new", "low": 0}, {"id": "old", "low": 3}], at=5)  # one of them is there
    with pytest.raises(cep.CepheidError):
        session.add([{"id": "early", "low": 0}], at=2)  # before the watermark
    with pytest.raises(cep.CepheidError):
        session.remove(["old", "unknown"], at=5)
    session.push(quotes((6, "X", 4)))
    found = heads(session.close())
    assert {head[0] for head in found} <= {"old"}


# What is wrong.


def test_a_repeated_id() -> None:
    with pytest.raises(cep.CepheidError, match="'u1'"):
        cep.Queries(PAIR, [{"id": "u1", "low": 1}, {"id": "u2", "low": 1}, {"id": "u1", "low": 2}])
    with pytest.raises(cep.CepheidError, match="'u1'"):
        cep.Queries(["PATTERN A a", "PATTERN B b"], ids=["u1", "u1"])


def test_a_wrong_rule_is_told_by_its_id_and_stops_no_other() -> None:
    rules = [{"id": "good", "low": 0, "span": "5 ms"}, {"id": "bad", "low": 0, "span": "5 bananas"}]
    rules.append({"id": "none", "low": 0, "span": None})
    with pytest.raises(cep.CepheidError, match="'bad'") as caught:
        cep.Queries(PAIR + " WITHIN span", rules)
    assert "span" in str(caught.value)
    assert "^" in str(caught.value)
    queries = cep.Queries(PAIR + " WITHIN span", rules, errors="collect")
    assert [row["id"] for row in queries.errors.to_pylist()] == ["bad", "none"]
    events = quotes((1, "X", 1), (2, "X", 2))
    assert heads(queries.match(events)) == [("good", 1, 2)]
    session = queries.session(lateness=0)
    assert heads(session.push(events)) + heads(session.close()) == [("good", 1, 2)]


def test_a_wrong_text_is_told_by_its_id_and_stops_no_other() -> None:
    texts = ["PATTERN Stock a WHERE a.price > 1", "PATTERN Stock a WHEN", "PATTERN Stock a WHERE a.prize > 1"]
    texts.append("PATTERN Stock a WHERE a.symbol > 1")
    with pytest.raises(cep.CepheidError, match="'b'"):
        cep.Queries(texts, ids=["a", "b", "c", "d"])
    queries = cep.Queries(texts, ids=["a", "b", "c", "d"], errors="collect")
    assert heads(queries.match(quotes((1, "X", 1), (2, "X", 2)))) == [("a", 2, 2)]
    assert [(row["id"], row["code"]) for row in queries.errors.to_pylist()] == [
        ("b", "CEP101"),
        ("c", "CEP301"),
        ("d", "CEP305"),
    ]


def test_queries_of_three_languages_together() -> None:
    texts = [
        "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { b.price > a.price }",
        "CESAR LET S1, S2 := Stock THEN[S2.price > S1.price](S1, S2)",
        "AUTOMATON q0 -> q2 ARC q0 -> q1 ARC q1 -> q2 WHEN e.price > 1",
        cep.Query("PATTERN Stock a WHERE a.price > low", params={"low": 1}),
    ]
    events = quotes((1, "X", 1), (2, "X", 2))
    found = cep.Queries(texts, ids=["s", "c", "a", "q"]).match(events)
    assert heads(found) == [("s", 1, 2), ("c", 1, 2), ("a", 1, 2), ("q", 2, 2)]
    for name, text in zip("scaq", texts, strict=True):
        query = text if isinstance(text, cep.Query) else cep.Query(text)
        assert found.of(name).to_pylist() == query.match(events).to_pylist()


def test_no_rules_and_no_events() -> None:
    queries = cep.Queries(PAIR, pa.table({"id": pa.array([], pa.string()), "low": pa.array([], pa.int64())}))
    assert heads(queries.match(quotes((1, "X", 1)))) == []
    session = queries.session(lateness=0)
    session.push(quotes((1, "X", 1)))
    session.add([{"id": "first", "low": 0}], at=1)
    assert heads(session.push(quotes((2, "X", 1), (3, "X", 1)))) + heads(session.close()) == [("first", 2, 3)]
    none = pa.table(
        {"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string()), "price": pa.array([], pa.int64())}
    )
    assert heads(cep.Queries(PAIR, [{"id": 1, "low": 0}]).match(none)) == []
