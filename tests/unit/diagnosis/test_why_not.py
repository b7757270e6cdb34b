"""The first rule that refuses some rows, by its number."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep

EVENTS = [
    {"ts": 1, "type": "Shelf", "tag_id": 7, "w": 3},
    {"ts": 2, "type": "Exit", "tag_id": 7, "w": 2},
    {"ts": 3, "type": "Exit", "tag_id": 7, "w": 5},
    {"ts": 4, "type": "Register", "tag_id": 7, "w": 9},
    {"ts": 5, "type": "Exit", "tag_id": 7, "w": 5},
    {"ts": 12, "type": "Exit", "tag_id": 7, "w": 9},
    {"ts": 12, "type": "Exit", "tag_id": 8, "w": 9},
    {"ts": 13, "type": "Exit", "tag_id": None, "w": 9},
]
THEFT = """PATTERN SEQ(Shelf a, !(Register b), Exit c)
WHERE [tag_id] AND c.w > a.w
WITHIN 10 seconds"""


def query(text: str = THEFT) -> cep.Query:
    return cep.Query(text, unit="s")


@pytest.mark.parametrize(
    ("rows", "rule", "message"),
    [
        ({"a": 0, "c": 1}, "S5", "c.w > a.w: 2 > 3"),
        ({"a": 0, "c": 4}, "S10", "!b: Register ts=4 tag_id=7 w=9 (row 3) must be absent"),
        (
            {"a": 0, "c": 5},
            "S8",
            "Exit ts=12 tag_id=7 w=9 (row 5) is 11 seconds after the first event, WITHIN 10 seconds: 1 second too late",
        ),
        (
            {"a": 0, "c": 6},
            "S5",
            "Shelf ts=1 tag_id=7 w=3 (row 0) and Exit ts=12 tag_id=8 w=9 (row 6) do not agree on [tag_id]",
        ),
        ({"a": 0, "c": 7}, "S3", "[tag_id] of Exit ts=13 tag_id=NULL w=9 (row 7) is NULL, which agrees with nothing"),
        ({"a": 2, "c": 4}, "S4", "Exit ts=3 tag_id=7 w=5 (row 2) is no Shelf, which a must be"),
        ({"a": 6, "c": 2}, "S4", "Exit ts=12 tag_id=8 w=9 (row 6) is no Shelf, which a must be"),
        (
            {"a": 0, "c": 0},
            "S1",
            "Shelf ts=1 tag_id=7 w=3 (row 0) can't be both a and c: one must come after the other",
        ),
    ],
)
def test_that_the_first_rule_is_told(rows: dict[str, int], rule: str, message: str) -> None:
    found = query().why_not(EVENTS, **rows)
    assert (found.rule, found.message, found.is_match) == (rule, message, False)


def test_that_a_caret_shows_the_condition() -> None:
    assert str(query().why_not(EVENTS, a={"ts": 1}, c={"ts": 2})) == (
        "not a match, by S5: c.w > a.w: 2 > 3\n2 | WHERE [tag_id] AND c.w > a.w\n  |                    ^^^^^^^^^"
    )


def test_that_a_match_is_told() -> None:
    found = query().why_not(EVENTS, a=0, c=2)
    assert (found.rule, str(found), found.is_match) == (None, "these events are a match", True)


@pytest.mark.parametrize(
    ("text", "rows", "rule", "message"),
    [
        (
            "PATTERN SEQ(Shelf a, Exit c) WHERE strict_contiguity(a, c) { [tag_id] }",
            {"a": 0, "c": 2},
            "S6",
            "strict_contiguity: c must come next, and this Exit is in between: Exit ts=2 tag_id=7 (row 1)",
        ),
        (
            "PATTERN SEQ(Shelf a, Exit+ c[]) WHERE skip_till_next_match(a, c) { c[i].w > c[i-1].w }",
            {"a": 0, "c": [1, 5]},
            "S6",
            "skip_till_next_match: an event that fits is not skipped: Exit ts=3 w=5 (row 2)",
        ),
        (
            "PATTERN SEQ(Shelf a, Exit c) HAVING c.w > 2 * a.w",
            {"a": 0, "c": 2},
            "S12",
            "HAVING c.w > 2 * a.w: 5 > 6",
        ),
        (
            "PATTERN SEQ(Shelf a, Exit c) OUTPUT NON_OVERLAP",
            {"a": 0, "c": 2},
            "S12",
            "OUTPUT NON_OVERLAP: the match of rows 0, 1 is given instead",
        ),
        (
            "FROM stream WHERE w > 2 PATTERN SEQ(Shelf a, Exit c)",
            {"a": 0, "c": 1},
            "S25",
            "FROM does not let Exit ts=2 w=2 (row 1) through: w > 2: 2 > 2",
        ),
        (
            "PATTERN SEQ(Shelf a, Exit{3,} c[]) WHERE skip_till_next_match(a, c) { TRUE }",
            {"a": 0, "c": [1, 2]},
            "S7",
            "the repetition needs more rounds",
        ),
    ],
)
def test_rules_of_other_clauses(text: str, rows: dict[str, object], rule: str, message: str) -> None:
    found = query(text).why_not(EVENTS, **rows)
    assert (found.rule, found.message) == (rule, message)


@pytest.mark.parametrize(
    ("rows", "message", "remedy"),
    [
        ({"a": 0}, "a match has c too", "name these rows: c=…"),
        ({"a": 0, "c": {"type": "Exit"}}, "c: 6 events have type='Exit'", "name ts or tag_id or w too"),
        ({"a": 0, "c": {"ts": 99}}, "c: no event has ts=99", "name columns and values as the table has them"),
        ({"a": 0, "c": {"tsx": 9}}, "the events have no column 'tsx'", "did you mean 'ts'?"),
        ({"a": 0, "b": 3, "c": 1}, "'b' must be absent", "leave it out"),
        ({"a": 0, "d": 3}, "the query has no variable 'd'", "the variables are: a, c"),
        ({"a": 0, "c": 99}, "c=99: there is no such row", "rows are counted from 0 to 7"),
        ({"a": 0, "c": [1, 2]}, "'c' is one event, not 2", "write c=row"),
        (
            {"a": "x", "c": 1},
            "a='x' does not name a row",
            "pass the number of a row, or a dict of columns and their values",
        ),
        (
            {"a": {}, "c": 1},
            "a={} does not name a row",
            "pass the number of a row, or a dict of columns and their values",
        ),
        ({"a": None, "c": 1}, "a match has a too", "name these rows: a=…"),
    ],
)
def test_rows_that_cannot_be_found(rows: dict[str, object], message: str, remedy: str) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        query().why_not(EVENTS, **rows)
    assert (caught.value.code, caught.value.message, caught.value.remedy) == ("CEP618", message, remedy)


def test_that_a_program_is_refused() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        query("PATTERN Shelf a RETURN a.w AS w INTO One; FROM One EVENT One x").why_not(EVENTS, x=0)
    assert caught.value.code == "CEP617"


TICKS = [{"ts": ts, "id": "x", "change": change} for ts, change in enumerate([0.5, -0.1, -0.2, 0.1, 0.1, 0.3])]
BALANCED = """AUTOMATON start -> done
REGISTER balance INT = 0
ARC start -> falling WHEN e.change < 0 SET balance = 1
ARC falling -> falling WHEN e.change < 0 SET balance = r.balance + 1
ARC falling -> rising WHEN e.change > 0 SET balance = r.balance - 1
ARC rising -> rising WHEN e.change > 0 SET balance = r.balance - 1
EPSILON rising -> done WHEN r.balance = 0
PARTITION BY id WITHIN 4 HAVING last.change < 0.2"""
ALONE = """AUTOMATON q0 -> q2
ARC q0 -> q1 ON A
IGNORE q1 ON C
ARC late: q1 -> q2 AT END WHEN r.n = 0
REGISTER n INT = 0
WITHIN 3"""


@pytest.mark.parametrize(
    ("first", "last", "rule", "message", "place"),
    [
        (1, 4, None, "these events are a match", None),
        (
            0,
            3,
            "S18",
            "ts=0 id='x' change=0.5 (row 0): start -> falling asks for e.change < 0: 0.5 < 0",
            "e.change < 0",
        ),
        (
            1,
            3,
            "S18",
            "after the last event it is in rising, and a match ends in done; "
            "rising -> done asks for r.balance = 0: 1 = 0",
            "r.balance = 0",
        ),
        (
            1,
            5,
            "S8",
            "ts=5 id='x' change=0.3 (row 5) is 4 milliseconds after the first event, "
            "WITHIN 4 milliseconds: it must be less",
            None,
        ),
        (
            3,
            1,
            "S18",
            "ts=3 id='x' change=0.1 (row 3) is the first event, and comes after the last, "
            "ts=1 id='x' change=-0.1 (row 1)",
            None,
        ),
    ],
)
def test_the_stretch_of_an_automaton(first: int, last: int, rule: str | None, message: str, place: str | None) -> None:
    found = cep.Query(BALANCED, type=None).why_not(TICKS, first=first, last=last)
    assert (found.rule, found.message) == (rule, message)
    assert place is None or (found.span is not None and found.span.excerpt == place)


def test_having_of_an_automaton() -> None:
    q = cep.Query(BALANCED.replace("< 0.2", "> 0.2"), type=None)
    found = q.why_not(TICKS, first=2, last=3)
    assert (found.rule, found.message) == ("S12", "HAVING last.change > 0.2: 0.1 > 0.2")


@pytest.mark.parametrize(
    ("last", "rule", "message"),
    [
        (1, "S18", "AT END: C ts=2 (row 2) is in the window too, so that it does not end here"),
        (2, None, "these events are a match"),
    ],
)
def test_the_end_of_a_window(last: int, rule: str | None, message: str) -> None:
    events = [{"ts": ts, "type": kind} for ts, kind in enumerate("ACCB")]
    found = cep.Query(ALONE).why_not(events, first=0, last=last)
    assert (found.rule, found.message) == (rule, message)


@pytest.mark.parametrize(
    ("rows", "message", "remedy"),
    [
        (
            {"a": 0},
            "a match of an automaton has no 'a': it is the events from its first to its last one",
            "name two rows: first=…, last=…",
        ),
        ({"first": 0}, "a match has a last event too", "name this row: last=…"),
        (
            {"first": 0, "last": [1, 2]},
            "'last' is one event",
            "write last=row; those in between follow from it",
        ),
    ],
)
def test_rows_that_no_automaton_has(rows: dict[str, object], message: str, remedy: str) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query(BALANCED, type=None).why_not(TICKS, **rows)
    assert (caught.value.code, caught.value.message, caught.value.remedy) == ("CEP618", message, remedy)


def test_that_results_of_cesar_are_no_rows() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query("CESAR LET S1, S2 := Shelf S1 ; S2").why_not(EVENTS, a=0)
    assert (caught.value.code, caught.value.remedy) == (
        "CEP617",
        "trace(events) tells which condition refused which event, with its values",
    )


def test_that_a_match_does_not_begin_with_its_last_variable() -> None:
    found = cep.Query("PATTERN SEQ(A a, B b)").why_not([{"ts": 1, "type": "B"}, {"ts": 2, "type": "A"}], a=1, b=0)
    assert (found.rule, found.message) == ("S1", "B ts=1 (row 0) comes first, and a match can't begin with b")


def test_rows_as_numpy_and_pandas_number_them() -> None:
    assert query().why_not(EVENTS, a=np.int64(0), c=np.int32(1)).message == "c.w > a.w: 2 > 3"


@pytest.mark.parametrize(
    "rows", [np.array([0, 1]), pd.Series([0, 1]), pa.array([0, 1]), range(2), (1, 0), [np.array(0), 1]]
)
def test_lists_of_any_kind(rows: object) -> None:
    events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "A"}]
    assert cep.Query("PATTERN A+ a[] WITHIN 1 second").why_not(events, a=rows).is_match


def test_an_array_of_arrays_names_no_row() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query("PATTERN A+ a[] WITHIN 1 second").why_not([{"ts": 1, "type": "A"}], a=np.array([[0, 0]]))
    assert caught.value.message == "a=array([0, 0]) does not name a row"


def test_that_the_rows_of_a_match_are_found_again() -> None:
    """NaN is a value like others there, and so are lists, also NumPy's."""
    events = [{"ts": 1, "type": "A", "x": float("nan"), "tags": [1, 2]}, {"ts": 2, "type": "B", "x": 1.0, "tags": []}]
    query = cep.Query("PATTERN SEQ(A a, B b)")
    (match,) = query.match(events).to_pylist()
    assert query.why_not(events, a=match["a"], b=match["b"]).is_match
    assert query.why_not(events, a={"tags": np.array([1, 2])}, b=1).is_match


