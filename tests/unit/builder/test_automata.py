"""Automata from Python: the tree of the text, what runs, and wrong arguments."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

import cepheid as cep
from cepheid.language import parse

e, r, first = cep.var("e"), cep.var("r"), cep.var("first")
VEES = (
    cep.automaton("q0", final="q3", balance=0, vees=0)
    .arc("q0", "q1", e.change < -cep.param("delta"))
    .arc("q1", "q1", e.change < 0, balance=r.balance + 1)
    .arc("q1", "q2", e.change < 0, balance="r.balance + 1")
    .arc("q2", "q2", "e.change > 0", balance=r.balance - 1)
    .arc("q2", "q3", (e.change > 0) & (r.balance == 1), name="done", vees=r.vees + 1, balance=0)
    .ignore("q2", cep.call("abs", e.change) < 0.05)
    .epsilon("q3", "q1", r.vees < cep.param("k"))
)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (
            VEES.partition_by("symbol").within("500 events"),
            """
            AUTOMATON q0 -> q3
            REGISTER  balance INT = 0, vees INT = 0
            ARC       q0 -> q1 WHEN e.change < -delta
            ARC       q1 -> q1 WHEN e.change < 0 SET balance = r.balance + 1
            ARC       q1 -> q2 WHEN e.change < 0 SET balance = r.balance + 1
            ARC       q2 -> q2 WHEN e.change > 0 SET balance = r.balance - 1
            ARC done: q2 -> q3 WHEN e.change > 0 AND r.balance = 1 SET vees = r.vees + 1, balance = 0
            IGNORE    q2 WHEN abs(e.change) < 0.05
            EPSILON   q3 -> q1 WHEN r.vees < k
            PARTITION BY symbol WITHIN 500 events
            """,
        ),
        (
            cep.automaton("on", final=["off", "gone"])
            .arc("on", "off", on="A")
            .arc("off", "off", "e.x = 1", on=["B", "ALL"], name="again")
            .arc("off", "gone", at_end=True)
            .arc("off", "gone", cep.count(e.each) > 2, on="ALL")
            .ignore("off", on="C", name="skip")
            .within("5 minutes")
            .simultaneous(),
            """
            AUTOMATON `on` -> off, gone
            ARC on -> off ON A ARC again: off -> off ON B, `ALL` WHEN e.x = 1
            ARC off -> gone AT END ARC off -> gone ON ALL WHEN count(e[]) > 2 IGNORE skip: off ON C
            WITHIN 5 minutes TIES SIMULTANEOUS
            """,
        ),
        (
            cep.automaton("a", final="b", register={"name": "", "final": False})
            .arc("a", "b", set={"name": e.name, "final": True})
            .same("user")
            .having(r.final)
            .returns(name=r.name, at=first.ts)
            .into("Named")
            .from_("logs"),
            """
            FROM logs AUTOMATON a -> b REGISTER name STRING = '', final BOOLEAN = FALSE
            ARC a -> b SET name = e.name, final = TRUE
            WHERE [user] HAVING r.final RETURN r.name AS name, `first`.ts AS at INTO Named
            """,
        ),
        (
            cep.automaton("a", final="b", s="x").arc("a", "b", s="'abc'").arc("a", "b", s=cep.lit("abc")),
            "AUTOMATON a -> b REGISTER s STRING = 'x' ARC a -> b SET s = 'abc' ARC a -> b SET s = 'abc'",
        ),
    ],
)
def test_that_the_tree_is_that_of_the_text(built: cep.Draft, text: str) -> None:
    assert built.program == parse(text)
    assert parse(str(built)) == built.program


VALUES = {
    "INT": 1,
    "DOUBLE": 1.5,
    "STRING": "it's",
    "BOOLEAN": True,
    "DATE": date(2024, 2, 29),
    "TIMESTAMP": datetime(2024, 2, 29, 12),
    "TIMESTAMP_LTZ": datetime(2024, 2, 29, 12, tzinfo=UTC),
    "INTERVAL": timedelta(hours=-5),
    "DECIMAL(38, 2)": Decimal("1.50"),
}


@pytest.mark.parametrize(("type_", "value"), VALUES.items())
def test_that_a_field_has_the_type_of_its_value(type_: str, value: object) -> None:
    built = cep.automaton("a", final="b", x=value).arc("a", "b")
    assert f"REGISTER x {type_} = " in str(built)
    assert str(built) == str(cep.automaton("a", final="b", x=(type_.lower(), value)).arc("a", "b"))
    for engine in ("plain", "interpreted", "reference"):
        assert cep.Query(built).match([{"ts": 1, "type": "A"}], engine=engine).to_pylist()[0]["x"] == value


def test_a_field_that_begins_as_null() -> None:
    built = cep.automaton("a", final="b", x=("double", None)).arc("a", "b", x=e.v)
    assert "REGISTER x DOUBLE = NULL" in str(built)
    assert cep.Query(built).match([{"ts": 1, "type": "A", "v": 2.5}]).to_pylist()[0]["x"] == 2.5


def test_that_it_runs() -> None:
    changes = [-0.5, -0.1, -0.2, 0.1, 0.01, 0.2, -0.1, 0.1]
    ticks = [{"ts": t, "symbol": "A", "change": change} for t, change in enumerate(changes)]
    query = cep.Query(VEES.partition_by("symbol").within("500 events"), params={"delta": 0.25, "k": 2}, type=None)
    found = [(m["match_end"], m["balance"], m["vees"]) for m in query.match(ticks).to_pylist()]
    assert found == [(4, 0, 1), (5, 0, 1), (7, 0, 2)]


NO_STATE = "write automaton('q0', final='q3') or automaton('q0', final=['q2', 'q3'])"
START = cep.automaton("a", final="b")


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        (lambda: cep.automaton("", final="b"), "'' can't be the name of a state", NO_STATE),
        (lambda: cep.automaton("a", final=[]), "[] can't be the name of a state", NO_STATE),
        (lambda: cep.automaton("a", final=["b", 3]), "3 can't be the name of a state", NO_STATE),
        (lambda: START.arc("a", None), "None can't be the name of a state", "write arc('q0', 'q1')"),
        (lambda: START.arc("a", "b", name=""), "'' can't be the name of an arc", "write name='done'"),
        (
            lambda: START.arc("a", "b", on=[]),
            "[] can't be the name of a type",
            "write on='Shelf', on=['Shelf', 'Exit'], or leave it out for events of any type",
        ),
        (lambda: START.arc("a", "b", at_end="yes"), "at_end can't be 'yes'", "pass True or False"),
        (
            lambda: START.arc("a", "b", on="A", at_end=True),
            "an arc at the end of the window takes no event",
            "leave out on=, or at_end=True",
        ),
        (
            lambda: START.arc("a", "b", True),
            "True is not a condition",
            "compare an attribute, and put each comparison in parentheses: (a.price > 1) & (b.price > 2)",
        ),
        (
            lambda: START.arc("a", "b", set=3),
            "3 is not a dict of fields",
            "write set={'name': cep.var('e').name}",
        ),
        (lambda: START.arc("a", "b", set={"x": 1}, x=2), "the field 'x' is given twice", "keep one of them"),
        (
            lambda: cep.automaton("a", final="b", x=None),
            "the type of the field 'x' can't be known from None",
            "pass a value of its type, x=0, or the type and the value: x=('DOUBLE', None)",
        ),
        (
            lambda: cep.automaton("a", final="b", x=("DOUBLE",)),
            "('DOUBLE',) is not a type and a value",
            "write price=('DOUBLE', None)",
        ),
        (
            lambda: cep.automaton("a", final="b", x=("DUOBLE", 1)),
            "'DUOBLE' is not a type",
            "did you mean 'DOUBLE'?",
        ),
        (
            lambda: cep.seq(START, cep.event("A")),
            "an automaton can't be a part of seq",
            "write its matches into a stream, returns(…).into('Vee'), and read that: cep.event('Vee', 'a')",
        ),
    ],
)
def test_misuse(wrong: Callable[[], object], message: str, remedy: str) -> None:
    with pytest.raises(cep.UsageError) as error:
        wrong()
    assert (error.value.code, error.value.message, error.value.remedy) == ("CEP604", message, remedy)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("e.x >", "CEP102", 6),
        ("(e.x = 1", "CEP102", 1),
        ("e.x = 'a", "CEP103", 7),
        ("", "CEP102", 1),
        ("e.x = 1 SET y = 2", "CEP101", 1),
        ("e.x = 1 WITHIN 5 seconds", "CEP101", 1),
        ("e.x = 1; PATTERN A a", "CEP101", 1),
    ],
)
def test_that_text_is_one_expression(text: str, code: str, place: int) -> None:
    with pytest.raises(cep.ParseError) as error:
        START.arc("a", "b", text)
    assert (error.value.code, error.value.column) == (code, place)
    assert error.value.span is not None
    assert error.value.span.text == text


def test_that_arcs_come_before_clauses() -> None:
    with pytest.raises(AttributeError, match="add arcs to cep"):
        START.arc("a", "b").within("5 events").arc("b", "b")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "built",
    [
        lambda: START.arc("a", "b").where(e.x > 1),
        lambda: START.arc("a", "b").longest(),
        lambda: START.arc("a", "b").strategy("strict_contiguity"),
    ],
)
def test_what_does_not_go_with_an_automaton(built: Callable[[], cep.Draft]) -> None:
    with pytest.raises(cep.PatternError) as error:
        cep.Query(built())
    assert error.value.code == "CEP224"
