"""`check`, `explain`, `fmt`, and the help of all commands."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheid
from cepheid.cli.fmt import first_comment


class TestCheck:
    def test_a_query_in_itself(self, run, thefts: Path) -> None:
        assert run("check", thefts).output == f"{thefts}: ok\n"
        assert run("check", "EVENT A a WITHIN T", "--param", "T=5 minutes").output == "the query: ok\n"

    def test_against_events(self, run, thefts: Path, readings: Path) -> None:
        event = "struct<ts: timestamp[s], type: string, tag_id: string, reader: string>"
        assert run("check", thefts, "--schema", readings).output == (
            f"{thefts}: ok, a match has the columns\n"
            "  match_start: timestamp[s]\n"
            "  match_end: timestamp[s]\n"
            f"  a: {event}\n"
            f"  c: {event}\n"
        )

    def test_a_wrong_query(self, run) -> None:
        result = run("check", "PATTERN SEQ(A a, B b) WHERE a.x = d.x", code=1)
        assert result.stdout == ""
        assert result.stderr.startswith("error CEP202: unknown variable 'd'\n  at line 1, column 35\n")

    def test_every_query_of_a_program_is_bound(self, run) -> None:
        program = "EVENT A a RETURN a.x AS x INTO B; FROM B EVENT B b WHERE b.y > 1"
        result = run("check", program, "--schema", "-", stdin="ts,type,x\n1,A,2\n", code=1)
        assert result.stderr.startswith("error CEP301: unknown column 'y'\n")

    def test_a_misspelt_type(self, run) -> None:
        result = run("check", "EVENT Shelv a", "--schema", "-", stdin="ts,type\n1,Shelf\n")
        assert result.stderr == "warning CEP005: no event has the type 'Shelv'; did you mean 'Shelf'?\n"

    def test_a_stream_without_types(self, run) -> None:
        result = run("check", "EVENT Tick t", "--no-type", "--schema", "-", stdin="ts\n1\n")
        assert result.output.endswith("  t: struct<ts: int64>\n")


class TestExplain:
    def test_is_the_explanation_of_the_library(self, run, thefts: Path) -> None:
        query = cepheid.Query(thefts.read_text())
        assert run("explain", thefts).stdout == f"{query.explain()}\n"

    def test_settings(self, run) -> None:
        query = cepheid.Query("EVENT A a WITHIN T", params={"T": "5 minutes"}, type=None)
        found = run("explain", "EVENT A a WITHIN T", "--param", "T=5 minutes", "--no-type").stdout
        assert found == f"{query.explain()}\n"

    def test_how_it_runs_on_events(self, run, thefts: Path, readings: Path) -> None:
        found = run("explain", thefts, readings).stdout
        assert found.startswith(run("explain", thefts).stdout)
        assert "\nExecution\n  on a generated kernel: " in found

    def test_events_that_do_not_fit(self, run) -> None:
        result = run("explain", "EVENT A a WHERE a.y > 1", "-", stdin="ts,type,x\n1,A,2\n", code=1)
        assert result.stderr.startswith("error CEP301: unknown column 'y'\n")

    def test_both_from_stdin(self, run) -> None:
        assert "can't both be read from stdin" in run("explain", "-", "-", stdin="EVENT A a", code=2).stderr


UGLY = "event seq(A a,B b) where a.x==b.x"
PRETTY = "PATTERN SEQ(A a, B b)\nWHERE a.x = b.x\n"


class TestFmt:
    def test_prints_the_canonical_text(self, run) -> None:
        assert run("fmt", UGLY).output == PRETTY
        assert run("fmt", PRETTY).output == PRETTY

    def test_needs_no_parameters(self, run) -> None:
        assert run("fmt", "event A a within T").output == "PATTERN A a\nWITHIN T\n"

    def test_says_that_comments_are_lost(self, run, thefts: Path) -> None:
        result = run("fmt", thefts)
        assert result.stderr == "warning: comments are not kept\n"
        assert result.stdout == cepheid.Query(thefts.read_text()).text + "\n"

    def test_write(self, run, tmp_path: Path) -> None:
        path = tmp_path / "query.sase"
        path.write_text(UGLY)
        assert run("fmt", "--write", path).output == ""
        assert path.read_bytes() == PRETTY.encode()

    def test_write_refuses_comments(self, run, tmp_path: Path) -> None:
        path = tmp_path / "query.sase"
        path.write_text(f"{UGLY} -- why\n")
        assert run("fmt", "--write", path, code=2).stderr == (
            f"error CEP605: {path} has comments, which would be lost\n"
            "  at line 1, column 35\n"
            "1 | event seq(A a,B b) where a.x==b.x -- why\n"
            "  |                                   ^^^^^^\n"
            "help: print the result without --write, and put the comments back by hand\n"
        )
        assert path.read_text() == f"{UGLY} -- why\n"

    def test_write_needs_a_file(self, run) -> None:
        assert "--write needs a file" in run("fmt", "--write", UGLY, code=2).stderr

    def test_check(self, run, tmp_path: Path) -> None:
        path = tmp_path / "query.sase"
        path.write_text(UGLY)
        result = run("fmt", "--check", path, code=1)
        assert (result.stdout, result.stderr) == ("", f"{path} would change\n")
        assert path.read_text() == UGLY
        path.write_text(PRETTY)
        assert run("fmt", "--check", path).output == ""

    def test_write_and_check(self, run) -> None:
        assert "can't be combined" in run("fmt", "--write", "--check", UGLY, code=2).stderr

    @pytest.mark.parametrize(
        ("text", "comment"),
        [
            ("EVENT A a", None),
            ("EVENT A a WHERE a.x = '/* no */ -- no'", None),
            ("EVENT A a WHERE a.x = 'it''s -- no'", None),
            ('EVENT A a WHERE a.x = "--"', None),
            ("EVENT A a WHERE a.x = ‘--’ and a.y = “/*”", None),
            ("EVENT A a WHERE a.`x--y` = 1", None),
            ("EVENT A a /* yes\nyes */ WHERE a.x = '--'", "/* yes\nyes */"),
            ("EVENT A a -- it's", "-- it's"),
        ],
    )
    def test_first_comment(self, text: str, comment: str | None) -> None:
        found = first_comment(text)
        assert (found.excerpt if found else None) == comment


COMMANDS = [(), *((name,) for name in ("match", "check", "explain", "diagnose", "trace", "fmt"))]


class TestHelp:
    def test_version(self, run) -> None:
        assert run("--version").output == f"cepheid {cepheid.__version__}\n"

    @pytest.mark.parametrize("command", COMMANDS)
    def test_exit_codes_are_documented(self, run, command: tuple[str, ...]) -> None:
        text = run(*command, "--help").output
        listed = text[text.index("Exit codes:") :].splitlines()[1:6]
        assert [line.split()[0] for line in listed] == ["0", "1", "2", "3", "130"]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_examples_run(
        self, run, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readings: Path
    ) -> None:
        monkeypatch.chdir(tmp_path)
        query = "PATTERN SEQ(Shelf a, !(Register b), Exit c)\nWHERE [tag_id]\nWITHIN 12 hours\n"
        Path("thefts.sase").write_text(query)
        shutil.copy(readings, "readings.csv")
        run(
            "match",
            "EVENT Shelf a RETURN a.ts AS ts, 'Shelf' AS type, a.tag_id AS tag_id",
            "readings.csv",
            "-o",
            "day.jsonl",
        )
        run(
            "match",
            "EVENT Shelf a RETURN a.ts AS ts, 'Shelf' AS type, a.tag_id AS tag_id",
            "readings.csv",
            "-o",
            "readings.parquet",
        )
        Path("ticks.csv").write_text("at,price\n1,5\n2,6\n")
        Path("alert.sase").write_text("PATTERN SEQ(Stock a, Stock b) WHERE a.price > high AND b.price < low")
        pq.write_table(pa.table({"id": ["u1"], "high": [5], "low": [3]}), "alerts.parquet")
        pq.write_table(pa.table({"ts": [1, 2], "type": ["Stock"] * 2, "price": [6, 2]}), "prices.parquet")
        lines = [line.strip() for line in run(*command, "--help").output.splitlines()]
        examples = [line for line in lines if line.startswith("cepheid ")]
        assert examples
        for example in examples:
            run(*shlex.split(example.split(" | ")[0])[1:])
