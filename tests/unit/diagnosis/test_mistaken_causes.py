"""Mistakes of which another hint came first, or none: each with what must come first now."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.diagnosis.facts import Hint

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def first(text: str, events: Any, **options: Any) -> Hint:
    return Query(text, **options).diagnose(events).hints[0]


def events(*kinds: tuple[int, str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"ts": at, "type": kind, **more} for at, kind, more in kinds]


def logins() -> list[dict[str, Any]]:
    """Five failures and a success of each of 60 users; twice one user fails again soon after."""
    made = []
    for user in range(60):
        at = user * 1_000_000
        made += [{"ts": at + k, "type": "fail", "user": user} for k in range(5)]
        made.append({"ts": at + 50, "type": "ok", "user": user})
        if user == 7:
            made += [{"ts": at + 110 + k, "type": "fail", "user": user} for k in range(5)]
            made.append({"ts": at + 150, "type": "ok", "user": user})
    return made


def test_that_a_longer_window_that_gives_a_few_by_chance_is_not_the_cause() -> None:
    found = Query("PATTERN SEQ(fail{8,} f[], ok o) WHERE skip_till_next_match { [user] } WITHIN 100 ms").diagnose(
        logins()
    )
    assert [hint.code for hint in found.hints][:2] == ["CEP033", "CEP023"]
    assert [len(one.events) for one in found.misses] == [5, 4, 3, 2, 1]
    assert found.funnel[0].ended == {
        "the window was over before an event for f came": 300,
        "the input ended before an event for f came": 5,
    }


def test_that_a_key_that_is_written_out_is_not_blamed_for_a_window() -> None:
    made = [{"ts": k, "type": "T", "sensor": k % 30, "value": float(k // 30)} for k in range(600)]
    found = first("PATTERN SEQ(T a, T b) WHERE a.sensor = b.sensor AND b.value > a.value WITHIN 10 events", made)
    assert found.code == "CEP023"
    assert found.message.startswith(
        "WITHIN is too short for any match: WITHIN 50 events in place of 10 events would give"
    )


def test_that_the_next_event_that_is_taken_too_early_is_told() -> None:
    made = [
        {"ts": 1_000 * sym + at, "type": "Q", "sym": sym, "price": price, "flag": flag}
        for sym in range(5)
        for at, (price, flag) in enumerate([(10.0, 1), (10.5, 0), (15.0, 0), (10.9, 2)])
    ]
    where = "[sym] AND a.flag = 1 AND b.price > a.price AND c.flag = 2 AND c.price < b.price - 3"
    found = first(f"PATTERN SEQ(Q a, Q b, Q c) WHERE skip_till_next_match {{ {where} }} WITHIN 100 ms", made)
    assert (found.code, found.message) == (
        "CEP024",
        "skip_till_next_match takes the next event that fits, and a later one would lead to a match: "
        "skip_till_any_match in place of skip_till_next_match would give 5 matches",
    )


def test_that_a_key_that_is_null_in_one_type_is_told() -> None:
    made = [{"ts": k, "type": "AB"[k % 2], "user": k // 2 if k % 2 else None} for k in range(20)]
    found = first("PATTERN SEQ(A a, B b) WHERE [user] WITHIN 1 hour", made)
    assert (found.code, found.message) == ("CEP025", "the key 'user' is NULL in every A, and NULL agrees with nothing")


def test_that_the_value_of_a_parameter_is_said() -> None:
    made = [{"ts": k, "type": "A", "region": "emea-1"} for k in range(3)]
    found = first("PATTERN SEQ(A a, A b) WHERE a.region = R WITHIN 1 hour", made, params={"R": "EMEA"})
    assert found.message == "a.region = R: no A has 'EMEA' in 'region'"


def test_that_blanks_are_told() -> None:
    made = [{"ts": k, "type": "A", "shop": "games  "} for k in range(3)]
    found = first("PATTERN SEQ(A a, A b) WHERE a.shop = 'games' WITHIN 1 hour", made)
    assert found.remedy == (
        "did you mean 'games  '? Texts are compared with their blanks: write trim(…) = 'games'; "
        "the values are: 'games  '"
    )


def test_that_a_condition_on_the_next_event_is_said_to_end_runs() -> None:
    made = [{"ts": k, "type": "M", "total": k} for k in range(5)]
    text = "PATTERN M{3,} m[] WHERE strict_contiguity { m[i].total < m[i-1].total } WITHIN 1 hour"
    found = Query(text).diagnose(made)
    ended = "m[i].total < m[i-1].total was not TRUE of the next event (strict_contiguity)"
    assert found.funnel[0].ended == {ended: 4, "the input ended before an event for m came": 1}
    assert found.hints[0].remedy == "the nearest was 4 < 3; check which way round it compares, and the units"


def test_that_an_arc_that_is_never_taken_has_its_nearest_values() -> None:
    text = """
        AUTOMATON idle -> alarm
        REGISTER n INT = 0
        ARC idle -> hot SET n = 1
        ARC hot -> hot WHEN r.n < 2 SET n = r.n + 1
        ARC hot -> alarm WHEN r.n = 3
    """
    found = first(text, [{"ts": k} for k in range(6)], type=None)
    assert (found.code, found.remedy) == ("CEP030", "the nearest was 2 = 3; check the constant and its unit")


def test_that_events_without_a_type_are_told() -> None:
    made = pa.table({"ts": [1, 2], "type": pa.nulls(2, pa.string())})
    assert first("PATTERN SEQ(A a, B b) WITHIN 1 hour", made).message == (
        "every event has NULL in 'type', so that it has no type"
    )


def test_that_a_value_that_is_compared_with_itself_is_told() -> None:
    made = events((1, "A", {"user": 1}), (2, "A", {"user": 2}), (3, "B", {"user": 1}), (4, "B", {"user": 2}))
    found = Query("PATTERN SEQ(A a, B b) WHERE a.user = a.user WITHIN 1 hour").diagnose(made)
    assert [(hint.code, hint.message) for hint in found.hints] == [
        ("CEP035", "a.user = a.user compares a value with itself, so that it says nothing of two events"),
        ("CEP035", "the query has no key: the events of a match may have different values of 'user'"),
    ]


def test_that_a_negation_that_never_drops_a_run_is_told() -> None:
    made = events(
        *((10 * k, "alarm", {"id": k}) for k in range(5)), *((10 * k + 5, "ack", {"id": 90 + k}) for k in range(5))
    )
    text = "PATTERN SEQ(alarm a, !(ack k) FOR 8 ms) WHERE [id]"
    found = first(text, made)
    assert (found.code, found.message) == (
        "CEP026",
        "!k never drops a run: no ack has a value of the key 'id' that others have",
    )
    made[-1]["id"] = 0
    assert Query(text).diagnose(made).hints == ()


def test_that_copies_of_rows_are_told() -> None:
    made = events((1, "A", {"id": 1}), (2, "B", {"id": 1})) * 2
    found = first("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1 hour", made)
    assert (found.code, found.message) == (
        "CEP035",
        "2 of 4 rows are copies of another row, and each is an event of its own",
    )


def test_that_a_window_longer_than_the_stream_is_told_where_the_unit_may_be_wrong() -> None:
    made = pa.table({"ts": range(2_000), "type": ["A", "B"] * 1_000, "id": [k // 4 for k in range(2_000)]})
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2 minutes"
    found = first(text, made)
    assert (found.code, found.message, found.remedy) == (
        "CEP023",
        "WITHIN 2 minutes is far longer than the whole stream, 2 seconds: it ends no run",
        "check the unit of 'ts': pass unit='s' if it has seconds",
    )
    assert Query(text, unit="s").diagnose(made).hints == ()
    assert Query(text).diagnose(made.set_column(0, "ts", made["ts"].cast(pa.timestamp("ms")))).hints == ()
