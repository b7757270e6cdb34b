"""Compiling: what is compiled and what is not, a cache that many processes share and that nobody needs."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from cepheid import Query, UsageError
from cepheid.kernel import compile as compiling

PROGRAM = """
from cepheid import Query
events = [{"ts": t, "type": "AB"[t % 2], "x": t % 5} for t in range(50)]
query = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 7")
found = query.match(events, engine="compiled", plan="automaton").to_pylist()
assert found == query.match(events, engine="reference").to_pylist()
print(len(found))
"""
EVENTS = pa.table(
    {
        "ts": range(600),
        "type": ["ABC"[t % 3] for t in range(600)],
        "x": [t * 7 % 11 for t in range(600)],
        "y": [t * 7 % 11 / 2 for t in range(600)],
        "s": ["uvw"[t % 5 % 3] for t in range(600)],
    }
)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which nothing is, and a process that has nothing loaded."""
    monkeypatch.setenv("CEPHEID_CACHE", str(tmp_path))
    monkeypatch.setattr(compiling, "_LOADED", {})
    return tmp_path


def start(cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "CEPHEID_CACHE": str(cache)}
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True)


def test_many_processes_on_a_cold_cache(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(2)]
    assert {process.communicate()[0] for process in processes} == {"30\n"}
    assert all(process.returncode == 0 for process in processes)
    kernels = sorted(tmp_path.glob("kernel-*.o"))
    assert kernels
    assert not list(tmp_path.glob("*.tmp"))
    before = [kernel.stat().st_mtime_ns for kernel in kernels]
    assert start(tmp_path).communicate()[0] == "30\n"
    assert [kernel.stat().st_mtime_ns for kernel in kernels] == before


def test_a_cache_that_can_not_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    assert start(file / "cache").communicate()[0] == "30\n"


def test_a_file_that_was_torn_is_compiled_again(tmp_path: Path) -> None:
    assert start(tmp_path).communicate()[0] == "30\n"
    for kernel in tmp_path.glob("kernel-*.o"):
        kernel.write_bytes(kernel.read_bytes()[:-7])
    assert start(tmp_path).communicate()[0] == "30\n"


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.engine.machines.policy.has_compiler", lambda: False)
    monkeypatch.setattr("cepheid.engine.encoding.partitions.has_compiler", lambda: False)
    monkeypatch.setattr(compiling, "_load", None)  # must not be asked for
    events = [{"ts": t, "type": "AB"[t % 2]} for t in range(6000)]
    query = Query("PATTERN SEQ(A a, B b) WITHIN 2")
    for engine in ("auto", "compiled"):
        assert len(query.match(events, engine=engine)) == 3000


KLEENE = (
    "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {{ b[i].x > b[i-1].x - {0} AND b[1].y > {1} "
    "AND c.s != '{2}' AND c.x IN ({0}, {3}) }} WITHIN {3} milliseconds"
)
JOIN = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x + {0} AND b.y < c.y * {1} AND c.s != '{2}' WITHIN {3} milliseconds"


@pytest.mark.parametrize(
    ("text", "plan"), [(KLEENE, "automaton"), (JOIN, "automaton"), (JOIN, "stacks"), (JOIN, "tree")]
)
@pytest.mark.usefixtures("empty_cache")
def test_that_another_constant_compiles_nothing(text: str, plan: str) -> None:
    def found(*constants: object) -> int:
        query = Query(text.format(*constants))
        matches = query.match(EVENTS, engine="compiled", plan=plan)
        assert matches.to_pylist() == query.match(EVENTS, engine="reference").to_pylist()
        return len(matches)

    first = found(1, 2.5, "u", 20)
    before = compiling.compilations
    assert before
    others = [found(2, 0.5, "v", 33), found(0, 1.0, "missing", 7), found(-3, -4.25, "w", 50)]
    assert compiling.compilations == before
    assert len({first, *others}) > 1


@pytest.mark.usefixtures("empty_cache")
def test_that_another_parameter_compiles_nothing() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE a.x < limit AND b.s = name WITHIN span"
    expected = []
    before = 0
    for params in ({"limit": 3, "name": "u", "span": "20 ms"}, {"limit": 7, "name": "w", "span": "1 second"}):
        query = Query(text, params=params)
        expected.append(len(query.match(EVENTS, engine="compiled", plan="automaton")))
        assert expected[-1] == len(query.match(EVENTS, engine="reference"))
        assert before in (0, compiling.compilations)
        before = compiling.compilations
    assert len(set(expected)) == 2


