from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from cepheid.testing import Case, CaseError, Outcome, parse_cases, print_case, read_cases
from cepheid.testing.functions import corr, double

CASES = Path(__file__).parents[2] / "cases"

FULL = """\
# Before the cases.

=== everything at once
rule: S6
source: SASE+ Figure 1, Query 3
source: and another: with a colon
time: t
type: none
unit: s
order_by: n, id
params: {'T': timedelta(hours=1), 'day': date(2024, 2, 29), 'p': Decimal('1.50'), 'low': -3}
types: {'A': ['id'], 'B': []}
functions: Corr, double
warns: without WITHIN
not_on: engine: no window yet
note: first
note: second
--- events
t  | n | id:dictionary | name
# a comment among the rows
10 | 1 | x             | 'a|b'

20 | 2 | NULL          | it's
--- query
EVENT A a

WHERE a.n > 1
--- matches
a=1   b=[ 2  4 ]
# a comment among the matches
a=1 b=[] c=-

# Before the next one.
=== an error
--- query
PATTERN
--- error
CEP101   1:8    unexpected end of the query
=== nothing yet
--- query
EVENT A a
# not a part of the query
"""


def case_of(body: str) -> Case:
    [case] = parse_cases(f"=== title\n{body}")
    return case


def events_of(table: str) -> pa.Table:
    return case_of(f"--- events\n{table}\n--- query\nEVENT A a").events


def test_everything_that_a_case_says_is_read() -> None:
    full, error, open_ = parse_cases(FULL, "some.case")
    assert full == Case(
        title="everything at once",
        query="EVENT A a\n\nWHERE a.n > 1",
        events=pa.table(
            {
                "t": [10, 20],
                "n": [1, 2],
                "id": pa.array(["x", None]).dictionary_encode(),
                "name": ["a|b", "it's"],
            }
        ),
        options={
            "time": "t",
            "type": None,
            "unit": "s",
            "order_by": ("n", "id"),
            "params": {"T": timedelta(hours=1), "day": date(2024, 2, 29), "p": Decimal("1.50"), "low": -3},
            "types": {"A": ["id"], "B": []},
            "functions": {"Corr": corr, "double": double},
        },
        expected=Outcome(("a=1 b=[2 4]", "a=1 b=[] c=-")),
        rule="S6",
        sources=("SASE+ Figure 1, Query 3", "and another: with a colon"),
        notes=("first", "second"),
        warns="without WITHIN",
        not_on={"engine": "no window yet"},
    )
    assert error == Case(
        "an error", "PATTERN", expected=Outcome(("CEP101 1:8 unexpected end of the query",), error=True)
    )
    assert open_ == Case("nothing yet", "EVENT A a", expected=None)
    assert [(case.file, case.line) for case in (full, error, open_)] == [
        ("some.case", 3),
        ("some.case", 34),
        ("some.case", 39),
    ]


def test_columns_have_the_type_of_their_cells() -> None:
    table = events_of(
        "ts | f | b | s | q | n | m\n1 | 1 | true | x | '1' | NULL | 1\n2 | 2.5 | NULL | 2 | '' | NULL | x"
    )
    assert table.schema == pa.schema(
        {
            "ts": pa.int64(),
            "f": pa.float64(),
            "b": pa.bool_(),
            "s": pa.string(),
            "q": pa.string(),
            "n": pa.null(),
            "m": pa.string(),
        }
    )
    assert table.to_pylist() == [
        {"ts": 1, "f": 1.0, "b": True, "s": "x", "q": "1", "n": None, "m": "1"},
        {"ts": 2, "f": 2.5, "b": None, "s": "2", "q": "", "n": None, "m": "x"},
    ]


def test_a_table_without_rows_can_be_bound() -> None:
    assert events_of("ts | type | x:int32").schema == pa.schema(
        {"ts": pa.int64(), "type": pa.string(), "x": pa.int32()}
    )


