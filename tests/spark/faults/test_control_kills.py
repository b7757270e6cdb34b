"""Killed with -9 while its rules change, and started again: each change is made once, and each match is given once."""

import json
import os
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from app import RULES, make_query
from harness import BEGIN, FOUND, App, as_rows, compare, make_events, run_with_kills, write_events

import cepheid as cep


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


CONTROL: list[list[dict[str, Any]]] = [
    [],
    [
        {"id": "done", "action": "remove_arc"},
        {"id": "done", "action": "add_arc", "text": "ARC m -> f ON D WHEN slow(e.x) > 8"},
    ],
    [{"id": "quick", "action": "add_arc", "text": "ARC s -> f ON E SET total = e.id", "at": at(26)}],
    [{"id": "nothing", "action": "remove_arc"}, {"id": "more", "action": "remove_arc", "at": at(16.5)}],
    [
        {"id": "most", "action": "add_arc", "text": "ARC m -> m ON B WHEN e.x >= 20 SET n = r.n + 100"},
        {"id": "wrong", "action": "add_arc", "text": "ARC m -> m ON B WHEN e.y > 3"},
    ],
    [
        {"id": "quick", "action": "remove_arc", "at": at(34)},
        {"id": "twin", "action": "add", "text": RULES.replace("e.x >= 10", "e.x >= 15")},
    ],
    [
        {"id": "done", "action": "remove_arc"},
        {"id": "done", "action": "add_arc", "text": "ARC m -> f ON D"},
        {"id": "twin", "action": "replace", "text": RULES.replace("slow(e.x) >= 0", "e.x > 3"), "at": at(33)},
        {"id": "twin", "action": "remove", "at": at(38)},
    ],
]


def write_control(folder: Path) -> None:
    """One file a micro-batch."""
    (folder / "control").mkdir()
    for k, rows in enumerate(CONTROL):
        file = folder / "control" / f"{k:05}.json"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        os.utime(file, (1_700_000_000 + 10 * k,) * 2)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("mode", "seed"), [("control", 11), ("control_log", 12)])
def test_that_rules_change_once(mode: str, seed: int, spark: Any, tmp_path: Path) -> None:
    """A busy worker, an executor, the JVM and the process of the driver."""
    events = make_events(seed, 2000)
    write_events(events, tmp_path, 8)
    write_control(tmp_path)
    app = App(tmp_path, mode=mode)
    kinds = ["worker", "jvm", "executor", "driver"]
    run_with_kills(app, kinds, random.Random(seed))
    assert app.kills == kinds
    assert app.starts == 3, "only the end of the driver ends an application"
    query, checkpoint = make_query(tmp_path, pause=0, text=RULES), str(tmp_path / "checkpoint")
    changes = cep.spark.changes(spark, query, checkpoint)
    assert [getattr(one, "name", None) or one.arc.name for one in changes] == [
        *("done", "done", "quick", "more", "most", "twin", "quick", "done", "done", "twin", "twin")
    ]
    refused = cep.spark.refusals(spark, checkpoint).collect()
    assert [(row.id, row.reason[:6]) for row in refused] == [("nothing", "CEP228"), ("wrong", "CEP301")]
    outputs = query.match(events, changes=changes).outputs
    wanted = as_rows(row for found in outputs.values() for row in found.to_pylist())
    assert all(len(found) for found in outputs.values())
    assert as_rows(outputs["query 1"].to_pylist()) != as_rows(query.match(events).to_pylist())
    compare(FOUND[mode](spark, tmp_path), wanted)
