"""The five tasks on Spark: the same incidents in batch and on a stream."""

import runpy
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cepheid as cep
from cepheid.testing.spark import match_batch, match_stream

FOLDER = Path(__file__).parents[2] / "examples" / "tasks"
TASKS: dict[str, Any] = runpy.run_path(str(FOLDER / "make.py"))["TASKS"]


@pytest.mark.parametrize("name", TASKS)
def test_the_incidents_are_found(spark: Any, name: str, tmp_path: Path) -> None:
    task = TASKS[name](1)
    query = cep.Query((FOLDER / f"{name}.sase").read_text(encoding="utf-8"))
    known = sorted(map(repr, query.match(task.table()).to_pylist()))
    batch = match_batch(spark, query, task.table(), scattered=3)
    stream = match_stream(spark, query, task.table(), tmp_path, chance=Random(1), flush=False, files=3)
    assert sorted(map(repr, batch)) == known
    assert sorted(map(repr, stream)) == known
    assert set(task.incidents) <= {list(row.values())[2] for row in batch}  # after the start and the end of the match