@pytest.mark.parametrize(
    ("name", "cell", "type_", "value"),
    [
        ("int32", "-1", pa.int32(), -1),
        ("uint8", "255", pa.uint8(), 255),
        ("float32", "0.5", pa.float32(), 0.5),
        ("string", "5", pa.string(), "5"),
        ("bool", "false", pa.bool_(), False),
        ("date32", "2024-02-29", pa.date32(), date(2024, 2, 29)),
        ("timestamp[ms]", "2024-02-29T12:00:00.5", pa.timestamp("ms"), datetime(2024, 2, 29, 12, 0, 0, 500_000)),
        ("timestamp[us, UTC]", "2024-02-29 12:00", pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 12, tzinfo=UTC)),
        (
            "timestamp[s, UTC]",
            "2024-02-29T12:00:00+02:00",
            pa.timestamp("s", "UTC"),
            datetime(2024, 2, 29, 10, tzinfo=UTC),
        ),
        ("timestamp[s, UTC]", "2024-02-29", pa.timestamp("s", "UTC"), datetime(2024, 2, 29, tzinfo=UTC)),
        ("decimal128(10,2)", "1.5", pa.decimal128(10, 2), Decimal("1.50")),
        ("dictionary", "x", pa.dictionary(pa.int32(), pa.string()), "x"),
        ("list<float64>", "[1.0 NULL 3]", pa.list_(pa.float64()), [1.0, None, 3.0]),
        ("list<int64>", "[]", pa.list_(pa.int64()), []),
        ("duration[ms]", "1500", pa.duration("ms"), timedelta(seconds=1.5)),
    ],
)
def test_columns_of_a_declared_type(name: str, cell: str, type_: pa.DataType, value: object) -> None:
    column = events_of(f"ts | x:{name}\n1 | {cell}\n2 | NULL").column("x")
    assert column.type == type_
    assert column.to_pylist() == [value, None]


ERRORS = [
    ("hello", 1, "there is text before the first case", "begin a case with === and its title"),
    ("===\n", 1, "the case has no title", "write === and a title that says what is tested"),
    ("=== a\nrule: S1", 1, "the case has no query", "write a section: --- query"),
    ("=== a\n--- qeury\nEVENT A a", 2, "unknown section 'qeury'", "did you mean 'query'?"),
    ("=== a\n--- query\n--- query", 3, "there are two sections 'query'", "keep one of them"),
    (
        "=== a\n--- query\n--- matches\n--- error",
        4,
        "there are both matches and an error",
        "keep one of the two sections",
    ),
    ("=== a\nhello\n--- query", 2, "'hello' is not a header line", "write key: value, or a section: --- query"),
    ("=== a\ntiem: t\n--- query", 2, "unknown key 'tiem'", "did you mean 'time'?"),
    ("=== a\ntime:\n--- query", 2, "'time' has no value", "write key: value, or remove the line"),
    ("=== a\ntime: t\ntime: u\n--- query", 3, "there are two lines 'time'", "keep one of them"),
    (
        "=== a\nnot_on: engine\n--- query",
        2,
        "not_on needs a reason",
        "write not_on: path: why it can't run there",
    ),
    ("=== a\nfunctions: corr\n--- query", 2, "unknown function 'corr'", "did you mean 'Corr'?"),
    (
        "=== a\nparams: {'x': open('f')}\n--- query",
        2,
        "params: open('f') is not a literal",
        "write a dict: {'T': timedelta(hours=1)}",
    ),
    ("=== a\ntypes: [1]\n--- query", 2, "types is not a dict", "write a dict: {'T': timedelta(hours=1)}"),
    (
        "=== a\n--- query\n=== b\n--- query\n=== a\n--- query",
        5,
        "the case in line 1 has the same title",
        "choose another title",
    ),
    ("=== a\n--- events\n\n--- query", 2, "the table has no columns", "write the column names: ts | type"),
    (
        "=== a\n--- events\nts | x\n1 | 2 | 3\n--- query",
        4,
        "the row has 3 cells, but the table has 2 columns",
        "write one cell per column, NULL for a missing value",
    ),
    (
        "=== a\n--- events\nts | x\n1 |\n--- query",
        4,
        "column 'x' can't hold nothing: write '' for an empty text",
        "write a value of string, or NULL",
    ),
    (
        "=== a\n--- query\n--- matches\na=1\na=x",
        5,
        "write a match as a=1 b=[2 4] c=-, or as JSON if the query has RETURN",
        "correct the line",
    ),
    (
        "=== a\n--- query\n--- error\nCEP1 x",
        4,
        "write an error as CEP203 1:24 the message, with - for the place if there is none",
        "correct the line",
    ),
    (
        "=== a\n--- query\n--- error\nCEP1 - x\nCEP1 - y",
        5,
        "there is more than one line",
        "write the error in one line",
    ),
]


