"""CESAR expressions: text to tree, on exact values; and the errors of texts that are none."""

import pytest

from cepheid import ParseError
from cepheid.language import parse, print_program
from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Item,
    Iterate,
    Let,
    Named,
    Project,
    Rename,
    Renaming,
    Select,
    Term,
    Then,
    Union,
)
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.nodes import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Element,
    Expression,
    Field,
    Index,
    Literal,
    Name,
)
from cepheid.pattern.tree.nodes import EventPattern, QueryTree

TRUE = Literal(True, types.BOOL)
A, B, C, S = Named("A"), Named("B"), Named("C"), Named("S")


def of(stream: str, name: str) -> Attribute:
    return Attribute(stream, Index.ONE, name)


def one(value: int) -> Literal:
    return Literal(value, types.INT)


X_OVER_1 = Compare(">", Name("x"), one(1))


def read(text: str) -> Algebra:
    (query,) = parse(text).queries
    assert query == QueryTree(query.pattern)
    assert isinstance(query.pattern, Algebra)
    return query.pattern


def term(text: str) -> Term:
    return read(f"CESAR {text}").term


def defined(text: str) -> object:
    """What LET x := text gives."""
    (let,) = read(f"CESAR LET x := {text}\nS").lets
    assert let.names == ("x",)
    return let.value


def condition(text: str) -> Expression:
    found = term(f"SELECT[{text}](S)")
    assert isinstance(found, Apply)
    assert isinstance(found.operator, Select)
    return found.operator.condition


