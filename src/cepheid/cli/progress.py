"""A spinner or a progress bar with the elapsed time, shown on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

_SECONDS_BETWEEN_LOOKS = 0.25
_drawn: list[Console] = []


def stderr() -> Console:
    """Prints on stderr, above a bar or spinner that is shown there."""
    return _drawn[-1] if _drawn else Console(stderr=True, highlight=False)


@contextmanager
def _drawing(*columns: ProgressColumn) -> Iterator[Progress]:
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, console=console, transient=True) as progress:
        _drawn.append(console)
        try:
            yield progress
        finally:
            _drawn.remove(console)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on stderr what is running and for how long; nothing if stderr is not a terminal."""
    # Not rich's own test: with FORCE_COLOR it treats a log file as a terminal.
    if not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with _drawing(*columns) as progress:
        progress.add_task(what, total=None)
        yield


class StderrBar:
    """A progress bar on stderr; nothing if stderr is not a terminal."""

    def __init__(self, progress: Progress | None, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def show(self, what: str, done: int = 0, total: int | None = None) -> None:
        """Show what is running and how much of it is done; without a total, only that it is running."""
        if self._progress is not None:
            self._progress.update(self._task, description=what, completed=done, total=total)


@contextmanager
def bar(what: str) -> Iterator[StderrBar]:
    """A progress bar for work with countable parts."""
    if not sys.stderr.isatty():
        yield StderrBar(None, TaskID(0))
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with _drawing(*columns) as progress:
        yield StderrBar(progress, progress.add_task(what, total=None))


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Call a function several times a second while something else is done."""
    over = Event()

    def run() -> None:
        while not over.wait(_SECONDS_BETWEEN_LOOKS):
            with suppress(Exception):  # only for display: the work itself reports its errors
                look()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2)