@pytest.mark.usefixtures("empty_cache")
def test_that_few_events_compile_nothing() -> None:
    before = compiling.compilations
    Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9").match(EVENTS)
    assert compiling.compilations == before


@pytest.mark.usefixtures("empty_cache")
def test_that_compiling_happens_beside_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_COMPILE", "beside")
    monkeypatch.setattr("cepheid.engine.machines.policy.ENOUGH_TO_LOOK", 100)
    monkeypatch.setattr("cepheid.engine.machines.policy.ENOUGH_TO_COMPILE", 100)
    query = Query("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9")
    session = query.session(plan="automaton", lateness=0)
    found, modes = 0, []
    for at in range(0, 600, 50):
        found += len(session.push(EVENTS.slice(at, 50)))
        modes.append(session.engine.pipeline.queries[0].machine.mode)
        for thread in list(compiling._BESIDE.values()):
            thread.join()
    assert modes[0] == "plain"
    assert modes[-1] == "compiled"
    assert modes == sorted(modes, reverse=True)
    assert found + len(session.close()) == len(query.match(EVENTS, engine="reference"))


@pytest.mark.usefixtures("empty_cache")
def test_that_a_tree_is_compiled_for_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless all the events are there: how much work they are is not known."""
    monkeypatch.setattr("cepheid.engine.machines.policy.ENOUGH_TO_LOOK", 100)
    monkeypatch.setattr("cepheid.engine.machines.policy.ENOUGH_TO_COMPILE", 100)
    monkeypatch.setattr("cepheid.engine.machines.stack_machine.TREE_EFFORT", 4)
    monkeypatch.setenv("CEPHEID_COMPILE", "now")
    query = Query("PATTERN SEQ(A a, B b) WITHIN 9")  # nothing to test: work is events
    first = {}
    for plan in ("stacks", "tree"):
        session = query.session(plan=plan, lateness=0)
        for at in range(0, 600, 50):
            session.push(EVENTS.slice(at, 50))
            if session.engine.pipeline.queries[0].machine.mode == "compiled":
                first.setdefault(plan, at)
    assert first == {"stacks": 150, "tree": 450}  # the last event of a push waits for the next one
    before = compiling.compilations
    Query("PATTERN SEQ(A a, B b) WHERE a.x > b.x WITHIN 9").match(EVENTS.slice(0, 120), plan="tree")
    assert compiling.compilations > before


def test_that_never_means_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_COMPILE", "never")
    monkeypatch.setattr(compiling, "_load", None)  # must not be asked for
    events = pa.table({"ts": range(50_000), "type": ["AB"[t % 2] for t in range(50_000)]})
    assert len(Query("PATTERN SEQ(A a, B b) WITHIN 2").match(events, plan="automaton")) == 25_000


def test_that_a_word_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_COMPILE", "besides")
    with pytest.raises(UsageError, match="did you mean 'beside'") as error:
        Query("PATTERN SEQ(A a, B b) WITHIN 2").match(EVENTS)
    assert "CEPHEID_COMPILE is 'besides'" in str(error.value)


def test_that_a_process_can_be_forked_while_a_thread_compiles(tmp_path: Path) -> None:
    program = """
import os, sys
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import INT64
from cepheid.kernel.compile import Compilable
A = n.Local("a", INT64)
kernels = [Compilable(n.Function(f"add_{k}", (A,), (n.Return(A + k),))) for k in range(20)]
for kernel in kernels:
    kernel.compile_beside()
child = os.fork()
if not child:
    os._exit(0 if all(kernel.compiled()(1) == 1 + k for k, kernel in enumerate(kernels)) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    environment = {**os.environ, "CEPHEID_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, timeout=60, check=False)
    assert done.returncode == 0


def test_that_a_process_ends_when_no_thread_is_in_the_compiler(tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from cepheid.kernel import compile
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import INT64
A = n.Local("a", INT64)
kernel = compile.Compilable(n.Function("add", (A,), (n.Return(A + 1),)))
def slowly(function):
    time.sleep(0.5)
    Path(sys.argv[1]).touch()
    return b""
compile._compile = slowly
compile._link = lambda function, code: None
kernel.compile_beside()
while not compile._LLVM.locked():
    time.sleep(0.01)
"""
    done = tmp_path / "done"
    environment = {**os.environ, "CEPHEID_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program, str(done)]
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 0
    assert done.exists()
