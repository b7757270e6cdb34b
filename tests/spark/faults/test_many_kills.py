"""Many queries, killed with -9 while rules come and go, and started again: each match of each rule is given once."""

import json
import os
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from app import make_queries
from harness import BEGIN, FOUND, App, as_rows, compare, make_events, run_with_kills, write_events

import cepheid as cep

CONTROL: list[list[dict[str, Any]]] = [
    [{"id": "late", "action": "add", "at": 12, "template": "slow", "own": 22, "least": 3, "span": "4 seconds"}],
    [{"id": "u3", "action": "remove", "at": 14}, {"id": "nobody", "action": "remove"}],
    [],
    [{"id": "q4", "action": "replace", "at": 30, "template": "quick", "own": 24, "least": 1, "span": "4 seconds"}],
    [{"id": "wrong", "action": "add", "template": "quick", "own": 1, "least": 1, "span": "4 secunds"}],
    [{"id": "late", "action": "remove", "at": 38}],
]


def write_control(folder: Path) -> None:
    """One file a micro-batch."""
    (folder / "control").mkdir()
    for k, rows in enumerate(CONTROL):
        file = folder / "control" / f"{k:05}.json"
        timed = [
            {**row, "at": (BEGIN + timedelta(seconds=row["at"])).isoformat()} if "at" in row else row for row in rows
        ]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in timed))
        os.utime(file, (1_700_000_000 + 10 * k,) * 2)


@pytest.mark.slow
@pytest.mark.spark
def test_that_rules_come_and_go_once(spark: Any, tmp_path: Path) -> None:
    """A busy worker, an executor, the JVM and the process of the driver."""
    events = make_events(21, 2000)
    write_events(events, tmp_path, 8)
    write_control(tmp_path)
    app = App(tmp_path, mode="many")
    kinds = ["worker", "jvm", "executor", "driver"]
    run_with_kills(app, kinds, random.Random(21))
    assert app.kills == kinds
    refused = cep.spark.refusals(spark, str(tmp_path / "checkpoint")).collect()
    assert [(row.id, row.reason[:6]) for row in refused] == [("nobody", "CEP229"), ("wrong", "CEP307")]
    compare(FOUND["many"](spark, tmp_path), as_rows(wanted(tmp_path, events)))


def wanted(folder: Path, events: Any) -> list[dict[str, Any]]:
    """By a session that nobody kills, and that knows all changes from the beginning."""
    session = make_queries(folder, pause=0).session()
    session.push(events.schema.empty_table())
    changes = [row for rows in CONTROL for row in rows if row["id"] not in ("nobody", "wrong")]
    for row in sorted(changes, key=lambda row: row["at"]):
        at = BEGIN + timedelta(seconds=row["at"])
        if row["action"] != "add":
            session.remove([row["id"]], at=at)
        if row["action"] != "remove":
            values = {name: value for name, value in row.items() if name not in ("action", "at")}
            session.add([values], at=at)
    session.push(events)
    rows = session.close().to_pylist()
    assert {"late", "q4", "u3"} <= {row["query"] for row in rows}
    return rows
