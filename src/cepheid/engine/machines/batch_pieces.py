"""How far a machine is in a batch: pieces that are run one after the other, and what is reported of them."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Protocol

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.progress import Report

OFTEN = 0.1
"""Seconds of work that are worth a report."""
PIECE = 2_048
"""The most events that plain Python runs before it is asked whether compiled code is ready."""
_FASTER = 4  # times as many events, after a piece that took less time than that; as many times fewer, if more


class GoesNative(Protocol):
    """What runs the pieces: as plain Python, until compiled code pays."""

    native: bool

    def consider(self, events: int) -> None:
        """Go native if that pays, where so many events are known to come."""


class BatchPieces:
    """What is reported of a batch. `reported`: how many of its events."""

    def __init__(self) -> None:
        self.reported = 0
        self._report: Report | None = None

    def of(self, batch: Batch, stride: int, runner: GoesNative) -> Iterator[tuple[int, int]]:
        """Where each piece begins and ends; the caller has run one before it asks for the next.

        stride: events of the first piece. Later ones grow while they are quick: each costs something, but an event may
        meet very many runs.
        """
        begin, size = 0, len(batch.times)
        self.reported, self._report = 0, batch.report
        while begin < size:
            if not runner.native:
                # What is left of the batch is certain to come.
                runner.consider(size - begin if batch.codes.once else 0)
            end = size
            if not runner.native:
                end = min(begin + min(stride, PIECE), end)
            elif batch.report is not None:
                end = min(begin + stride, end)
            begun = monotonic()
            yield begin, end
            if self._report is not None:
                self.report(end)
            quick = monotonic() - begun < OFTEN
            stride = stride * _FASTER if quick else max(1, stride // _FASTER)
            begin = end

    def report(self, done: int | None = None) -> None:
        """Report how many events of the batch are done; None: as many as before, but the work goes on."""
        if self._report is not None:
            done = self.reported if done is None else done
            self._report(done - self.reported)
            self.reported = done
