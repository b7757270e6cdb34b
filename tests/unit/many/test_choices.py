"""IN and OR: each way to pass is looked up on its own, and an event that passes in several ways counts once."""

from random import Random

import pytest
from rule_sets import Row, check, quotes

import cepheid as cep
from cepheid.engine.many.tables import node_tables, ranges

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
TEMPLATES = {
    "values": "PATTERN Stock s WHERE s.symbol IN (name, other)",
    "numbers": "PATTERN Stock s WHERE s.price IN (p, q, 4)",
    "two sets": "PATTERN Stock s WHERE s.price IN (p, q) AND s.symbol IN ('u', name)",
    "or": "PATTERN Stock s WHERE s.price = p OR s.symbol = name",
    "ranges": "PATTERN Stock s WHERE (s.price < p OR s.price > q OR s.volume > p)",
    "or of and": "PATTERN Stock s WHERE (s.price = p AND s.volume >= q OR s.price > p AND s.symbol IN (name, other))",
    "not equal": "PATTERN Stock s WHERE s.symbol = name AND s.price != p",
    "a test": "PATTERN Stock s WHERE (s.price = p OR s.volume = q AND s.price + s.volume < 6)",
    "then": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_any_match "
    "{ (a.price = p OR a.symbol = name) AND (b.price = q OR b.symbol = other) } WITHIN 4",
    "next": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match "
    "{ a.price IN (p, q) AND (b.price = q OR b.symbol = other OR b.price > a.price) }",
    "besides an equality": "PATTERN Stock s WHERE s.symbol = name AND (s.price = p OR s.volume IN (q, 1))",
    "partitions": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match "
    "{ [symbol] AND (a.price = p OR a.volume = q) AND b.price IN (p, 1) }",
    "an expression": "CESAR LET S1, S2 := Stock "
    "THEN[S2.price = p OR S2.symbol = name](SELECT[S1.price IN (p, q)](S1), S2)",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_rule_gives_what_it_gives_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (node_tables, ranges):
        monkeypatch.setattr(module, "MANY", 3)
    chance = Random(name)
    rules: list[Row] = [
        {
            "id": k,
            "p": chance.choice([0, 1, 2, 3, None]),
            "q": chance.choice([0, 1, 2, 3, 9]),
            "name": chance.choice(["u", "v", "w", "x", None]),
            "other": chance.choice("uvw"),
        }
        for k in range(30)
    ]
    stream = quotes(*((ts // 2, chance.choice("uvw"), chance.choice([0, 1, 2, 3, 4, None])) for ts in range(16)))
    stream = [{**row, "volume": chance.choice([0, 1, 2, 3, None])} for row in stream]
    assert check(TEMPLATES[name], rules, stream)


def told(text: str, rules: list[Row]) -> tuple[int, int]:
    session = cep.Queries(text, rules).session(lateness=0)
    found = len(session.push(quotes(*((ts, "u", ts % 7) for ts in range(100))))) + len(session.close())
    return session.stats.counters["touched"], found


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN Stock s WHERE s.price IN (p, q)",
        "PATTERN Stock s WHERE s.symbol IN (name, other)",
        "PATTERN Stock s WHERE s.symbol = name OR s.price = p",
        "PATTERN Stock s WHERE s.symbol = name AND s.price > 3 OR s.price > p",
    ],
)
def test_rules_that_no_event_concerns_are_not_touched(text: str) -> None:
    near = {"p": 3, "q": 4, "name": "v", "other": "u", "id": -1}
    far = [{"p": 100 + k, "q": -1 - k, "name": f"n{k}", "other": f"o{k}", "id": k} for k in range(3_000)]
    few, many = told(text, [near, *far[:300]]), told(text, [near, *far])
    assert many == few
    assert few[1] > 10


def test_the_plan_tells_the_ways() -> None:
    rules = [{"id": k, "p": k, "name": f"n{k}"} for k in range(5)]
    told = str(cep.Queries("PATTERN Stock s WHERE s.price = p OR s.symbol = name", rules).explain(quotes((1, "u", 2))))
    assert "s: type = 'Stock', price = p or symbol = name" in told
    assert "step 1  5  type and price; an event is compared with up to 1" in told
    assert "step 1  5  type and symbol; an event is compared with up to 1" in told


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN Stock s WHERE s.symbol IN names",
        "PATTERN Stock s WHERE s.price IN prices AND s.symbol IN names",
        "PATTERN Stock s WHERE s.price NOT IN prices AND s.symbol IN names",
        "PATTERN Stock s WHERE s.price IN prices RETURN s.price + p AS x",
        "PATTERN SEQ(Stock a, Stock+ b[]) "
        "WHERE skip_till_any_match { a.symbol IN names AND b[].price IN prices } WITHIN 3",
    ],
)
def test_sets_that_differ_are_one_query(text: str) -> None:
    chance = Random(text)
    rules: list[Row] = [
        {
            "id": k,
            "p": k,
            "names": chance.sample(["u", "v", "w", "x", "y"], k % 4),
            "prices": [*chance.sample([0, 1, 2, 3], 1 + k % 2), *([None] if k % 5 == 0 else [])],
        }
        for k in range(14)
    ]
    stream = quotes(*((ts // 2, chance.choice("uvw"), chance.choice([0, 1, 2, 3, None])) for ts in range(10)))
    assert check(text, rules, stream)


def test_many_sets_are_few_variants() -> None:
    rules = [{"id": k, "names": [f"n{k}", f"m{k}", "u"][: 1 + k % 3]} for k in range(300)]
    told = str(cep.Queries("PATTERN Stock s WHERE s.symbol IN names", rules).explain(quotes((1, "u", 2))))
    assert "step 1  600  type and symbol; an event is compared with up to 100" in told


def test_a_wrong_set_is_told_as_such() -> None:
    rules = [{"id": k, "names": [f"n{k}"]} for k in range(9)]
    with pytest.raises(cep.CepheidError, match="rule 0"):
        cep.Queries("PATTERN Stock s WHERE s.price IN names", rules).match(quotes((1, "u", 2)))
