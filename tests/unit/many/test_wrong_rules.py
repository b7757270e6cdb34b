"""Wrong rules are told by their ids and stop no other (S23)."""

from datetime import date, datetime

import pyarrow as pa
import pytest
from rule_sets import PAIR, heads, quotes

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def test_a_repeated_id() -> None:
    with pytest.raises(cep.CepheidError, match="'u1'"):
        cep.Queries(PAIR, [{"id": "u1", "low": 1}, {"id": "u2", "low": 1}, {"id": "u1", "low": 2}])
    with pytest.raises(cep.CepheidError, match="'u1'"):
        cep.Queries(["PATTERN A a", "PATTERN B b"], ids=["u1", "u1"])


def test_a_repeated_id_is_of_a_rule_or_of_a_query() -> None:
    with pytest.raises(cep.CepheidError, match="give each rule an id of its own"):
        cep.Queries(PAIR, [{"id": "u1", "low": 1}, {"id": "u1", "low": 2}])
    with pytest.raises(cep.CepheidError, match="give each query an id of its own"):
        cep.Queries(["PATTERN A a", "PATTERN B b"], ids=["u1", "u1"])
    session = cep.Queries(["PATTERN A a"], ids=["u1"]).session()
    with pytest.raises(cep.CepheidError, match="remove it first, or give the query another id"):
        session.add(["PATTERN B b"], ids=["u1"])


def test_that_a_text_is_no_list_of_ids() -> None:
    with pytest.raises(cep.UsageError, match="ids is 'xy', not a list of ids") as caught:
        cep.Queries(["PATTERN A a", "PATTERN B b"], ids="xy")
    assert (caught.value.code, caught.value.remedy) == ("CEP616", "pass ids=['xy', …], one for each")


@pytest.mark.parametrize("condition", ["a.price > low", "a.price IN low"])
def test_that_a_struct_is_no_set(condition: str) -> None:
    rules = pa.table({"id": ["u1"], "low": [{"x": 1.0}]})
    with pytest.raises(cep.CepheidError) as caught:
        cep.Queries(f"PATTERN Stock a WHERE {condition}", rules)
    told = {"a.price > low": "a struct, not a single value", "a.price IN low": "dict {'x': 1.0}, not a set of values"}
    assert (caught.value.code, caught.value.message) == (
        "CEP307",
        f"rule 'u1': the parameter 'low' is {told[condition]}",
    )


def test_a_wrong_rule_is_told_by_its_id_and_stops_no_other() -> None:
    rules = [{"id": "good", "low": 0, "span": "5 ms"}, {"id": "bad", "low": 0, "span": "5 bananas"}]
    rules.append({"id": "none", "low": 0, "span": None})
    with pytest.raises(cep.CepheidError, match="'bad'") as caught:
        cep.Queries(PAIR + " WITHIN span", rules)
    assert "span" in str(caught.value)
    assert "^" in str(caught.value)
    queries = cep.Queries(PAIR + " WITHIN span", rules, errors="collect")
    assert [row["id"] for row in queries.errors.to_pylist()] == ["bad", "none"]
    events = quotes((1, "X", 1), (2, "X", 2))
    assert heads(queries.match(events)) == [("good", 1, 2)]
    session = queries.session(lateness=0)
    assert heads(session.push(events)) + heads(session.close()) == [("good", 1, 2)]


def test_a_wrong_text_is_told_by_its_id_and_stops_no_other() -> None:
    texts = ["PATTERN Stock a WHERE a.price > 1", "PATTERN Stock a WHEN", "PATTERN Stock a WHERE a.prize > 1"]
    texts.append("PATTERN Stock a WHERE a.symbol > 1")
    with pytest.raises(cep.CepheidError, match="'b'"):
        cep.Queries(texts, ids=["a", "b", "c", "d"])
    queries = cep.Queries(texts, ids=["a", "b", "c", "d"], errors="collect")
    assert heads(queries.match(quotes((1, "X", 1), (2, "X", 2)))) == [("a", 2, 2)]
    assert [(row["id"], row["code"]) for row in queries.errors.to_pylist()] == [
        ("b", "CEP101"),
        ("c", "CEP301"),
        ("d", "CEP305"),
    ]


def test_queries_of_three_languages_together() -> None:
    texts = [
        "PATTERN SEQ(Stock a, Stock b) WHERE skip_till_next_match { b.price > a.price }",
        "CESAR LET S1, S2 := Stock THEN[S2.price > S1.price](S1, S2)",
        "AUTOMATON q0 -> q2 ARC q0 -> q1 ARC q1 -> q2 WHEN e.price > 1",
        cep.Query("PATTERN Stock a WHERE a.price > low", params={"low": 1}),
    ]
    events = quotes((1, "X", 1), (2, "X", 2))
    found = cep.Queries(texts, ids=["s", "c", "a", "q"]).match(events)
    assert heads(found) == [("s", 1, 2), ("c", 1, 2), ("a", 1, 2), ("q", 2, 2)]
    for name, text in zip("scaq", texts, strict=True):
        query = text if isinstance(text, cep.Query) else cep.Query(text)
        assert found.of(name).to_pylist() == query.match(events).to_pylist()


