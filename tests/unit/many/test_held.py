"""What runs of the shared tables hold of events and give in results, and what they can't."""

from decimal import Decimal

import pytest
from rule_sets import Row, check

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def event(ts: int, type_: str, x: int | None, flag: bool | None, text: str | None, amount: str) -> Row:
    return {"ts": ts, "type": type_, "x": x, "flag": flag, "text": text, "amount": Decimal(amount)}


STREAM = [
    event(1, "A", 1, True, "a", "2.00"),
    event(1, "A", 2, False, "b", "10.00"),
    event(1, "A", None, None, None, "9.50"),
    event(2, "B", 1, None, None, "10.00"),
    event(2, "B", 2, False, "c", "2.00"),
    event(3, "B", 1, True, "b", "-2.00"),
]
RULES: list[Row] = [
    {"id": k, "v": k % 3, "word": "abc"[k % 3], "on": [True, False, None][k // 3], "cost": Decimal(f"{k}.5")}
    for k in range(9)
]
SHARED = {
    "decimals": "CESAR A ;[x = v] B",
    "decimals of both": "CESAR PROJECT[m1](RENAME[amount -> m1](A)) ;[x = v] B",
    "not a flag": "PATTERN SEQ(A a, B b) WHERE a.x = v AND NOT (b.flag = on)",
    "not TRUE": "PATTERN SEQ(A a, B b) WHERE a.x = v AND NOT (b.flag = TRUE)",
    "flags": "PATTERN SEQ(A a, B b) WHERE a.x = v AND (a.flag OR b.flag)",
    "flags compared": "PATTERN SEQ(A a, B b) WHERE a.x = v AND a.flag = b.flag",
    "a flag or a number": "PATTERN SEQ(A a, B b) WHERE a.x = v AND (b.flag != on OR b.x + a.x > 3)",
    "a flag that is held": "CESAR RENAME[flag -> first](A) ;[x = v AND (first OR flag)] B",
    "a constant by its name": "CESAR PROJECT[x](ADD[z := v](A) ;[z = x] B)",
}
JOINED = {
    "a constant": ("CESAR ADD[z := v](A) ;[x = v] B", "a constant of the rule is given"),
    "a text of the rule": ("CESAR ADD[z := word](A) ;[x = v] B", "a constant of the rule is given"),
    "a decimal of the rule": ("CESAR ADD[z := cost](A) ;[x = v] B", "a constant of the rule is given"),
    "a sum with a constant": ("CESAR ADD[z := x + v](A) ;[x = v AND z > 1] B", "a constant of the rule is held"),
    "a computed text": ("CESAR ADD[z := upper(text)](A) ;[x = v] B", "a text that is computed is given"),
    "a text with a constant": (
        "CESAR RENAME[x -> first](A) ;[length(text || word) > first] B",
        "a constant of the rule in what is computed of an event",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_in_the_shared_tables_each_rule_gives_what_it_gives_alone(name: str) -> None:
    assert check(SHARED[name], RULES, STREAM)
    assert "Joined streams" not in str(cep.Queries(SHARED[name], RULES).explain(STREAM))


@pytest.mark.parametrize("name", JOINED)
def test_on_joined_streams_each_rule_gives_what_it_gives_alone(name: str) -> None:
    text, why = JOINED[name]
    assert check(text, RULES, STREAM)
    assert f"not in the shared tables: {why}\n" in str(cep.Queries(text, RULES).explain(STREAM))


@pytest.mark.parametrize("column", ["x", "flag", "text", "amount"])
@pytest.mark.parametrize("relation", ["=", "!="])
def test_a_comparison_with_null_is_never_true(column: str, relation: str) -> None:
    """Also of decimals with fractions, which are no whole numbers."""
    text = f"PATTERN SEQ(A a, B b) WHERE b.{column} {relation} nothing OR b.x = v"
    found = check(text, [{"id": k, "v": k, "nothing": None} for k in range(3)], STREAM)
    assert {name: len(own) for name, own in found.items()} == {1: 6, 2: 3}


def test_decimals_are_told_apart_as_numbers() -> None:
    found = cep.Queries("CESAR PROJECT[amount](A ;[x >= v] B)", [{"id": 1, "v": 0}]).match(STREAM)
    assert [row["amount"] for row in found] == [Decimal("2.00"), Decimal("10.00")]
