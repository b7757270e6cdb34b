"""Killed with -9 while it speculates, and started again: in the end what stands are the matches of a batch."""

import random
from pathlib import Path
from typing import Any

import pytest
from harness import FOUND, App, compare, expected, make_changes, run_with_kills, write_events


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("mode", "seed"), [("log", 5), ("table", 6)])
def test_that_changes_survive_kills(mode: str, seed: int, spark: Any, tmp_path: Path) -> None:
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
    compare(FOUND[mode](spark, tmp_path), wanted)
