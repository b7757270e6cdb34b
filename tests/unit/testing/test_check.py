from dataclasses import replace
from pathlib import Path as FilePath

import pyarrow as pa
import pytest

from cepheid import Query
from cepheid.testing import (
    PATHS,
    REFERENCE,
    Case,
    Outcome,
    Path,
    applicable_paths,
    check_cases,
    find_failure,
    parse_cases,
    run_case,
)
from cepheid.testing.runs import Rows

PAIR = """\
=== a pair
--- events
ts | type | x
1  | A    | 1
2  | B    | 2
--- query
PATTERN SEQ(A a, B b)
--- matches
a=1 b=2
"""


def pair(**changes: object) -> Case:
    [case] = parse_cases(PAIR, "pairs.case")
    return replace(case, **changes)


def gives(*lines: str) -> Path:
    return Path("fixed", lambda case: Outcome(lines))


def raises(case: Case) -> Outcome:
    raise NotImplementedError("not yet")


@pytest.mark.parametrize("path", PATHS, ids=[path.name for path in PATHS])
def test_a_case_that_holds_on_every_path(path: Path) -> None:
    assert find_failure(pair(), path) is None


def test_the_paths_that_there_are() -> None:
    of_reference = ["reference", "shuffled", "arrow_dictionary"]
    of_sessions = ["batch_of_1", "restart_every_batch", "shuffled_within_watermark"]
    of_changes = ["speculate_all", "speculate_some"]
    of_plans = ["stacks", "tree", "lazy", *(f"tree_{name}" for name in of_sessions)]
    names = [*of_reference, "engine", "plain", "compiled", "interpreted", *of_sessions, *of_changes, *of_plans]
    assert [path.name for path in PATHS] == names


def test_that_a_case_is_not_run_on_a_path_whose_plan_it_does_not_have() -> None:
    unplanned = [path.name for path in PATHS if path.plan == "auto"]
    assert applicable_paths(pair(), PATHS) == PATHS
    contiguous = pair(query="PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { }")
    assert [path.name for path in applicable_paths(contiguous, PATHS)] == unplanned
    program = pair(query="PATTERN SEQ(A a, B b) RETURN a.x AS x INTO Pair;\nFROM Pair EVENT Pair p")
    assert [path.name for path in applicable_paths(program, PATHS)] == unplanned


def test_that_one_path_is_enough_for_a_query_that_is_not_run() -> None:
    assert applicable_paths(pair(query="PATTERN SEQ(A a, !(B b))"), PATHS) == (REFERENCE,)
    assert applicable_paths(pair(events=None), PATHS) == (REFERENCE,)
    # An unknown column is seen by a session in a place of its own.
    assert applicable_paths(pair(query="EVENT A a WHERE a.nothing = 1"), PATHS)[:-6] == PATHS[:-6]


def test_a_difference_is_shown_line_by_line() -> None:
    case = pair(expected=Outcome(("a=1 b=2", "a=1 b=3")))
    assert find_failure(case, gives("a=1 b=2", "a=1 b=4")) == (
        "pairs.case:1: a pair [fixed]\n(- expected, + got)\n  --- matches\n  a=1 b=2\n- a=1 b=3\n+ a=1 b=4"
    )


def test_the_order_of_matches_counts() -> None:
    case = pair(expected=Outcome(("a=1 b=2", "a=1 b=3")))
    assert find_failure(case, gives("a=1 b=3", "a=1 b=2")) is not None


def test_an_error_in_place_of_matches_is_a_difference() -> None:
    case = pair(query="PATTERN SEQ(A a, !(B b))", expected=Outcome())
    assert find_failure(case, REFERENCE) == (
        "pairs.case:1: a pair [reference]\n(- expected, + got)\n- --- matches\n+ --- error\n"
        "+ CEP203 1:20 negation at the end of the pattern needs WITHIN"
    )


def test_a_case_that_says_nothing_fails() -> None:
    assert find_failure(pair(expected=None), REFERENCE) == (
        "pairs.case:1: a pair [reference]\nhas no expected outcome; the outcome is\n--- matches\na=1 b=2"
    )


def test_a_path_that_breaks_says_on_which_case() -> None:
    with pytest.raises(NotImplementedError) as caught:
        find_failure(pair(), Path("engine", raises))
    assert caught.value.__notes__ == ["pairs.case:1: a pair [engine]"]


def test_not_on_is_strict() -> None:
    case = pair(not_on={"fixed": "no windows", "engine": "not there"})
    assert find_failure(case, gives()) is None
    assert find_failure(case, Path("engine", raises)) is None
    assert find_failure(case, gives("a=1 b=2")) == (
        "pairs.case:1: a pair [fixed]\npasses, but is declared as not_on: fixed: no windows"
    )
    assert find_failure(case, REFERENCE) is None


UNBOUNDED = "PATTERN SEQ(A+ a[], B b)"
WARNING = "without WITHIN matches every subset"


@pytest.mark.parametrize(
    ("query", "warns", "failure"),
    [
        (UNBOUNDED, None, None),
        (UNBOUNDED, WARNING, None),
        (UNBOUNDED + " WITHIN 5", "none", None),
        (UNBOUNDED + " WITHIN 5", WARNING, f"expected the warning: {WARNING}\ngot: no warning"),
        (UNBOUNDED, "something else", "expected the warning: something else\ngot: "),
        (UNBOUNDED, "none", "expected no warning\ngot: "),
    ],
)
def test_warnings(query: str, warns: str | None, failure: str | None) -> None:
    found = find_failure(pair(query=query, expected=Outcome(("a=[1] b=2",)), warns=warns), REFERENCE)
    if failure is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(f"pairs.case:1: a pair [reference]\n{failure}")