def test_that_a_match_of_alternatives_needs_a_row() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        cep.Query("PATTERN OR(A a, B b)").why_not([{"ts": 1, "type": "A"}], a=None)
    assert (caught.value.message, caught.value.remedy) == ("a match has one of a, b", "name the rows of one: a=…")


@pytest.mark.parametrize(
    ("text", "rows", "rule", "message", "place"),
    [
        (
            "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id = 8]",
            {"a": 0, "c": 1},
            "S5",
            "[tag_id]: 7 is not 8",
            "tag_id = 8",
        ),
        (
            "PATTERN SEQ(Shelf a, Exit c) PARTITION BY type2, tag_id",
            {"a": 0, "c": 6},
            "S6",
            "PARTITION BY tag_id: {} and {} are of different partitions",
            "tag_id",
        ),
        ("PATTERN Exit{3} c[]", {"c": [1, 2]}, "S7", "the repetition needs more rounds", "Exit{3} c[]"),
        (
            "PATTERN Exit{1,2} c[]",
            {"c": [1, 2, 5]},
            "S7",
            "{}: the repetition has had all its rounds",
            "Exit{1,2} c[]",
        ),
    ],
)
def test_the_place_of_a_rule(text: str, rows: dict[str, Any], rule: str, message: str, place: str) -> None:
    found = cep.Query(text).why_not([{**row, "type2": 1} for row in EVENTS], **rows)
    said = re.sub(r"\w+ ts=[^()]+ \(row \d+\)", "{}", found.message)
    assert found.span is not None
    assert (found.rule, said, found.span.excerpt) == (rule, message, place)


