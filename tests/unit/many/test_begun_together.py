"""A first step that is the same for all rules begins one run for all of them, where nothing ends its wait."""

import random

import pytest
from rule_sets import Row, check, collect, rows

import cepheid as cep
from cepheid.engine.many.tables import listening

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

TEMPLATES = {
    "a symbol": "PATTERN SEQ(Other o, Stock b) WHERE b.symbol = name WITHIN 9",
    "a symbol and a value": "PATTERN SEQ(Other o, Stock b) WHERE b.symbol = name AND b.price > o.price WITHIN 9",
    "a symbol at one price": "PATTERN SEQ(Other o, Stock b) WHERE b.symbol = name AND b.price = 3 WITHIN 9",
    "a symbol in the middle": "PATTERN SEQ(Other o, Stock b, Other c) WHERE b.symbol = name WITHIN 9",
    "a symbol or a value": "PATTERN SEQ(Other o, Stock b) WHERE (b.symbol = name OR b.price = level) WITHIN 9",
    "by partition": "PATTERN SEQ(Other o, Stock b) WHERE b.symbol = name PARTITION BY price WITHIN 30",
    "what ends the wait": "PATTERN SEQ(Other o, Stock b) WHERE skip_till_next_match { b.symbol = name } WITHIN 9",
}


def mixed(seed: int, count: int = 90) -> list[Row]:
    rnd = random.Random(seed)
    return [
        {"ts": ts, "type": rnd.choice(["Other", "Stock", "Stock"]), "symbol": f"s{rnd.randrange(6)}"}
        | {"price": rnd.randrange(5)}
        for ts in range(count)
    ]


def rules(count: int) -> list[Row]:
    return [{"id": i, "name": f"s{i}", "level": 2 + i} for i in range(count)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_rule_gives_what_it_gives_alone(name: str) -> None:
    assert len(check(TEMPLATES[name], rules(40), mixed(1))) > 2


def test_a_next_step_of_which_nothing_is_the_same_for_all() -> None:
    """Runs that are one then listen to every event."""
    events = [{name: value for name, value in event.items() if name != "type"} for event in mixed(5)]
    text = "PATTERN SEQ(Quote o, Quote b) WHERE o.price = 1 AND b.symbol = name WITHIN 9"
    assert len(check(text, rules(40), events, type=None)) == 6


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_same_with_a_snapshot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that were apart come together, and the other way round."""
    events, own = mixed(2), rules(40)
    ids = [rule["id"] for rule in own]
    expected = rows(cep.Queries(TEMPLATES[name], own).match(events), ids)
    for before, after in ((100, 16), (16, 100)):
        given: dict[int, list[str]] = {}
        monkeypatch.setattr(listening, "MOST_RUNS", before)
        session = cep.Queries(TEMPLATES[name], own).session(lateness=0)
        collect(session.push(events[:45]), given)
        monkeypatch.setattr(listening, "MOST_RUNS", after)
        session = cep.Queries(TEMPLATES[name], own).restore(session.snapshot())
        collect(session.push(events[45:]), given)
        collect(session.close(), given)
        assert given == expected


def counted(text: str, count: int) -> tuple[int, int, int]:
    """How often runs were touched, how many are left, and how many matches there are."""
    session = cep.Queries(text, rules(count)).session(lateness=0)
    found = len(session.push(mixed(3)))
    counters = session.stats.counters
    return counters["touched"], counters["runs"], found


@pytest.mark.parametrize(
    "name", ["a symbol", "a symbol and a value", "a symbol at one price", "a symbol in the middle"]
)
def test_rules_that_no_event_concerns_begin_no_runs(name: str) -> None:
    assert counted(TEMPLATES[name], 4_000) == counted(TEMPLATES[name], 40)


def test_that_it_is_told_where_each_rule_has_its_own_run() -> None:
    line = "it begins a run for each of them: what ends the wait is asked for their constants"
    told = {name: line in str(cep.Queries(text, rules(40)).explain(mixed(4))) for name, text in TEMPLATES.items()}
    assert [name for name, says in told.items() if says] == ["what ends the wait"]
