"""`cepheid match`: the options of a query, the formats of the output, and what is said on stderr."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid

KLEENE = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] }"
EVENTS = "ts,type,id,x\n1,A,7,0.5\n2,B,7,\n3,B,7,1.5\n"
FIRST = {
    "match_start": 1,
    "match_end": 2,
    "a": {"ts": 1, "type": "A", "id": 7, "x": 0.5},
    "b": [{"ts": 2, "type": "B", "id": 7, "x": None}],
}
SECOND = {**FIRST, "match_end": 3, "b": [*FIRST["b"], {"ts": 3, "type": "B", "id": 7, "x": 1.5}]}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)
    return path


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_lines_in_a_pipe(run, events: Path) -> None:
    result = run("match", KLEENE, events)
    assert lines(result.stdout) == [FIRST, SECOND]
    assert result.stderr == ""


def test_a_row_for_each_event(run, events: Path) -> None:
    result = run("match", KLEENE, events, "--long", "--limit", "1")
    (one, two) = lines(result.stdout)
    assert one.pop("match_id") == two.pop("match_id") == "6afa58503b25fa134088fe37c7400434"
    assert one == {"variable": "a", "index": 1, **FIRST["a"]}
    assert two == {"variable": "b", "index": 1, **FIRST["b"][0]}
    assert result.stderr == "the first 1 of 2 matches\n"


def test_the_demo(run, thefts: Path, readings: Path) -> None:
    found = lines(run("match", thefts, readings).stdout)
    assert [(m["a"]["tag_id"], m["match_start"], m["match_end"]) for m in found] == [
        ("T1006", "2026-03-14T11:20:13", "2026-03-14T11:33:57"),
        ("T1002", "2026-03-14T11:52:36", "2026-03-14T12:06:48"),
        ("T1004", "2026-03-14T14:05:49", "2026-03-14T14:58:37"),
    ]


def test_csv(run, events: Path) -> None:
    rows = list(csv.reader(run("match", KLEENE, events, "--format", "csv").stdout.splitlines()))
    assert rows[0] == ["match_start", "match_end", "a.ts", "a.type", "a.id", "a.x", "b"]
    assert rows[1][:6] == ["1", "2", "1", "A", "7", "0.5"]
    assert json.loads(rows[2][6]) == SECOND["b"]


def test_absences_that_the_end_cuts_short(run, events: Path) -> None:
    query = "PATTERN SEQ(A a, !(C c)) WITHIN 5 ms RETURN a.id AS id"
    assert lines(run("match", query, events).stdout) == [{"match_start": 1, "match_end": 1, "id": 7}]
    assert lines(run("match", query, events, "--no-open").stdout) == []


def test_no_match_is_success(run, events: Path) -> None:
    query = "PATTERN SEQ(B b, A a)"
    assert run("match", query, events).output == ""
    assert run("match", query, events, "--format", "table").output == "no matches\n"
    assert run("match", query, events, "--format", "csv").output == (
        "match_start,match_end,b.ts,b.type,b.id,b.x,a.ts,a.type,a.id,a.x\n"
    )


def test_no_event_is_no_match(run) -> None:
    assert run("match", "EVENT A a WHERE a.x > 1 WITHIN 1 hour", "-", stdin="ts,type,x\n").output == ""


class TestFile:
    def test_parquet(self, run, events: Path, tmp_path: Path) -> None:
        result = run("match", KLEENE, events, "-o", tmp_path / "out.parquet")
        assert (result.stdout, result.stderr) == ("", f"2 matches written to '{tmp_path / 'out.parquet'}'\n")
        assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [FIRST, SECOND]

    @pytest.mark.parametrize("name", ["out.jsonl", "out.NDJSON"])
    def test_json_lines(self, run, events: Path, tmp_path: Path, name: str) -> None:
        run("match", KLEENE, events, "-o", tmp_path / name)
        assert lines((tmp_path / name).read_text()) == [FIRST, SECOND]

    def test_json(self, run, events: Path, tmp_path: Path) -> None:
        run("match", KLEENE, events, "-o", tmp_path / "out.json")
        assert json.loads((tmp_path / "out.json").read_text()) == [FIRST, SECOND]
        run("match", "EVENT C c", events, "-o", tmp_path / "out.json")
        assert json.loads((tmp_path / "out.json").read_text()) == []

    def test_csv_can_be_read_again(self, run, events: Path, tmp_path: Path) -> None:
        run("match", "EVENT B b RETURN b.id AS id, b.x AS x", events, "-o", tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_text() == "match_start,match_end,id,x\n2,2,7,\n3,3,7,1.5\n"
        again = run("match", "EVENT R r RETURN r.x AS x", tmp_path / "out.csv", "--time", "match_end", "--no-type")
        assert [m["x"] for m in lines(again.stdout)] == [None, 1.5]

    def test_minus_is_stdout(self, run, events: Path) -> None:
        assert lines(run("match", KLEENE, events, "-o", "-").stdout) == [FIRST, SECOND]

    @pytest.mark.parametrize(
        ("output", "code", "message"),
        [
            ("out.xlsx", 2, "use one of .parquet, .csv, .jsonl, .ndjson, .json"),
            ("out", 2, "use one of"),
            ("events.csv", 2, "is the file of the events: write the matches to another file"),
            ("nowhere/out.csv", 3, "there is no directory"),
            ("directory.csv", 3, "it is a directory\nhelp: name a file"),
        ],
    )
    def test_a_wrong_name_is_refused_before_the_work(
        self, run, events: Path, tmp_path: Path, output: str, code: int, message: str
    ) -> None:
        (tmp_path / "directory.csv").mkdir()
        result = run("match", "no query at all (", events, "-o", tmp_path / output, code=code)
        assert message in result.stderr
        assert events.read_text() == EVENTS

    def test_what_parquet_cannot_hold(self, run, tmp_path: Path) -> None:
        events = tmp_path / "events.jsonl"
        events.write_text('{"ts": 1, "type": "A", "x": {}}\n')
        result = run("match", "EVENT A a", events, "-o", tmp_path / "out.parquet", code=3)
        assert result.stderr.startswith("error CEP802: Parquet can't hold the matches: ")
        assert result.stderr.endswith("help: write .jsonl instead\n")
        assert not (tmp_path / "out.parquet").exists()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_device_that_is_full(self, run, events: Path, tmp_path: Path) -> None:
        (tmp_path / "full.jsonl").symlink_to("/dev/full")
        result = run("match", KLEENE, events, "-o", tmp_path / "full.jsonl", code=3)
        assert "No space left on device" in result.stderr

    def test_format_is_for_stdout(self, run, events: Path) -> None:
        assert "--format is for stdout" in run("match", KLEENE, events, "-o", "a.csv", "-f", "csv", code=2).stderr


class TestLimit:
    def test_says_how_many_there_are(self, run, events: Path, tmp_path: Path) -> None:
        result = run("match", KLEENE, events, "--limit", 1)
        assert (lines(result.stdout), result.stderr) == ([FIRST], "the first 1 of 2 matches\n")
        result = run("match", KLEENE, events, "-n", 1, "-o", tmp_path / "out.jsonl")
        assert result.stderr == f"the first 1 of 2 matches written to '{tmp_path / 'out.jsonl'}'\n"

    def test_one_that_is_not_reached(self, run, events: Path) -> None:
        result = run("match", KLEENE, events, "--limit", 2)
        assert (lines(result.stdout), result.stderr) == ([FIRST, SECOND], "")

    def test_more_matches_than_can_be_made(self, run) -> None:
        subsets = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 hour RETURN b.LEN AS n"
        stdin = "ts,type\n0,A\n" + "".join(f"{t},B\n" for t in range(1, 101)) + "101,C\n"
        result = run("match", subsets, "-", "--limit", 3, stdin=stdin)
        assert len(lines(result.stdout)) == 3
        assert result.stderr == f"the first 3 of {2**100 - 1:,} matches\n"

    def test_is_what_helps_where_there_are_too_many(self, run, monkeypatch: pytest.MonkeyPatch, events: Path) -> None:
        monkeypatch.setattr("cepheid.engine.matches.graph_matches.MOST_WORDS", 1)
        result = run("match", KLEENE, events, code=1)
        assert result.stderr == (
            "error CEP505: 2 matches are too many to enumerate\n"
            "help: ask for some with --limit N, or add conditions or a shorter WITHIN\n"
        )


@pytest.mark.parametrize("engine", ["auto", "compiled", "plain", "interpreted", "reference"])
def test_every_engine(run, events: Path, engine: str) -> None:
    assert lines(run("match", KLEENE, events, "--engine", engine).stdout) == [FIRST, SECOND]


class TestOptions:
    def test_time_type_and_unit(self, run) -> None:
        events = "at,kind\n1,A\n3,B\n"
        query = "PATTERN SEQ(A a, B b) WITHIN 3 seconds RETURN b.at AS at"
        found = run("match", query, "-", "--time", "at", "--type", "kind", "--unit", "s", stdin=events)
        assert lines(found.stdout) == [{"match_start": 1, "match_end": 3, "at": 3}]
        query = query.replace("3 seconds", "2 seconds")
        assert run("match", query, "-", "--time", "at", "--type", "kind", "--unit", "s", stdin=events).stdout == ""

    def test_start(self, run) -> None:
        events = "began,ts,type,x\n1,4,A,1\n3,5,B,2\n6,9,B,3\n"
        found = run("match", "CESAR A ; RENAME[x -> y](B)", "-", "--start", "began", stdin=events)
        assert lines(found.stdout) == [{"match_start": 1, "match_end": 9, "x": 1, "y": 3}]

    def test_no_type(self, run) -> None:
        found = run("match", "PATTERN SEQ(T a, T b)", "-", "--no-type", stdin="ts,x\n1,5\n2,6\n")
        assert lines(found.stdout)[0]["b"] == {"ts": 2, "x": 6}

    def test_order_by(self, run) -> None:
        events = "ts,type,seq,other\n1,A,2,1\n1,B,1,2\n"
        query = "PATTERN SEQ(B b, A a)"
        assert len(lines(run("match", query, "-", "--order-by", "seq", stdin=events).stdout)) == 1
        assert lines(run("match", query, "-", "--order-by", "other", "--order-by", "seq", stdin=events).stdout) == []

    def test_params(self, run, events: Path) -> None:
        query = "PATTERN SEQ(A a, B b) WHERE a.id = k AND b.type IN names AND b.x IS NULL WITHIN T"
        given = ["--param", "k=7", "--param", 'names=["B", "C"]', "--param", "T=2 milliseconds"]
        assert lines(run("match", query, events, *given).stdout)[0]["match_end"] == 2

    def test_declared_types(self, run, events: Path) -> None:
        # Missing is not NULL (S3): where A has no attribute x the comparison holds.
        query = "PATTERN SEQ(A a, B b) WHERE a.x > 100"
        assert run("match", query, events, "--declare", "A=id", "--declare", "B=id,x").stdout.count("\n") == 2
        assert run("match", query, events).stdout == ""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--param", "T"], "'T' does not have the form NAME=VALUE"),
            (["--param", "=1"], "'=1' does not have the form NAME=VALUE"),
            (["--param", "T=1", "--param", "T=2"], "'T' is given twice"),
            (["--param", "T=\udcff"], "it is not UTF-8 text"),
            (["--declare", "A"], "'A' does not have the form TYPE=COLUMN,…"),
            (["--type", "kind", "--no-type"], "--type and --no-type can't be combined"),
            (["--engine", "warp"], "'warp' is not"),
            (["--format", "xml"], "'xml' is not one of 'table', 'jsonl', 'csv'"),
            (["--limit", "-1"], "-1 is not in the range x>=0"),
            (["--unit", "fortnight"], "error CEP601: unknown unit 'fortnight'"),
            (["--time", ""], "error CEP603: time is '', which is not a column name"),
        ],
    )
    def test_wrong_usage(self, run, events: Path, options: list[str], message: str) -> None:
        assert message in run("match", "EVENT A a", events, *options, code=2).stderr


class TestMessages:
    def test_an_error_in_its_own_form(self, run, events: Path) -> None:
        with pytest.raises(cepheid.BindError) as caught:
            cepheid.Query("EVENT A a\nWHERE a.idd = 1").match([{"ts": 1, "type": "A", "id": 7, "x": 0.5}])
        assert run("match", "EVENT A a\nWHERE a.idd = 1", events, code=1).stderr == f"{caught.value}\n"

    @pytest.mark.parametrize(
        ("query", "option"),
        [
            ("EVENT A a WITHIN T", "pass --param T=…"),
            ("EVENT A a", "the columns are: at, type; name the time column with --time"),
        ],
    )
    def test_the_option_behind_an_argument_of_python(self, run, query: str, option: str) -> None:
        result = run("match", query, "-", stdin="at,type\n1,A\n", code=1)
        assert result.stderr.splitlines()[-1] == f"help: {option}"
        assert result.stderr.count("help:") == 1

    def test_the_option_for_a_missing_type(self, run) -> None:
        result = run("match", "EVENT A a", "-", stdin="ts,kind\n1,A\n", code=1)
        assert result.stderr.endswith("with --type, or pass --no-type for a stream of one type\n")

    def test_a_warning_is_one_line(self, run, events: Path) -> None:
        result = run("match", "PATTERN SEQ(A a, B+ b[])", events)
        assert result.stderr.startswith("warning CEP001: b: a Kleene closure under skip_till_any_match without WITHIN")
        assert result.stderr.count("\n") == 1

    def test_a_misspelt_type(self, run, events: Path) -> None:
        stdin = "ts,type\n1,Shelf\n2,Register\n"
        result = run("match", "PATTERN SEQ(shelf a, Registre b)", "-", stdin=stdin)
        assert result.stderr == (
            "warning CEP005: no event has the type 'shelf'; did you mean 'Shelf'?\n"
            "warning CEP005: no event has the type 'Registre'; did you mean 'Register'?\n"
        )

    def test_a_type_that_is_only_absent(self, run) -> None:
        # StockB is near StockA, which the query names as well.
        result = run("match", "PATTERN SEQ(StockA a, StockB b, Exit c)", "-", stdin="ts,type\n1,StockA\n2,Other\n")
        assert result.stderr == ""

    def test_types_that_a_program_makes(self, run) -> None:
        query = "FROM s EVENT Shelf a RETURN a.ts AS at INTO Shelves; FROM Shelves EVENT Shelves s RETURN s.at AS at"
        result = run("match", query, "-", stdin="ts,type\n1,Shelf\n")
        assert (lines(result.stdout), result.stderr) == ([{"match_start": 1, "match_end": 1, "at": 1}], "")

    def test_control_characters_do_not_reach_a_terminal(self, run) -> None:
        result = run("match", "EVENT A a", "-", stdin="ts\x1b[31m,type\n1,A\n", code=1)
        assert "\x1b" not in result.stderr


def test_every_type_of_arrow_can_be_written(run, tmp_path: Path) -> None:
    table = pa.table(
        {
            "ts": pa.array([1_000_000_001], pa.timestamp("ns", "Europe/Berlin")),
            "type": ["A"],
            "blob": [b"\xff"],
            "pairs": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "span": pa.array([90_500], pa.duration("ms")),
            "clock": pa.array([3_600], pa.time32("s")),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    event = {
        "ts": "1970-01-01T01:00:01.000000001+01:00",
        "type": "A",
        "blob": "/w==",
        "pairs": {"k": 1},
        "span": "PT1M30.5S",
        "clock": "01:00:00.000",
    }
    assert lines(run("match", "EVENT A a", tmp_path / "a.parquet").stdout)[0]["a"] == event
    row = next(csv.DictReader(run("match", "EVENT A a", tmp_path / "a.parquet", "-f", "csv").stdout.splitlines()))
    assert (row["a.pairs"], row["a.ts"]) == ('{"k": 1}', event["ts"])
    assert event["ts"] in run("match", "EVENT A a", tmp_path / "a.parquet", "-f", "table").stdout
