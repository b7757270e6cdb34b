"""Which rules an event concerns, where nothing is known of their conditions: all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.batch import Batch


class AllPairs:
    """Every event concerns every rule."""

    def __init__(self) -> None:
        self.numbers: Any = np.zeros(0, np.int64)

    def add(self, numbers: Any, constants: pa.Table) -> None:
        """More rules."""
        self.numbers = np.union1d(self.numbers, np.asarray(numbers, np.int64))

    def remove(self, numbers: Any) -> None:
        """Rules that are gone."""
        self.numbers = np.setdiff1d(self.numbers, numbers, assume_unique=True)

    def route(self, batch: Batch) -> tuple[Any, Any]:
        """Every event with every rule."""
        events = np.repeat(np.arange(len(batch)), len(self.numbers))
        return events, np.tile(self.numbers, len(batch))
