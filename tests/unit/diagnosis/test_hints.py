"""What a diagnosis says first, of queries that give nothing."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.diagnosis.diagnosis import Diagnosis

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

STEPS = ("View", "Cart", "Buy")
CLICKS = [
    {"ts": 1_000 * visit + 10 * at, "type": kind, "visit": visit, "row_id": f"r{visit}{at}", "price": 0.5 * at, "v": 1}
    for visit in range(4)
    for at, kind in enumerate(STEPS)
]


def said(found: Diagnosis) -> list[tuple[str, str, str]]:
    return [(hint.code, hint.message, hint.remedy) for hint in found.hints]


def diagnose(text: str, events: list[dict[str, Any]] = CLICKS, **options: Any) -> Diagnosis:
    return Query(text, unit="s", **options).diagnose(events)


def test_that_a_type_without_events_is_told() -> None:
    found = diagnose("PATTERN SEQ(View a, Refund b) WHERE [visit] WITHIN 1 hour")
    assert said(found) == [("CEP005", "no event has the type 'Refund'", "the types are: 'Buy', 'Cart', 'View'")]


def test_that_a_misspelt_type_is_told_once() -> None:
    found = diagnose("PATTERN SEQ(View a, Carts b) WHERE [visit] WITHIN 1 hour")
    assert said(found) == [("CEP005", "no event has the type 'Carts'", "did you mean 'Cart'?")]


def test_that_a_stream_of_one_type_has_the_range_of_a_column() -> None:
    found = diagnose("PATTERN SEQ(E a, E b) WHERE [visit] AND a.price > 7 WITHIN 1 hour", type=None)
    assert said(found)[0] == ("CEP022", "no E passes a.price > 7, so that none can be a", "'price' is between 0 and 1")


def test_that_a_text_with_a_space_is_the_one_without() -> None:
    events = [{**event, "state": state} for event, state in zip(CLICKS, ["ok", "OK", "Ok"] * 4, strict=True)]
    found = diagnose("PATTERN SEQ(View a, ANY(Cart, Buy) b) WHERE [visit] AND b.state = 'OK ' WITHIN 1 hour", events)
    assert said(found)[0][2] == "did you mean 'OK'? The values are: 'OK', 'Ok'"


def test_that_components_the_wrong_way_round_are_told() -> None:
    found = diagnose("PATTERN SEQ(Buy a, View b) WHERE [visit] WITHIN 1 hour")
    change = "one change would give 4 matches: View b before Buy a"
    assert said(found) == [("CEP031", change, "change it if that is what you meant")]


def test_that_a_longer_window_is_told_before_a_key_is_left_out() -> None:
    order = [("View", 1), ("Cart", 1), ("View", 2), ("Buy", 1), ("Cart", 2), ("Buy", 2)]
    events = [{"ts": at, "type": kind, "visit": visit} for at, (kind, visit) in enumerate(order)]
    found = diagnose("PATTERN SEQ(View a, Buy b) WHERE [visit] WITHIN 2 events", events)
    assert [(change.text, change.matches) for change in found.changes] == [
        ("without [visit]", 1),
        ("WITHIN 4 events in place of 2 events", 2),
    ]
    assert said(found)[0][1] == "one change would give 2 matches: WITHIN 4 events in place of 2 events"


def test_that_numbers_that_are_measured_are_no_keys() -> None:
    found = diagnose("PATTERN SEQ(View a, Cart b) PARTITION BY row_id WITHIN 1 hour")
    assert said(found)[0] == (
        "CEP025",
        "no value of 'row_id' occurs in View and Cart, so that they never agree on it",
        "columns that they share: 'visit', 'v'",
    )


def test_that_no_events_have_no_line_of_events() -> None:
    events = Query("PATTERN SEQ(View a, Cart b) WITHIN 1 hour", unit="s")
    assert str(events.diagnose([])).startswith("no match in 0 events\n\nCEP032: ")


def test_that_a_program_is_told_where_it_ends() -> None:
    found = diagnose(
        "PATTERN SEQ(View a, Buy b) WHERE [visit] AND b.price > 7 WITHIN 1 hour RETURN a.visit AS visit INTO Sale; "
        "FROM Sale PATTERN SEQ(Sale x, Sale y) WITHIN 1 day"
    )
    assert said(found) == [("CEP022", "no Buy passes b.price > 7, so that none can be b", "'price' is between 1 and 1")]


def test_that_of_a_program_only_the_query_without_matches_is_told_of() -> None:
    quick = [{**event, "ts": event["ts"] // 10 if event["ts"] < 100 else event["ts"]} for event in CLICKS]
    found = diagnose(
        "PATTERN SEQ(View a, Buy b) WITHIN 5 seconds RETURN a.visit AS visit INTO Sale; "
        "FROM Sale, stream PATTERN SEQ(Sale x, View y) WITHIN 1 minute",
        quick,
    )
    assert found.hints == ()
    assert {miss.query for miss in found.misses} == {"query 2"}


def test_that_what_a_sample_has_not_is_not_said_of_all_events() -> None:
    events = 200_001
    table = pa.table(
        {
            "ts": range(events),
            "type": ["A", "B"] * (events // 2) + ["A"],
            "k": [at // 10 for at in range(events)],
            "v": [1] * (events - 1) + [9],
        }
    )
    found = Query("PATTERN SEQ(A a, B b) WHERE [k] AND a.v > 5 WITHIN 1 hour", unit="s").diagnose(table)
    assert found.tried < events
    assert found.hints[0].code == "CEP022"
    assert found.hints[0].message == f"no A in the {found.tried:,} events that were tried passes a.v > 5"
    assert found.hints[0].remedy == "'v' is between 1 and 9"