def test_the_example_of_the_issue() -> None:
    (query,) = parse("""
        CESAR
          LET S1, S2 := Stock                        -- named copies of a stream
          LET same   := S1.name = S2.name
          LET rising := S2.price > S2.price.last
          SELECT[DUR >= 30 minutes]( ITERATE[SELECT[rising], same](S1, S2) )
          INTO Rise
    """).queries
    price = of("S2", "price")
    rise = Iterate(Named("S1"), Named("S2"), Name("same"), (Select(Name("rising")),))
    length = Literal(30 * 60 * 10**9, types.duration("us"))
    assert query == QueryTree(
        Algebra(
            (
                Let(("S1", "S2"), Named("Stock")),
                Let(("same",), Compare("=", of("S1", "name"), of("S2", "name"))),
                Let(("rising",), Compare(">", price, Field(price, "last"))),
            ),
            Apply(Select(Compare(">=", Name("DUR"), length)), rise),
        ),
        into="Rise",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", A),
        ("(A)", A),
        ("`my type`", Named("my type")),
        ("SELECT[x > 1](A)", Apply(Select(X_OVER_1), A)),
        ("select [x > 1] (A)", Apply(Select(X_OVER_1), A)),
        ("σ[x > 1](A)", Apply(Select(X_OVER_1), A)),
        ("PROJECT[a, S.b, E.S.c](A)", Apply(Project((Name("a"), of("S", "b"), Field(of("E", "S"), "c"))), A)),
        ("PROJECT[](A)", Apply(Project(()), A)),
        ("π[a](A)", Apply(Project((Name("a"),)), A)),
        ("RENAME[a -> b, S.c → d](A)", Apply(Rename((Renaming(Name("a"), "b"), Renaming(of("S", "c"), "d"))), A)),
        ("ρ[(a, b) ↦ (b, a)](A)", Apply(Rename((Renaming(Name("a"), "b"), Renaming(Name("b"), "a"))), A)),
        ("ADD[n := 1, AVG -> x](A)", Apply(Add((Item("n", one(1)), Item("AVG", Name("x")))), A)),
        ("α[n ↦ 1](A)", Apply(Add((Item("n", one(1)),)), A)),
        ("A UNION B", Union(A, B)),
        ("A ∪ B union C", Union(Union(A, B), C)),
        ("THEN[x > 1](A, B)", Then(A, B, X_OVER_1)),
        ("A ;[x > 1] B", Then(A, B, X_OVER_1)),
        ("A ;_{x > 1} B", Then(A, B, X_OVER_1)),
        ("A ; -- next\n [x > 1] B", Then(A, B, X_OVER_1)),
        ("A ;_c B", Then(A, B, Name("c"))),
        ("A ;θ4 B", Then(A, B, Name("θ4"))),
        ("A ; B ; C", Then(Then(A, B, TRUE), C, TRUE)),
        ("A ;[TRUE] (B ; C)", Then(A, Then(B, C, TRUE), TRUE)),
        ("A ; /* and */ σ_c(B)", Then(A, Apply(Select(Name("c")), B), TRUE)),
        ("A UNION B ; C", Union(A, Then(B, C, TRUE))),
        ("(A UNION B) ; C", Then(Union(A, B), C, TRUE)),
        ("ITERATE[c, d](A, B)", Iterate(A, B, Name("d"), (Select(Name("c")),))),
        ("ITERATE[x > 1, TRUE](A, B)", Iterate(A, B, TRUE, (Select(X_OVER_1),))),
        ("ITERATE[(x) > 1, TRUE](A, B)", Iterate(A, B, TRUE, (Select(X_OVER_1),))),
        ("μ[ID, d](A, B)", Iterate(A, B, Name("d"))),
        (
            "μ[ρ[a -> b] ∘ ADD[n := 1] . σ[c], d](A, B)",
            Iterate(
                A, B, Name("d"), (Select(Name("c")), Add((Item("n", one(1)),)), Rename((Renaming(Name("a"), "b"),)))
            ),
        ),
        ("μ_{σ_{θ2}, θ1}(A, B)", Iterate(A, B, Name("θ1"), (Select(Name("θ2")),))),
        ("σ_{c} ∘ μ_{ID, d}(A, B)", Apply(Select(Name("c")), Iterate(A, B, Name("d")))),
        ("π_{a} ∘ σ_{c}(S)", Apply(Project((Name("a"),)), Apply(Select(Name("c")), S))),
        ("(π[a] . σ[c])(S)", Apply(Project((Name("a"),)), Apply(Select(Name("c")), S))),
        ("(σ[c](S))", Apply(Select(Name("c")), S)),
        ("σθ1(S)", Apply(Select(Name("θ1")), S)),
        # Words of the language are names where they can't be words of it.
        ("SELECT[id = 1 AND add > 1](A)", Apply(Select(condition("id = 1 AND add > 1")), A)),
        ("select ; add", Then(Named("select"), Named("add"), TRUE)),
        ("`UNION` UNION `into`", Union(Named("UNION"), Named("into"))),
    ],
)
def test_streams(text: str, expected: Term) -> None:
    assert term(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", A),
        ("A -- a stream\n", A),
        ("(A)", A),
        ("DUR", Named("DUR")),
        ("(A ; B)", Then(A, B, TRUE)),
        ("A UNION B", Union(A, B)),
        ("σ[c](A)", Apply(Select(Name("c")), A)),
        ("TRUE", TRUE),
        ("1", one(1)),
        ("(x > 1)", X_OVER_1),
        ("x > 1", X_OVER_1),
        ("x\n > 1", X_OVER_1),
        ("x > 10,000", Compare(">", Name("x"), one(10000))),
        ("(x > 10,000)", Compare(">", Name("x"), one(10000))),
        ("A.b.last", Field(of("A", "b"), "last")),
        ("a -> b, c ↦ d", (Renaming(Name("a"), "b"), Renaming(Name("c"), "d"))),
        ("(a, c) ↦ (b, d)", (Renaming(Name("a"), "b"), Renaming(Name("c"), "d"))),
        ("a ↦ 1, c ↦ d", (Item("a", one(1)), Item("c", Name("d")))),
        ("a := b", (Item("a", Name("b")),)),
    ],
)
def test_definitions(text: str, expected: object) -> None:
    assert defined(text) == expected
    assert read(f"CESAR LET x ≡ {text} LET y := A\n(S)").lets[0].value == expected


