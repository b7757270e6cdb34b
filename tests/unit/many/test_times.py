"""Windows and ties of many rules."""

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from rule_sets import alone, check, quotes, rows

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def test_65_events_at_one_instant() -> None:
    """More than there are bits in a word: in their order, simultaneous, and by the algebra."""
    events = [{"ts": 1 + i // 65, "type": "AB"[i % 2], "x": i % 5, "n": i} for i in range(135)]
    rules = [{"id": i, "x": i} for i in range(6)]
    for text in (
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.x = x AND b.x >= a.x } WITHIN 2",
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x = x AND b.x = 3 } WITHIN 2 TIES SIMULTANEOUS",
        "PATTERN SEQ(* a, * b, * c) WHERE strict_contiguity { a.x = x }",
        "CESAR LET S1 := A LET S2 := B THEN[S2.x > S1.x](SELECT[S1.x = x](S1), S2)".replace("= x]", "= wanted]"),
        "CESAR LET S1 := A LET S2 := B ITERATE[SELECT[S2.x >= S2.x.last], S2.n % 9 = 3](SELECT[S1.x = wanted](S1), S2)",
    ):
        named = "wanted" if "wanted" in text else "x"
        found = check(text, [{"id": rule["id"], named: rule["x"]} for rule in rules], events)
        assert 1 < len(found) < 6


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
