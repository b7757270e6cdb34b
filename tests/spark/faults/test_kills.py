"""Killed with -9 and started again, a query gives what it gives when nobody kills it: each match once."""

import random
from pathlib import Path
from typing import Any

import pytest
from campaign import run_campaign
from harness import MASTER, App, compare, expected, make_events, run_with_kills, sink, write_events
from standalone import standalone


@pytest.mark.slow
@pytest.mark.spark
def test_that_a_stream_survives_kills(spark: Any, tmp_path: Path) -> None:
    """A busy worker, an executor, and the driver, which is started again from the checkpoint."""
    events = make_events(1, 2000)
    write_events(events, tmp_path, 8)
    app = App(tmp_path)
    run_with_kills(app, ["worker", "executor", "jvm"], random.Random(1))
    assert app.kills == ["worker", "executor", "jvm"]
    assert app.starts == 2, "only the end of the driver ends an application"
    compare(sink(spark, tmp_path), expected(events, tmp_path))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["worker", "executor"])
def test_that_a_batch_survives_a_kill(kind: str, spark: Any, tmp_path: Path) -> None:
    events = make_events(2, 2000)
    write_events(events, tmp_path, 8)
    app = App(tmp_path, mode="batch")
    run_with_kills(app, [kind], random.Random(1))
    assert (app.kills, app.starts) == ([kind], 1)
    compare(sink(spark, tmp_path), expected(events, tmp_path))


@pytest.mark.slow
@pytest.mark.spark
def test_that_a_stream_survives_kills_on_a_standalone_cluster(spark: Any, tmp_path: Path) -> None:
    events = make_events(3, 2000)
    write_events(events, tmp_path / "app", 8)
    with standalone(tmp_path) as cluster:
        app = App(tmp_path / "app", master=cluster.master, elsewhere=cluster.pids)
        run_with_kills(app, ["executor", "worker", "driver"], random.Random(3))
    assert app.kills == ["executor", "worker", "driver"]
    compare(sink(spark, tmp_path / "app"), expected(events, tmp_path / "app"))


@pytest.mark.slow
@pytest.mark.spark
def test_that_streams_survive_many_random_kills(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `python tests/spark/faults/campaign.py FOLDER`, which can be interrupted and goes on where it was."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)  # noqa: T201

    assert run_campaign(spark, tmp_path, 50, say).total() >= 50


def test_that_the_cluster_is_a_real_one() -> None:
    assert MASTER.startswith("local-cluster"), "its executors are processes of their own"
