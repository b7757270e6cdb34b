"""Kills of what runs a query on a cluster, and what must be in the sink in the end: the matches, each of them once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from app import make_query
from deltalake import DeltaTable

import cepheid as cep
from cepheid.testing.spark import TOO_BUSY

APP = Path(__file__).with_name("app.py")
MASTER = "local-cluster[2,1,1024]"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = 600
KINDS = ("worker", "executor", "jvm", "driver")
"""A Python worker that is busy, an executor, the JVM of the driver, its Python process."""

Say = Callable[[str], None]


# Events


def make_events(seed: int, size: int) -> pa.Table:
    """Events of some keys, in the order of their ids, which is nearly that of their times."""
    chance = random.Random(seed)
    rows = [
        {
            "ts": BEGIN + timedelta(milliseconds=20 * n - chance.randint(0, 500)),
            "type": chance.choice("AABBBDC" if n % 3 else "ABDDE"),
            "k": chance.randrange(25),
            "x": chance.randrange(30),
            "id": n,
        }
        for n in range(size)
    ]
    types = {"ts": pa.timestamp("us", "UTC"), "type": pa.string(), "k": pa.int64(), "x": pa.int64(), "id": pa.int64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(types))


def make_changes(seed: int, size: int) -> pa.Table:
    """The same with retractions, which come some seconds later; a few come before their events."""
    events, chance = make_events(seed, size), random.Random(seed)
    places = [(float(n), n, "+") for n in range(size)]
    places += [(n + chance.uniform(-20, 400), n, "-") for n in range(size) if chance.random() < 0.2]
    rows = sorted(places)
    found = events.take(pa.array([n for _, n, _ in rows], pa.int64()))
    return found.append_column("op", pa.array([op for _, _, op in rows], pa.string()))


def write_events(events: pa.Table, folder: Path, files: int) -> None:
    """One file a micro-batch, and a last one with an event after all windows."""
    for name in ("in", "busy", "log"):
        (folder / name).mkdir(parents=True)
    size = -(-events.num_rows // files)
    last = events.slice(events.num_rows - 1)
    last = last.set_column(0, "ts", pa.array([BEGIN + timedelta(days=9)], events.schema.field("ts").type))
    parts = [*(events.slice(k * size, size) for k in range(files)), last]
    for k, part in enumerate(parts):
        file = folder / "in" / f"{k:05}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_700_000_000 + 10 * k,) * 2)


def expected(events: pa.Table, folder: Path) -> Counter[tuple[Any, ...]]:
    """The matches of one process that nobody kills."""
    op = "op" if "op" in events.column_names else None
    return as_rows(make_query(folder, pause=0).match(events, op=op).to_pylist())


def as_rows(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in ("k", "first", "some", "total", "last", "match_end")) for row in rows)


def sink(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """What is in the sink for whoever reads it through Spark: a listing would show files that were never committed."""
    return as_rows(spark.read.parquet(str(folder / "out")).toArrow().to_pylist())


def log(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """What stands in the log of a stream that speculates; matches were taken back on the way."""
    changes = spark.read.parquet(str(folder / "out"))
    assert changes.where("op = '-'").count() > 0
    return as_rows(cep.spark.current(changes).toArrow().to_pylist())


def table(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """What is in the table that a stream keeps."""
    return as_rows(DeltaTable(folder / "table").to_pyarrow_table().to_pylist())


def standing(spark: Any, folder: Path) -> Counter[tuple[Any, ...]]:
    """What stands in the log of a stream that speculates, whether or not matches were taken back on the way."""
    return as_rows(cep.spark.current(spark.read.parquet(str(folder / "out"))).toArrow().to_pylist())


FOUND = {"stream": sink, "batch": sink, "log": log, "table": table, "control": sink, "control_log": standing}
FOUND |= {"many": sink}
"""By the mode of an application: what there is in the end."""


# Processes


@dataclass(frozen=True)
class Process:
    pid: int
    command: str

    @property
    def is_executor(self) -> bool:
        return "CoarseGrainedExecutorBackend" in self.command and "java" in self.command.split()[0]

    @property
    def is_driver_jvm(self) -> bool:
        return "SparkSubmit" in self.command


def processes_of(session: int) -> Iterator[Process]:
    """All that an application started, also what outlived it: they have its session in common."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        if int(own) == session and state != "Z":
            yield Process(int(entry.name), command)


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


# Runs


