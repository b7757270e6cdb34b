"""What an event costs depends on what it concerns: the counters stay flat when rules are added that none concerns."""

import pytest
from rule_sets import quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
EVENTS = quotes(*((ts, f"s{ts % 4}", ts % 7) for ts in range(200)))
TEMPLATES = {
    "a sequence": "PATTERN SEQ(Stock a, Stock b) "
    "WHERE skip_till_next_match { [symbol = name] AND b.price > a.price } WITHIN 9",
    "an expression": "CESAR LET S1, S2 := Stock "
    "THEN[S2.symbol = S1.symbol AND S2.price > S1.price](SELECT[S1.symbol = name](S1), S2)",
    "a single event": "PATTERN Stock a WHERE a.symbol = name AND a.price > 3",
    "events counted": "PATTERN SEQ(Stock a, Stock b) "
    "WHERE skip_till_next_match { [symbol = name] AND b.price > a.price } WITHIN 3 events",
}


def touched(text: str, count: int) -> tuple[int, int]:
    """How often rules were touched, and how many matches there are."""
    rules = [{"id": i, "name": f"s{i}"} for i in range(count)]
    session = cep.Queries(text, rules).session(lateness=0)
    found = len(session.push(EVENTS)) + len(session.close())
    return session.stats.counters["touched"], found


@pytest.mark.parametrize("name", TEMPLATES)
def test_rules_that_no_event_concerns_are_not_touched(name: str) -> None:
    few, many = touched(TEMPLATES[name], 4), touched(TEMPLATES[name], 4_000)
    assert many == few
    assert few[1] > 50


@pytest.mark.parametrize("name", TEMPLATES)
def test_rules_that_come_and_concern_no_event_are_not_touched(name: str) -> None:
    """In a session they are in levels of their own, and are removed later on."""
    session = cep.Queries(TEMPLATES[name], [{"id": i, "name": f"s{i}"} for i in range(4)]).session(lateness=0)
    found = 0
    for place in range(0, len(EVENTS), 20):
        found += len(session.push(EVENTS[place : place + 20]))
        more = range(1_000 * (place + 1), 1_000 * (place + 1) + 300)
        session.add([{"id": i, "name": f"s{i}"} for i in more])
        session.remove(list(more)[:100])
    found += len(session.close())
    assert (session.stats.counters["touched"], found) == touched(TEMPLATES[name], 4)


def test_what_runs_leave_behind_goes() -> None:
    """One rule waits for a month; the runs of those that wait for a short time do not stay with its."""
    steps = "a.symbol = name AND b.symbol = 'never'"
    text = f"PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match {{ {steps} }} WITHIN span"
    rules = [{"id": i, "name": f"s{i}", "span": 60_000} for i in range(4)]
    rules.append({"id": "month", "name": "month", "span": 30 * 86_400_000})
    session = cep.Queries(text, [{**rule, "id": str(rule["id"])} for rule in rules]).session(lateness=0)
    session.push(quotes((0, "month", 1)))
    for batch in range(20):
        session.push(quotes(*((1 + (batch * 2_000 + i) * 1_000, f"s{i % 4}", i) for i in range(2_000))))
    counters = session.stats.counters
    assert counters["runs"] < 20_000  # of 40,001
    assert counters["events"] == 39_999 + 1
