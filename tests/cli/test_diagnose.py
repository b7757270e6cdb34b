"""`diagnose` and `trace`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cepheid

SOON = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] WITHIN 1 second"
EVENTS = "ts,type,id\n1,A,1\n2,B,2\n3,B,1\n"
PAIR = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [id] }"


class TestDiagnose:
    def test_is_the_diagnosis_of_the_library(self, run, readings: Path) -> None:
        found = run("diagnose", SOON, readings).stdout
        assert found.startswith("no match in 59 events\n  Shelf 21, Exit 11, ")
        assert found == f"{cepheid.Query(SOON).diagnose(readings)}\n"

    def test_json(self, run, readings: Path) -> None:
        found = json.loads(run("diagnose", SOON, readings, "-f", "json").stdout)
        assert found["matches"] == 0
        assert [hint["code"] for hint in found["hints"]] == ["CEP023"]
        assert [(stage["component"], stage["runs"]) for stage in found["funnel"]] == [
            ("a", 21),
            ("c", 0),
            ("complete", 0),
        ]

    def test_settings(self, run) -> None:
        query = "PATTERN SEQ(A a, A b) WHERE b.x > T WITHIN 1 second"
        found = run("diagnose", query, "-", "--no-type", "--time", "at", "--param", "T=5", stdin="at,x\n1,2\n2,3\n")
        assert found.stdout.startswith("no match in 2 events\n")

    @pytest.mark.parametrize(("sample", "followed"), [("all", 59), ("20", 18)])
    def test_sample(self, run, readings: Path, sample: str, followed: int) -> None:
        found = json.loads(run("diagnose", SOON, readings, "--sample", sample, "-f", "json").stdout)
        assert (found["seen"]["events"], found["sampled"]) == (59, followed)

    @pytest.mark.parametrize("sample", ["0", "-1", "some", ""])
    def test_a_wrong_sample(self, run, readings: Path, sample: str) -> None:
        result = run("diagnose", SOON, readings, "--sample", sample, code=2)
        assert f"'{sample}' is not a number of events, 1 or more, nor all" in result.stderr

    def test_characters_that_a_terminal_would_obey(self, run) -> None:
        query = "PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 1 second"
        found = run("diagnose", query, "-", stdin="ts,type,s\n1,A,\x1b[2J\n2,B,x\n").stdout
        assert "\x1b" not in found
        assert "\\x1b[2J" in found

    def test_arcs(self, run) -> None:
        found = run("diagnose", "AUTOMATON s -> t ARC s -> t WHEN e.ts > 5", "-", stdin=EVENTS).stdout
        assert found.startswith("no match in 3 events\n")


class TestTrace:
    def test_text(self, run) -> None:
        assert run("trace", PAIR, "-", "-f", "text", stdin=EVENTS).output == (
            "ts  position  type  action   run  parent  component  index  detail\n"
            "1   0         A     begin    1            a\n"
            "3   2         B     kill     1                              "
            "it went on with this event, which skip_till_next_match does not let it skip\n"
            "3   2         B     proceed  2    1       b\n"
            "3   2         B     emit     2    1\n"
        )

    def test_all_of_it_is_printed(self, run) -> None:
        stdin = "ts,type,id\n" + "".join(f"{k},A,{k}\n" for k in range(200))
        assert len(run("trace", PAIR, "-", "-f", "text", stdin=stdin).stdout.splitlines()) == 401

    def test_json_lines_in_a_pipe(self, run) -> None:
        steps = [json.loads(line) for line in run("trace", PAIR, "-", stdin=EVENTS).stdout.splitlines()]
        assert [(step["ts"], step["action"], step["run"]) for step in steps] == [
            (1, "begin", 1),
            (3, "kill", 1),
            (3, "proceed", 2),
            (3, "emit", 2),
        ]

    def test_csv_and_a_limit(self, run) -> None:
        result = run("trace", PAIR, "-", "-f", "csv", "-n", "1", stdin=EVENTS)
        assert result.stdout == (
            "step,ts,position,row,type,action,run,parent,component,index,detail\n1,1,0,0,A,begin,1,,a,,\n"
        )
        assert result.stderr == "1 step of the first 1 of 3 events; --limit shows more\n"

    def test_a_file(self, run, tmp_path: Path) -> None:
        file = tmp_path / "steps.parquet"
        result = run("trace", PAIR, "-", "-o", file, stdin=EVENTS)
        assert (result.stdout, result.stderr) == ("", f"4 steps written to '{file}'\n")
        assert pq.read_table(file)["action"].to_pylist() == ["begin", "kill", "proceed", "emit"]

    def test_a_file_is_not_written_over_the_events(self, run, tmp_path: Path) -> None:
        events = tmp_path / "events.csv"
        events.write_text(EVENTS)
        result = run("trace", PAIR, events, "-o", events, code=2)
        assert "is the file of the events: write the steps to another file" in result.stderr
        assert "--format is for stdout" in run("trace", PAIR, events, "-o", "x.csv", "-f", "csv", code=2).stderr

    def test_arcs(self, run) -> None:
        result = run("trace", "AUTOMATON s -> t ARC s -> t ON A", "-", "-f", "text", stdin=EVENTS)
        assert result.stdout.splitlines()[:3] == [
            "ts  position  type  action  run  parent  component  index  detail",
            "1   0         A     begin   1            s -> t",
            "1   0         A     emit    1",
        ]

    @pytest.mark.parametrize("command", ["diagnose", "trace"])
    def test_both_from_stdin(self, run, command: str) -> None:
        assert "can't both be read from stdin" in run(command, "-", "-", stdin="EVENT A a", code=2).stderr