def test_having_of_what_ends_with_the_window() -> None:
    """What the last event accepts does not pass HAVING, what AT END accepts does."""
    text = (
        "AUTOMATON q0 -> q1, q2\nREGISTER n INT = 0\n"
        "ARC q0 -> q1 ON A SET n = 1\nARC q1 -> q2 AT END SET n = 2\nWITHIN 5 ms HAVING r.n = 2"
    )
    events = [{"ts": 1, "type": "A"}, {"ts": 9, "type": "B"}]
    query = cep.Query(text)
    assert len(query.match(events, engine="reference")) == 1
    assert query.why_not(events, first=0, last=0).is_match


def test_rows_of_no_events() -> None:
    with pytest.raises(cep.CepheidError) as caught:
        query().why_not(pa.Table.from_pylist(EVENTS).slice(0, 0), a=0, c=1)
    assert caught.value.message == "a=0: there is no such row"
    assert caught.value.remedy == "there are no events: check where they are read from"


def test_variables_with_the_names_of_arguments() -> None:
    found = cep.Query("PATTERN SEQ(A events, B self)").why_not(
        [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}], events=0, self=1
    )
    assert found.is_match


def test_that_an_optional_variable_may_be_none() -> None:
    optional = cep.Query("PATTERN SEQ(A a, C? o, B b)")
    assert optional.why_not([{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}], a=0, o=None, b=1).is_match
