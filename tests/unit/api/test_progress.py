"""How far a run is: a function that is called, and a bar where someone would see it."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.api import bar
from cepheid.api.meter import Meter

PAIR = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 20"


def events(count: int) -> pa.Table:
    return pa.table({"ts": np.arange(count), "type": np.tile(["A", "B"], count // 2), "id": np.arange(count) // 4})


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes between two calls."""
    monkeypatch.setattr("cepheid.api.meter._BETWEEN", 0.0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("engine", "plan", "count", "first"),
    [
        ("interpreted", "auto", 20, 1),
        ("plain", "automaton", 5000, 64),
        ("compiled", "automaton", 300_000, 64),
        ("compiled", "stacks", 300_000, 2**13),
    ],
)
def test_it_is_called_while_events_are_gone_over(engine: str, plan: str, count: int, first: int) -> None:
    table = events(count)
    told: list[cep.Progress] = []
    matches = cep.Query(PAIR).match(table, engine=engine, plan=plan, progress=told.append)
    assert told[0] == cep.Progress(first, count)
    assert told[-1] == cep.Progress(count, count)
    assert [p.events for p in told] == sorted(p.events for p in told)
    assert matches.count() == cep.Query(PAIR).match(table, plan=plan).count() == 3 * count // 4


@pytest.mark.usefixtures("always")
def test_each_query_of_a_program_counts() -> None:
    text = f"{PAIR} RETURN a.id AS id INTO P; PATTERN SEQ(B b, A a) WITHIN 2; FROM P PATTERN P p"
    told: list[cep.Progress] = []
    cep.Query(text).match(events(20), engine="interpreted", progress=told.append)
    assert [p.events for p in told] == [*range(1, 41), 40]
    assert {p.total for p in told} == {40}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("plan", ["automaton", "stacks"])
def test_what_it_raises_ends_the_run(plan: str) -> None:
    query, table = cep.Query(PAIR), events(300_000)
    expected = query.match(table, plan=plan).count()

    def stop(progress: cep.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        query.match(table, plan=plan, progress=stop)
    assert query.match(table, plan=plan).count() == expected


def test_what_can_not_be_called() -> None:
    with pytest.raises(cep.UsageError, match="CEP603: progress can't be 3"):
        cep.Query("PATTERN A a").match(events(2), progress=3)  # type: ignore[call-overload]
    assert cep.Query("PATTERN A a").match(events(2), progress=False).count() == 1


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_of_a_terminal() -> None:
    stream = Terminal()
    meter = Meter(4000)
    shown = bar.Bar(meter, bar.Terminal(stream))
    shown.look(meter.begun + 1.9)
    assert stream.getvalue() == ""
    shown.clear()
    assert stream.getvalue() == ""
    meter(1000)
    shown.look(meter.begun + 62.5)
    full, empty = "━" * 8, "─" * 22
    assert stream.getvalue() == f"\r\x1b[2Kcepheid {full}{empty}  25% 1,000 of 4,000 events, 1:02"
    shown.clear()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_the_compiler_is_named_if_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    from cepheid.kernel import compile

    stream = Terminal()
    meter = Meter(4000)
    shown = bar.Bar(meter, bar.Terminal(stream))
    monkeypatch.setitem(compile.waiting, meter.thread, meter.begun)
    shown.look(meter.begun + 1)
    assert stream.getvalue() == ""
    shown.look(meter.begun + 3)
    assert stream.getvalue().startswith("\r\x1b[2Kcepheid compiling the query: 3 s so far")


def test_compiling_that_takes_long_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from cepheid.kernel import compile

    monkeypatch.setattr(compile, "SLOW", 0.0)
    with caplog.at_level("INFO", "cepheid"), compile._timed("scan"):
        assert len(compile.waiting) == 1
    assert not compile.waiting
    (record,) = caplog.records
    assert record.getMessage() == "compiled scan in 0.0 s"


def test_the_bar_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[dict[str, str]] = []
    handle = SimpleNamespace(update=lambda content, raw: drawn.append(content))

    def display(content: dict[str, str], raw: bool, display_id: bool) -> SimpleNamespace:
        drawn.append(content)
        return handle

    ipython, of_display = ModuleType("IPython"), ModuleType("IPython.display")
    shell: Callable[[], object] = type("ZMQInteractiveShell", (), {})
    ipython.get_ipython = shell  # type: ignore[attr-defined]
    of_display.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", of_display)
    screen = bar.find_screen()
    assert isinstance(screen, bar.Notebook)
    meter = Meter(200)
    shown = bar.Bar(meter, screen)
    meter(50)
    shown.look(meter.begun + 3)
    meter(50)
    shown.look(meter.begun + 4)
    shown.clear()
    assert [content["text/html"] for content in drawn] == [
        "<progress value='0.250'></progress> 50 of 200 events, 0:03",
        "<progress value='0.500'></progress> 100 of 200 events, 0:04",
        "",
    ]


SLEEPS = """
import time, cepheid as cep
from cepheid.api import bar
bar.PATIENCE, bar._BETWEEN = 0.0, 0.02
query = cep.Query("PATTERN A a WHERE slow(a.ts)", functions={"slow": lambda ts: time.sleep(0.1) or True})
print(query.match([{"ts": k, "type": "A"} for k in range(5)]).count())
"""


def test_a_run_on_a_terminal_and_elsewhere() -> None:
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    drawn = b""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE, stderr=inner, env=environment
    ) as process:
        os.close(inner)
        with suppress(OSError):  # how the end of a pseudo-terminal is told
            while part := os.read(outer, 4096):
                drawn += part
        assert process.stdout is not None
        assert process.stdout.read() == b"5\n"
    os.close(outer)
    assert "of 5 events, 0:0" in drawn.decode()
    assert drawn.endswith(b"\r\x1b[2K")
    made = subprocess.run([sys.executable, "-c", SLEEPS], capture_output=True, env=environment, check=True)
    assert (made.stdout, made.stderr) == (b"5\n", b"")
