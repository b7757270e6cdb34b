"""Which constants of a text become parameters, of which types, and which shape the query and stay."""

import pyarrow as pa
import pytest

from cepheid.language.texts.skeleton import HOLE, cut
from cepheid.language.texts.template import read_texts

A = "PATTERN A a WHERE "


@pytest.mark.parametrize(
    ("text", "template", "values"),
    [
        (f"{A}a.x > 1 AND a.y < -2.5", f"{A}a.x > $1 AND a.y < $2", [1, -2.5]),
        (f"{A}a.x > - (2)", f"{A}a.x > $1", [-2]),
        (f"{A}a.x -2 > 1e3", f"{A}a.x -$1 > $2", [2, 1000.0]),
        (f"{A}a.s = 'it''s'", f"{A}a.s = $1", ["it's"]),
        (f"{A}[s = 'b', x = 3]", f"{A}[s = $1, x = $2]", ["b", 3]),
        (f"{A}a.x IN (1, 2, 3)", f"{A}a.x IN ($1, $2, $3)", [1, 2, 3]),
        (f"{A}a.x > 80% * a.y", f"{A}a.x > $1 * a.y", [0.8]),
        ("PATTERN A+ a[] WITHIN 10 seconds", "PATTERN A+ a[] WITHIN $1 seconds", [10]),
        ("CESAR σ_{x > 3 ∧ DUR <= 7}(A)", "CESAR σ_{x > $1 ∧ DUR <= $2}(A)", [3, 7]),
        ("CESAR SELECT[1 < x < 4](A)", "CESAR SELECT[$1 < x < $2](A)", [1, 4]),
        ("AUTOMATON p -> q ARC p -> q WHEN e.x > 5", "AUTOMATON p -> q ARC p -> q WHEN e.x > $1", [5]),
    ],
)
def test_that_constants_are_parameters(text: str, template: str, values: list[object]) -> None:
    [found] = read_texts([text]).templates
    assert found.text == template
    assert [column.to_pylist() for column in found.columns.values()] == [[value] for value in values]


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A{2,4} a[], B b)",
        "PATTERN A+ a[] WITHIN 500 events",
        "PATTERN A+ a[] WHERE a[3].x = a[i-2].x AND a[1].y = avg(a[..i-1].y)",
        f"{A}a.s LIKE 'x%' AND a.s RLIKE '^a' AND a.tags[0] = a.props['k']",
        "PATTERN A+ a[] RETURN percentile(a[].x, 0.9) AS p",
        "PATTERN SEQ(A a, !(B b) FOR 10 minutes) WITHIN INTERVAL '1' HOUR",
        "PATTERN A a OUTPUT ALL COOLDOWN 5 minutes",
        "FROM S WHERE x > 1 PATTERN A a",
        f"{A}`1` = a.x2 /* 3 */ -- 4",
        f"{A}CAST(a.x AS DECIMAL(10, 2)) IS NULL",
        "AUTOMATON p -> q REGISTER n INT = 0 ARC p -> q",
        "CESAR SELECT[x < 10,000](A)",
    ],
)
def test_that_what_shapes_a_query_stays(text: str) -> None:
    [found] = read_texts([text]).templates
    assert (found.text, found.columns) == (text, {})


def test_that_types_of_columns_are_those_of_the_constants() -> None:
    text = f"{A}a.d = DATE '%s' AND a.t > TIMESTAMP '%s' AND a.t - a.u < %s minutes AND a.x = 1.5 AND a.y = 2"
    constants = [("2024-01-01", "2024-01-01 00:00:00", "5"), ("1970-01-02", "1970-01-01 00:00:00.000000001", "1.5")]
    [found] = read_texts([text % values for values in constants]).templates
    assert [column.type for column in found.columns.values()] == [
        pa.date32(),
        pa.timestamp("ns"),
        pa.duration("us"),
        pa.float64(),
        pa.int64(),
    ]
    assert found.columns["$3"].cast(pa.int64()).to_pylist() == [300_000_000, 90_000_000]


def test_that_one_place_with_two_types_makes_two_templates() -> None:
    found = read_texts([f"{A}a.x > {value}" for value in ("1", "2.5", "'z'", "3", "1e2")]).templates
    assert [(one.texts.tolist(), one.columns["$1"].to_pylist()) for one in found] == [
        ([0, 3], [1, 3]),
        ([1, 4], [2.5, 100.0]),
        ([2], ["z"]),
    ]


def test_that_blanks_comments_and_capitals_make_no_template() -> None:
    texts = [f"{A}a.x > 1 AND a.y > 2", "event A a -- c\n where a.x>7 and /* 3 */ a.y>\t8"]
    [found] = read_texts(texts).templates
    assert [column.to_pylist() for column in found.columns.values()] == [[1, 7], [2, 8]]


def test_that_shaping_constants_make_templates() -> None:
    found = read_texts([f"PATTERN A{{{n}}} a[] WHERE a[1].x > {x}" for n, x in ((2, 5), (3, 6), (2, 7))]).templates
    assert [(one.texts.tolist(), one.columns["$1"].to_pylist()) for one in found] == [([0, 2], [5, 7]), ([1], [6])]


def test_that_errors_are_told_at_their_places() -> None:
    texts = [f"{A}a.d = DATE '{day}'" for day in ("2024-01-01", "2023-02-29", "2024-02-29")]
    texts += [f"{A}a.x > > 1", f"{A}a.x > > 222"]
    found = read_texts(texts)
    assert [template.texts.tolist() for template in found.templates] == [[0, 2]]
    assert [(wrong.texts.tolist(), wrong.error.code) for wrong in found.wrong] == [([1], "CEP105"), ([3, 4], "CEP101")]
    error = found.wrong[1].error_of(texts[4])
    assert error.span is not None
    assert error.span.text == texts[4]


def test_that_equal_texts_are_cut_once() -> None:
    told: list[int] = []
    found = cut(["EVENT A a WHERE a.x = 5"] * 5000, told.append)
    assert found.skeletons == (f"EVENT A a WHERE a.x = {HOLE}",)
    assert (len(found.codes), found.constants, sum(told)) == (5000, ("5",), 5000)


def test_that_a_name_that_looks_like_a_parameter_keeps_the_constants() -> None:
    [found] = read_texts([f"{A}a.x > 1 AND a.`$1` = 2"]).templates
    assert found.columns == {}


def test_that_an_error_of_the_digits_is_that_of_one_text() -> None:
    texts = [f"PATTERN A+ a[] WITHIN {amount} ms" for amount in ("1.2.3", "9223372036854775807")]
    texts += [f"CESAR SELECT[x < {number}](A)" for number in ("10,00", "10,000")]
    found = read_texts(texts)
    assert [wrong.texts.tolist() for wrong in found.wrong] == [[0], [2]]
    assert [template.texts.tolist() for template in found.templates] == [[1], [3]]
