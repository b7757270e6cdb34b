"""`cepheid run` up to where Spark is needed: its options, its sources, and what it refuses before any work.

What runs on Spark is in tests/spark/test_run.py.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.cli.sources import FileSource, Table, find_source
from cepheid.errors import CepheidError
from cepheid.spark.failures import explain_failure
from cepheid.spark.run import check_java

QUERY = "EVENT A a"
STREAM = ("--stream", "--checkpoint", "c")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "day.csv").write_text("ts,type\n2026-01-01T00:00:00,A\n")
    return folder


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--checkpoint", "c"], "--checkpoint is for streams only: add --stream"),
            (["--flush"], "--flush is for streams only: add --stream"),
            (["--buckets", "2"], "--buckets is for streams only: add --stream"),
            (["--speculate", "all"], "--speculate is for streams only: add --stream"),
            (["--stream", "--checkpoint", "c", "--speculate", "al"], "error CEP603: speculate can't be 'al'"),
            (["--stream"], "a stream needs a checkpoint: add --checkpoint DIR"),
            (["--stream", "--checkpoint", "c", "--overwrite"], "--overwrite is not for streams: leave it out"),
            (["--stream", "--checkpoint", "c", "--partitions", "2"], "--partitions is not for streams: leave it out"),
            (["--stream", "--checkpoint", "c", "--watch", "--flush"], "--watch and --flush can't be combined"),
            (["--conf", "spark"], "'spark' does not have the form NAME=VALUE"),
            (["--format", "xml"], "'xml' is not one of 'parquet', 'json', 'csv'"),
        ],
    )
    def test_wrong_usage(self, run, events: Path, tmp_path: Path, options: list[str], message: str) -> None:
        result = run("run", QUERY, "--from", events, "--to", tmp_path / "out", *options, code=2)
        assert message in result.stderr

    def test_a_wrong_query_needs_no_spark(self, run, events: Path, tmp_path: Path) -> None:
        result = run("run", "EVENT A a WHERE (", "--from", events, "--to", tmp_path / "out", code=1)
        assert result.stderr.startswith("error CEP102")


class TestChanges:
    """The options that make a stream of changes reach `match` by name, and only those that are given."""

    @pytest.fixture
    def given(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        monkeypatch.setattr("cepheid.cli.spark.started", lambda master, conf: nullcontext())
        monkeypatch.setattr("cepheid.cli.spark.run_batch", lambda spark, job: told.append(job.options))
        monkeypatch.setattr("cepheid.cli.spark.run_stream", lambda spark, job, flow: told.append(job.options))
        return told

    @pytest.mark.parametrize(
        ("options", "changes"),
        [
            ([], {}),
            (["--op", "kind"], {"op": "kind"}),
            (["--sequence", "n"], {"sequence": "n"}),
            ([*STREAM], {}),
            ([*STREAM, "--op", "kind", "--speculate", "all"], {"op": "kind", "speculate": "all"}),
            ([*STREAM, "--speculate", "10 minutes"], {"speculate": "10 minutes"}),
            ([*STREAM, "--speculate", "0"], {"speculate": 0}),
        ],
    )
    def test_options(self, run, events: Path, tmp_path: Path, given: list, options: list, changes: dict) -> None:
        run("run", QUERY, "--from", events, "--to", tmp_path / "out", *options)
        assert [{name: one[name] for name in ("op", "sequence", "speculate") if name in one} for one in given] == [
            changes
        ]


class TestPlaces:
    def test_what_holds_something_is_not_written_to(self, run, events: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "kept").write_text("precious")
        result = run("run", QUERY, "--from", events, "--to", tmp_path / "out", code=3)
        assert result.stderr == (
            f"error CEP801: can't write '{tmp_path / 'out'}': it is not empty\n"
            "help: choose another path, or pass --overwrite\n"
        )
        assert (tmp_path / "out" / "kept").read_text() == "precious"

    def test_nor_by_a_stream_that_begins(self, run, events: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "kept").write_text("precious")
        given = ("--from", events, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        result = run("run", QUERY, *given, code=3)
        assert "no stream to resume" in result.stderr
        assert "help: choose another path, or the checkpoint of these matches" in result.stderr

    @pytest.mark.parametrize(("source", "to"), [("events", "events"), ("events", "events/out"), ("a/b", "a")])
    def test_matches_do_not_go_where_the_events_are(self, run, tmp_path: Path, source: str, to: str) -> None:
        result = run("run", QUERY, "--from", tmp_path / source, "--to", tmp_path / to, "--overwrite", code=2)
        assert "overlap: choose another directory" in result.stderr

    def test_nor_the_checkpoint(self, run, events: Path, tmp_path: Path) -> None:
        given = ("--from", events, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "out" / "state")
        assert "overlap" in run("run", QUERY, *given, code=2).stderr


class TestSource:
    def test_a_table(self) -> None:
        assert find_source("table:a.b", None, stream=False) == Table("a.b")
        assert find_source("main.readings", None, stream=False) == Table("main.readings")

    def test_nothing_of_that_name(self, tmp_path: Path) -> None:
        for name in (tmp_path / "nowhere", "nowhere.parquet"):
            with pytest.raises(CepheidError, match="there is no such file") as caught:
                find_source(str(name), None, stream=False)
            assert "write table:NAME for a table" in caught.value.remedy

    def test_what_is_elsewhere(self) -> None:
        assert find_source("s3a://b/day.parquet", None, stream=False) == FileSource("s3a://b/day.parquet", "parquet")
        assert find_source("s3a://b/day", "orc", stream=True) == FileSource("s3a://b/day", "orc")
        with pytest.raises(CepheidError, match="does not show the format") as caught:
            find_source("s3a://b/day", None, stream=False)
        assert "--from-format" in caught.value.remedy

    @pytest.mark.parametrize(
        ("name", "content", "form", "options", "first"),
        [
            ("a.csv", b"ts,type\n", "csv", {"sep": ","}, ()),
            ("a.csv", b"ts\ttype\n", "csv", {"sep": "\t"}, ()),
            ("a.csv.gz", b"\x1f\x8b", "csv", {}, ()),
            ("a.jsonl", b'{"ts": 1, "a": 2}\n', "json", {}, ("ts", "a")),
            ("a.json", b'[{"ts": 1, "a": 2},\n{"ts": 2}]', "json", {"multiLine": "true"}, ("ts", "a")),
            ("part-0", b'{"z": 1, "a": 2}\n', "json", {}, ("z", "a")),
            ("part-0", b"PAR1", "parquet", {}, ()),
        ],
    )
    def test_files(self, tmp_path: Path, name: str, content: bytes, form: str, options: dict, first: tuple) -> None:
        folder = tmp_path / "day=1"
        folder.mkdir()
        (folder / name).write_bytes(content)
        (folder / "_SUCCESS").write_text("")
        assert find_source(str(tmp_path), None, stream=True) == FileSource(tmp_path.as_uri(), form, options, first)
        assert find_source(str(folder / name), None, stream=False).form == form

    def test_a_directory_without_files(self, tmp_path: Path) -> None:
        with pytest.raises(CepheidError, match="CEP407"):
            find_source(str(tmp_path), None, stream=False)

    def test_a_file_is_no_stream(self, events: Path) -> None:
        with pytest.raises(CepheidError, match="a stream reads a directory"):
            find_source(str(events / "day.csv"), None, stream=True)

    def test_the_files_of_a_delta_table_are_not_the_table(self, tmp_path: Path) -> None:
        (tmp_path / "_delta_log").mkdir()
        pq.write_table(pa.table({"ts": [1]}), tmp_path / "part.parquet")
        with pytest.raises(CepheidError, match="some of its files may be obsolete") as caught:
            find_source(str(tmp_path), None, stream=False)
        assert "--from-format delta" in caught.value.remedy
        assert find_source(str(tmp_path), "delta", stream=True) == FileSource(tmp_path.as_uri(), "delta")


class TestFailures:
    WORKER = (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: An exception was thrown from the Python "
        "worker:\nTraceback (most recent call last):\n  File x, line 1\n"
        "cepheid.errors.EvaluationError: error CEP501: f(0) raised ValueError: no\n  at line 1, column 3\n"
        "1 | PATTERN\n  |   ^^\nhelp: mend the function\n\n\tat org.apache.spark.api\n"
    )

    def test_one_of_ours(self) -> None:
        found = explain_failure(RuntimeError(self.WORKER))
        assert type(found).__name__ == "EvaluationError"
        assert str(found) == (
            "error CEP501: f(0) raised ValueError: no\n  at line 1, column 3\n1 | PATTERN\n  |   ^^\n"
            "help: mend the function"
        )

    def test_one_of_sparks(self) -> None:
        found = explain_failure(RuntimeError("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03"))
        assert str(found) == ("error CEP406: Path does not exist: file:/x.\nhelp: check the spelling and the directory")

    def test_any_other(self) -> None:
        text = "Job aborted: disk full\n\tat org.apache.spark.scheduler.DAGScheduler\n"
        found = explain_failure(RuntimeError(text), "look at x.log")
        assert str(found) == "error CEP931: Spark failed: Job aborted: disk full\nhelp: look at x.log"


class TestJava:
    def test_none(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(CepheidError, match=r"CEP930.*JAVA_HOME") as caught:
            check_java()
        assert "install Java 17 or newer" in caught.value.remedy

    @pytest.mark.skipif(sys.platform == "win32", reason="the old Java is a shell script")
    def test_an_old_one(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(CepheidError, match=r"Spark needs Java 17 or newer, and .* is 11"):
            check_java()

    def test_the_demo_goes_without(self, run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        monkeypatch.setattr("cepheid.spark.run.SparkSession.getActiveSession", lambda: None)
        result = run("demo")
        assert result.stdout.endswith("embedded          3 matches\n")
        assert result.stderr.startswith("warning: not run on Spark: Spark needs Java, and there is none in JAVA_HOME")
        assert "install Java 17 or newer" in result.stderr


class TestRules:
    """`--rules`: what reaches `match`, and what is refused before any work."""

    @pytest.fixture
    def rules(self, tmp_path: Path) -> Path:
        path = tmp_path / "rules.csv"
        path.write_text("id,least\nu1,3 hours\nu2,x\n")
        return path

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--long"], "--long can't be combined with --rules"),
            ([*STREAM, "--speculate", "all"], "--speculate can't be combined with --rules"),
            (["--plan", "scan"], "--plan can't be combined with --rules"),
        ],
    )
    def test_wrong_usage(
        self, run, events: Path, rules: Path, tmp_path: Path, options: list[str], message: str
    ) -> None:
        result = run("run", "--rules", rules, QUERY, "--from", events, "--to", tmp_path / "out", *options, code=2)
        assert message in result.stderr

    def test_options_of_rules_need_rules(self, run, events: Path, tmp_path: Path) -> None:
        result = run("run", QUERY, "--from", events, "--to", tmp_path / "out", "--id", "name", code=2)
        assert "--id is for many queries: add --rules FILE" in result.stderr

    def test_a_wrong_rule_needs_no_spark(self, run, events: Path, rules: Path, tmp_path: Path) -> None:
        query = "EVENT A a WITHIN least"
        result = run("run", "--rules", rules, query, "--from", events, "--to", tmp_path / "out", code=1)
        assert result.stderr.startswith("error CEP307: rule 'u2': column 'least'")

    def test_what_reaches_match(
        self, run, events: Path, rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[Any] = []
        monkeypatch.setattr("cepheid.cli.spark.started", lambda master, conf: nullcontext())
        monkeypatch.setattr("cepheid.cli.spark.run_batch", lambda spark, job: told.append(job))
        query = "EVENT A a WITHIN least"
        given = ("--rules", rules, "--wrong", "skip", "--from", events, "--to", tmp_path / "out")
        result = run("run", query, *given)
        assert told[0].options == {"engine": "auto", "own": True, "partitions": None}
        assert told[0].query.ids.to_pylist() == ["u1", "u2"]
        assert "rule 'u2' is left out" in result.stderr
