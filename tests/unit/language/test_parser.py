"""Text to tree, on exact values; and the errors of texts that are none."""

import pytest

from cepheid import CepheidError, ParseError
from cepheid.language import parse, print_program
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.nodes import (
    AggregateCall,
    And,
    Arithmetic,
    Attribute,
    Compare,
    Expression,
    Index,
    InSet,
    Length,
    Literal,
    Minus,
    Name,
    Not,
    Or,
    SameValue,
)
from cepheid.pattern.tree.nodes import (
    AnyOrder,
    Either,
    EventPattern,
    FromStream,
    Maybe,
    Negation,
    Output,
    PatternTree,
    QueryTree,
    Repeat,
    ReturnItem,
    Selection,
    Seq,
    Strategy,
    Ties,
    Window,
)


def pattern(text: str) -> PatternTree:
    return parse(f"PATTERN {text}").queries[0].pattern


def where(text: str) -> tuple[Expression, ...]:
    return parse(f"PATTERN SEQ(A+ a[], B b) WHERE {text}").queries[0].where


def a(index: Index, name: str = "x") -> Attribute:
    return Attribute("a", index, name)


B = Attribute("b", Index.ONE, "x")
ONE = Literal(1, types.INT)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A a", EventPattern(("A",), "a")),
        ("SHELF-READING", EventPattern(("SHELF-READING",))),
        ("`Shelf 1` a", EventPattern(("Shelf 1",), "a")),
        ("ANY(A, B) c", EventPattern(("A", "B"), "c")),
        (
            "SEQ(A a, !(B b), ~C c, ¬ D)",
            Seq(
                (
                    EventPattern(("A",), "a"),
                    *map(Negation, (EventPattern(("B",), "b"), EventPattern(("C",), "c"), EventPattern(("D",)))),
                )
            ),
        ),
        ("(A a, B b)", Seq((EventPattern(("A",), "a"), EventPattern(("B",), "b")))),
        ("A+ a[]", Repeat(EventPattern(("A",), "a"), 1, None)),
        ("A+ a", Repeat(EventPattern(("A",), "a"), 1, None)),
        ("A* a[]", Repeat(EventPattern(("A",), "a"), 0, None)),
        ("A{2,4} a[]", Repeat(EventPattern(("A",), "a"), 2, 4)),
        ("A{2,} a[]", Repeat(EventPattern(("A",), "a"), 2, None)),
        ("A{2} a[]", Repeat(EventPattern(("A",), "a"), 2, 2)),
        ("A? a", Maybe(EventPattern(("A",), "a"))),
        ("A a OR B b", Either((EventPattern(("A",), "a"), EventPattern(("B",), "b")))),
        ("OR(A a, B b)", Either((EventPattern(("A",), "a"), EventPattern(("B",), "b")))),
        (
            "A a AND B b OR C c",
            Either((AnyOrder((EventPattern(("A",), "a"), EventPattern(("B",), "b"))), EventPattern(("C",), "c"))),
        ),
        ("(SEQ(A a, B b))+", Repeat(Seq((EventPattern(("A",), "a"), EventPattern(("B",), "b"))), 1, None)),
        ("SEQ(A a, B b){2}", Repeat(Seq((EventPattern(("A",), "a"), EventPattern(("B",), "b"))), 2, 2)),
    ],
)
def test_patterns(text: str, tree: PatternTree) -> None:
    assert pattern(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a[1].x = b.x", Compare("=", a(Index.FIRST), B)),
        ("a[i].x == a[i-1].x", Compare("=", a(Index.CURRENT), a(Index.PREVIOUS))),
        ("a[a.LEN].x ≠ a[].x", Compare("!=", a(Index.LAST), a(Index.EACH))),
        ("a.LEN >= b.LEN", Compare(">=", Length("a"), Attribute("b", Index.ONE, "LEN"))),
        ("a[i].x > avg(a[..i-1].x)", Compare(">", a(Index.CURRENT), AggregateCall("avg", a(Index.BEFORE)))),
        ("b.x < 80%*a[1].x", Compare("<", B, Arithmetic("*", Literal(0.8, types.FLOAT), a(Index.FIRST)))),
        ("b.x %500==0", Compare("=", Arithmetic("%", B, Literal(500, types.INT)), Literal(0, types.INT))),
        ("b.from = 'it''s'", Compare("=", Attribute("b", Index.ONE, "from"), Literal("it's", types.STRING))),
        ("b.x = ‘food’", Compare("=", B, Literal("food", types.STRING))),
        ("b.x ∈ Hi-Tech", InSet(B, "Hi-Tech")),
        ("b.x = T-1", Compare("=", B, Arithmetic("-", Name("T"), ONE))),
        ("b.x = -1", Compare("=", B, Literal(-1, types.INT))),
        ("b.x = -b.x", Compare("=", B, Minus(B))),
        ("b.x < 10 minutes", Compare("<", B, Literal(600 * 10**9, types.DURATION))),
        ("NOT b.x = 1 OR b.x = 1 ∧ b.x = 1", Or((Not(Compare("=", B, ONE)), And((Compare("=", B, ONE),) * 2)))),
    ],
)
def test_conditions(text: str, tree: Expression) -> None:
    assert where(text) == (tree,)


