"""What a newcomer starts from: the pages about Spark, and the examples, as they are."""

from __future__ import annotations

import doctest
import json
import os
import re
import runpy
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = [page for page in (ROOT / "docs" / "spark").glob("*.md") if ">>> " in page.read_text(encoding="utf-8")]
PAGES = sorted([*PAGES, ROOT / "docs" / "tutorial_spark.md"])


def run(*arguments: str) -> str:
    """Run a Python of its own, as a user would."""
    made = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page(spark, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(page), module_relative=False, globs={"spark": spark}, optionflags=options)
    assert tried >= 4
    assert failed == 0


def test_the_errors_of_spark(spark) -> None:
    """The lower part of docs/errors.md; the names that its upper part imports are given."""
    page = ROOT / "docs" / "errors.md"
    _, text = page.read_text(encoding="utf-8").split("\n## On Spark\n")
    test = doctest.DocTestParser().get_doctest(text, {"cep": cep, "spark": spark}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried >= 25
    assert failed == 0


def test_the_warning_of_a_query_in_one_task(spark) -> None:
    events = spark.createDataFrame([], "ts timestamp, type string")
    with pytest.warns(cep.CepheidWarning, match="CEP010") as warned:
        cep.Query("PATTERN SEQ(Shelf a, Exit c)").match(events)
    assert f"\n{warned[0].message}\n" in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def test_records_of_kafka(spark) -> None:
    kafka = runpy.run_path(str(EXAMPLES / "kafka.py"))
    steps = [("06:00", "Shelf", "T1"), ("06:01", "Shelf", "T2"), ("06:02", "Register", "T2"), ("06:03", "Exit", "T1")]
    values = [
        json.dumps({"ts": f"2026-03-14T{at}:00Z", "type": kind, "tag_id": tag, "reader": "r"}).encode()
        for at, kind, tag in steps
    ]
    topic = spark.createDataFrame([(value,) for value in (*values, b"no JSON")], "value binary")
    found = kafka["records"](kafka["THEFTS"].match(kafka["readings"](topic))).collect()
    assert [row.key for row in found] == ["T1"]
    assert json.loads(found[0].value)["shelf"] == "r"


@pytest.mark.slow
@pytest.mark.spark
def test_shoplifting() -> None:
    told = run("examples/shoplifting.py", "--items", "5000")
    assert told.endswith("the same thefts in both\n")


def test_a_table_that_is_kept_by_merge(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a micro-batch is written."""
    monkeypatch.syspath_prepend(EXAMPLES)
    example = runpy.run_path(str(EXAMPLES / "changes_table.py"))
    columns = "match_id string, match_start timestamp, tag long, a struct<x: double>"
    table = example["DeltaTable"].create(tmp_path / "table", spark.createDataFrame([], columns).toArrow().schema)
    stands = []
    for batch in ([("+", 1), ("+", 2)], [], [("-", 1), ("+", 3)], [("+", 1)]):
        rows = [(op, str(tag), datetime(2026, 3, 1, tzinfo=UTC), tag, (tag / 2,)) for op, tag in batch]
        changes = spark.createDataFrame(rows, f"op string, {columns}")
        for _ in range(2):
            example["merge"](table, changes)
            stands.append(sorted(row["tag"] for row in example["thefts"](table)))
    assert stands == [[1, 2], [1, 2], [1, 2], [1, 2], [2, 3], [2, 3], [1, 2, 3], [1, 2, 3]]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["changes_log.py", "changes_table.py"])
def test_changes(name: str) -> None:
    told = run(f"examples/{name}", "--items", "3000")
    assert told.endswith("the same thefts as in a batch\n")
    if name == "changes_table.py":
        assert told.count("the stream has died") == 1
    else:
        assert " 0 of them" not in told


@pytest.mark.slow
@pytest.mark.spark
def test_rules_that_change() -> None:
    told = run("examples/control.py", "--cards", "1000")
    assert told.endswith("the same alarms as in a batch with these changes\n")
    assert "refused: add_arc odd: CEP301: unknown column 'amuont'" in told
    assert "\n0 of them by the new rule" not in told


@pytest.mark.slow
@pytest.mark.spark
def test_a_rule_for_each_customer() -> None:
    told = run("examples/customers.py", "--customers", "300", "--payments", "30000")
    assert told.endswith("the same alerts in all of them\n")
    assert "\n0 alerts" not in told


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo() -> None:
    told = run("-m", "cepheid", "demo").splitlines()
    assert [line.split()[-2] for line in told if line.endswith("matches")] == ["3", "3", "3"]


def test_the_notebook(spark) -> None:
    """Its cells give what it shows; all but the last one are run, which would end the session of the tests."""
    notebooks = runpy.run_path(str(ROOT / "scripts" / "notebook.py"))
    settings = {name: spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone")}
    try:
        made = notebooks["executed"]("card_fraud", without="spark.stop()")
    finally:
        for name, value in settings.items():
            spark.conf.set(name, value)
    kept, now = ([shown(cell) for cell in book["cells"]] for book in (notebooks["kept"]("card_fraud"), made))
    assert now == kept, "run: make notebooks"
    assert now[-2] == "10 frauds in batch, 10 on the stream; the same: True\n"


def shown(cell: dict[str, Any]) -> str:
    """What a cell shows as text. Bytes depend on the release of Spark, and tests/test_pictures.py is about pictures."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell.get("outputs", ())]
    text = "".join(line for text in texts for line in text)
    return re.sub(r"(?<='state_bytes': )\d+|(?<=SVG of )[\d,]+", "…", text)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif("KAFKA_SERVERS" not in os.environ, reason="set KAFKA_SERVERS to the address of a broker")
def test_kafka(tmp_path: Path) -> None:
    given = ["examples/kafka.py", "--servers", os.environ["KAFKA_SERVERS"], "--topic", f"readings-{os.getpid()}"]
    run(*given, "--fill")
    run(*given, "--once", "--to", f"thefts-{os.getpid()}", "--checkpoint", str(tmp_path / "state"))
