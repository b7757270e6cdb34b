"""No rules, no events, or neither."""

from typing import Any

import pyarrow as pa
import pytest
from rule_sets import PAIR, heads, quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
EVENTS = quotes((1, "X", 1), (2, "X", 2))
NO_EVENTS = pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())})
NO_RULES = pa.table({"id": pa.array([], pa.string()), "low": pa.array([], pa.int64())})


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("events", [[], EVENTS, NO_EVENTS])
@pytest.mark.parametrize("source", [[[]], [PAIR, []], [PAIR, NO_RULES], [{"pair": PAIR}, []], [{}, []]])
def test_no_rules(source: list[Any], events: Any, engine: str) -> None:
    queries = cep.Queries(*source)
    found = queries.match(events, engine=engine)
    assert (len(queries), len(found), found.to_pylist()) == (0, 0, [])
    assert found.to_arrow().column_names == ["query"]


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_no_events(engine: str) -> None:
    found = cep.Queries(PAIR, [{"id": "u", "low": 0}]).match([], engine=engine)
    assert found.to_arrow().column_names == ["query", "match_start", "match_end", "a", "b"]
    assert len(found) == 0


def test_roles_of_no_events() -> None:
    options: dict[str, Any] = {"time": "at", "type": None, "order_by": "n", "start": "since"}
    assert len(cep.Queries([], **options).match([])) == 0
    assert len(cep.Queries(["CESAR SELECT[x > 1](*)".replace("*", "S")], time="at").match([])) == 0


@pytest.mark.parametrize("first", [None, [], EVENTS])
def test_a_session_to_which_rules_come(first: Any) -> None:
    session = cep.Queries(PAIR, []).session(lateness=0)
    later = quotes((3, "X", 1), (4, "X", 2))
    if first is not None:
        assert len(session.push(first)) == 0
    session.add([{"id": "u", "low": 0}])
    assert heads(session.push(later)) + heads(session.close()) == [("u", 3, 4)]


def test_a_session_of_a_list_to_which_queries_come() -> None:
    session = cep.Queries([]).session(lateness=0)
    session.push(EVENTS)
    session.add(["PATTERN Stock a WHERE a.price > 1"], ids=["u"])
    assert heads(session.push(quotes((3, "X", 1), (4, "X", 2)))) + heads(session.close()) == [("u", 4, 4)]


def test_a_session_without_anything() -> None:
    assert len(cep.Queries([]).session().close()) == 0
    session = cep.Queries([]).session()
    assert len(session.push([])) == 0
    session = cep.Queries([]).restore(session.snapshot())
    assert len(session.close()) == 0


def test_a_session_from_which_all_rules_go() -> None:
    session = cep.Queries(PAIR, [{"id": "u", "low": 0}]).session(lateness=0)
    session.push(EVENTS)
    session.remove("u")
    found = heads(session.push(quotes((3, "X", 1), (4, "X", 2))))
    session = cep.Queries(PAIR, []).restore(session.snapshot())
    assert found + heads(session.close()) == [("u", 1, 2)]
