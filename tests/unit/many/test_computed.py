"""Conditions that no code can test, in the shared tables: each is computed once for a batch."""

from random import Random

import pytest
from rule_sets import Row, check, quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
STREAM = quotes(*((ts // 2, ["u", "uv", "w", None, "vu"][ts % 5], ts % 4) for ts in range(16)))
TEMPLATES = {
    "like": "PATTERN Stock s WHERE s.symbol LIKE 'u%' AND s.price >= p",
    "not like": "PATTERN Stock s WHERE s.symbol NOT LIKE 'u%' AND s.price = p",
    "a pattern": "PATTERN Stock s WHERE s.symbol LIKE pattern AND s.price >= p",
    "null": "PATTERN Stock s WHERE s.symbol IS NULL AND s.price = p",
    "not null": "PATTERN Stock s WHERE s.symbol IS NOT NULL AND s.price < p",
    "order": "PATTERN Stock s WHERE s.symbol > 'u' AND s.price = p",
    "not equal": "PATTERN Stock s WHERE s.symbol != 'u' AND s.price = p",
    "calls": "PATTERN Stock s WHERE upper(s.symbol) = 'UV' AND s.price >= p",
    "or": "PATTERN Stock s WHERE (s.symbol LIKE '%v' OR s.price = 1) AND s.price >= p",
    "a set": "PATTERN Stock s WHERE s.symbol IN ('u', 'w') AND s.price = p",
    "then": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match "
    "{ a.price = p AND b.symbol LIKE '%u' AND b.price > a.price }",
    "an expression": "CESAR LET S1, S2 := Stock THEN[S2.symbol LIKE 'u%'](SELECT[S1.price = p](S1), S2)",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_rule_gives_what_it_gives_alone(name: str) -> None:
    chance = Random(name)
    rules: list[Row] = [{"id": k, "p": k % 5, "pattern": chance.choice(["u%", "%v", "_"])} for k in range(12)]
    assert check(TEMPLATES[name], rules, STREAM)
    told = str(cep.Queries(TEMPLATES[name], rules).explain(STREAM))
    assert "Shared tables" in told
    assert "Joined streams" not in told


def test_a_function_is_called_once_for_an_event() -> None:
    calls = []

    def odd(price: int) -> bool:
        calls.append(price)
        return price % 2 == 1

    rules = [{"id": k, "p": k} for k in range(200)]
    queries = cep.Queries("PATTERN Stock s WHERE odd(s.price) AND s.price >= p", rules, functions={"odd": odd})
    found = queries.match(STREAM)
    assert sorted({row["query"] for row in found.to_pylist()}) == [0, 1, 2, 3]
    assert len(calls) == len(STREAM)
    assert "s: type = 'Stock', odd(price), price >= p" in str(queries.explain(STREAM))


def test_rules_that_no_event_concerns_are_not_touched() -> None:
    def touched(count: int) -> int:
        text = "PATTERN Stock s WHERE s.symbol LIKE 'u%' AND s.price > p"
        session = cep.Queries(text, [{"id": k, "p": k} for k in range(count)]).session(lateness=0)
        session.push(STREAM)
        session.close()
        return session.stats.counters["touched"]

    assert touched(5_000) == touched(500) < 50