def test_conjuncts_are_split() -> None:
    assert where("[id, k = 1] and (b.x = 1 && b.x = 1)") == (
        SameValue("id"),
        SameValue("k", ONE),
        Compare("=", B, ONE),
        Compare("=", B, ONE),
    )


def test_keys_may_be_fields() -> None:
    assert where("[p.user.id, `p.user`, p . `x y` = 1]") == (
        SameValue("p", fields=("user", "id")),
        SameValue("p.user"),
        SameValue("p", ONE, ("x y",)),
    )
    query = parse("PATTERN A a PARTITION BY p.user, `p.user`, k WITHIN 5").queries[0]
    assert [column.path for column in query.partition_by] == [("p", "user"), ("p.user",), ("k",)]


def test_all_clauses_in_any_order() -> None:
    text = """
        from s event A a -- a comment
        ties simultaneous output non-overlap return a.x, a.x + 1 as y into N within 2 HOURS having a.x > 1
        partition by k where skip-till-next-match(a) { [id] }
    """
    query = parse(text).queries[0]
    x = Attribute("a", Index.ONE, "x")
    assert query == QueryTree(
        pattern=EventPattern(("A",), "a"),
        streams=(FromStream("s"),),
        strategies=(Selection(Strategy.NEXT, ("a",)),),
        where=(SameValue("id"),),
        partition_by=query.partition_by,
        within=Window(Literal(2, types.INT), "hours"),
        having=Compare(">", x, ONE),
        returns=(ReturnItem(x, "x"), ReturnItem(Arithmetic("+", x, ONE), "y")),
        into="N",
        output=Output.NON_OVERLAP,
        ties=Ties.SIMULTANEOUS,
    )
    assert [c.name for c in query.partition_by] == ["k"]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "remedy"),
    [
        ("", "CEP108", 1, 1, "write PATTERN"),
        ("EVENT A a WHRE a.x > 1", "CEP101", 1, 11, "did you mean WHERE?"),
        ("EVENT A a\nWHERE a.x >", "CEP102", 2, 12, "a value is missing"),
        ("EVENT A a WHERE a.x = 'b", "CEP103", 1, 23, "add the closing quote"),
        ("EVENT A a /* b", "CEP103", 1, 11, "close it with */"),
        ("PATTERN SEQ(A a B b)", "CEP101", 1, 17, "a comma"),
        ("EVENT A a WITHIN 5 fortnights", "CEP111", 1, 20, "units are"),
        ("EVENT A a WITHIN 5 hour WITHIN 6 hours", "CEP106", 1, 25, "keep one"),
        ("EVENT A+ a[] WHERE a[0].x > 1", "CEP107", 1, 21, "a[1], a[2], a[i]"),
        ("EVENT A+ a[] WHERE a[b.LEN].x > 1", "CEP107", 1, 22, "a[a.LEN]"),
        ("EVENT A+ a[] WHERE a[-1].x > 1", "CEP101", 1, 22, "a[a.LEN] the last one"),
        ("EVENT A a WITHIN 5 m", "CEP111", 1, 20, "minutes"),
        ("EVENT A a WHERE @", "CEP101", 1, 17, "params="),
        ("EVENT A{3,1} a[]", "CEP109", 1, 8, "{2,4}"),
        ("EVENT A a WHERE avg(a.x, 1) > 1", "CEP110", 1, 17, "avg(a[].price)"),
        ("EVENT A a WHERE a.x > 99999999999999999999", "CEP105", 1, 23, "decimal point"),
        ("EVENT A a WHERE a.x > 9223372036854775808", "CEP105", 1, 23, "decimal point"),
        ("EVENT A a[]", "CEP208", 1, 7, "A+ a[]"),
        ("EVENT A a RETURN a.x + 1", "CEP213", 1, 18, "AS"),
        ("PATTERN !(SEQ(A a, B b))", "CEP209", 1, 9, "!(Type b)"),
    ],
)
def test_errors(text: str, code: str, line: int, column: int, remedy: str) -> None:
    with pytest.raises(CepheidError) as error:
        parse(text)
    assert (error.value.code, error.value.line, error.value.column) == (code, line, column)
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    "text", ["(" * 500, "NOT " * 5000 + "a.x", "a.x = 1" + "+1" * 5000, "a.x = " + "- " * 5000 + "a.y"]
)
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(ParseError) as error:
        parse(f"EVENT A a WHERE {text}")
    assert error.value.code == "CEP104"


