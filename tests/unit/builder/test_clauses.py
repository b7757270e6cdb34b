"""Each clause, on the exact query that it makes."""

import re
from datetime import timedelta
from enum import Enum

import pytest

from cepheid import UsageError
from cepheid import builder as cep
from cepheid.builder import Draft
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.nodes import And, Attribute, Compare, Index, Length, Literal, Name, SameValue
from cepheid.pattern.tree.nodes import (
    EventPattern,
    FromStream,
    KeyColumn,
    Output,
    Program,
    QueryTree,
    Repeat,
    ReturnItem,
    Selection,
    Strategy,
    Ties,
    Window,
)

a = cep.var("a")
PATTERN = cep.event("A", "a")
X = Attribute("a", Index.ONE, "x")


def number(value: float) -> Literal:
    return Literal(value, types.INT if isinstance(value, int) else types.FLOAT)


ABOVE = tuple(Compare(">", X, number(n)) for n in range(4))


@pytest.mark.parametrize(
    ("draft", "clauses"),
    [
        (PATTERN.where(a.x > 0), {"where": ABOVE[:1]}),
        (PATTERN.where(a.x > 0, a.x > 1).where((a.x > 2) & (a.x > 3)), {"where": ABOVE}),
        (PATTERN.same("x", "y"), {"where": (SameValue("x"), SameValue("y"))}),
        (PATTERN.same(x=1, y=None), {"where": (SameValue("x", number(1)), SameValue("y", Literal(None, types.NULL)))}),
        (PATTERN.same("x", y=cep.param("Y")), {"where": (SameValue("x"), SameValue("y", Name("Y")))}),
        (PATTERN.where(a.x > 0).same("y"), {"where": (*ABOVE[:1], SameValue("y"))}),
        (PATTERN.strategy("strict_contiguity"), {"strategies": (Selection(Strategy.STRICT),)}),
        (
            PATTERN.strategy("skip_till_next_match", "a").strategy("skip_till_any_match", cep.var("b"), "c"),
            {"strategies": (Selection(Strategy.NEXT, ("a",)), Selection(Strategy.ANY, ("b", "c")))},
        ),
        (
            PATTERN.partition_by("p", "q").partition_by("r"),
            {"partition_by": (KeyColumn("p"), KeyColumn("q"), KeyColumn("r"))},
        ),
        (PATTERN.partition_by("p.user.id", "q"), {"partition_by": (KeyColumn("p", ("user", "id")), KeyColumn("q"))}),
        (PATTERN.partition_by("`p.q`", "p.`q.r`"), {"partition_by": (KeyColumn("p.q"), KeyColumn("p", ("q.r",)))}),
        (PATTERN.partition_by("p.", "a`b"), {"partition_by": (KeyColumn("p."), KeyColumn("a`b"))}),
        (
            PATTERN.same("p.user", **{"p.x": 1}),
            {"where": (SameValue("p", fields=("user",)), SameValue("p", number(1), ("x",)))},
        ),
        (PATTERN.within("12 hours"), {"within": Window(number(12), "hours")}),
        (PATTERN.within("1.5 h"), {"within": Window(number(1.5), "hours")}),
        (PATTERN.within("500 events"), {"within": Window(number(500), "events")}),
        (PATTERN.within(timedelta(minutes=90)), {"within": Window(number(90), "minutes")}),
        (PATTERN.within(timedelta(microseconds=1)), {"within": Window(number(1), "microseconds")}),
        (PATTERN.within(cep.param("T")), {"within": Window(Name("T"))}),
        (PATTERN.within("1 hour").within("2 hours"), {"within": Window(number(2), "hours")}),
        (PATTERN.having(a.x > 0), {"having": ABOVE[0]}),
        (PATTERN.having(a.x > 0, a.x > 1).having(a.x > 2), {"having": And(ABOVE[:3])}),
        (
            PATTERN.returns(p=a.x, q=1).returns(r=a.x),
            {"returns": (ReturnItem(X, "p"), ReturnItem(number(1), "q"), ReturnItem(X, "r"))},
        ),
        (PATTERN.returns(p=a.x).into("Seen"), {"returns": (ReturnItem(X, "p"),), "into": "Seen"}),
        (PATTERN.from_("Seen"), {"streams": (FromStream("Seen"),)}),
        (PATTERN.non_overlapping(), {"output": Output.NON_OVERLAP}),
        (
            PATTERN.non_overlapping(cooldown=timedelta(minutes=5)),
            {"output": Output.NON_OVERLAP, "cooldown": Window(number(5), "minutes")},
        ),
        (PATTERN.longest(), {"output": Output.LONGEST}),
        (PATTERN.longest(cooldown=cep.param("T")), {"output": Output.LONGEST, "cooldown": Window(Name("T"))}),
        (PATTERN.simultaneous(), {"ties": Ties.SIMULTANEOUS}),
    ],
)
def test_a_clause_changes_its_part_of_the_query(draft: Draft, clauses: dict[str, object]) -> None:
    assert draft.program == Program((QueryTree(EventPattern(("A",), "a"), **clauses),))


