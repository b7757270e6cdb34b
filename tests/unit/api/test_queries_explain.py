"""`Queries.explain()`: what rules share, how an event finds them, and what is not shared."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import BindError, UsageError

EVENTS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("symbol", pa.string()), ("price", pa.int64())])
ANY_MATCH = """
    PATTERN SEQ(Stock a, Stock b)
    WHERE skip_till_any_match(a, b) { [symbol = name] AND a.price > high AND b.price < low }
    WITHIN 5 minutes
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def some_rules(count: int) -> list[dict[str, object]]:
    return [{"id": k, "name": f"S{k % 5}", "high": 100, "low": k} for k in range(count)]


def test_without_events_templates_are_told() -> None:
    queries = cep.Queries(
        {"spike": "PATTERN Stock s WHERE s.price > level", "all": "PATTERN Stock s"},
        [{"id": 1, "template": "spike", "level": 1}, {"id": 2, "template": "all"}, {"id": 3, "template": "all"}],
    )
    assert str(queries.explain()) == (
        "3 rules of 2 templates\n  spike  1 rule   parameters level\n  all    2 rules  no parameters"
    )


def test_texts_differ_in_constants() -> None:
    queries = cep.Queries(["PATTERN Stock s WHERE s.price > 1", "PATTERN Stock s WHERE s.price > 2"])
    assert str(queries.explain()) == "2 rules of 1 template\n  0  2 rules  differ in 1 constant"


def test_equal_steps_are_merged() -> None:
    told = lines(cep.Queries(ANY_MATCH, some_rules(50)).explain(EVENTS).text)
    assert told[2:14] == [
        "Shared tables: 50 rules",
        "the template: 50 rules",
        "a: type = 'Stock', symbol = name, price > high",
        "b: type = 'Stock', symbol = name, price < low",
        "Steps, and what is left when equal ones are merged",
        "step 1  50   5",
        "step 2  50   50",
        "all     100  55",
        "They are looked up by",
        "step 1  5   type and symbol; an event is compared with up to 1",
        "step 2  50  type and symbol; an event is compared with up to 10",
        "Runs wait for",
    ]
    assert told[14] == "after 5 steps  events with their value of symbol"
    assert told[15].startswith("1 level of tables, ")


def test_few_steps_are_gone_through() -> None:
    told = lines(cep.Queries(ANY_MATCH, some_rules(5)).explain(EVENTS).text)
    assert "later   5  nothing: only a few can come next, and all are compared" in told


def test_what_is_not_looked_up() -> None:
    template = """
        PATTERN SEQ(ANY a, ANY b)
        WHERE skip_till_any_match(a, b) { a.price > high AND b.price < a.price - low } WITHIN 5 minutes
    """
    told = lines(cep.Queries(template, some_rules(50), type=None).explain(EVENTS).text)
    assert "a: price > high" in told
    assert "b: 1 other condition" in told
    assert "step 1  1   nothing: no column must equal a constant; an event is compared with up to 1" in told
    assert "after 1 step  any event: nothing to look up is asked of the next one" in told


@pytest.mark.parametrize(
    ("template", "reason", "routing"),
    [
        (
            "PATTERN SEQ(Stock a, Stock+ b[], Stock c) WHERE [symbol = name] AND a.price > high WITHIN 5 minutes",
            "several ways to go on",
            "an event goes to the rules that it concerns: symbol = name",
        ),
        (
            "PATTERN Stock a WHERE a.price > high HAVING a.price > low",
            "HAVING",
            "an event goes to the rules that it concerns: price > high",
        ),
        (
            "PATTERN SEQ(Stock a, Stock+ b[]) WHERE a.price BETWEEN low AND high AND b[i].price > b[i-1].price",
            "a match that goes on",
            "an event goes to the rules that it concerns: price >= low and price <= high "
            "or all rules that have begun, if it is Stock",
        ),
        (
            "PATTERN Stock a WHERE a.price > 3 HAVING a.price > low",
            "HAVING",
            "every event goes to every rule: an event is compared with no constant of a rule",
        ),
        (
            "PATTERN SEQ(Stock a, Stock b) WHERE strict_contiguity(a, b) { [symbol = name] } HAVING a.price > low",
            "HAVING",
            "an event goes to the rules that it concerns: symbol = name or all rules that have begun, "
            "since strict_contiguity of a depends on every event in between",
        ),
    ],
)
def test_joined_streams(template: str, reason: str, routing: str) -> None:
    told = lines(cep.Queries(template, some_rules(3)).explain(EVENTS).text)
    assert told[2:] == [
        "Joined streams: 3 rules",
        "the template: 3 rules",
        f"not in the shared tables: {reason}",
        routing,
    ]


def test_shapes_make_several_streams() -> None:
    template = "PATTERN SEQ(Stock a, Stock+ b[]) WHERE [symbol] AND a.symbol LIKE name WITHIN 5 minutes"
    told = lines(cep.Queries(template, some_rules(10)).explain(EVENTS).text)
    assert "the template: 10 rules in 5 streams" in told


def test_rules_on_their_own() -> None:
    template = "PATTERN Stock a WHERE a.price > high RETURN a.price AS p INTO X ; FROM X PATTERN X x WHERE x.p > low"
    told = lines(cep.Queries(template, some_rules(2)).explain(EVENTS).text)
    assert told[2:] == [
        "Each on its own: 2 rules",
        "the template  2 rules  not shared: a program of several queries",
    ]


def test_cesar_has_tables_of_its_own() -> None:
    told = lines(cep.Queries(["CESAR SELECT[price > 1](Stock) ;[symbol = 'IBM'](Stock)"]).explain(EVENTS).text)
    assert told[2:6] == [
        "Shared tables, where events of one time do not follow each other: 1 rule",
        "0: 1 rule",
        "step 1: type = 'Stock', price > $1",
        "step 2: type = 'Stock', symbol = $2",
    ]


def test_of_many_templates_some_are_told() -> None:
    queries = cep.Queries([f"PATTERN Stock s WHERE s.c{k} > 1" for k in range(20)])
    schema = pa.schema([*EVENTS, *((f"c{k}", pa.int64()) for k in range(20))])
    told = lines(queries.explain(schema).text)
    assert told.count("… 8 more") == 2
    assert "step 1  20  20" in told


def test_wrong_rules_are_left_out() -> None:
    queries = cep.Queries(
        {"a": "PATTERN Stock s WHERE s.price > level", "b": "PATTERN Stock s WHERE s.missing > level"},
        [{"id": k, "template": "ab"[k % 2], "level": k} for k in range(4)],
        errors="collect",
    )
    assert queries.explain(EVENTS).text.startswith("2 rules of 2 templates; 2 wrong rules left out\n")


def test_wrong_rules_are_told() -> None:
    with pytest.raises(BindError, match="missing"):
        cep.Queries("PATTERN Stock s WHERE s.missing > high", some_rules(1)).explain(EVENTS)


def test_events_and_their_schema_tell_the_same() -> None:
    queries = cep.Queries(ANY_MATCH, some_rules(20))
    table = pa.table({"ts": [1], "type": ["Stock"], "symbol": ["S1"], "price": [101]}, schema=EVENTS)
    assert queries.explain(table) == queries.explain(EVENTS)
    assert repr(queries.explain(table)) == queries.explain(table).text


def test_no_rules() -> None:
    assert str(cep.Queries([]).explain(EVENTS)) == "0 rules of 0 templates"


def test_options_are_for_spark() -> None:
    with pytest.raises(UsageError, match="partitions= is an option for Spark"):
        cep.Queries(ANY_MATCH, some_rules(1)).explain(EVENTS, partitions=2)