def test_all_failures_of_a_file_are_told_at_once(tmp_path: FilePath) -> None:
    file = tmp_path / "pairs.case"
    file.write_text(
        PAIR.replace("b=2", "b=3") + PAIR.replace("a pair", "a good pair") + "=== open\n--- query\nEVENT A a"
    )
    with pytest.raises(AssertionError) as caught:
        check_cases(file, paths=[REFERENCE])
    assert str(caught.value) == (
        f"{file}:1: a pair [reference]\n(- expected, + got)\n  --- matches\n- a=1 b=3\n+ a=1 b=2\n\n"
        f"{file}:19: open [reference]\nhas no expected outcome; the outcome is\n--- matches"
    )


def outcome(body: str) -> tuple[str, ...]:
    [case] = parse_cases(f"=== title\n{body}")
    return REFERENCE.run(case).lines


def test_what_is_bound_to_nothing_is_shown() -> None:
    body = "--- events\nts | type\n1 | A\n2 | B\n--- query\n"
    assert outcome(body + "PATTERN SEQ(A a, C* c[], D? d, B b)") == ("a=1 c=[] d=- b=2",)


def test_rows_that_are_equal_are_told_apart() -> None:
    assert outcome("--- events\nts | type\n1 | A\n1 | A\n2 | B\n--- query\nPATTERN SEQ(A a, B b)") == (
        "a=1 b=3",
        "a=2 b=3",
    )


def test_rows_are_numbered_as_written_not_by_time() -> None:
    assert outcome("--- events\nts | type\n2 | B\n1 | A\n--- query\nPATTERN SEQ(A a, B b)") == ("a=2 b=1",)


def test_returned_values_are_json() -> None:
    header = "ts:timestamp[ms] | type | x | p:decimal128(5,2) | l:list<float64>"
    row = "2024-01-01T00:00:00 | A | nan | 1.5 | [1.0 NULL]"
    query = "EVENT A a RETURN a.x AS x, a.p AS p, a.l AS l, a.x IS NULL AS b"
    assert outcome(f"--- events\n{header}\n{row}\n--- query\n{query}") == (
        '{"match_start": "2024-01-01T00:00:00", "match_end": "2024-01-01T00:00:00", '
        '"x": "NaN", "p": "1.50", "l": [1.0, null], "b": false}',
    )


def test_durations_are_written_alike_whatever_their_unit() -> None:
    header = "ts:timestamp[{}] | type | d:duration[ms]"
    rows = "2024-01-01 | A | -1500\n2024-01-02 | B | NULL"
    query = "PATTERN SEQ(A a, B b) RETURN b.ts - a.ts AS dt, a.d AS d"
    for unit in ("s", "ms", "us", "ns"):
        assert outcome(f"--- events\n{header.format(unit)}\n{rows}\n--- query\n{query}") == (
            '{"match_start": "2024-01-01T00:00:00", "match_end": "2024-01-02T00:00:00", '
            '"dt": "PT86400S", "d": "-PT1.5S"}',
        )


def test_composite_events_are_json_for_they_are_no_rows() -> None:
    query = "PATTERN SEQ(A a, B b) RETURN a.x AS x INTO Pair;\nFROM Pair EVENT Pair p"
    assert REFERENCE.run(pair(query=query)).lines == (
        '{"match_start": 1, "match_end": 2, "p": {"ts": 2, "type": "Pair", "match_start": 1, "x": 1}}',
    )


def test_a_query_without_events_is_made_and_not_run() -> None:
    assert REFERENCE.run(pair(events=None, query="EVENT A a WHERE a.nothing = 1")) == Outcome()
    assert REFERENCE.run(pair(query="EVENT A a WHERE a.nothing = 1")).error is True


def test_shuffled_gives_the_events_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_that_comes(query: Query, table: pa.Table) -> Rows:
        [event] = table.slice(0, 1).to_pylist()
        return [{"match_start": event["ts"], "match_end": event["ts"], "a": event}]

    monkeypatch.setattr("cepheid.testing.paths._reference", first_that_comes)
    reference, shuffled, *_ = PATHS
    assert reference.run(pair()).lines == ("a=1",)
    assert shuffled.run(pair()).lines == ("a=2",)


def test_arrow_dictionary_encodes_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note_types(query: Query, table: pa.Table) -> Rows:
        seen.append([str(type_) for type_ in table.schema.types])
        return []

    monkeypatch.setattr("cepheid.testing.paths._reference", note_types)
    PATHS[2].run(pair())
    encoded = "dictionary<values=string, indices=int32, ordered=0>"
    assert seen == [["int64", encoded, "int64"], ["int64", encoded, "int64", "int64"]]


def test_a_path_whose_events_are_not_those_of_the_table_is_caught() -> None:
    def changed(query: Query, table: pa.Table) -> Rows:
        return [{**m, "a": {**m["a"], "x": 9}} for m in query.match(table).to_pylist()]

    with pytest.raises(AssertionError, match="the match has the event"):
        run_case(pair(), changed)


def test_a_path_whose_times_are_not_those_of_the_events_is_caught() -> None:
    def late(query: Query, table: pa.Table) -> Rows:
        return [{**m, "match_end": 7} for m in query.match(table).to_pylist()]

    with pytest.raises(AssertionError, match="the events of a match are from 1 to 2, but it says 1 to 7"):
        run_case(pair(), late)


def test_a_path_that_breaks_ties_by_a_foreign_column_is_caught() -> None:
    def first_only_of_many_columns(query: Query, table: pa.Table) -> Rows:
        return query.match(table).to_pylist()[: 4 - table.num_columns]

    with pytest.raises(AssertionError, match="a column that the query does not use changes the matches"):
        run_case(pair(events=pa.table({"ts": [1, 2, 3], "type": ["A", "B", "B"]})), first_only_of_many_columns)
