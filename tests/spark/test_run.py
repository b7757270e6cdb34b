"""`cepheid run`: files and tables in, a directory of matches out, in batch and as a stream."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from cepheid.cli import main

DEMO = Path(__file__).parents[2] / "src" / "cepheid" / "demo"
THEFTS = DEMO / "shoplifting.sase"
READINGS = DEMO / "readings.csv"
TAGS = ["T1002", "T1004", "T1006"]

Run = Callable[..., Result]


@pytest.fixture
def run(spark) -> Run:
    """Run `cepheid run`, in the session of the tests."""

    def call(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(main, ["run", *(str(a) for a in arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        assert "\tat " not in result.output  # no traces of the JVM
        return result

    return call


def cut(folder: Path, *places: int) -> Path:
    """The readings of the demo as files, cut at these lines."""
    header, *lines = READINGS.read_text().splitlines(keepends=True)
    folder.mkdir()
    add(folder, header, lines, (0, *places, len(lines)))
    return folder


def add(folder: Path, header: str, lines: list[str], places: tuple[int, ...]) -> None:
    for begin, end in pairwise(places):
        file = folder / f"part-{begin:03}.csv"
        file.write_text(header + "".join(lines[begin:end]))
        os.utime(file, (begin, begin))


def tags(found: list[dict]) -> list[str]:
    return sorted(row["a"]["tag_id"] for row in found)


class TestBatch:
    @pytest.mark.smoke
    def test_csv_to_parquet(self, run: Run, tmp_path: Path) -> None:
        result = run(THEFTS, "--from", READINGS, "--to", tmp_path / "out")
        assert (result.stdout, result.stderr) == ("", f"3 matches written to '{tmp_path / 'out'}'\n")
        found = pq.read_table(tmp_path / "out")
        assert found.column_names == ["match_start", "match_end", "a", "c"]
        assert tags(found.to_pylist()) == TAGS

    def test_json_in_the_order_of_its_columns(self, run: Run, tmp_path: Path) -> None:
        events = tmp_path / "events.jsonl"
        rows = [{"ts": 1, "type": "B", "seq": 2, "alpha": 1}, {"ts": 1, "type": "A", "seq": 1, "alpha": 2}]
        events.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # In Spark's order, by name, alpha would come first and the B before the A.
        query = "PATTERN SEQ(A a, B b) WHERE [ts] WITHIN 1 second RETURN a.seq AS a, b.seq AS b"
        run(query, "--from", events, "--to", tmp_path / "out.json")
        written = "".join(file.read_text() for file in (tmp_path / "out.json").glob("part-*.json"))
        assert json.loads(written) == {"match_start": 1, "match_end": 1, "a": 1, "b": 2}

    def test_csv_out_is_flat(self, run: Run, tmp_path: Path) -> None:
        run(THEFTS, "--from", READINGS, "--to", tmp_path / "out", "--format", "csv")
        text = [file.read_text() for file in (tmp_path / "out").glob("part-*.csv")]
        header = "match_start,match_end,a.ts,a.type,a.tag_id,a.reader,c.ts,c.type,c.tag_id,c.reader"
        assert {one.splitlines()[0] for one in text if one} == {header}
        assert sum(len(one.splitlines()) - 1 for one in text if one) == 3

    def test_the_match_of_the_net(self, run: Run, tmp_path: Path) -> None:
        events = tmp_path / "changes.csv"
        events.write_text("op,ts,type,tag\n+I,1,Shelf,7\n+I,3,Register,7\n+I,5,Exit,7\n-D,3,Register,7\n")
        query = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 1 hour RETURN a.tag AS tag"
        run(query, "--from", events, "--to", tmp_path / "out", "--op", "op")
        assert pq.read_table(tmp_path / "out").to_pylist() == [{"match_start": 1, "match_end": 5, "tag": 7}]

    def test_a_view(self, run: Run, spark, tmp_path: Path) -> None:
        spark.read.csv(str(READINGS), header=True, inferSchema=True).createOrReplaceTempView("a_day")
        run(THEFTS, "--from", "table:a_day", "--to", tmp_path / "out")
        assert tags(pq.read_table(tmp_path / "out").to_pylist()) == TAGS
        spark.catalog.dropTempView("a_day")

    def test_a_table_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        result = run(THEFTS, "--from", "table:nowhere", "--to", tmp_path / "out", code=1)
        assert result.stderr.startswith("error CEP406: The table or view `nowhere` cannot be found.")
        assert "\nhelp: check the spelling" in result.stderr

    def test_overwrite(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "out"
        run(THEFTS, "--from", READINGS, "--to", out)
        run(THEFTS, "--from", READINGS, "--to", out, "--overwrite")
        assert tags(pq.read_table(out).to_pylist()) == TAGS
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_overwrite_loses_nothing_when_it_fails(self, run: Run, tmp_path: Path) -> None:
        events, out = tmp_path / "events.jsonl", tmp_path / "out"
        run(THEFTS, "--from", READINGS, "--to", out)
        events.write_text('{"ts": 1, "type": "A"}\n{"ts": 2, "type": \n')
        result = run("EVENT A a", "--from", events, "--to", out, "--overwrite", code=1)
        assert result.stderr.startswith("error CEP")
        assert tags(pq.read_table(out).to_pylist()) == TAGS
        assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "out"]

    def test_an_error_of_the_query(self, run: Run, tmp_path: Path) -> None:
        result = run("EVENT Shelf a WHERE a.tag = 1", "--from", READINGS, "--to", tmp_path / "out", code=1)
        assert result.stderr.startswith("error CEP301: unknown column 'tag'")
        assert result.stderr.endswith("help: did you mean 'tag_id'?\n")

    def test_an_error_in_a_worker(self, run: Run, tmp_path: Path) -> None:
        events = tmp_path / "events.csv"
        events.write_text("ts,type,x\n1,A,1\n,A,2\n")
        result = run("EVENT A a WITHIN 1 second", "--from", events, "--to", tmp_path / "out", code=1)
        assert result.stderr.startswith("error CEP402: the time 'ts' of row 0 is NULL\nhelp: ")
        assert result.stderr.count("help:") == 1


class TestStream:
    @pytest.mark.smoke
    def test_as_in_batch_and_goes_on(self, run: Run, tmp_path: Path) -> None:
        header, *lines = READINGS.read_text().splitlines(keepends=True)
        folder = tmp_path / "readings"
        folder.mkdir()
        add(folder, header, lines, (0, 20, 40))
        given = (THEFTS, "--from", folder, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        first = run(*given, "--files", 1, "--flush")
        assert "micro-batch" in first.stderr
        told = [line.split(" ", 1)[1] for line in first.stderr.splitlines() if " batch=" in line]
        assert told[0].startswith("batch=0 rows=20 matches=0 watermark=none state_bytes=")
        assert told[0].endswith(" late=0")
        assert told[1].startswith("batch=1 rows=20 matches=")
        assert "watermark=20" in told[1]
        early = tags(pq.read_table(tmp_path / "out").to_pylist())
        assert early == tags(pq.read_table(tmp_path / "out").to_pylist())
        add(folder, header, lines, (40, len(lines)))
        run(*given, "--flush")
        assert tags(pq.read_table(tmp_path / "out").to_pylist()) == TAGS
        assert (tmp_path / "out" / "batch=end").is_dir()
        # Without new files nothing changes.
        run(*given, "--flush")
        assert tags(pq.read_table(tmp_path / "out").to_pylist()) == TAGS

    @pytest.mark.smoke
    def test_changes(self, run: Run, tmp_path: Path) -> None:
        folder = tmp_path / "readings"
        folder.mkdir()
        header, day = "ts,type,tag\n", "2026-03-14T12"
        lines = [
            f"{day}:00:00,Shelf,7\n",
            f"{day}:05:00,Exit,7\n",
            f"{day}:03:00,Register,7\n",
            f"{day}:06:00,Exit,8\n",
        ]
        add(folder, header, lines, (0, 2, 4))
        query = "PATTERN SEQ(Shelf a, !(Register b), Exit c) WHERE [tag] WITHIN 1 hour RETURN a.tag AS tag"
        places = ("--from", folder, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        result = run(query, *places, "--watermark", "10 minutes", "--speculate", "all", "--files", 1, "--flush")
        found = pq.read_table(tmp_path / "out").to_pylist()
        assert [(row["op"], row["tag"]) for row in sorted(found, key=lambda row: row["op"])] == [("+", 7), ("-", 7)]
        assert len({row["match_id"] for row in found}) == 1
        assert " batch=1 rows=2 matches=0 withdrawn=1 " in result.stderr
        assert f" 1 match, 1 retracted; changes written to '{tmp_path / 'out'}'\n" in result.stderr

    @pytest.mark.smoke
    def test_control(self, run: Run, tmp_path: Path) -> None:
        """The rule changes at noon; a line that can't be read changes nothing, and stops nothing."""
        payments, rules, day = tmp_path / "payments", tmp_path / "rules", "2026-03-14T"
        payments.mkdir()
        rules.mkdir()
        hours = [(11, 600), (11, 300), (12, 300), (13, 150), (13, 250)]
        lines = [f"{day}{hour}:{30 + k}:00Z,{amount}\n" for k, (hour, amount) in enumerate(hours)]
        add(payments, "ts,amount\n", lines, (0, 2, 5))
        query = "AUTOMATON a -> b ARC big: a -> b WHEN e.amount > 500 RETURN last.amount AS amount"
        given = (query, "--no-type", "--from", payments, "--to", tmp_path / "out", "--stream", "--files", 1)
        given = (*given, "--checkpoint", tmp_path / "state", "--control", rules)
        noon = f'"at": "{day}12:00:00Z"'
        (rules / "noon.json").write_text(
            f'{{"id": "big", "action": "remove_arc", {noon}}}\n'
            f'{{"id": "big", "action": "add_arc", "text": "ARC a -> b WHEN e.amount > 200", {noon}}}\n'
            '{"id": "big", "action": "remove_\n'
            '{"id": "big", "action": "remove_arc", "at": "noon"}\n'
        )
        result = run(*given, "--flush")
        found = pq.read_table(tmp_path / "out").to_pylist()
        assert sorted(row["amount"] for row in found) == [250, 300, 600]
        assert {row["query"] for row in found} == {"query 1"}
        assert " refused=2 " in result.stderr
        assert "2 control rows refused\n" in result.stderr
        assert result.stderr.count("  None None: CEP615: the row has no id; ") == 2
        again = run(*given, "--flush")
        assert "refused" not in again.stderr
        missing = run(*given[:-2], "--control", tmp_path / "none", code=3)
        assert missing.stderr.startswith("error CEP801: can't read the control rows")
        without = run(*given[:-2], code=1)
        assert "error CEP905: the checkpoint belongs to a stream with control=" in without.stderr
        batch = (query, "--from", payments, "--to", tmp_path / "other", "--control", rules)
        assert "--control is for streams only" in run(*batch, code=2).stderr

    def test_an_integer_time(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.csv").write_text("ts,type\n1,A\n")
        places = ("--from", tmp_path / "in", "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        result = run("EVENT A a", *places, code=1)
        assert result.stderr.startswith(
            "error CEP902: the time column of a stream must be a timestamp, and 'ts' is int\n"
        )
        assert "timestamp_millis('ts')" in result.stderr

    def test_another_query_on_the_checkpoint(self, run: Run, tmp_path: Path) -> None:
        folder = cut(tmp_path / "readings")
        places = ("--from", folder, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        run(THEFTS, *places)
        # Before there are any new events.
        result = run("EVENT Shelf a WITHIN 1 hour", *places, code=1)
        assert result.stderr.startswith("error CEP905: the checkpoint belongs to another query")
        assert "help: start the stream with a new checkpoint location" in result.stderr
        result = run("EVENT Shelf a WITHIN 1 hour", *places, "--migrate", code=1)
        assert result.stderr.startswith("error CEP905: the state in the checkpoint does not fit the new query: PATTERN")

    def test_another_constant_on_the_checkpoint(self, run: Run, tmp_path: Path) -> None:
        header, *lines = READINGS.read_text().splitlines(keepends=True)
        folder = tmp_path / "readings"
        folder.mkdir()
        add(folder, header, lines, (0, 20))
        places = ("--from", folder, "--to", tmp_path / "out", "--stream", "--checkpoint", tmp_path / "state")
        query = "PATTERN SEQ(Shelf a, Exit c) WHERE [tag_id] AND c.tag_id != '{}' WITHIN 12 hours RETURN {} AS tag"
        run(query.format("T0", "a.tag_id"), *places)
        changed = query.format("T1002", "upper(c.tag_id)")
        assert "help: its state fits this query: pass --migrate to go on" in run(changed, *places, code=1).stderr
        run(changed, *places, "--migrate", "--flush")  # there are no new events, so the checkpoint stays as it was
        add(folder, header, lines, (20, len(lines)))
        run(changed, *places, "--migrate")
        run(changed, *places, "--flush")  # migrated once, it is the query of the checkpoint
        found = {row["tag"] for row in pq.read_table(tmp_path / "out").to_pylist()}
        assert "T1004" in found
        assert "T1002" not in found


class TestRules:
    def test_a_stream_of_many_queries(self, run: Run, tmp_path: Path) -> None:
        """In batch, as a stream with a rule that comes on the way, and what is pending at the end."""
        payments, rules, day = tmp_path / "payments", tmp_path / "rules.csv", "2026-03-14T"
        payments.mkdir()
        rules.write_text("id,who,least\nu1,7,100\nu2,8,500\n")
        given = [(7, 90), (7, 120), (8, 600), (9, 10)]
        lines = [f"{day}11:{30 + k}:00Z,{who},{amount}\n" for k, (who, amount) in enumerate(given)]
        add(payments, "ts,customer,amount\n", lines, (0, 2, 4))
        query = "PATTERN Any p WHERE p.customer = who AND p.amount > least RETURN p.amount AS amount"
        common = ("--rules", rules, query, "--no-type", "--from", payments)
        run(*common, "--to", tmp_path / "batch")
        found = pq.read_table(tmp_path / "batch").to_pylist()
        assert sorted((row["query"], row["amount"]) for row in found) == [("u1", 120), ("u2", 600)]
        (tmp_path / "control").mkdir()
        (tmp_path / "control" / "a.json").write_text(
            '{"id": "u3", "action": "add", "who": 9, "least": 5}\n{"id": "u4", "action": "remove"}\n{"id": "u5"\n'
        )
        stream = ("--to", tmp_path / "live", "--stream", "--checkpoint", tmp_path / "state", "--flush")
        result = run(*common, *stream, "--control", tmp_path / "control")
        found = pq.read_table(tmp_path / "live").to_pylist()
        assert sorted((row["query"], row["amount"]) for row in found) == [("u1", 120), ("u2", 600), ("u3", 10)]
        assert "2 control rows refused" in result.stderr
        assert "  remove u4: CEP229: there is no rule 'u4'" in result.stderr
