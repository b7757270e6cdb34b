"""CESAR expressions from Python: the tree is the text's, and misuse has a remedy that can be followed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid import UsageError
from cepheid.language import parse

S, T = cep.stream("Stock"), cep.stream("Trade")
a, b, c = S.named("S1"), S.named("S2"), S.named("S3")
same = a.name == b.name
STOCKS = "CESAR LET S1, S2 := Stock "

EXAMPLES: dict[str, tuple[cep.Stream, str]] = {
    "a stream": (S, "CESAR Stock"),
    "named": (a, "CESAR LET S1 := Stock S1"),
    "where": (S.where(S.price > 10, S.name == "IBM"), "CESAR SELECT[price > 10 AND name = 'IBM'](Stock)"),
    "project": (S.project("name", "S1.price", "E.S1.price"), "CESAR PROJECT[name, S1.price, E.S1.price](Stock)"),
    "project columns": (a.project(a.price, S.name), "CESAR LET S1 := Stock PROJECT[S1.price, name](S1)"),
    "only times": (S.project(), "CESAR PROJECT[](Stock)"),
    "rename": (S.rename(price="maxP", name="who"), "CESAR RENAME[price -> maxP, name -> who](Stock)"),
    "rename pairs": (
        a.rename((a.price, "p"), ("S1.name", "n")),
        "CESAR LET S1 := Stock RENAME[S1.price -> p, S1.name -> n](S1)",
    ),
    "add": (S.add(n=1, total=S.price * S.vol), "CESAR ADD[n := 1, total := price * vol](Stock)"),
    "add pairs": (S.add(("unit price", S.price)), "CESAR ADD[`unit price` := price](Stock)"),
    "then": (a.then(b, same), STOCKS + "S1 ;[S1.name = S2.name] S2"),
    "then the next": (a.then(b), STOCKS + "S1 ; S2"),
    "then several": (a.then(b, same, b.price > 1), STOCKS + "S1 ;[S1.name = S2.name AND S2.price > 1] S2"),
    "nested": (a.then(b.then(c)), "CESAR LET S1, S2, S3 := Stock S1 ; (S2 ; S3)"),
    "union": (S.where(S.x > 1) | T | S, "CESAR SELECT[x > 1](Stock) UNION Trade UNION Stock"),
    "into": (a.then(b).into("Pairs"), STOCKS + "S1 ; S2 INTO Pairs"),
    "iterate": (
        cep.iterate(a, b, next=same, keep=b.price > b.price.last),
        STOCKS + "ITERATE[S2.price > S2.price.last, S1.name = S2.name](S1, S2)",
    ),
    "iterate over all": (cep.iterate(a, b), STOCKS + "ITERATE[ID, TRUE](S1, S2)"),
    "iterate with steps": (
        cep.iterate(a.add(n=1), b, keep=[b.x > 1, cep.add(n=S.n.last + 1), cep.rename(vol="v")]),
        STOCKS + "ITERATE[ρ[vol ↦ v] ∘ α[n ↦ n.last + 1] ∘ σ[S2.x > 1], TRUE](ADD[n := 1](S1), S2)",
    ),
    "one step": (cep.iterate(a, b, keep=cep.add(n=1)), STOCKS + "ITERATE[ADD[n := 1], TRUE](S1, S2)"),
    "the issue": (
        cep.iterate(a, b, next=same, keep=b.price > b.price.last).where(cep.duration >= "30 minutes"),
        STOCKS + "SELECT[DUR >= 30 minutes](ITERATE[SELECT[S2.price > S2.price.last], S1.name = S2.name](S1, S2))",
    ),
    "a duration": (S.where(cep.duration < timedelta(seconds=5)), "CESAR SELECT[DUR < 5 seconds](Stock)"),
    "ticks": (S.where(cep.duration != 5), "CESAR SELECT[DUR != 5](Stock)"),
    "a duration on the left": (S.where(cep.duration < "5 min"), "CESAR SELECT[DUR < 5 minutes](Stock)"),
    "durations": (S.where(cep.duration.between("1 s", "1 h")), "CESAR SELECT[DUR BETWEEN 1 second AND 1 hour](Stock)"),
    "a parameter": (S.where(S.price > cep.param("low")), "CESAR SELECT[price > low](Stock)"),
    "the name of a method": (a.where(a["where"] > a["_x"]), "CESAR LET S1 := Stock SELECT[S1.where > S1._x](S1)"),
    "an odd name": (cep.stream("my stock").named("union"), "CESAR LET union := `my stock` `union`"),
}

top = a.then(b, same).where(b.price > a.price).named("Up")
E1, E2 = top.named("E1"), top.named("E2")
EXAMPLES["resubscription"] = (
    E1.then(E2, E1.S1.price < E2.S2.price),
    STOCKS + "LET Up_ := SELECT[S2.price > S1.price](S1 ;[S1.name = S2.name] S2)\nLET Up := Up_ LET E1, E2 := Up "
    "E1 ;[E1.S1.price < E2.S2.price] E2",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_that_a_stream_is_the_tree_of_its_text(name: str) -> None:
    stream, text = EXAMPLES[name]
    assert stream.program == parse(text)
    assert parse(str(stream)) == stream.program
    assert cep.Query(stream).text == cep.Query(text).text == str(stream)


def test_programs() -> None:
    rises = a.then(b, same).into("Rise")
    program = cep.program(rises, cep.event("Rise", "r").from_(cep.stream("Rise")))
    assert program == parse(STOCKS + "S1 ;[S1.name = S2.name] S2 INTO Rise; FROM Rise EVENT Rise r")


def streams() -> st.SearchStrategy[cep.Stream]:
    """Streams by all methods."""
    leaves = st.sampled_from([S, T, a, b, c, top, E1, cep.stream("a b")])
    tests = st.sampled_from([same, b.price > 1, cep.duration >= "5 s", ~(S.x < 2) | (b.x.last == 1), S.x.is_in([1, 2])])
    steps = st.sampled_from([cep.add(n=1), cep.rename(x="y"), same])

    def larger(inner: st.SearchStrategy[cep.Stream]) -> st.SearchStrategy[cep.Stream]:
        return st.one_of(
            st.builds(cep.Stream.where, inner, tests),
            st.builds(cep.Stream.project, inner, st.sampled_from(["x", "S1.x", a.y])),
            st.builds(lambda of: of.rename(x="y"), inner),
            st.builds(lambda of, test: of.add(n=test), inner, tests),
            st.builds(cep.Stream.then, inner, inner, tests),
            st.builds(cep.Stream.then, inner, inner),
            st.builds(lambda left, right: left | right, inner, inner),
            st.builds(
                lambda left, right, test, keep: cep.iterate(left, right, next=test, keep=keep),
                *(inner, inner, tests, st.none() | tests | st.lists(steps, max_size=2)),
            ),
        )

    return st.recursive(leaves, larger, max_leaves=5)


@given(streams(), st.sampled_from([None, "Out", "into"]))
def test_that_what_is_built_prints_and_parses(stream: cep.Stream, into: str | None) -> None:
    built = stream if into is None else stream.into(into)
    read = parse(str(built))
    assert read == built.program
    assert read.queries == (built._query,)


NO_CONDITION = "compare an attribute, and put each comparison in parentheses: (a.price > 1) & (b.price > 2)"


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        (lambda: cep.stream(""), "'' can't be the name of a stream", "write cep.stream('Stock')"),
        (lambda: cep.stream(S), "<CESAR Stock> can't be the name of a stream", "write cep.stream('Stock')"),
        (lambda: a.then("Stock"), "'Stock' is not a stream: then takes two", "write cep.stream('Stock')"),
        (lambda: a | "Stock", "'Stock' is not a stream: | takes two", "write cep.stream('Stock')"),
        (lambda: a.then(None), "None is not a stream: then takes two", "write a stream, such as cep.stream('Stock')"),
        (
            lambda: cep.iterate(a, cep.event("A", "a")),
            "<PATTERN A a> is not a stream: iterate takes two",
            "write its matches into a stream, returns(…).into('Rise'), and read that: cep.stream('Rise')",
        ),
        (lambda: cep.iterate(a, b, nxt=same), "iterate has no argument 'nxt'", "did you mean 'next'?"),
        (lambda: cep.iterate(a, b, on=same), "iterate has no argument 'on'", "the arguments are: keep, next"),
        (lambda: cep.iterate(a, b, next="x > 1"), "'x > 1' is not a condition", NO_CONDITION),
        (lambda: cep.iterate(a, b, keep=True), "True is not a condition", NO_CONDITION),
        (lambda: cep.iterate(a, b, keep=[S]), "<CESAR Stock> is not a condition", NO_CONDITION),
        (lambda: a.then(b, "x"), "'x' is not a condition", NO_CONDITION),
        (lambda: S.where(), "where() needs an argument", "pass at least one: where(a.price > 1)"),
        (
            lambda: S.where((a.x > 1) and (b.x > 1)),
            "a query condition has no truth value in Python",
            "use & | ~ instead of and, or, not, and (1 < x) & (x < 5) instead of 1 < x < 5",
        ),
        (
            lambda: a or b,
            "a stream has no truth value in Python",
            "use | for the union of two streams, and a.then(b)",
        ),
        (
            lambda: list(a),
            "a stream can't be iterated over",
            "make a query of it: cep.Query(stream).match(events)",
        ),
        (lambda: S.rename(), "rename() needs an attribute", "pass at least one: rename(price='maxP')"),
        (lambda: S.add(), "add() needs an attribute", "pass at least one: add(n=1)"),
        (
            lambda: S.rename(price=3),
            "3 can't be the name of an attribute",
            "write the old name and the new one: rename(price='maxP')",
        ),
        (lambda: S.rename("price"), "'price' is not a pair", "write rename((a.price, 'maxP'))"),
        (
            lambda: S.add({"n": 1}),
            "a dict is not a pair",
            "write add(('unit price', a.price)), or pass it as keyword arguments: **{…}",
        ),
        (lambda: S.project(3), "3 can't be the name of an attribute", "write project('name', 'price')"),
        (
            lambda: S.project(S.x + 1),
            "<Column x + 1> is no attribute",
            "add it first: stream.add(total=…).project('total')",
        ),
        (lambda: S[3], "3 can't be the name of an attribute", "write a.price or a['price']"),
        (
            lambda: cep.duration > "soon",
            "'soon' is not a length of time",
            "write cep.duration >= '30 minutes', or a timedelta",
        ),
        (lambda: a.then(T.named("S1")), "two streams are called 'S1'", "rename one of them by named('…')"),
        (lambda: S.named("Stock"), "a stream 'Stock' is already called so", "choose another name: S.named('S1')"),
        (
            lambda: S.into("X").then(b),
            "a stream with into('X') can't be a part of another one",
            "read it by its name: cep.stream('X'), and put both queries into cep.program(…)",
        ),
        (lambda: cep.add(n=1)(S), "cep.add(…) is a step of iterate", "write the stream first: stream.add(…)"),
        (
            lambda: cep.event("A", "a").from_(a),
            "<CESAR LET S1 := Stock S1> can't be the name of a stream",
            "write from_('Alert')",
        ),
        (lambda: str(deep()), "the query is nested more than 100 levels deep", "split it into simpler conditions"),
    ],
)
def test_misuse(wrong: Callable[[], object], message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        wrong()
    assert (raised.value.code, raised.value.message, raised.value.remedy) == ("CEP604", message, remedy)


def deep() -> cep.Stream:
    found = S
    for _ in range(120):
        found = found.project("x")
    return found


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: S.match([]), r"make a query of it, cep.Query\(stream\).match\(…\)"),
        (
            lambda: S.within("5 minutes"),
            r"no clause 'within': write where\(cep.duration <= '10 minutes'\)",
        ),
        (lambda: S._x, r"write \['_x'\]"),
    ],
)
def test_attributes_that_streams_do_not_have(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        wrong()