def test_brackets_in_strings_are_no_nesting() -> None:
    (condition,) = where("b.x = '" + "(" * 200 + "' /* " + "[" * 200 + " */")
    assert condition == Compare("=", B, Literal("(" * 200, types.STRING))


def test_the_smallest_integer_can_be_written() -> None:
    (condition,) = where("b.x = -9223372036854775808")
    assert condition == Compare("=", B, Literal(-(2**63), types.INT))


def test_spaces_of_copied_text() -> None:
    assert parse("\ufeffEVENT\u00a0A\u2009a\u2028WHERE\u3000a.x = 1") == parse("EVENT A a WHERE a.x = 1")


def test_printing_is_stable() -> None:
    text = (
        "PATTERN SEQ(A+ a[], B b)\nWHERE skip_till_next_match(a[], b) {\n    [id]\n    AND (a[1].x = 1 OR b.x = 2)\n}"
    )
    assert print_program(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("INTERVAL '5' MINUTE", "5 minutes"),
        ("INTERVAL 5 MINUTES", "5 minutes"),
        ("interval 1 hour 30 minutes", "90 minutes"),
        ("INTERVAL '1 hour 30 mins'", "90 minutes"),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "93784500 milliseconds"),
        ("INTERVAL '02:30' HOUR TO MINUTE", "150 minutes"),
        ("INTERVAL '-5' MINUTE", "-5 minutes"),
        ("INTERVAL -5 MINUTES", "-5 minutes"),
        ("a.x::int", "CAST(a.x AS INT)"),
        ("cast(a.x + 1 as numeric(7,2))", "CAST(a.x + 1 AS DECIMAL(7, 2))"),
        ("a.s regexp 'x'", "a.s RLIKE 'x'"),
        ("a.s not rlike 'x'", "a.s NOT RLIKE 'x'"),
        ("extract(HOUR from a.ts)", "date_part('HOUR', a.ts)"),
        ("a.interval + a.cast + a.extract", "a.interval + a.cast + a.extract"),
    ],
)
def test_that_spellings_of_spark_are_read(text: str, canonical: str) -> None:
    assert print_program(parse(f"PATTERN A a RETURN {text} AS y")) == f"PATTERN A a\nRETURN {canonical} AS y"


@pytest.mark.parametrize("unit", ["MONTH", "fortnight", "MINUTE TO HOUR", "HOUR TO SECOND"])
def test_that_an_interval_must_have_a_length(unit: str) -> None:
    with pytest.raises(ParseError, match="CEP105"):
        parse(f"PATTERN A a RETURN INTERVAL '5' {unit} AS y")


def test_that_a_window_can_be_an_interval() -> None:
    text = "PATTERN A a WITHIN INTERVAL 90 MINUTES OUTPUT ALL COOLDOWN INTERVAL '1' DAY"
    assert print_program(parse(text)) == "PATTERN A a\nWITHIN 90 minutes\nOUTPUT ALL COOLDOWN 1 day"


