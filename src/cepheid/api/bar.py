"""A progress bar for runs that take long: on a terminal and in a notebook, and nowhere else.

A thread draws it, so that the run does nothing for it but count. There is one thread for all runs of a process, which
sleeps while there are none.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, Protocol, TextIO

from cepheid.api.meter import Callback, Meter, read_progress

PATIENCE = 2.0
"""Seconds that a run, or a compilation, may take before anything is shown."""

_BETWEEN = 0.2  # s between two looks
_WIDTH = 30  # cells of the bar


class Screen(Protocol):
    """Where a bar is drawn."""

    def draw(self, text: str, share: float | None) -> None:
        """Replace what was drawn. share: how much is done, from 0 to 1; None if unknown."""

    def clear(self) -> None:
        """Take away what was drawn."""


class Terminal:
    """A line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, text: str, share: float | None) -> None:
        """Draw the bar over the line."""
        full = round(_WIDTH * (share or 0))
        bar = "" if share is None else f"{'━' * full}{'─' * (_WIDTH - full)} {share:4.0%} "
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[2K{f'cepheid {bar}{text}'[:width]}")

    def clear(self) -> None:
        self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError, UnicodeEncodeError):  # a terminal that is gone, or has no such characters
            return


class Notebook:
    """An output of a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, text: str, share: float | None) -> None:
        """Show the bar, or change the one that is shown."""
        value = "" if share is None else f" value='{share:.3f}'"
        content = {"text/plain": f"cepheid {text}", "text/html": f"<progress{value}></progress> {text}"}
        if self._handle is None:
            from IPython.display import display  # type: ignore[import-not-found]  # it is there where a notebook is

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def find_screen() -> Screen | None:
    """Where someone would see a bar; None if nowhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if type(shell).__name__ == "ZMQInteractiveShell":
        return Notebook()
    stream = sys.stderr
    try:
        seen = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return None
    return Terminal(stream) if seen else None


class Bar:
    """The bar of one run."""

    def __init__(self, meter: Meter, screen: Screen) -> None:
        self._meter = meter
        self._screen = screen
        self._drawn = False

    def look(self, time: float) -> None:
        """Draw it if the run has taken long enough."""
        since = _compiling_since(self._meter.thread)
        if since is not None and time - since >= PATIENCE:
            text = f"compiling the query: {time - since:.0f} s so far; the next run finds it in the cache"
            self._screen.draw(text, None)
        elif time - self._meter.begun >= PATIENCE:
            done, total = self._meter.done, self._meter.total
            seconds = int(time - self._meter.begun)
            text = f"{done:,} of {total:,} {self._meter.what}, {seconds // 60}:{seconds % 60:02}"
            self._screen.draw(text, done / total if total else None)
        else:
            return
        self._drawn = True

    def clear(self) -> None:
        """Erase what was drawn, as the run is over."""
        if self._drawn:
            self._screen.clear()


def _compiling_since(thread: int) -> float | None:
    """Since when a thread waits for the compiler, if that is loaded at all."""
    module = sys.modules.get("cepheid.kernel.compile")
    return None if module is None else module.waiting.get(thread)


class _Watcher:
    """Looks at the runs of this process."""

    def __init__(self) -> None:
        self._bars: list[Bar] = []
        self._lock = Lock()
        self._some = Event()
        self._thread: Thread | None = None

    def add(self, bar: Bar) -> None:
        """Watch a run from its beginning; the thread starts with the first one."""
        with self._lock:
            self._bars.append(bar)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="cepheid progress", daemon=True)
                self._thread.start()
        self._some.set()

    def remove(self, bar: Bar) -> None:
        with self._lock:
            self._bars.remove(bar)
            if not self._bars:
                self._some.clear()
            bar.clear()

    def _run(self) -> None:
        while self._some.wait():
            sleep(_BETWEEN)
            with self._lock:
                if self._bars:  # runs of several threads would draw over each other
                    self._bars[0].look(monotonic())


_watcher = _Watcher()


def _forget_thread() -> None:
    """A forked process has no thread."""
    global _watcher
    _watcher = _Watcher()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)


@contextmanager
def measured(total: int, progress: Callback | bool | None, what: str = "events") -> Iterator[Meter | None]:
    """Count the events of a run, or what else there is to go over, of which there are so many, if anyone wants that.

    progress: what is called. None: a bar is shown if the run takes long and someone would see it. False: neither.
    """
    callback = read_progress(progress)
    screen = find_screen() if progress is None else None
    if callback is None and screen is None:
        yield None
        return
    meter = Meter(total, callback, what)
    if screen is None:
        yield meter
    else:
        bar, watcher = Bar(meter, screen), _watcher
        watcher.add(bar)
        try:
            yield meter
        finally:
            watcher.remove(bar)
    meter.end()