def test_no_rules_and_no_events() -> None:
    queries = cep.Queries(PAIR, pa.table({"id": pa.array([], pa.string()), "low": pa.array([], pa.int64())}))
    assert heads(queries.match(quotes((1, "X", 1)))) == []
    session = queries.session(lateness=0)
    session.push(quotes((1, "X", 1)))
    session.add([{"id": "first", "low": 0}], at=1)
    assert heads(session.push(quotes((2, "X", 1), (3, "X", 1)))) + heads(session.close()) == [("first", 2, 3)]
    none = pa.table(
        {"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string()), "price": pa.array([], pa.int64())}
    )
    assert heads(cep.Queries(PAIR, [{"id": 1, "low": 0}]).match(none)) == []


def test_an_id_of_another_type_and_a_template_that_is_not_there() -> None:
    found = cep.Queries({"spike": "PATTERN A a WHERE a.x > p"}, [{"id": 1, "template": "spike", "p": 1}]).match([])
    with pytest.raises(cep.CepheidError, match=r"there is no query '1'\nhelp: the ids are numbers: pass 1"):
        found.of("1")
    with pytest.raises(KeyError, match=r"there is no template 'spikes': did you mean 'spike'\?"):
        found.outputs["spikes"]
    assert "spikes" not in found.outputs


def test_what_is_no_table_of_rules() -> None:
    with pytest.raises(cep.CepheidError, match="a dict is not a table of rules"):
        cep.Queries("PATTERN A a WHERE a.x > p", {"id": 1, "p": 1})
    with pytest.raises(cep.CepheidError, match=r"can't read the rules 'nope.parquet'"):
        cep.Queries("PATTERN A a WHERE a.x > p", "nope.parquet")
    with pytest.raises(cep.CepheidError, match=r"did you mean 'idd'\? name the column of the ids with id="):
        cep.Queries("PATTERN A a WHERE a.x > p", [{"idd": 1, "p": 1}])


def test_rules_that_were_forgotten() -> None:
    with pytest.raises(cep.CepheidError, match="a template needs rules"):
        cep.Queries("PATTERN A a WHERE a.x > p")
    assert len(cep.Queries("PATTERN A a WHERE a.x > p", [])) == 0


def test_a_misspelt_type_is_told_once() -> None:
    queries = cep.Queries(
        {"one": "PATTERN Stok s WHERE s.price > p", "other": "PATTERN SEQ(Stok s, Stock t) WHERE s.price > p"},
        [{"id": 1, "template": "one", "p": 1}, {"id": 2, "template": "other", "p": 1}],
    )
    with pytest.warns(cep.CepheidWarning) as told:
        [queries.match(quotes((1, "u", 1), (2, "u", 2))) for _ in range(2)]
    assert [str(one.message) for one in told] == ["CEP005: no event has the type 'Stok'; did you mean 'Stock'?"]


@pytest.mark.parametrize("span", [[5], {"a": 1}, date(2020, 1, 1), datetime(2020, 1, 1)])
def test_a_window_that_is_no_length(span: object) -> None:
    rules = [{"id": name, "low": 0, "span": span} for name in ("u1", "u2")]
    with pytest.raises(cep.CepheidError, match=r"rule 'u1' and 1 other: column 'span': the parameter 'span' is "):
        cep.Queries(PAIR + " WITHIN span", rules)
    queries = cep.Queries(PAIR + " WITHIN span", rules, errors="collect")
    assert [(row["id"], row["code"]) for row in queries.errors.to_pylist()] == [("u1", "CEP307"), ("u2", "CEP307")]


def test_two_columns_of_one_name() -> None:
    rules = pa.table([["u1"], [1], [2]], names=["id", "low", "low"])
    with pytest.raises(cep.CepheidError, match="two columns of the rules are named 'low'"):
        cep.Queries(PAIR, rules)


def test_values_of_another_type_are_told_with_their_column() -> None:
    events = quotes((1, "X", 1), (2, "X", 2))
    text = "PATTERN Stock s WHERE s.symbol = name AND s.price > low"
    with pytest.raises(cep.CepheidError) as caught:
        cep.Queries(text, [{"id": "u1", "name": 5, "low": 1}]).match(events)
    assert str(caught.value).splitlines() == [
        "error CEP305: rule 'u1': column 'name': string (string) can't be compared with integer (int64)",
        "  at line 1, column 23",
        f"1 | {text}",
        "  |                       ^^^^^^^^^^^^^^^",
        "help: give 'name' values of the type that it is compared with",
    ]
    with pytest.raises(cep.CepheidError, match="rule 'u1': column 'low': integer") as caught:
        cep.Queries(text, [{"id": "u1", "name": "X", "low": "much"}]).match(events)
    assert caught.value.remedy == "'much' can't be read as integer: write a value of that type"
