"""A standalone cluster on the loopback: a master and two workers, from the scripts that pyspark brings."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark


@dataclass(frozen=True)
class Cluster:
    master: str
    pids: tuple[int, ...]
    """The sessions of its daemons: executors are children of the workers, not of the application."""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def standalone(folder: Path) -> Iterator[Cluster]:
    """A cluster of two executors with a core each."""
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_WORKER_DIR": str(folder / "workers"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}-{len(started)}.txt"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        with open(log, "wb") as out:
            command += ["--webui-port", str(_free_port()), *arguments]
            started.append(
                subprocess.Popen(
                    command, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
                )
            )
        return log

    try:
        _await(start("master.Master", "--port", str(port)), "I have been elected leader")
        size = ("--cores", "1", "--memory", "1g", master)
        for log in [start("worker.Worker", *size), start("worker.Worker", *size)]:
            _await(log, "Successfully registered")
        yield Cluster(master, tuple(process.pid for process in started))
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(log: Path, words: str) -> None:
    end = time.monotonic() + 60
    while words not in log.read_text(errors="replace"):
        if time.monotonic() > end:
            raise AssertionError(f"the cluster does not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)
