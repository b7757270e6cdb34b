"""What becomes of the control rows of a micro-batch: every slot decides it for itself, and all decide the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.api.changing import EVER
from cepheid.api.control import ControlRow, Decision, decide
from cepheid.engine.encoding.times import from_ticks
from cepheid.pattern.timeline import Change
from cepheid.spark.worker import WorkerQuery


@dataclass(frozen=True, slots=True)
class Control:
    """The control rows of a micro-batch, and how long the watermark waits, in milliseconds."""

    rows: Sequence[ControlRow] = ()
    delay: int = 0

    def decide(self, worker_query: WorkerQuery, log: Sequence[Change], watermark: int | None) -> Decision:
        """Decide about the rows. watermark: in milliseconds; before the first one, a row holds from the beginning.

        A row without a time holds after the latest event that the watermark knows of.
        """
        if not self.rows:
            return Decision()
        schema = worker_query.schema
        ticks = 1_000_000 // schema.tick
        return decide(
            self.rows,
            log,
            watermark=None if watermark is None else watermark * ticks,
            present=EVER if watermark is None else (watermark + self.delay) * ticks,
            shown=lambda time: from_ticks(schema, time),
            check=worker_query.check,
        )


NOTHING = Control()