@dataclass
class App:
    """An application that is started, killed in some part, and started again until it has ended by itself."""

    folder: Path
    mode: str = "stream"
    master: str = MASTER
    say: Say = lambda line: None
    elsewhere: tuple[int, ...] = ()  # sessions of a cluster in which its executors run
    starts: int = 0
    kills: list[str] = field(default_factory=list)

    def start(self) -> "subprocess.Popen[bytes]":
        self.starts += 1
        with open(self.folder / "log" / f"{self.starts}.txt", "wb") as log:
            command = [sys.executable, str(APP), self.mode, str(self.folder), self.master]
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        return self.process

    def log(self) -> str:
        return (self.folder / "log" / f"{self.starts}.txt").read_text(errors="replace")

    def committed(self) -> int:
        """How many micro-batches are done."""
        return len(_numbers(self.folder / "checkpoint" / "commits"))

    def in_flight(self) -> bool:
        offsets = _numbers(self.folder / "checkpoint" / "offsets")
        return bool(offsets - _numbers(self.folder / "checkpoint" / "commits"))

    def busy(self) -> list[int]:
        """Workers that are inside the query right now."""
        alive = {process.pid for process in self.running()}
        return [pid for pid in _numbers(self.folder / "busy") if pid in alive]

    def running(self) -> list[Process]:
        return [process for session in (self.process.pid, *self.elsewhere) for process in processes_of(session)]

    def strike(self, kind: str, chance: random.Random) -> bool:
        """Kill a part of it now, if there is one and it is at work."""
        busy = self.busy()
        running = self.running()
        found = {
            "worker": busy,
            "executor": [p.pid for p in running if p.is_executor] if busy else [],
            "jvm": [p.pid for p in running if p.is_driver_jvm],
            "driver": [self.process.pid],
        }[kind]
        if not found or not kill(pid := chance.choice(found)):
            return False
        flight = "in flight" if self.in_flight() else "between two"
        self.kills.append(kind)
        self.say(f"start {self.starts}: killed {kind} {pid} after {self.committed()} commits, {flight}, busy: {busy}")
        return True

    def finish(self) -> None:
        """Wait until nothing of it is left: another one must not meet it at the checkpoint."""
        self.process.wait(timeout=PATIENCE)
        end = time.monotonic() + 15
        while (left := list(processes_of(self.process.pid))) and time.monotonic() < end:
            time.sleep(0.1)
        for process in left:
            kill(process.pid)
        for pid in _numbers(self.folder / "busy"):
            (self.folder / "busy" / str(pid)).unlink()

    def stop(self) -> None:
        """End it whatever it does."""
        if hasattr(self, "process"):
            for process in processes_of(self.process.pid):
                kill(process.pid)
            self.process.wait(timeout=PATIENCE)


def run_with_kills(app: App, kinds: list[str], chance: random.Random) -> None:
    """Run an application to its end, with kills of these kinds on the way, each some time after a commit."""
    waiting = list(kinds)
    failures = 0
    try:
        while True:
            before = len(app.kills)
            process = app.start()
            _strike_while_running(app, waiting, chance)
            app.finish()
            if process.returncode == 0:
                break
            failures += len(app.kills) == before and TOO_BUSY not in app.log()
            app.say(f"start {app.starts} ended with {process.returncode}, {app.committed()} commits")
            if failures > 1 or app.starts > len(kinds) + 6:
                raise AssertionError(f"the application fails by itself:\n{_errors(app.log())}")
        if waiting:
            app.say(f"not done, as the stream had ended: {waiting}")
    finally:
        app.stop()


def _strike_while_running(app: App, waiting: list[str], chance: random.Random) -> None:
    end = time.monotonic() + PATIENCE
    after = app.committed() + chance.choice([0, 1, 1, 2])
    pause = chance.uniform(0, 1.2)
    while app.process.poll() is None:
        if time.monotonic() > end:
            raise AssertionError(f"hangs after {app.committed()} commits:\n{_errors(app.log())}")
        if not waiting or (app.mode != "batch" and app.committed() < after):
            time.sleep(0.02)
            continue
        kind = waiting[0]
        if kind in ("jvm", "driver"):
            if not app.in_flight() and app.mode != "batch":
                time.sleep(0.005)
                continue
            time.sleep(pause)  # anywhere between two commits
        if app.strike(kind, chance):
            waiting.pop(0)
            after, pause = app.committed() + chance.choice([1, 1, 2]), chance.uniform(0, 1.2)
            if kind in ("jvm", "driver"):
                return
        time.sleep(0.02)


def _errors(log: str) -> str:
    lines = log.splitlines()
    return "\n".join(lines[-60:])


def _numbers(folder: Path) -> set[int]:
    try:
        return {int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()}
    except FileNotFoundError:
        return set()


def compare(found: Counter[tuple[Any, ...]], wanted: Counter[tuple[Any, ...]]) -> None:
    """None lost, none doubled, none else."""
    lost, more = sorted(wanted - found), sorted(found - wanted)
    assert (len(lost), len(more)) == (0, 0), f"lost: {lost[:3]}; too many: {more[:3]}"
