"""Templates: which parameters are columns of a joined stream, which shape a query, and which events concern a rule."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.factory import MachineFactory
from cepheid.engine.many.routed.concerns import concerns
from cepheid.engine.many.routed.routed import RoutedTier, cuts
from cepheid.engine.many.routed.variants import Share, VariedTemplate
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.stream.input_stream import InputStream
from cepheid.engine.stream.rows import arrival_of
from cepheid.front.templates.parameters import parameters, shapes, window_parameter
from cepheid.front.templates.rule_columns import NotJoinedError
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles, make_schema
from cepheid.plan.spec import AUTO

EVENTS = pa.table(
    {
        "ts": [1, 2, 3, 4, 5, 6],
        "type": ["A", "B", "A", "B", "A", "B"],
        "symbol": ["x", "x", "y", "y", "x", "y"],
        "price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
ALERT = """PATTERN SEQ(A a, B b)
WHERE skip_till_next_match(a, b) { [symbol = name] AND a.price > high AND b.price > low }
WITHIN span"""
PLAIN_ALERT = "PATTERN SEQ(A a, B b) WHERE a.price > high AND b.price < low"


def template(text: str) -> VariedTemplate:
    roles = Roles()
    return VariedTemplate(parse(text), roles, {}, make_schema(EVENTS.schema, roles))


def shares(text: str, rules: dict[str, list[Any]]) -> list[Share]:
    found, wrong = template(text).split(pa.table(rules))
    assert wrong == []
    return found


def run(text: str, rules: dict[str, list[Any]], engine: str = "plain") -> list[tuple[int, int, int]]:
    """The number of the rule, the start and the end of each match."""
    found: list[tuple[int, int, int]] = []
    stream = InputStream(make_schema(EVENTS.schema, Roles()), once=False)
    stream.arrivals.add(arrival_of(stream.schema, EVENTS, ticks(stream.schema, EVENTS)))
    batch = stream.release(None)
    assert batch is not None
    for share in shares(text, rules):
        tier = RoutedTier(0, share.variant.joined, MachineFactory(engine, AUTO, None))
        tier.add(share.rows, share.constants, None)
        tier.feed(batch)
        for one in tier.settle(None, stream):
            rows = one.matches.to_pylist()
            found += [(n, m["match_start"], m["match_end"]) for n, m in zip(one.numbers.tolist(), rows, strict=True)]
    return sorted(found)


def test_that_the_parameters_of_a_template_are_found() -> None:
    program = parse(ALERT)
    columns = ["id", "name", "high", "low", "span"]
    assert parameters(program, columns) == ("name", "high", "low", "span")
    assert shapes(program, columns) == ()
    assert window_parameter(program, columns) == "span"


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A a WHERE a.symbol LIKE p",
        "PATTERN A a WHERE a.symbol IN p",
        "PATTERN SEQ(A a, !(B b) FOR p) WITHIN 5",
        "PATTERN A a OUTPUT NON_OVERLAP COOLDOWN p",
        "PATTERN A+ a[] HAVING percentile(a[].price, p) > 2",
        "AUTOMATON q0 -> q1 REGISTER x INT = p ARC q0 -> q1",
        "AUTOMATON q0 -> q2 REGISTER x INT = 0 ARC q0 -> q1 EPSILON q1 -> q2 WHEN r.x < p",
    ],
)
def test_that_what_must_be_a_constant_shapes_a_query(text: str) -> None:
    assert shapes(parse(text), ["p"]) == ("p",)


def test_that_a_window_is_a_shape_where_it_says_more_than_how_far_events_are_apart() -> None:
    text = "PATTERN SEQ(A a, !(B b)) WHERE b.price > low WITHIN span"
    found = shares(text, {"low": [1.0] * 6, "span": [1, 2, 3, 4, 5, 6]})
    assert [share.variant.joined.windowed for share in found] == [False] * 6


def test_that_many_windows_are_a_column_and_a_few_are_variants() -> None:
    few = shares(ALERT, {"name": ["x"] * 3, "high": [0.0] * 3, "low": [0.0] * 3, "span": [2, 3, 2]})
    assert [(share.variant.joined.windowed, share.rows.tolist()) for share in few] == [(False, [0, 2]), (False, [1])]
    spans = [2, 3, 5, 8, 9, 60]
    many = shares(ALERT, {"name": ["x"] * 6, "high": [0.0] * 6, "low": [0.0] * 6, "span": spans})
    assert [(share.constants.column("$within").to_pylist(), share.rows.tolist()) for share in many] == [
        ([2, 3, 5, 8], [0, 1, 2, 3]),
        ([9, 60], [4, 5]),
    ]


@pytest.mark.parametrize("engine", ["plain", "compiled", "interpreted"])
def test_that_rules_give_their_matches(engine: str) -> None:
    rules = {"name": ["x", "y", "z", None], "high": [0.0, 2, 0, 0], "low": [0.0, 5, 0, 0], "span": [2, 4, 4, 4]}
    assert run(ALERT, rules, engine) == [(0, 1, 2), (1, 3, 6)]


def test_that_a_condition_on_parameters_alone_decides_for_each_rule() -> None:
    assert run("PATTERN A a WHERE p > 2", {"p": [1, 3, None]}) == [(1, 1, 1), (1, 3, 3), (1, 5, 5)]


def test_that_texts_are_read_as_the_column_that_they_are_compared_with() -> None:
    found, wrong = template("PATTERN A a WHERE a.ts > since").split(pa.table({"since": ["3", "many", "4"]}))
    assert [(share.rows.tolist(), share.constants.to_pydict()) for share in found] == [
        ([0, 2], {"$since:int64": [3, 4]})
    ]
    assert [(one.rows.tolist(), one.error.code) for one in wrong] == [([1], "CEP305")]


def test_that_constants_of_other_types_are_of_another_variant() -> None:
    own = template(PLAIN_ALERT)
    first, _ = own.split(pa.table({"high": [1], "low": [2]}))
    second, _ = own.split(pa.table({"high": [1.5], "low": [2]}))
    again, _ = own.split(pa.table({"high": [None, 7], "low": [3, 4]}))
    assert first[0].variant is again[0].variant
    assert first[0].variant is not second[0].variant


def test_that_a_program_of_several_queries_is_not_one() -> None:
    text = "PATTERN A a WHERE a.price > p RETURN a.price AS x INTO Made; FROM Made PATTERN Made m"
    with pytest.raises(NotJoinedError, match="a program of several queries"):
        template(text).split(pa.table({"p": [1.0]}))


def test_which_events_concern_a_rule() -> None:
    (share,) = shares(PLAIN_ALERT, {"high": [1.0], "low": [2.0]})
    found = concerns(CompiledQuery(share.variant.joined.bound))
    assert not isinstance(found, str)
    assert [(one.types, len(one.conditions), one.begins) for one in found] == [(("A",), 1, True), (("B",), 1, False)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { a.price > p }", "strict_contiguity of a depends"),
        ("PATTERN SEQ(A a, B b) WHERE a.price > p WITHIN 3 events", "WITHIN 3 events counts all events of a partition"),
        ("AUTOMATON q0 -> q1 ARC q0 -> q1 WHEN e.price > p", "an automaton takes events that follow each other"),
    ],
)
def test_where_every_event_concerns_a_rule(text: str, reason: str) -> None:
    (share,) = shares(text, {"p": [1.0]})
    found = concerns(CompiledQuery(share.variant.joined.bound))
    assert isinstance(found, str)
    assert reason in found


def test_that_rows_of_one_instant_are_made_together() -> None:
    assert list(cuts(np.array([1, 1, 1, 2, 2, 3]), 2)) == [3, 5, 6]
    assert list(cuts(np.array([1, 2, 3]), 2)) == [2, 3]
    assert list(cuts(np.array([]), 2)) == []


def test_that_a_match_has_no_columns_of_its_rule() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.price > high RETURN a, high AS high, match_id AS id"
    (share,) = shares(text, {"high": [4.0]})
    stream = InputStream(make_schema(EVENTS.schema, Roles()), once=False)
    stream.arrivals.add(arrival_of(stream.schema, EVENTS, ticks(stream.schema, EVENTS)))
    batch = stream.release(None)
    assert batch is not None
    tier = RoutedTier(7, share.variant.joined, MachineFactory("plain", AUTO, None))
    tier.add([3], share.constants, None)
    tier.feed(batch)
    (found,) = tier.settle(None, stream)
    assert found.template == 7
    assert found.numbers.tolist() == [3]
    alone = cep.Query(text, params={"high": 4.0}).match(EVENTS)
    assert found.matches.to_arrow().to_pylist() == alone.to_pylist()
    assert list(found.matches.to_pylist()[0]["a"]) == ["ts", "type", "symbol", "price"]