@pytest.mark.parametrize(
    "value", ["1", "x > 1", "S.y", "x > y", "a -> b", "n := 1", "f(x) > y", "'a;b' = x", "A", "(A)"]
)
@pytest.mark.parametrize(
    "stream", ["S", "(S ; A)", "S UNION A", "(A ∪ B) ; C", "(σ[c](S) ;[d] A)", "SELECT[x > 1](S) ; A"]
)
def test_that_the_stream_may_stand_on_the_line_of_a_definition(value: str, stream: str) -> None:
    assert read(f"CESAR LET x := {value} {stream}") == read(f"CESAR LET x := {value}\n{stream}")


def test_that_a_list_is_named_before_or_after_its_use() -> None:
    found = read("CESAR LET E := ρ_{f}(S) LET f := a -> b LET g := a -> b α_g(E)")
    assert found.lets == (
        Let(("E",), Apply(Rename((Renaming(Name("a"), "b"),)), S)),
        Let(("f",), (Renaming(Name("a"), "b"),)),
        Let(("g",), (Item("a", Name("b")),)),
    )
    assert found.term == Apply(Add((Item("a", Name("b")),)), Named("E"))


def test_what_papers_leave_out() -> None:
    middle, low = of("E_4", "price"), Arithmetic("*", Literal(0.9, types.FLOAT), of("E_2", "price"))
    high = Arithmetic("*", Literal(1.1, types.FLOAT), of("E_2", "price"))
    chain = And((Compare("<=", low, middle), Compare("<=", middle, high)))
    assert condition("0.9E_2.price <= E_4.price <= 1.1 E_2.price") == chain
    assert condition("(0.9E_2.price <= E_4.price <= 1.1 E_2.price)") == chain
    assert condition("a = 1 AND 1 < x < 2") == condition("a = 1 AND 1 < x AND x < 2")
    assert condition("1 < f(x, y) <= (2) < z") == condition("1 < f(x, y) AND f(x, y) <= (2) AND (2) < z")
    assert condition("tags[0] = 'x'") == Compare("=", Element(Name("tags"), one(0)), Literal("x", types.STRING))


def test_programs() -> None:
    text = "CESAR A ; B INTO X; EVENT X x -- ; CESAR\n; cesar X; FROM X EVENT X y ; CESAR A"
    first, second, third, fourth, fifth = parse(text).queries
    assert first == QueryTree(Algebra((), Then(A, B, TRUE)), into="X")
    assert second == QueryTree(EventPattern(("X",), "x"))
    assert third == QueryTree(Algebra((), Named("X")))
    assert fourth.pattern == EventPattern(("X",), "y")
    assert fifth == QueryTree(Algebra((), A))
    assert parse("CESAR A ;").queries == (QueryTree(Algebra((), A)),)
    assert parse("EVENT A a;\n/* CESAR */ CESAR A").queries[1] == QueryTree(Algebra((), A))


def test_that_the_words_are_names_in_other_queries() -> None:
    (query,) = parse(
        "PATTERN SEQ(Cesar a, Union+ let[]) WHERE a.select = 1 AND let[1].add > a.id AND let[].dur > 1 RETURN a.into"
    ).queries
    assert [event.types for event in query.pattern.parts[:1]] == [("Cesar",)]  # type: ignore[attr-defined]
    assert len(query.where) == 3


