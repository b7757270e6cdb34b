"""What was made of rules for some events is kept for the next ones (S23)."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from rule_sets import heads, quotes

import cepheid as cep
from cepheid.engine.many.tables.level import LevelBuilder

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
TEMPLATES = {
    "pair": "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { [symbol = name] AND b.price > low } WITHIN 9",
    "routed": "PATTERN SEQ(Stock a, Stock+ b[]) WHERE skip_till_next_match { [symbol = name] AND b[i].price > low } "
    "WITHIN 9",
    "every": "PATTERN SEQ(Stock a, !(Stock b), Stock c) WHERE b.price < low WITHIN 4",
}
RULES = [
    {"id": f"{name} {k}", "template": name, "name": "XYZ"[k % 3], "low": k % 4} for name in TEMPLATES for k in range(9)
]
EVENTS = quotes(*((ts, "XYZ"[ts * ts % 7 % 3], ts * 5 % 7) for ts in range(40)))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rules were put into tables, time by time."""
    found, build = [], LevelBuilder.build

    def counted(self, parts, *given):
        found.append(sum(len(part.numbers) for part in parts))
        return build(self, parts, *given)

    monkeypatch.setattr(LevelBuilder, "build", counted)
    return found


def test_the_second_match_builds_nothing(built: list[int]) -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    expected = queries.match(EVENTS, engine="reference").to_pylist()
    assert queries.match(EVENTS).to_pylist() == expected
    assert built == [9]
    assert queries.match(EVENTS).to_pylist() == expected
    assert heads(queries.match(EVENTS[20:])) == heads(queries.match(EVENTS[20:], engine="reference"))
    assert built == [9]


def test_sessions_begin_anew_and_change_nothing_for_others(built: list[int]) -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    expected = queries.match(EVENTS).to_pylist()
    for _ in range(2):
        session = queries.session()
        session.push(EVENTS[:10])
        session.advance(10)
        session.add([{"id": "new", "template": "pair", "name": "Y", "low": 0}])
        session.remove(["pair 0", "routed 0", "every 0"])
        session.push(EVENTS[10:])
        found = session.close()
        assert len(found.of("new")) > 0
    assert built == [9, 1, 1]
    assert queries.match(EVENTS).to_pylist() == expected
    session = queries.session()
    session.push(EVENTS)
    assert session.close().to_pylist() == expected


def test_other_columns_are_another_matter() -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    expected = heads(queries.match(EVENTS))
    floats = [{**event, "price": float(event["price"]), "more": 1} for event in EVENTS]
    assert heads(queries.match(floats)) == expected
    assert heads(queries.match(EVENTS)) == expected
    with pytest.raises(cep.CepheidError, match="price"):
        queries.match([{**event, "price": "high"} for event in EVENTS])
    assert heads(queries.match(EVENTS)) == expected


def test_wrong_rules_are_told_each_time() -> None:
    texts = ["PATTERN Stock a WHERE a.price > 5", "PATTERN Stock a WHERE a.prize > 5"]
    queries = cep.Queries(texts, errors="collect")
    for _ in range(2):
        assert len(queries.match(EVENTS)) > 0
        assert queries.errors.column("id").to_pylist() == [1]


def test_threads() -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    parts = [EVENTS[begin : begin + 20] for begin in range(0, 20, 4)]
    expected = [queries.match(part, engine="reference").to_pylist() for part in parts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(lambda part: queries.match(part).to_pylist(), parts)) == expected


def test_a_pickle_has_the_rules_alone() -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    before = len(pickle.dumps(queries))
    expected = queries.match(EVENTS).to_pylist()
    assert len(pickle.dumps(queries)) < before + 1_000
    assert pickle.loads(pickle.dumps(queries)).match(EVENTS).to_pylist() == expected


def test_rules_that_go_before_the_first_event() -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    expected = [head for head in heads(queries.match(EVENTS)) if head[0] != "pair 1" or head[2] <= 20]
    session = queries.session()
    session.push(pa.Table.from_pylist(EVENTS).slice(0, 0))  # which says what the columns are
    session.remove(["pair 1"], at=20)
    session.push(EVENTS)
    assert heads(session.close()) == expected
    assert "pair 1" in {head[0] for head in expected}


def test_sessions_side_by_side_add_rules_of_their_own(built: list[int]) -> None:
    queries = cep.Queries(TEMPLATES, RULES)
    expected = queries.match(EVENTS).to_pylist()
    sessions = [queries.session() for _ in range(3)]
    for turn in range(3):
        for k, session in enumerate(sessions):
            session.push(EVENTS[10 * turn : 10 * turn + 10])
            session.advance(10 * turn + 10)
            session.add([{"id": f"new {turn}", "template": "pair", "name": "XYZ"[(turn + k) % 3], "low": k}])
    for k, session in enumerate(sessions):
        session.push(EVENTS[30:])
        last = session.close()
        for turn in range(3):
            rule = {"id": 0, "name": "XYZ"[(turn + k) % 3], "low": k}
            alone = cep.Queries(TEMPLATES["pair"], [rule]).match(EVENTS[10 * turn + 11 :], engine="reference")
            ends = [one["match_end"] for one in alone.to_pylist() if one["match_end"] >= 30]
            assert [one["match_end"] for one in last.of(f"new {turn}").to_pylist()] == ends
    assert queries.match(EVENTS).to_pylist() == expected


def test_rules_that_contradict_themselves_are_let_go_of() -> None:
    template = "PATTERN Stock s WHERE s.price > low AND s.price < high"
    rules = [{"id": k, "low": 3, "high": 3 + k % 2 * 3} for k in range(8)]
    queries = cep.Queries(template, rules)
    session = queries.session(lateness=0)
    found = session.push(EVENTS)
    assert len(found) == 4 * sum(3 < event["price"] < 6 for event in EVENTS)
    (tier,) = session.stream.tiers.values()
    assert [len(level) for level in tier._levels] == [4]
    assert session.stats.counters["rules"] == 8
    none = cep.Queries(template, [rule for rule in rules if rule["high"] == 3])
    assert len(none.match(EVENTS)) == 0
