"""`cepheid match --rules`: a template and a file of rules."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

TEMPLATE = "PATTERN SEQ(A a, B b) WHERE [id = name] AND a.x > low WITHIN span"
RULES = "user,name,low,span\nu1,7,0,1 s\nu2,7,2,1 s\nu3,8,0,1 sec\n"
EVENTS = "ts,type,id,x\n1,A,7,1\n2,B,7,\n3,A,8,1\n4,B,8,1\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    template, rules, events = tmp_path / "alert.sase", tmp_path / "rules.csv", tmp_path / "events.csv"
    template.write_text(TEMPLATE)
    rules.write_text(RULES)
    events.write_text(EVENTS)
    return template, rules, events


def test_matches_have_the_ids_of_their_rules(run, files: tuple[Path, Path, Path]) -> None:
    template, rules, events = files
    result = run("match", "--rules", rules, "--id", "user", template, events)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(m["query"], m["match_start"], m["match_end"]) for m in found] == [("u1", 1, 2), ("u3", 3, 4)]
    first = run("match", "--rules", rules, "--id", "user", template, events, "-n", "1")
    assert [json.loads(line)["query"] for line in first.stdout.splitlines()] == ["u1"]
    assert first.stderr == "the first 1 of 2 matches\n"


def test_rules_and_matches_as_parquet(run, files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    template, _, events = files
    pq.write_table(pa.table({"id": [5], "name": [8], "low": [0], "span": ["1 s"]}), tmp_path / "rules.parquet")
    run("match", "--rules", tmp_path / "rules.parquet", template, events, "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["query"].to_pylist() == [5]


def test_wrong_rules(run, files: tuple[Path, Path, Path]) -> None:
    template, rules, events = files
    rules.write_text(RULES.replace("1 sec", "soon"))
    result = run("match", "--rules", rules, "--id", "user", template, events, code=1)
    assert "rule 'u3': column 'span': the parameter 'span' is 'soon', which is not a window" in result.stderr
    result = run("match", "--rules", rules, "--id", "user", "--wrong", "skip", template, events)
    assert [json.loads(line)["query"] for line in result.stdout.splitlines()] == ["u1"]
    assert result.stderr.startswith("rule 'u3' is left out: error CEP307")


def test_a_table_has_a_line_for_each_match(run, files: tuple[Path, Path, Path]) -> None:
    template, rules, events = files
    result = run("match", "--rules", rules, "--id", "user", "-f", "table", template, events)
    assert result.stdout.splitlines()[0].split() == ["query", "match_start", "match_end", "a", "b"]
    assert result.stdout.splitlines()[-1] == "2 matches"


@pytest.mark.parametrize("option", [["--long"], ["--no-open"], ["--op", "x"], ["--plan", "stacks"]])
def test_options_of_one_query(run, files: tuple[Path, Path, Path], option: list[str]) -> None:
    template, rules, events = files
    result = run("match", "--rules", rules, template, events, *option, code=2)
    assert f"{option[0]} can't be combined with --rules" in result.stderr


def test_options_of_many_queries(run, files: tuple[Path, Path, Path]) -> None:
    template, _, events = files
    assert "add --rules FILE" in run("match", template, events, "--id", "user", code=2).stderr