@pytest.mark.parametrize(
    ("text", "place", "message", "remedy"),
    [
        ("CESAR", "", "there is no stream after CESAR", "write a stream"),
        ("CESAR LET S1 := Stock", "", "after the LETs there is no stream", "write a stream"),
        ("CESAR LET S1 := Stock INTO X", "INTO", "after the LETs there is no stream", "write a stream"),
        ("CESAR LET S1 = Stock S1", "=", "unexpected '='", "write := after the name"),
        ("CESAR LET S1 Stock S1", "Stock", "unexpected 'Stock'", "expected ':='"),
        ("CESAR LET := Stock S1", ":=", "unexpected ':='", "write a name and its value"),
        ("CESAR LET f(x) := A f", "(", "unexpected '('", "a LET has no parameters"),
        ("CESAR LET x := A; LET y := B x", ";", "unexpected ';'", "LETs need nothing between them"),
        ("CESAR SELECT c (E)", "SELECT", "SELECT needs brackets", "write SELECT[price > 10](S)"),
        ("CESAR SELECT(c)(E)", "SELECT", "SELECT needs brackets", "write SELECT[price > 10](S)"),
        ("CESAR SELECT{c}(E)", "SELECT", "SELECT needs brackets", "write SELECT[price > 10](S)"),
        ("CESAR σ(E)", "σ", "σ has no brackets", "write σ[price > 10](S)"),
        ("CESAR SELECT[c] E", "E", "unexpected 'E'", "write the stream in parentheses"),
        ("CESAR SELECT[c(E)", "[", "the bracket is not closed", "add ']'"),
        ("CESAR SELECT[c > 1](E", "(", "the parenthesis is not closed", "add ')'"),
        ("CESAR SELECT[c > ](E)", "]", "unexpected ']'", "a value is missing"),
        ("CESAR SELECT[](E)", "SELECT[", "the condition of SELECT is missing", "write TRUE"),
        ("CESAR SELECT[a b](E)", "b", "unexpected 'b'", "combine conditions with AND"),
        ("CESAR SELECT[a > 3 mnutes](E)", "mnutes", "unexpected 'mnutes'", "did you mean minutes?"),
        ("CESAR SELECT * FROM Stock", "SELECT", "this SELECT is SQL's", "the condition stands in brackets"),
        ("CESAR SELECT name FROM Stock", "SELECT", "this SELECT is SQL's", "the condition stands in brackets"),
        ("CESAR SELET[c](E)", "SELET", "unknown operator 'SELET'", "did you mean SELECT?"),
        ("CESAR FILTER[c](E)", "FILTER", "unknown operator 'FILTER'", "did you mean SELECT?"),
        ("CESAR SEQ(A, B)", "SEQ", "unknown operator 'SEQ'", "did you mean THEN?"),
        ("CESAR MERGE[c](E)", "MERGE", "unknown operator 'MERGE'", "the operators are SELECT, PROJECT"),
        ("CESAR price > 10", "price", "this is a condition or a value, and a stream must", "write the condition in"),
        ("CESAR 10", "10", "unexpected '10'", "this is a value, and a stream must stand here"),
        ("CESAR Stock-A", "Stock-A", "this is a difference", "write a name with a dash in back quotes: `Stock-A`"),
        ("CESAR THEN[c](A)", "(A)", "THEN takes two streams, not 1", "write THEN["),
        ("CESAR ITERATE[c](A, B)", "]", "unexpected ']'", "ITERATE has a condition for each step, and one"),
        ("CESAR ITERATE[c, d](A)", "(A)", "ITERATE takes two streams, not 1", "write ITERATE["),
        ("CESAR ITERATE[THEN[c], d](A, B)", "THEN[c]", "a step of ITERATE has no THEN", "use SELECT, RENAME and ADD"),
        ("CESAR SELECT[c](A, B)", "(A, B)", "the operator takes one stream, not 2", "combine them by UNION or ;"),
        ("CESAR A B", "B", "unexpected 'B'", "combine two streams by UNION or ;[condition]"),
        ("CESAR A, B", ",", "unexpected ','", "two streams are the operands of THEN"),
        ("CESAR A UNON B", "UNON", "unexpected 'UNON'", "did you mean UNION?"),
        ("CESAR A | B", "|", "unexpected '|'", "write UNION"),
        ("CESAR A WHERE x > 1", "WHERE", "unexpected 'WHERE'", "write the condition around the stream"),
        ("CESAR A WITHIN 5 hours", "WITHIN", "unexpected 'WITHIN'", "SELECT[DUR <= 10 minutes](S)"),
        ("CESAR A INTO", "", "unexpected end of the query", "write the name of the new stream"),
        ("CESAR A)", ")", "unexpected ')'", "there is no opening bracket for it"),
        ("CESAR (A", "(", "the parenthesis is not closed", "add ')'"),
        ("CESAR A ;[ B", "[", "the bracket is not closed", "add ']'"),
        ("CESAR A UNION", "", "unexpected end of the query", "write a stream"),
        ("CESAR SELECT[c] . S", "S", "unexpected 'S'", "compose operators"),
        ("CESAR RENAME[a](S)", "RENAME[a]", "RENAME has a name only", "write the old name and the new one"),
        ("CESAR LET f := a -> b RENAME[g](S)", "RENAME[g]", "RENAME has a name only", "the lists are: f"),
        ("CESAR RENAME[a := b](S)", ":=", "RENAME has no :=", "write the old name first"),
        ("CESAR RENAME[a AS b](S)", "AS", "unexpected 'AS'", "write the old name and the new one"),
        ("CESAR RENAME[a -> b.c](S)", "b.c", "a new name is one word", "write it without a dot"),
        ("CESAR RENAME[(a, b) -> (c)](S)", "(a, b) -> (c)", "2 names on the left, and 1", "write one new name for"),
        ("CESAR ADD[n = 1](S)", "=", "unexpected '='", "write the new name and its value"),
        ("CESAR ADD[1 AS n](S)", "1", "unexpected '1'", "write the new name and its value"),
        ("CESAR PROJECT[a + b](S)", "+", "unexpected '+'", "expected ',' or ']'"),
        ("CESAR PROJECT[a -> b](S)", "->", "unexpected '->'", "PROJECT only keeps attributes"),
        ("CESAR SELECT[NOT a < b < c](S)", "<", "unexpected '<'", "combine two comparisons with AND"),
        ("CESAR SELECT[a = 'x](S)", "'", "the quote is not closed", "add the closing quote"),
        ("CESAR /* x", "/*", "the comment is not closed", "close it with */"),
        ("CESAR A; EVNT A a", "EVNT", "unexpected 'EVNT'", "did you mean EVENT?"),
        ("CESER A", "CESER", "unexpected 'CESER'", "did you mean CESAR?"),
        ("σ[x > 1](A)", "σ", "unexpected 'σ'", "write CESAR before an expression of streams"),
        ("EVENT A a WHERE a. > 1; CESAR A", ">", "unexpected '>'", "expected a name"),
    ],
)
def test_errors(text: str, place: str, message: str, remedy: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert error.span is not None
    assert error.span.text == text
    assert error.span.excerpt == place
    assert error.message.startswith(message)
    assert remedy in error.remedy
    assert str(error)


def test_that_deep_nesting_is_refused() -> None:
    for text in ("σ[c](" * 120 + "A" + ")" * 120, " UNION ".join(["A"] * 120), " ; ".join(["A"] * 120)):
        with pytest.raises(ParseError) as caught:
            parse(f"CESAR {text}")
        assert caught.value.code == "CEP104"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("cesar  a", "CESAR a"),
        ("CESAR A into X", "CESAR A INTO X"),
        ("CESAR LET x := 1 A INTO X", "CESAR\n  LET x := 1\n  A\n  INTO X"),
        ("CESAR A ;[true] (B ; C) ;_c D", "CESAR A ; (B ; C) ;[c] D"),
        ("CESAR (A ∪ B) ;[c] C", "CESAR THEN[c](A UNION B, C)"),
        ("CESAR A ∪ (B ∪ C)", "CESAR A UNION (B UNION C)"),
        ("CESAR μ[σ[b] ∘ ρ[a ↦ b], TRUE](A, B)", "CESAR ITERATE[SELECT[b] . RENAME[a -> b], TRUE](A, B)"),
        ("CESAR μ[b, c](A, B ; C)", "CESAR ITERATE[SELECT[b], c](A, B ; C)"),
        (
            "CESAR LET f := a ↦ b LET g := n ↦ 1 ρ_f(A)",
            "CESAR\n  LET f := a -> b\n  LET g := n := 1\n  RENAME[a -> b](A)",
        ),
        ("CESAR `Union` UNION `a b`", "CESAR `Union` UNION `a b`"),
        ("CESAR A; EVENT A a", "CESAR A;\n\nPATTERN A a"),
    ],
)
def test_printing(text: str, printed: str) -> None:
    program = parse(text)
    assert print_program(program) == printed
    assert parse(printed) == program
