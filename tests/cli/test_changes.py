"""`cepheid match` on changes: `--op`, and `--speculate`, which replays a file and prints what each row changes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

THEFT = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 1 hour RETURN a.tag AS tag"
LATE = "ts,type,tag\n1,Shelf,7\n2,Shelf,8\n5,Exit,7\n3,Register,7\n9,Exit,8\n"
"""The Register comes after the Exit, and takes the first theft back."""
FEED = "op,ts,type,tag\n+I,1,Shelf,7\n+I,3,Register,7\n+I,5,Exit,7\n-U,3,Register,7\n+U,3,Register,8\n"
"""A revision: the Register was of another tag."""
SEVEN = {"match_start": 1, "match_end": 5, "tag": 7}
EIGHT = {"match_start": 2, "match_end": 9, "tag": 8}


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def table(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.splitlines())


class TestOp:
    def test_the_match_of_the_net(self, run) -> None:
        assert lines(run("match", THEFT, "-", "--op", "op", stdin=FEED).stdout) == [SEVEN]

    def test_the_column_is_no_attribute(self, run) -> None:
        (found,) = lines(run("match", "EVENT Exit c", "-", "--op", "op", stdin=FEED).stdout)
        assert found["c"] == {"ts": 5, "type": "Exit", "tag": 7}

    def test_a_retraction_of_nothing_is_a_warning(self, run) -> None:
        result = run("match", THEFT, "-", "--op", "op", stdin=FEED + "-D,6,Exit,7\n")
        assert lines(result.stdout) == [SEVEN]
        assert result.stderr.startswith("warning CEP012: a retraction is ignored: its event was never inserted")
        assert result.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("column", "code", "message"),
        [
            ("oop", 1, "error CEP301: op is 'oop', and the events have no such column\nhelp: did you mean 'op'?"),
            ("ts", 2, "error CEP603: op is 'ts', which has another role"),
            ("tag", 1, "error CEP412: column 'tag' is int64, not text"),
            ("", 2, "error CEP603: op is '', which is not a column name"),
        ],
    )
    def test_another_column(self, run, column: str, code: int, message: str) -> None:
        assert message in run("match", THEFT, "-", "--op", column, stdin=FEED, code=code).stderr


class TestReplay:
    def test_json_lines_carry_op_and_the_match(self, run) -> None:
        result = run("match", THEFT, "-", "--speculate", "all", "--lateness", "1 minute", stdin=LATE)
        one, two, three = lines(result.stdout)
        assert one.pop("match_id") == two.pop("match_id") != three.pop("match_id")
        assert [one, two, three] == [{"op": "+", **SEVEN}, {"op": "-", **SEVEN}, {"op": "+", **EIGHT}]
        assert result.stderr == ""

    def test_rows_that_arrive_together(self, run) -> None:
        found = lines(run("match", THEFT, "-", "--speculate", "all", "--batch", 4, stdin=LATE).stdout)
        assert [(one["op"], one["tag"]) for one in found] == [("+", 8)]

    def test_only_what_is_certain(self, run) -> None:
        result = run("match", THEFT, "-", "--speculate", "0", "--lateness", "2", stdin=LATE)
        assert [(one["op"], one["tag"]) for one in lines(result.stdout)] == [("+", 8)]

    def test_late_rows(self, run) -> None:
        given = ("match", THEFT, "-", "--speculate", "all", "--lateness", "1")
        result = run(*given, stdin=LATE)
        assert [(one["op"], one["tag"]) for one in lines(result.stdout)] == [("+", 7), ("+", 8)]
        assert result.stderr == "1 late row was dropped\n"
        result = run(*given, "--late", "error", stdin=LATE, code=1)
        assert result.stderr.startswith("error CEP408: 1 of 1 events are before the watermark")
        assert result.stderr.endswith("help: pass a longer --lateness, or --late drop\n")

    @pytest.mark.parametrize("batch", [1, 2, 100])
    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("insert,9,Exit,8", "error CEP412: column 'op' is 'insert' in row 5\n"),
            ("+,,Exit,8", "error CEP402: the time 'ts' of row 5 is NULL\n"),
        ],
    )
    def test_an_error_tells_the_row_of_the_file(self, run, batch: int, row: str, message: str) -> None:
        given = ("match", THEFT, "-", "--speculate", "all", "--op", "op", "--batch", batch)
        assert run(*given, stdin=f"{FEED}{row}\n", code=1).stderr.startswith(message)

    def test_retractions(self, run) -> None:
        feed = FEED.replace("-U,3,Register,7\n", "").replace("+U,3,Register,8\n", "") + "-D,5,Exit,7\n"
        feed = feed.replace("+I,3,Register,7\n", "")
        found = lines(run("match", THEFT, "-", "--speculate", "all", "--op", "op", stdin=feed).stdout)
        assert [(one["op"], one["tag"]) for one in found] == [("+", 7), ("-", 7)]

    def test_a_retraction_of_nothing(self, run) -> None:
        given = ("match", THEFT, "-", "--speculate", "all", "--op", "op")
        assert run(*given, stdin=FEED + "-D,6,Exit,7\n").stderr == "1 late row was dropped\n"
        result = run(*given, "--late", "error", stdin=FEED + "-D,6,Exit,7\n", code=1)
        assert result.stderr.startswith("error CEP408: a retraction is of an event that has not come")
        assert result.stderr.endswith("or pass --late drop\n")

    def test_no_events(self, run) -> None:
        given = ("match", THEFT, "-", "--speculate", "all")
        assert run(*given, stdin="ts,type,tag\n").output == ""
        assert run(*given, "-f", "table", stdin="ts,type,tag\n").stdout == "no changes\n"
        assert run(*given, "-f", "csv", stdin="ts,type,tag\n").stdout == "op,match_id,match_start,match_end,tag\n"

    @pytest.mark.parametrize("engine", ["auto", "compiled", "plain", "interpreted", "reference"])
    def test_every_engine(self, run, engine: str) -> None:
        found = lines(run("match", THEFT, "-", "--speculate", "all", "--engine", engine, stdin=LATE).stdout)
        assert [(one["op"], one["tag"]) for one in found] == [("+", 7), ("-", 7), ("+", 8)]

    def test_a_file(self, run, tmp_path: Path) -> None:
        given = ("match", THEFT, "-", "--speculate", "all")
        result = run(*given, "-o", tmp_path / "out.parquet", stdin=LATE)
        assert result.stderr == f"3 changes (2 added, 1 retracted) written to '{tmp_path / 'out.parquet'}'\n"
        assert pq.read_table(tmp_path / "out.parquet")["op"].to_pylist() == ["+", "-", "+"]
        run(*given, "-o", tmp_path / "out.csv", stdin=LATE)
        with (tmp_path / "out.csv").open() as file:
            assert [(row["op"], row["tag"]) for row in csv.DictReader(file)] == [("+", "7"), ("-", "7"), ("+", "8")]

    def test_limit(self, run) -> None:
        result = run("match", THEFT, "-", "--speculate", "all", "-n", 1, stdin=LATE)
        assert [one["op"] for one in lines(result.stdout)] == ["+"]
        assert result.stderr == "the first 1 of 3 changes\n"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--speculate", "al"], "error CEP603: speculate can't be 'al'\nhelp: pass \"all\", a duration"),
            (["--speculate", "5 minutes"], "--speculate 5 minutes needs --lateness: without it there is no watermark"),
            (["--speculate", "all", "--lateness", "x"], "error CEP603: lateness can't be 'x'"),
            (["--speculate", "all", "--long"], "--long and --speculate can't be combined"),
            (["--speculate", "all", "--no-open"], "--no-open and --speculate can't be combined"),
            (["--lateness", "5"], "--lateness is for a replay only: add --speculate"),
            (["--late", "drop"], "--late is for a replay only"),
            (["--batch", "5"], "--batch is for a replay only"),
        ],
    )
    def test_wrong_usage(self, run, options: list[str], message: str) -> None:
        assert message in run("match", THEFT, "-", *options, stdin=LATE, code=2).stderr

    @pytest.mark.parametrize(
        ("query", "column"),
        [
            (THEFT.replace("AS tag", "AS op"), "op"),
            (THEFT.replace("a.tag AS tag", "match_id"), "match_id"),
            ("EVENT Shelf op", "op"),
        ],
    )
    def test_columns_that_a_change_has(self, run, query: str, column: str) -> None:
        message = run("match", query, "-", "--speculate", "all", stdin=LATE, code=1).stderr
        assert message.startswith(f"error CEP212: every change already has a column '{column}'\n")


class TestTable:
    def test_a_line_per_match(self, run) -> None:
        assert table(run("match", THEFT, "-", "--speculate", "all", "-f", "table", stdin=LATE).stdout) == (
            "op  match_start  match_end  tag\n"
            "───────────────────────────────\n"
            "+             1          5    7\n"
            "-             1          5    7\n"
            "+             2          9    8\n"
            "3 changes (2 added, 1 retracted)"
        )

    def test_a_line_per_event_with_the_number_of_the_match(self, run) -> None:
        query = THEFT.replace(" RETURN a.tag AS tag", "")
        assert table(run("match", query, "-", "--speculate", "all", "-f", "table", stdin=LATE).stdout) == (
            "op  match  variable  ts  type   tag\n"
            "───────────────────────────────────\n"
            "+   1      a          1  Shelf    7\n"
            "           c          5  Exit     7\n"
            "\n"
            "-   1      a          1  Shelf    7\n"
            "           c          5  Exit     7\n"
            "\n"
            "+   2      a          2  Shelf    8\n"
            "           c          9  Exit     8\n"
            "3 changes (2 added, 1 retracted)"
        )

    def test_what_is_taken_back_is_red_and_struck_through(self, run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        found = run("match", THEFT, "-", "--speculate", "all", "-f", "table", stdin=LATE).stdout
        styled = ["\x1b[9;31m" in line for line in found.splitlines()[2:5]]
        assert styled == [False, True, False]