def test_a_clause_leaves_the_draft_that_it_is_added_to() -> None:
    base = PATTERN.where(a.x > 0)
    assert base.where(a.x > 1) != base
    assert base.program == Program((QueryTree(EventPattern(("A",), "a"), where=ABOVE[:1]),))


def test_len_is_the_length_of_a_kleene_variable_and_an_attribute_elsewhere() -> None:
    kleene = PATTERN.one_or_more().where(a.len > 2)
    assert kleene.program == Program(
        (QueryTree(Repeat(EventPattern(("A",), "a"), 1, None), where=(Compare(">", Length("a"), number(2)),)),)
    )
    single = PATTERN.where(a.len > 2)
    length = Attribute("a", Index.ONE, "len")
    assert single.program == Program((QueryTree(EventPattern(("A",), "a"), where=(Compare(">", length, number(2)),)),))


def test_a_program_holds_its_queries_in_order() -> None:
    first, second = PATTERN.returns(x=a.x).into("Seen"), cep.event("Seen", "s").from_("Seen")
    assert cep.program(first, second) == Program(
        (
            QueryTree(EventPattern(("A",), "a"), returns=(ReturnItem(X, "x"),), into="Seen"),
            QueryTree(EventPattern(("Seen",), "s"), streams=(FromStream("Seen"),)),
        )
    )


def test_the_tree_knows_the_places_of_its_text() -> None:
    draft = PATTERN.where(a.x > 0).within("5 minutes")
    query = draft.program.queries[0]
    assert query.within is not None
    assert query.within.span is not None
    assert query.within.span.excerpt == "WITHIN 5 minutes"
    assert query.within.span.text == str(draft)


def test_a_constant_keeps_its_value_whatever_it_prints_as() -> None:
    class Colour(str, Enum):  # noqa: UP042  unlike StrEnum, its str() is 'Colour.RED'
        RED = "red"

    red = Compare("=", X, Literal("red", types.STRING))
    assert PATTERN.where(a.x == Colour.RED).program == Program((QueryTree(EventPattern(("A",), "a"), where=(red,)),))


def test_several_streams_are_a_list_or_a_dict_with_types() -> None:
    seen = cep.event("Seen", "s")
    assert seen.from_(["readings", "Seen"]).query.streams == (FromStream("readings"), FromStream("Seen"))
    assert seen.from_({"readings": ["A", "B"], "Seen": []}).query.streams == (
        FromStream("readings", ("A", "B")),
        FromStream("Seen"),
    )
    assert seen.from_("Seen").from_("readings", "Seen").query.streams == (FromStream("readings", ("Seen",)),)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([],), "from_ needs a stream"),
        ((["readings", "readings"],), "from_ names a stream twice"),
        ((["readings", "Seen"], "A"), "types of several streams belong to their names"),
        (({"readings": "A"},), "'A' is not a list of types"),
        ((7,), "7 can't be the name of a stream"),
        (([""],), "'' can't be the name of a stream"),
        (({"readings": [3]},), "3 can't be the name of a type"),
    ],
)
def test_what_is_no_stream(given: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        cep.event("Seen", "s").from_(*given)  # type: ignore[arg-type]
