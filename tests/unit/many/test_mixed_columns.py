"""Rules as a list of dicts whose columns have values of several types: each rule is read with its own (S23)."""

from typing import Any

import pytest
from rule_sets import heads, quotes

import cepheid as cep

ABOVE = "PATTERN Stock a WHERE a.price > high"
EVENTS = quotes((1, "X", 3))


def outcome(template: Any, rules: list[dict[str, Any]]) -> tuple[list[Any], list[tuple[Any, str]]]:
    """The rules that match, and the errors of others, with their codes."""
    queries = cep.Queries(template, rules, errors="collect")
    found = queries.match(EVENTS)
    assert found.to_pylist() == queries.match(EVENTS, engine="reference").to_pylist()
    return [query for query, *_ in heads(found)], [(row["id"], row["code"]) for row in queries.errors.to_pylist()]


def test_a_wrong_value_is_of_its_rule() -> None:
    rules = [{"id": "a", "high": 1}, {"id": "b", "high": "x"}]
    with pytest.raises(cep.CepheidError, match="rule 'b': column 'high'") as caught:
        cep.Queries(ABOVE, rules).match(EVENTS)
    assert (caught.value.code, caught.value.remedy) == (
        "CEP305",
        "'x' can't be read as integer: write a value of that type",
    )
    assert outcome(ABOVE, rules) == (["a"], [("b", "CEP305")])
    assert outcome(ABOVE, rules[::-1]) == (["a"], [("b", "CEP305")])


def test_that_right_values_stay_where_most_are_wrong() -> None:
    values = ["x", "y", "z", True, 1, 2.5, None, [1], {"x": 1}, [1, "q"], 2**70]
    found, errors = outcome(ABOVE, [{"id": number, "high": value} for number, value in enumerate(values)])
    assert found == [4, 5]
    assert errors == [
        (0, "CEP305"), (1, "CEP305"), (2, "CEP305"), (3, "CEP305"), (7, "CEP307"), (8, "CEP307"), (9, "CEP403"),
        (10, "CEP405"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "message", "remedy"),
    [
        (2**70, f"column 'high' has an integer, {2**70}, that does not fit into a signed 64-bit integer",
         "make 'high' a column of decimals, floats or strings"),
        ([1, "q"], "column 'high' can't hold [1, 'q']: Could not convert 'q' with type str: tried to convert to int64",
         "give 'high' a value of one type"),
    ],
)  # fmt: skip
def test_values_that_no_column_can_have(value: object, message: str, remedy: str) -> None:
    with pytest.raises(cep.InputError) as caught:
        cep.Queries(ABOVE, [{"id": "a", "high": 1}, {"id": "b", "high": value}])
    assert (caught.value.message, caught.value.remedy) == (f"rule 'b': {message}", remedy)


def test_windows_may_be_written_in_several_ways() -> None:
    spans = {"a": 5, "b": "5 ms", "c": "5 bananas"}
    rules = [{"id": id, "high": 1, "span": span} for id, span in spans.items()]
    assert outcome(f"{ABOVE} WITHIN span", rules) == (["a", "b"], [("c", "CEP307")])


def test_columns_that_no_rule_needs_may_have_anything() -> None:
    rules = [{"id": "a", "high": 1, "note": 5}, {"id": "b", "high": 2, "note": [1, "q"]}]
    assert outcome(ABOVE, rules) == (["a", "b"], [])
    others = [{"id": "a", "template": "one", "high": 1}, {"id": "b", "template": "two", "high": 2**70}]
    assert outcome({"one": ABOVE, "two": "PATTERN Stock a"}, others) == (["a", "b"], [])


def test_whole_numbers_that_are_no_doubles() -> None:
    rules = [{"id": id, "high": value} for id, value in {"a": 2**60 + 1, "b": 1.5, "c": "1", "d": 2}.items()]
    assert outcome(ABOVE, rules) == (["b", "c", "d"], [])


def test_ids_are_of_one_type() -> None:
    rules = [{"id": 1, "high": 1}, {"id": "b", "high": 1}, {"id": 3, "high": 1}]
    with pytest.raises(cep.InputError) as caught:
        cep.Queries(ABOVE, rules)
    assert caught.value.message == "the rule in row 1: column 'id' has 'b' of type string"
    assert caught.value.remedy == "give 'id' values of one type: most rules have int64"
    assert outcome(ABOVE, rules) == ([1, 3], [(None, "CEP616")])


def test_names_of_templates_are_texts() -> None:
    rules = [{"id": id, "template": name, "high": 1} for id, name in {"a": "t", "b": 5, "c": "t"}.items()]
    assert outcome({"t": ABOVE}, rules) == (["a", "c"], [("b", "CEP616")])


def test_rules_that_come_later() -> None:
    session = cep.Queries(ABOVE, [{"id": "a", "high": 1}], errors="collect").session(lateness=0)
    session.push(quotes((0, "X", 0)))
    session.add([{"id": "b", "high": "x"}, {"id": "c", "high": 2}, {"id": "d", "high": 4}])
    found = heads(session.push(quotes((1, "X", 3)))) + heads(session.close())
    assert found == [("a", 1, 1), ("c", 1, 1)]
    assert [row["id"] for row in session.errors.to_pylist()] == ["b"]
