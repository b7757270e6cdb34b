"""Results of a CESAR expression (S22): an instance is its values, and so is a result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.automaton.algebra import BEGAN, ENDED, given
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.scan import Scan
from cepheid.engine.matches.made_matches import ScanResults, joined, once
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.front.cesar.linear import amount_of
from cepheid.front.cesar.result import algebra_in
from cepheid.kernel.arrays import Array
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.pattern.lints.subsets import too_many_runs

MOST = 10_000_000
"""Instances at once, beyond which a query ends with an error before it takes all the memory."""


class ValueForm:
    """The values of each result. Those of several partitions may be equal, and are one."""

    splits = False

    def begin(self, scan: Scan) -> None:
        """Read the results of a scan that has no events yet."""
        algebra = algebra_in(scan.query)
        self.scan = scan
        self._types = algebra.types
        self._collected: list[ScanResults] = []
        self.quiet = True
        bounds = algebra.automaton.bounds
        limits = [amount_of(bound) for bound in bounds if bound is not None]
        # How many ticks an instance may last, if that is known of every state.
        self._longest = max(limits, default=None) if len(limits) == len(bounds) else None

    def check(self) -> None:
        """Instances that fork at every instant could take all the memory."""
        if self.scan.state.runs > MOST:
            raise too_many_runs(self.scan.query.pattern, {}, f"more than {MOST:,} instances at once")

    def collect(self) -> None:
        """Read the results so far."""
        if self.scan.state.matches:
            starts, ends = self._field(BEGAN)[0], self._field(ENDED)[0]
            columns = [self._column(k, type_) for k, type_ in enumerate(self._types)]
            self._collected.append(ScanResults(starts, ends, columns))
            self.scan.state.take_matches()
            self.quiet = False

    @property
    def count(self) -> int:
        """How many results there are that were not emitted."""
        return self.scan.state.matches + sum(len(part.ends) for part in self._collected)

    def emit(self, watermark: int | None, rows: KeptRows) -> MatchTable | Matches:
        """The results so far: an event that is to come ends later."""
        self.collect()
        results, self._collected, self.quiet = self._collected, [], True
        if watermark is None:
            self.scan.release()
        return once(self.scan.query, joined(results)) if results else NONE

    def _field(self, name: str) -> tuple[Array, Array]:
        """What results have of a register, and where that is NULL."""
        count, arrays = self.scan.state.matches, self.scan.state.arrays
        flags = arrays.get(f"match_null_{name}")
        null = None if flags is None else np.array(flags[:count], np.uint8).astype(bool)
        return np.array(arrays[f"match_{name}"][:count]), null

    def _column(self, number: int, type_: Type) -> pa.Array:
        """An attribute of the results, in the form in which expressions have it."""
        values, null = self._field(given(number))
        if type_.kind in (Kind.STRING, Kind.DECIMAL):
            texts = pa.array(list(self.scan.codes.strings.codes) or [""], pa.string())
            codes = np.clip(values.astype(np.int64), 0, len(texts) - 1)
            strings = texts.take(pa.array(codes, mask=null))
            return strings if type_.kind is Kind.STRING else strings.cast(plain(type_))
        if type_.kind is Kind.FLOAT:
            values = values.astype(np.float64) + 0.0  # no negative zero
        elif type_.kind is Kind.BOOL:
            values = values.astype(bool)
        return from_numpy(values) if null is None else pa.array(values, mask=null)

    def unsettled(self) -> int | None:
        """A result is certain when its instant is over."""
        return None

    def compact(self, watermark: int) -> int | None:
        """Instances have values, and need no events; those are dropped that no event to come can end in time."""
        if self._longest is not None:
            self.scan.state.end_runs_from("start", watermark - self._longest)
        return None

    def dump(self) -> StateFacts:
        """Results that were not asked for are in the state of the scan."""
        assert not self._collected
        return {"chosen": None}

    def load(self, facts: StateFacts) -> None:
        """There is nothing besides the state of the scan."""
