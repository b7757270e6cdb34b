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
