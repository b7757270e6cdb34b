"""Wrong Python arguments: one class, one code, and a remedy that can be followed."""

import operator
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest

from cepheid import PatternError, Query, UsageError
from cepheid import builder as cep

a, b = cep.var("a"), cep.var("b")
A, B = cep.event("A", "a"), cep.event("B", "b")
NO_CONDITION = "compare an attribute, and put each comparison in parentheses: (a.price > 1) & (b.price > 2)"
TRUTH = "use & | ~ instead of and, or, not, and (1 < x) & (x < 5) instead of 1 < x < 5"
NO_TRUTH = "a query condition has no truth value in Python"
NO_WINDOW = "write a number and a unit: within('12 hours'), within('500 events')"
NO_TYPE = "write event('Shelf', 'a') or event(['Shelf', 'Exit'], 'a')"
NO_ATTRIBUTE = "write a.price or a['price'], and a.first.price for a[1].price"
NO_LIST = "pass a list with at least one value, or cep.param('Name') for a set parameter"
NO_LITERAL = "write cep.param('x') and pass the value with cep.Query(…, params={'x': …})"
NO_VALUE = (
    "use an attribute such as cep.var('a').price, or pass a number of at most 64 bits, a string, a boolean, "
    "a date, a datetime, a timedelta or None"
)


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        (lambda: cep.event(""), "'' can't be the name of a type", NO_TYPE),
        (lambda: cep.event([]), "[] can't be the name of a type", NO_TYPE),
        (lambda: cep.event(["A", 3]), "3 can't be the name of a type", NO_TYPE),
        (lambda: cep.event(b"A"), "b'A' can't be the name of a type", NO_TYPE),
        (lambda: cep.event("A", ""), "'' can't be the name of a variable", "write 'a' or cep.var('a')"),
        (lambda: cep.event("A", a.first), "<a[1]> can't be the name of a variable", "write 'a' or cep.var('a')"),
        (
            lambda: cep.seq(),
            "seq() needs a pattern",
            "write seq(cep.event('Shelf', 'a'), cep.event('Exit', 'b'))",
        ),
        (lambda: cep.either("A"), "'A' is not a pattern", "write a pattern, such as cep.event('Shelf', 'a')"),
        (lambda: A | 3, "3 is not a pattern", "write a pattern, such as cep.event('Shelf', 'a')"),
        (
            lambda: cep.seq(A.where(a.x > 1), B),
            "<PATTERN A a WHERE a.x > 1> has clauses and can't be a part of seq",
            "add clauses such as where and within to the outermost pattern",
        ),
        (
            lambda: A or B,
            "a pattern has no truth value in Python",
            "use | or cep.either(…) instead of or, cep.any_order(…) instead of and, ~ instead of not",
        ),
        (
            lambda: A.times(3, 1),
            "times(3, 1) is not a range of repetitions",
            "write times(2), or times(2, 4) with the smaller number first",
        ),
        (
            lambda: A.times(0),
            "times(0, 0) is not a range of repetitions",
            "write times(2), or times(2, 4) with the smaller number first",
        ),
        (lambda: A.times(2.0), "2.0 is not a number of repetitions", "pass a whole number, 0 or more"),
        (lambda: A.at_least(-1), "-1 is not a number of repetitions", "pass a whole number, 0 or more"),
        (lambda: A.at_least(True), "True is not a number of repetitions", "pass a whole number, 0 or more"),
    ],
)
def test_patterns(wrong: Callable[[], object], message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        wrong()
    assert (raised.value.code, raised.value.message, raised.value.remedy) == ("CEP604", message, remedy)


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        (lambda: A.where(), "where() needs an argument", "pass at least one: where(a.price > 1)"),
        (lambda: A.where("a.x > 1"), "'a.x > 1' is not a condition", NO_CONDITION),
        (lambda: A.where(a.first == 3), "False is not a condition", NO_CONDITION),
        (lambda: A.having(a), "<a> is not a condition", NO_CONDITION),
        (lambda: A.same(), "same() needs an argument", "pass at least one: same('tag_id')"),
        (lambda: A.same(a.x), "<Column a.x> can't be the name of an attribute", "write same('tag_id')"),
        (lambda: A.within(5), "within(5) has no unit", "write within('5 hours')"),
        (lambda: A.longest(5), "longest(cooldown=5) has no unit", "write longest(cooldown='5 minutes')"),
        (
            lambda: A.longest("soon"),
            "'soon' is not a window",
            "write a number and a unit: longest(cooldown='5 minutes')",
        ),
        (lambda: (~A).for_(5), "for_(5) has no unit", "write for_('5 minutes')"),
        (lambda: (~A).for_(None), "None is not a window", "write a number and a unit: for_('10 minutes')"),
        (
            lambda: A.for_("5 hours"),
            "for_ says how long a negated event is absent; <PATTERN A a> is not negated",
            "write (~cep.event('Register', 'b')).for_('10 minutes')",
        ),
        (lambda: A.within(True), "True is not a window", NO_WINDOW),
        (lambda: A.within("5"), "'5' is not a window", NO_WINDOW),
        (lambda: A.within("5 huors"), "'5 huors' is not a window", NO_WINDOW),
        (lambda: A.within(timedelta(0)), "datetime.timedelta(0) is not a window", NO_WINDOW),
        (lambda: A.within(a.x), "<Column a.x> is not a window", NO_WINDOW),
        (
            lambda: A.strategy("skip_till_next"),
            "unknown strategy 'skip_till_next'",
            "did you mean 'skip_till_next_match'?",
        ),
        (lambda: A.strategy("strict_contiguity", 3), "3 can't be the name of a variable", "write 'a' or cep.var('a')"),
        (lambda: A.partition_by(), "partition_by() needs an argument", "pass at least one: partition_by('site')"),
        (
            lambda: A.partition_by(cep.col("x")),
            "<Column x> can't be the name of a column",
            "write partition_by('site')",
        ),
        (lambda: A.returns(), "returns() needs an argument", "pass at least one: returns(price=a.price)"),
        (
            lambda: A.into("Seen"),
            "into('Seen') needs returns",
            "call returns first: returns(price=a.price).into('Alert')",
        ),
        (
            lambda: A.longest(cooldown="3 events"),
            "a cooldown is a time, not a number of events",
            "write longest(cooldown='5 minutes')",
        ),
        (
            lambda: A.from_({"s": 3}),
            "3 is not a list of types",
            "write from_('readings', 'Shelf', 'Exit'), or from_({'readings': ['Shelf'], 'Alert': []})",
        ),
        (lambda: A.from_(""), "'' can't be the name of a stream", "write from_('Alert')"),
        (lambda: cep.program(), "program() needs an argument", "pass at least one: program(cep.event('Shelf', 'a'))"),
        (
            lambda: cep.program("PATTERN A a"),
            "'PATTERN A a' is not a query",
            "pass patterns such as cep.event('Shelf', 'a')",
        ),
    ],
)
def test_clauses(wrong: Callable[[], object], message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        wrong()
    assert (raised.value.code, raised.value.message, raised.value.remedy) == ("CEP604", message, remedy)


@pytest.mark.parametrize(
    ("wrong", "message", "remedy"),
    [
        (lambda: (a.x > 1) and (b.y > 2), NO_TRUTH, TRUTH),
        (lambda: (a.x > 1) or (b.y > 2), NO_TRUTH, TRUTH),
        (lambda: not a.x, NO_TRUTH, TRUTH),
        (lambda: 1 < a.x < 5, NO_TRUTH, TRUTH),
        (lambda: a.x > 1 & b.y > 2, "1 is not a condition", NO_CONDITION),
        (lambda: (a.x > 1) | True, "True is not a condition", NO_CONDITION),
        (lambda: a.x + b, "<b> can't be used in an expression", NO_VALUE),
        (lambda: a.x == [1], "[1] can't be used in an expression", NO_VALUE),
        (lambda: cep.lit(2**63), "9223372036854775808 can't be used in an expression", NO_VALUE),
        (lambda: -cep.lit(-(2**63)), "9223372036854775808 can't be used in an expression", NO_VALUE),
        (lambda: cep.lit(Decimal("1.5")), "Decimal('1.5') can't be written in a query", NO_LITERAL),
        (lambda: cep.lit(float("nan")), "nan can't be written in a query", NO_LITERAL),
        (lambda: a.x.is_in("abc"), "is_in got 'abc', not a list of values", NO_LIST),
        (lambda: a.x.is_in([]), "is_in got [], not a list of values", NO_LIST),
        (lambda: a.x.is_in(b.y), "is_in got <Column b.y>, not a list of values", NO_LIST),
        (lambda: a[1], "1 can't be the name of an attribute", NO_ATTRIBUTE),
        (lambda: a[""], "'' can't be the name of an attribute", NO_ATTRIBUTE),
        (lambda: cep.var(""), "'' can't be the name of a variable", "write cep.var('a')"),
        (lambda: cep.param(3), "3 can't be the name of a parameter", "write cep.param('T')"),
        (lambda: cep.col(""), "'' can't be the name of a column", "write cep.col('price')"),
        (
            lambda: cep.col("a.price"),
            "col('a.price') names a variable and an attribute",
            "write cep.var('a')['price']",
        ),
        (lambda: cep.when(True, 3), "True is not a condition", NO_CONDITION),
        (
            lambda: cep.count(a),
            "an aggregate can't be applied to the variable 'a' itself",
            "say which events: .each for all of them, .before for those before the current one",
        ),
        (
            lambda: cep.sum([1, 2]),
            "sum can't be applied to [1, 2]",
            "aggregate over the events of a Kleene variable: cep.sum(cep.var('a').each.price)",
        ),
        (lambda: cep.call("AVG", a.x), "AVG is an aggregate", "write cep.avg(…)"),
        (lambda: cep.call("", a.x), "'' can't be the name of a function", "write cep.call('upper', a.name)"),
    ],
)
def test_columns(wrong: Callable[[], object], message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        wrong()
    assert (raised.value.code, raised.value.message, raised.value.remedy) == ("CEP604", message, remedy)


@pytest.mark.parametrize("pattern", [cep.seq(A, B), ~A, A.one_or_more()], ids=str)
def test_only_one_event_can_be_negated(pattern: cep.Pattern) -> None:
    with pytest.raises(PatternError) as raised:
        operator.invert(pattern)
    assert raised.value.code == "CEP209"
    assert raised.value.message == f"only a single event can be negated, not <{pattern}>"
    assert raised.value.remedy == "negate one event: ~cep.event('Register', 'b')"


def test_an_attribute_that_python_asks_for_is_not_made_up() -> None:
    assert not hasattr(a, "_repr_html_")
    with pytest.raises(AttributeError, match=r"write \['_id'\] for an attribute"):
        a._id  # noqa: B018


def test_a_pattern_is_not_a_query() -> None:
    with pytest.raises(AttributeError, match=r"make a query of it, cep\.Query\(pattern\)\.match\(…\)"):
        A.match([])
    with pytest.raises(AttributeError, match="a pattern has no attribute 'whre'"):
        A.whre()


def test_a_query_that_is_too_deep_is_refused() -> None:
    column = a.x
    for _ in range(5000):
        column = column + 1
    assert repr(column) == "<Column …>"
    pattern = A
    for _ in range(5000):
        pattern = pattern.optional()
    deep = [A.where(column > 0), A.having(column > 0), A.returns(x=column), pattern]
    for draft in deep:
        with pytest.raises(UsageError) as raised:
            Query(draft)
        assert raised.value.message == "the query is nested more than 100 levels deep"


def test_an_error_of_the_language_shows_the_place_in_the_text() -> None:
    with pytest.raises(PatternError) as raised:
        Query(cep.seq(A, cep.event("B", "a")).within("1 hour"))
    assert str(raised.value) == (
        "error CEP201: the variable 'a' is declared twice\n"
        "  at line 1, column 18\n"
        "1 | PATTERN SEQ(A a, B a)\n"
        "  |                  ^^^\n"
        "help: give each component its own variable"
    )