@pytest.mark.parametrize(("text", "line", "message", "remedy"), ERRORS, ids=[message for _, _, message, _ in ERRORS])
def test_an_error_in_a_file_says_where_it_is(text: str, line: int, message: str, remedy: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse_cases(text, "some.case")
    error = caught.value
    assert (error.code, error.line, error.message, error.remedy) == (
        "CEP701",
        line,
        f"some.case:{line}: {message}",
        remedy,
    )


def test_cells_that_do_not_fit_say_why() -> None:
    with pytest.raises(CaseError) as caught:
        events_of("ts | x:uint8 | y:list<int8>\n1 | 255 | [1 2]\n2 | 256 | 1")
    assert caught.value.message.startswith("<text>:5: column 'x' can't hold 256: ")
    with pytest.raises(CaseError) as caught:
        events_of("ts | y:list<int8>\n1 | 5")
    assert caught.value.message == "<text>:4: column 'y' can't hold 5: a list is written [1.0 2.0]"
    with pytest.raises(CaseError) as caught:
        events_of("ts | y:strng\n1 | 5")
    assert caught.value.message.startswith("<text>:3: column 'y': ")


def test_a_match_that_is_not_json_says_why() -> None:
    with pytest.raises(CaseError) as caught:
        case_of('--- query\n--- matches\n{"n": }')
    assert caught.value.message == "<text>:4: the match is not JSON: Expecting value: line 1 column 7 (char 6)"


def test_a_case_reads_as_it_is_printed() -> None:
    for case in parse_cases(FULL):
        assert parse_cases(print_case(case)) == [case]


def test_texts_that_look_like_something_else_are_printed_in_quotes() -> None:
    texts = ["", "NULL", "1", "1.5", "nan", "true", "#", "===", "---", " x", "a|b", "it's", "'q'", "é", "a b", None]
    case = Case("odd texts", "EVENT A a", events=pa.table({"s": texts}))
    assert parse_cases(print_case(case)) == [case]


def test_all_types_are_printed_so_that_they_read_the_same() -> None:
    columns = {
        "ts": pa.array([None, None], pa.null()),
        "d": pa.array([Decimal("1.50"), None]),
        "t": pa.array([datetime(2024, 2, 29, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "day": pa.array([date(2024, 2, 29), None]),
        "l": pa.array([[1.5, None], None], pa.list_(pa.float32())),
        "for": pa.array([1500, None], pa.duration("ms")),
        "i": pa.array([1, None], pa.int8()),
        "f": pa.array([1.0, float("inf")]),
        "b": [True, False],
    }
    case = Case("all types", "EVENT A a", events=pa.table(columns))
    assert parse_cases(print_case(case)) == [case]


def test_every_case_of_the_suite_reads_as_it_is_printed() -> None:
    for case in read_cases(CASES):
        [again] = parse_cases(print_case(case))
        assert replace(again, events=None) == replace(case, events=None)
        if case.events is not None:  # by their text, for NaN is not equal to itself there
            assert again.events.schema == case.events.schema
            assert repr(again.events.to_pylist()) == repr(case.events.to_pylist())


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    for name in ("s02.case", "s01.case", "notes.txt"):
        (tmp_path / name).write_text(f"=== in {name}\n--- query\nEVENT A a\n")
    assert [case.title for case in read_cases(tmp_path)] == ["in s01.case", "in s02.case"]
    assert [case.title for case in read_cases(str(tmp_path / "s02.case"))] == ["in s02.case"]
