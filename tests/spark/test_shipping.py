"""The package and its compiled kernels on workers: by a zip, without a home, many at once, forked."""

import inspect
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import cepheid.cache
from cepheid.errors import UsageError
from cepheid.kernel import compile as compiling

pyspark = pytest.importorskip("pyspark")

from cepheid.spark.settings import configure, settings  # noqa: E402
from cepheid.spark.shipping import write_zip  # noqa: E402

NO_HOME = "/dev/null/home"  # even root can't write there


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("CEPHEID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def small() -> compiling.Compilable:
    """A small kernel. Its source goes to other processes, so it imports what it needs."""
    from cepheid.kernel.code import nodes as n
    from cepheid.kernel.code.types import INT64
    from cepheid.kernel.compile import Compilable

    number = n.Local("number", INT64)
    return Compilable(n.Function("twice", (number,), (n.Return(n.BinaryOp("+", number, number)),)))


SMALL = "from __future__ import annotations\n" + inspect.getsource(small)


def twice(number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Load the small kernel as a new process would, and call it."""
    monkeypatch.setattr(compiling, "_LOADED", {})
    return small().compiled()(number)


def kernels(folder: Path) -> dict[str, int]:
    """The kernels in a cache, with the time when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("kernel-*.o")}


def test_without_a_home_the_cache_is_private_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CEPHEID_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", f"{NO_HOME}/{tmp_path.name}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = cepheid.cache.cache_directory()
    assert found == tmp_path / f"cepheid-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700
    cepheid.cache._usable.cache_clear()  # another process finds the same
    assert cepheid.cache.cache_directory() == found


@pytest.mark.parametrize("planted", ["link", "open to all"])
def test_what_another_user_may_have_planted_is_not_used(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEPHEID_CACHE", f"{NO_HOME}/{tmp_path.name}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = tmp_path / f"cepheid-{os.getuid()}"
    if planted == "link":
        (tmp_path / "elsewhere").mkdir()
        own.symlink_to(tmp_path / "elsewhere")
    else:
        own.mkdir()
        own.chmod(0o777)
    found = cepheid.cache.cache_directory()
    assert found.parent == tmp_path
    assert found != own
    assert found.stat().st_mode & 0o777 == 0o700


def test_in_a_directory_for_everybody_each_user_has_his_own(fresh: Path) -> None:
    fresh.mkdir()
    fresh.chmod(0o1777)
    assert cepheid.cache.cache_directory() == fresh / f"cepheid-{os.getuid()}"


def test_where_nothing_can_be_written_it_is_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEPHEID_CACHE", f"{NO_HOME}/{tmp_path.name}")
    monkeypatch.setattr(tempfile, "tempdir", NO_HOME)
    assert cepheid.cache.cache_directory() == cepheid.cache.NOWHERE
    before = compiling.compilations
    assert twice(21, monkeypatch) == 42
    assert compiling.compilations == before + 1


def test_a_torn_file_is_made_anew(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert twice(21, monkeypatch) == 42
    (file,) = fresh.glob("kernel-*.o")
    whole = file.read_bytes()
    at = len(whole) // 2
    for torn in (b"", whole[:10], whole[:at], whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]):
        file.write_bytes(torn)
        assert twice(21, monkeypatch) == 42
        assert file.read_bytes() == whole
    before, compilations = kernels(fresh), compiling.compilations
    assert twice(21, monkeypatch) == 42
    assert (kernels(fresh), compiling.compilations) == (before, compilations)  # and is used again


def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    program = (
        f"from cepheid.cache import alone\nfrom pathlib import Path\nimport time\nwith alone(Path({str(lock)!r})):"
    )
    program += "\n    print('in', flush=True)\n    time.sleep(600)"
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        began = time.monotonic()
        with cepheid.cache.alone(lock, patience=0.5):  # one that hangs is waited for, for a while
            assert time.monotonic() - began >= 0.5
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        began = time.monotonic()
        with cepheid.cache.alone(lock, patience=60):
            assert time.monotonic() - began < 30
    finally:
        holder.kill()
        holder.communicate()


def test_of_many_processes_one_compiles(fresh: Path) -> None:
    program = f"{SMALL}\nassert small().compiled()(21) == 42\nfrom cepheid.kernel import compile as compiling"
    program += "\nprint(compiling.compilations)"
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert sum(int(process.communicate(timeout=100)[0]) for process in processes) == 1
    assert len(kernels(fresh)) == 1


def test_settings_leave_what_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
    assert configure({"spark.master": "yarn", batch: "7"})[batch] == "7"
    assert "PYSPARK_PYTHON" not in os.environ  # where Python is on a cluster, its user knows
    assert not [name for name in settings(preload=True) if "timeZone" in name]
    assert "spark.python.daemon.module" not in configure({"spark.master": "yarn"})
    configure({"spark.master": "local[2]"})
    assert os.environ.pop("PYSPARK_PYTHON") == sys.executable


def test_a_remote_server_decides_what_its_workers_load() -> None:
    remote = {"spark.remote": "sc://somewhere"}
    assert all(name.startswith("spark.sql.") for name in configure(dict(remote)) if name != "spark.remote")
    with pytest.raises(UsageError, match="CEP907") as caught:
        configure(dict(remote), preload=True)
    assert "start the server with" in caught.value.remedy


def bare_python(folder: Path) -> Path:
    """A Python that has all but cepheid."""
    site = folder / "site"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.suffix != ".pth" and "cepheid" not in entry.name and not entry.name.startswith("__"):
            (site / entry.name).symlink_to(entry)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


def homeless(folder: Path) -> dict[str, str]:
    """The environment of a user without a home."""
    (folder / "tmp").mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("CEPHEID_CACHE", "XDG_CACHE_HOME")}
    return {**kept, "HOME": NO_HOME, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": ""}


def test_from_a_zip_without_a_home(tmp_path: Path) -> None:
    python, environment = bare_python(tmp_path), homeless(tmp_path)
    program = """
import json, sys
try:
    import cepheid
    sys.exit("it is installed")
except ImportError:
    sys.path.insert(0, sys.argv[1])
import cepheid
from cepheid.cache import cache_directory
from cepheid.kernel import compile as compiling
events = [{"ts": t, "type": "AB"[t % 2], "x": t % 5} for t in range(50)]
found = cepheid.Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 7").match(events, engine="compiled")
print(json.dumps([cepheid.__file__, len(found), str(cache_directory()), compiling.compilations]))
"""
    compiled = []
    for name in ("first.zip", "second.zip"):  # its path is another one in every run
        path = write_zip(tmp_path / name)
        command = [str(python), "-c", program, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
        assert not done.returncode, done.stderr
        where, matches, cache, new = json.loads(done.stdout)
        assert where.startswith(str(path))
        assert matches == 30
        assert Path(cache).parent == tmp_path / "tmp"
        compiled.append(new)
    assert compiled[0] > 0
    assert compiled[1] == 0


def test_forked_workers_share_what_the_daemon_has_loaded(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert twice(21, monkeypatch) == 42
    program = f"""{SMALL}
import os, sys
from cepheid.spark.daemon import preload
preload()
threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
from cepheid.kernel import compile as compiling
ready = "llvmlite.binding" in sys.modules and compiling._initialize.cache_info().currsize
child = os.fork()
if not child:
    before = set(sys.modules)
    right = small().compiled()(21) == 42 and not compiling.compilations
    os._exit(0 if right and not [name for name in set(sys.modules) - before if "llvmlite" in name] else 1)
print(threads, int(ready), os.waitpid(child, 0)[1])
"""
    prefix = "spark.executorEnv."
    given = {name.removeprefix(prefix): v for name, v in settings(preload=True).items() if name.startswith(prefix)}
    environment = {**os.environ, **given}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=200)
    assert not done.returncode, done.stderr
    assert done.stdout.split()[-3:] == ["1", "1", "0"]


APPLICATION = """
import json, os, sys
from pyspark.sql import SparkSession
import cepheid, cepheid.spark
from cepheid.kernel import compile as compiling

builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
spark = cepheid.spark.configure(builder, preload=sys.argv[2] == "preload").getOrCreate()
query = cepheid.Query("PATTERN SEQ(A a, B b) WHERE [key] AND a.x < b.x WITHIN 50 ms RETURN a.x AS ax, b.x AS bx")
events = spark.range(0, 2000, 1, 4).selectExpr(
    "id AS ts", "substring('ABC', int(id % 3) + 1, 1) AS type", "id % 7 AS key", "(id * 7) % 11 AS x")
expected = len(query.match(events.toArrow(), engine="plain"))


def probe(batches):
    import os, pyarrow, sys, time
    ready = "llvmlite.binding" in sys.modules
    time.sleep(1)  # so that no worker gets all
    import cepheid
    from cepheid.cache import cache_directory
    from cepheid.kernel import compile as compiling
    for batch in batches:
        pass
    yield pyarrow.RecordBatch.from_pylist([{"pid": os.getpid(), "compilations": compiling.compilations,
        "ready": ready and compiling._initialize.cache_info().currsize == 1,
        "file": cepheid.__file__, "cache": str(cache_directory())}])


schema = "pid long, compilations long, ready boolean, file string, cache string"
before = [r.asDict() for r in spark.range(0, 4, 1, 4).mapInArrow(probe, schema).collect()]
found = query.match(events, engine="compiled", partitions=4).count()
after = [r.asDict() for r in spark.range(0, 4, 1, 4).mapInArrow(probe, schema).collect()]
with open(sys.argv[1], "w") as out:
    json.dump({"expected": expected, "found": found, "before": before, "after": after,
        "driver": compiling.compilations}, out)
spark.stop()
"""


def submit(folder: Path, environment: dict[str, str], *arguments: str, preload: bool = False) -> dict[str, Any]:
    application, result = folder / "application.py", folder / "result.json"
    application.write_text(APPLICATION)
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), *arguments, str(application), str(result)]
    command.append("preload" if preload else "lazy")
    environment = {**environment, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=400)
    assert not done.returncode, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(result.read_text())
    return found


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_that_has_neither_the_package_nor_a_home(tmp_path: Path) -> None:
    python, environment = bare_python(tmp_path), homeless(tmp_path)
    environment["PYSPARK_PYTHON"] = str(python)
    zipped = write_zip(tmp_path / "cepheid.zip")
    told = submit(tmp_path, environment, "--master", "local-cluster[2,1,1024]", "--py-files", str(zipped))
    assert told["found"] == told["expected"]
    workers = {worker["pid"]: worker for worker in told["after"]}
    assert len(workers) == 2
    assert all(".zip/cepheid" in worker["file"] for worker in workers.values())
    cache = tmp_path / "tmp" / f"cepheid-{os.getuid()}"
    assert {worker["cache"] for worker in workers.values()} == {str(cache)}
    assert told["driver"] == 0
    compilations = sum(worker["compilations"] for worker in workers.values())
    assert compilations > 0
    assert compilations == len(kernels(cache)), "two workers have compiled the same"


@pytest.mark.slow
@pytest.mark.spark
def test_with_preload_a_worker_has_the_compiler_before_its_first_batch(tmp_path: Path, fresh: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    written: dict[str, int] = {}
    for preload in (False, True):
        told = submit(tmp_path, environment, "--master", "local[2]", preload=preload)
        assert told["found"] == told["expected"]
        assert {worker["ready"] for worker in told["before"]} == {preload}
        workers = {worker["pid"]: worker for worker in told["after"]}
        compilations = sum(worker["compilations"] for worker in workers.values())
        assert compilations == len(kernels(fresh)) - len(written), "two workers have compiled the same"
        assert bool(compilations) is not preload  # the second time all of them are in the cache
        written = kernels(fresh)
