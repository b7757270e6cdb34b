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
    seen = "'price' is between 0 and 1; 0.07 would be in this range: is one of them in percent or cents?"
    assert said(found)[0] == ("CEP022", "no E passes a.price > 7, so that none can be a", seen)


def test_that_a_text_with_a_space_is_the_one_without() -> None:
    events = [{**event, "state": state} for event, state in zip(CLICKS, ["ok", "OK", "Ok"] * 4, strict=True)]
    found = diagnose("PATTERN SEQ(View a, ANY(Cart, Buy) b) WHERE [visit] AND b.state = 'OK ' WITHIN 1 hour", events)
    assert said(found)[0][2] == "did you mean 'OK'? The values are: 'OK', 'Ok'"


def test_that_components_the_wrong_way_round_are_told() -> None:
    found = diagnose("PATTERN SEQ(Buy a, View b) WHERE [visit] WITHIN 1 hour")
    change = "the order in SEQ may be wrong: with View b before Buy a there would be 4 matches"
    assert said(found) == [("CEP031", change, "exchange the two in the PATTERN")]


def test_that_a_longer_window_is_told_before_a_key_is_left_out() -> None:
    order = [("View", 1), ("Cart", 1), ("View", 2), ("Buy", 1), ("Cart", 2), ("Buy", 2)]
    events = [{"ts": at, "type": kind, "visit": visit} for at, (kind, visit) in enumerate(order)]
    found = diagnose("PATTERN SEQ(View a, Buy b) WHERE [visit] WITHIN 2 events", events)
    assert [(change.text, change.matches) for change in found.changes] == [
        ("WITHIN 4 events in place of 2 events", 2),
    ]
    change = "WITHIN 4 events in place of 2 events would give 2 matches"
    assert said(found)[0][1] == f"WITHIN is too short for any match: {change}"


def test_that_numbers_that_are_measured_are_no_keys() -> None:
    found = diagnose("PATTERN SEQ(View a, Cart b) PARTITION BY row_id WITHIN 1 hour")
    assert said(found)[0] == (
        "CEP025",
        "the key 'row_id': no value of it occurs in View and Cart, so that they never agree on it",
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
    assert said(found) == [
        (
            "CEP037",
            "runs get as far as x, and no further: after it no View can be y",
            "1 of the 1 runs there ended: the window was over before an event for y came",
        )
    ]
    assert {miss.query for miss in found.misses} == {"query 2"}


def test_that_what_a_sample_has_not_is_not_said_of_all_events() -> None:
    events = 240_001
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


def test_that_the_value_of_a_key_is_compared_with_those_of_the_events() -> None:
    events = [{**event, "currency": "EUR"} for event in CLICKS]
    found = diagnose("PATTERN SEQ(View a, Cart b) WHERE [visit, currency = 'eur'] WITHIN 1 hour", events)
    assert said(found)[0] == (
        "CEP021",
        "[currency = 'eur']: no event of the pattern has this value in 'currency'",
        "did you mean 'EUR'? The values are: 'EUR'",
    )


def test_that_a_huge_number_of_matches_is_told_by_its_size() -> None:
    events = [{"ts": k, "type": "A"} for k in range(300)] + [{"ts": 300, "type": "B"}]
    found = Query("PATTERN SEQ(A+ a[], B b) WITHIN 1 hour").diagnose(events)
    assert found.matches == 2**300 - 1
    assert str(found).splitlines()[0] == "about 10^90 matches in 301 events"


def test_that_components_that_no_followed_run_reached_are_not_said_to_have_none() -> None:
    events = [{"ts": k, "type": kind} for k, kind in enumerate("A" * 300 + "B" * 300 + "C")]
    found = Query("PATTERN SEQ(A a, B b, C c) WHERE c.ts < 0 WITHIN 1 hour").diagnose(events)
    assert found.followed == 0
    assert "  C c: none of the runs that were followed" in str(found).splitlines()
    assert "  pattern complete: no run was followed so far" in str(found).splitlines()