SLIPS = {
    "SEQ(A a, B b) RETURN a.x y": "write AS before the name of a column: RETURN … AS y",
    "SEQ(A a, B b) RETURN a.x AS x b.y AS y": "separate the columns with a comma",
    "SEQ(A a, B b) RETURN *": (
        "name the columns, RETURN a.x AS x, or the events, RETURN a AS a; without RETURN, a match has all events"
    ),
    "SEQ(A a, B b) RETURN a.x AS 'x'": "write a name as it is, or in back quotes: AS `total price`",
    "SEQ(A a, B b) RETURN a.x AS x FROM events": "name the stream first: FROM events PATTERN …",
    "SEQ(A a, B b) RETURN a.x AS x,": "remove it, or add what it should separate",
    "SEQ(A a, B b,)": "remove it, or add what it should separate",
    "SEQ(A a B b)": "separate the components with a comma: SEQ(A a, B b)",
    "SEQ(A AS a, B b)": "write the variable after the type, without AS: SEQ(A a, B b)",
    "(A B+ C)": "write a comma between the components, and the sign after the type: SEQ(A a, B+ b[])",
    "A a -> B b": "write the events in a sequence: PATTERN SEQ(A a, B b)",
    "SEQ(A a, B b WHERE a.x = 1": "add ')' before WHERE",
    "SEQ(A a, B b) WHERE (a.x = 1 WITHIN 5 minutes": "add ')' before WITHIN",
    "SEQ(A a, B b) WHERE (a.x = 1": "add ')'",
    "SEQ(A a, B b) WHERE a.x = 1)": "there is no opening bracket for it: remove it, or add '('",
    "SEQ(A+ a[], B b) RETURN count(DISTINT a[].x) AS n": "did you mean DISTINCT?",
    "SEQ(A a, B b) WHERE a.x := 1": "write = to compare: a.x = 1",
    "SEQ(A a, B b) WHERE a.x => 1": "write >=",
    "SEQ(A a, B b) WHERE a.x =! 1": "write !=",
    'SEQ(A a, B b) WHERE "a".x = 1': "double quotes make a text: write a name as it is, or in back quotes: `a`.x",
    "SEQ(A a, B b) WHERE a.s = 'it's'": "write a quote inside of a text twice: 'it''s'",
    "SEQ(A a, B b) WHERE a.x = 1, b.x = 2": "combine conditions with AND, not with a comma",
    "SEQ(A a, B b) WHERE a.x = 1 b.x = 2": "combine conditions with AND or OR: a.x = 1 AND b.x = 2",
    "SEQ(A a, B b) WHERE a.x = 1 AND AND b.x = 1": "remove it, or add a condition before AND",
    "SEQ(A a, B b) WHERE a.x IN 1, 2": (
        "write the values in parentheses: a.x IN (1, 2); or the name of a parameter: a.x IN Names"
    ),
    "SEQ(A a, B b) WHERE a.x IS 1": "write IS NULL or IS NOT NULL; compare values with = and !=",
    "SEQ(A a, B b) WHERE a.x BETWEEN 1, 2": "write BETWEEN 1 AND 2",
    "SEQ(A a, B b) WHERE CAST(a.x INT) = 2": "write AS before the type: CAST(a.x AS INT)",
    "SEQ(A a, B b) WHERE a.ts + INTERVAL 5 > b.ts": "add a unit: INTERVAL 5 MINUTES",
    "SEQ(A a, B b) WHERE a.x = 1 AND": (
        "a value is missing: write an attribute such as a.price, a number, or a text in quotes"
    ),
    "SEQ(A a, B b) WITHIN": "write a number and a unit without quotes: WITHIN 12 hours, WITHIN 500 events",
    "SEQ(A a, B b) WITHIN 5 min AND a.x = 1": (
        "conditions belong to WHERE, before WITHIN: WHERE a.x = 1 AND b.x = 2 WITHIN …"
    ),
    "SEQ(A a, B b) PARTITION user": "write PARTITION BY and the columns: PARTITION BY user_id",
}


@pytest.mark.parametrize("text", SLIPS)
def test_that_a_slip_gets_a_sentence_of_its_own(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"PATTERN {text}")
    assert caught.value.remedy == SLIPS[text]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("WHERE a.x = 1 PATTERN A a", "begin with PATTERN; the other clauses follow it"),
        ("SEQ(A a, B b)", "write PATTERN before it: PATTERN SEQ(A a, B b)"),
        ("MATCH_RECOGNIZE (PATTERN (A B+))", "begin with PATTERN: PATTERN SEQ(A a, B+ b[]) WHERE … WITHIN …"),
    ],
)
def test_that_a_query_begins_with_pattern(text: str, remedy: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.remedy == remedy
