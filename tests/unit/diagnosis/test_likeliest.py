"""The first hint is the cause: mistakes that people make, each with what must come first."""

from itertools import pairwise
from typing import Any

import pytest

from cepheid import Query
from cepheid.diagnosis.facts import EventFacts

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def payments() -> list[dict[str, Any]]:
    """Three small payments and a large one, of each of ten cards; a day lies between the cards."""
    made = []
    for card in range(10):
        for at, amount in enumerate((1.5, 2.5, 3.5, 900.0)):
            made.append(
                {
                    "ts": 86_400 * card + 60 * at,
                    "type": "pay",
                    "card": f"c{card}",
                    "amount": amount,
                    "text": str(amount),
                    "rate": 0.1 * at,
                    "country": "FR" if card % 2 else "DE",
                    "state": "ok",
                }
            )
    return made


EVENTS = payments()


def first(text: str, **options: Any) -> tuple[str, str, str]:
    hint = Query(text, unit="s", **options).diagnose(EVENTS).hints[0]
    return hint.code, hint.message, hint.remedy


def test_that_an_order_is_told_where_the_types_are_the_same() -> None:
    found = first(
        "PATTERN SEQ(pay big, pay small) WHERE [card] AND small.amount < 5 AND big.amount > 500 WITHIN 1 hour"
    )
    message = "the order in SEQ may be wrong: with pay small before pay big there would be 30 matches"
    assert found == ("CEP031", message, "exchange the two in the PATTERN")


def test_that_an_order_is_told_of_a_repetition() -> None:
    where = "skip_till_next_match { [card] AND s[].amount < 5 AND big.amount > 500 }"
    assert first(f"PATTERN SEQ(pay big, pay{{2,}} s[]) WHERE {where} WITHIN 1 hour")[:2] == (
        "CEP031",
        "the order in SEQ may be wrong: with pay{2,} s[] before pay big there would be 20 matches",
    )


def test_that_a_window_is_not_blamed_for_having() -> None:
    text = "PATTERN SEQ(pay a, pay b) WHERE [card] AND b.amount > 500 WITHIN 1 hour HAVING a.amount > 600"
    assert first(text) == (
        "CEP029",
        "HAVING a.amount > 600 is not TRUE for any of 30 complete runs",
        "the nearest was 3.5 > 600; check the constant and its unit",
    )


def test_that_a_repetition_that_asks_for_too_many_is_told() -> None:
    text = "PATTERN SEQ(pay{5,} s[], pay b) WHERE skip_till_next_match { [card] AND s[].amount < 5 AND b.amount > 500 }"
    code, message, _ = first(f"{text} WITHIN 1 hour")
    assert code == "CEP033"
    assert message == (
        "no run got more than 3 events of a repetition that needs more: "
        "pay{3,} s[] in place of pay{5,} s[] would give 10 matches"
    )


def test_that_a_condition_that_ends_all_runs_is_told_with_its_nearest_values() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND b.amount > 1000 * a.amount WITHIN 1 hour")
    assert found == (
        "CEP030",
        "b.amount > 1000 * a.amount was never TRUE: 60 events were tested for b; without it there would be 60 matches",
        "the nearest was 900 > 1500; check the constant and its unit",
    )


def test_that_a_percentage_is_recognised() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND a.rate > 20 WITHIN 1 hour")
    assert found[0] == "CEP022"
    assert found[2].endswith("; 0.2 would be in this range: is one of them in percent or cents?")


def test_that_numbers_in_a_text_are_told() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND b.text > '1000' AND a.text < '1' WITHIN 1 hour")
    assert found == (
        "CEP034",
        "b.text > '1000': 'text' is text, which is compared letter by letter: '9' > '100'",
        "compare numbers: CAST(b.text AS DOUBLE), with constants without quotes",
    )


def test_that_a_search_by_equality_is_told() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND a.state = 'o%' WITHIN 1 hour")
    assert found[2] == "= compares the whole text; to search, write LIKE 'o%'; the values are: 'ok'"


def test_that_columns_without_a_common_value_are_told() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE a.card = b.country WITHIN 1 hour")
    assert found[:2] == ("CEP025", "a.card = b.country: no value is in both columns, so that it is never TRUE")


def test_that_the_order_of_the_pattern_contradicts_times() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND b.ts < a.ts WITHIN 1 hour")
    assert found[:2] == ("CEP004", "b.ts < a.ts is never TRUE: the pattern has a before b")
    apart = first("PATTERN SEQ(pay a, pay b) WHERE [card] AND b.ts - a.ts >= 3600 WITHIN 1 hour")
    assert apart[:2] == ("CEP004", "b.ts - a.ts >= 3600 is never TRUE: all events of a match are WITHIN 1 hour")


def test_that_a_missing_key_is_told() -> None:
    found = first("PATTERN SEQ(pay a, pay b) WHERE a.amount < 5 AND b.amount > 500 WITHIN 100 days")
    message = "the query has no key: the events of a match may have different values of 'card'"
    assert found == ("CEP035", message, "[card] in WHERE would give 30 of 165 matches")


def test_that_a_key_is_written_as_a_query_reads_it() -> None:
    events = [{"the card" if name == "card" else name: value for name, value in event.items()} for event in EVENTS]
    missing = Query("PATTERN SEQ(pay a, pay b) WHERE a.amount < 5 AND b.amount > 500 WITHIN 100 days", unit="s")
    assert missing.diagnose(events).hints[0].remedy == "[`the card`] in WHERE would give 30 of 165 matches"


def test_that_every_subset_is_told() -> None:
    found = first("PATTERN SEQ(pay+ s[], pay b) WHERE [card] AND s[].amount < 5 AND b.amount > 500 WITHIN 1 hour")
    assert found[0] == "CEP035"
    assert found[2] == "if you want the longest ones only, skip_till_next_match would give 30 of 70 matches"


def test_that_a_query_that_works_gets_no_hint() -> None:
    query = Query("PATTERN SEQ(pay a, pay b) WHERE [card] AND a.amount < 5 AND b.amount > 500 WITHIN 1 hour", unit="s")
    assert query.diagnose(EVENTS).hints == ()


@pytest.mark.parametrize("calls", [0, 3, 6])
def test_that_a_diagnosis_can_be_stopped(calls: int) -> None:
    left = calls

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError

    query = Query("PATTERN SEQ(pay a, pay b) WHERE [card] AND b.amount > 1000 * a.amount WITHIN 1 hour", unit="s")
    with pytest.raises(TimeoutError):
        query.diagnose(EVENTS, check=check)
    assert left == -1


def test_that_times_are_added_as_times() -> None:
    parts = [
        EventFacts(1, {}, first, first, None, 1, (time, time)) for first, time in (("9", 9), ("10", 10), ("100", 100))
    ]
    added = parts[1] + parts[2] + parts[0]
    assert (added.first, added.last, added.span) == ("9", "100", (9, 100))
    assert all((one + other).first == one.first for one, other in pairwise(parts))
