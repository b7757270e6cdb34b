"""Killed with -9 while it speculates, and started again: in the end what stands are the matches of a batch."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from harness import App, as_rows, compare, expected, make_changes, run_with_kills, write_events

import cepheid as cep


def log_of(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """What stands in the log; matches were taken back on the way."""
    log = spark.read.parquet(str(folder / "out"))
    assert log.where("op = '-'").count() > 0
    return as_rows(cep.spark.current(log).toArrow().to_pylist())


def table_of(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    return as_rows(DeltaTable(folder / "table").to_pyarrow_table().to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "found", "seed"), [("log", log_of, 5), ("table", table_of, 6)], ids=["log", "table"])
def test_that_changes_survive_kills(mode: str, found: Any, seed: int, spark: Any, tmp_path: Path) -> None:
    """A busy worker, an executor, the JVM and the process of the driver."""
    changes = make_changes(seed, 2000)
    write_events(changes, tmp_path, 8)
    app = App(tmp_path, mode=mode)
    kinds = ["worker", "jvm", "executor", "driver"]
    run_with_kills(app, kinds, random.Random(seed))
    assert app.kills == kinds
    assert app.starts == 3, "only the end of the driver ends an application"
    wanted = expected(changes, tmp_path)
    assert wanted
    compare(found(spark, tmp_path), wanted)
