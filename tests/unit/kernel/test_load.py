"""The cache of compiled kernels: safe under many processes, and not needed at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid import Query
from cepheid.kernel import load

PROGRAM = """
from cepheid import Query
events = [{"ts": t, "type": "AB"[t % 2], "x": t % 5} for t in range(50)]
query = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 7")
found = query.match(events, engine="compiled").to_pylist()
assert found == query.match(events, engine="reference").to_pylist()
print(len(found))
"""


def start(cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "CEPHEID_CACHE": str(cache)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)


def test_many_processes_on_a_cold_cache(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(2)]
    assert {process.communicate()[0] for process in processes} == {"30\n"}
    assert all(process.returncode == 0 for process in processes)
    sources = sorted(tmp_path.glob("cepheid_kernel_*.py"))
    assert len(sources) == 2  # the scan, and the match store
    assert not list(tmp_path.glob("*.tmp"))
    before = [source.stat().st_mtime_ns for source in sources]
    assert start(tmp_path).communicate()[0] == "30\n"
    assert [source.stat().st_mtime_ns for source in sources] == before


def test_a_cache_that_can_not_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    assert start(file / "cache").communicate()[0] == "30\n"


def test_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.engine.choose.has_numba", lambda: False)
    monkeypatch.setattr(load, "compiled", None)  # must not be asked for
    events = [{"ts": t, "type": "AB"[t % 2]} for t in range(6000)]
    query = Query("PATTERN SEQ(A a, B b) WITHIN 2")
    for engine in ("auto", "compiled"):
        assert len(query.match(events, engine=engine)) == 3000
