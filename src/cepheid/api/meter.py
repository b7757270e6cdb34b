"""Counts the events, or queries, that a run has gone over, and calls back a few times a second."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import monotonic

from cepheid.engine.progress import Progress
from cepheid.errors import UsageError

_BETWEEN = 0.1  # s between calls

Callback = Callable[[Progress], object]


class Meter:
    """How far one call of `match` is."""

    def __init__(self, total: int, callback: Callback | None = None, what: str = "events") -> None:
        self.total = total
        self.what = what
        self.done = 0
        self.begun = monotonic()
        self.thread = get_ident()
        self._callback = callback
        self._called = self.begun

    def __call__(self, events: int) -> None:
        """So many more are done."""
        self.done = min(self.total, self.done + events)
        if self._callback is None:
            return
        time = monotonic()
        if time - self._called >= _BETWEEN:
            self._called = time
            self._callback(Progress(self.done, self.total))

    def end(self) -> None:
        """Report that all events are done, also those that no call counted."""
        self.done = self.total
        if self._callback is not None:
            self._callback(Progress(self.total, self.total))


def read_progress(progress: object) -> Callback | None:
    """The function to be called; None where nobody wants to be."""
    if progress is None or progress is False:
        return None
    if not callable(progress):
        remedy = "pass a function of one argument, False for no bar, or None for a bar on terminals and in notebooks"
        raise UsageError("CEP603", f"progress can't be {progress!r}", remedy)
    return progress
