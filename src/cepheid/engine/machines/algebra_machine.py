"""A CESAR expression on its scan (S22): an instance is its values, and so is a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.automaton.algebra import BEGAN, ENDED, given
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.matches.made_matches import ScanResults, joined, once
from cepheid.engine.matches.match_table import NONE, MatchTable
from cepheid.engine.matches.matches import Matches
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.cesar.linear import amount_of
from cepheid.front.cesar.result import algebra_in
from cepheid.pattern.expressions.types import Kind, Type, plain
from cepheid.pattern.lints.subsets import too_many_runs

MOST = 10_000_000
"""Instances at once, beyond which a query ends with an error before it takes all the memory."""


class AlgebraMachine(ScanMachine):
    """One expression over a stream that comes in batches."""

    splits = False  # results of several partitions may be equal, and are one

    def begin(self, compiled: CompiledQuery, events: int, *, native: bool = False) -> None:
        """Before the first event, or all over again."""
        super().begin(compiled, events, native=native)
        self.made: list[ScanResults] = []  # results that were taken to make room

    def make_room(self, *, stuck: bool) -> None:
        """The scan has stopped for want of room: instances that fork at every instant could take all the memory."""
        if self.state.runs > MOST:
            found = f"more than {MOST:,} instances at once"
            raise too_many_runs(self.query.pattern, {}, found)
        super().make_room(stuck=stuck)

    def flush(self) -> None:
        """Take the results so far."""
        count = self.state.matches
        if count:
            starts, ends = self._given(BEGAN)[0], self._given(ENDED)[0]
            self.made.append(ScanResults(starts, ends, [self._column(k, type_) for k, type_ in enumerate(self._types)]))
            self.state.take_matches()

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable | Matches:
        """The results so far: an event that is to come ends later. Those of several partitions may be equal."""
        self.flush()
        found, self.made = self.made, []
        if now is None and self.native and self.codes.once:
            self.hand_back()
        return once(self.query, joined(found)) if found else NONE

    @property
    def _types(self) -> Sequence[Type]:
        return algebra_in(self.query).types

    def _given(self, name: str) -> tuple[Any, Any]:
        """What results have of a register, and where that is NULL."""
        count = self.state.matches
        flags = self.state.arrays.get(f"match_null_{name}")
        null = None if flags is None else np.array(flags[:count], np.uint8).astype(bool)
        return np.array(self.state.arrays[f"match_{name}"][:count]), null

    def _column(self, number: int, type_: Type) -> pa.Array:
        """An attribute of the results, in the form in which expressions have it."""
        values, null = self._given(given(number))
        if type_.kind in (Kind.STRING, Kind.DECIMAL):
            texts = pa.array(list(self.codes.strings.codes) or [""], pa.string())
            codes = np.clip(values.astype(np.int64), 0, len(texts) - 1)
            found = texts.take(pa.array(codes, mask=null))
            return found if type_.kind is Kind.STRING else found.cast(plain(type_))
        if type_.kind is Kind.FLOAT:
            values = values.astype(np.float64) + 0.0  # no negative zero
        elif type_.kind is Kind.BOOL:
            values = values.astype(bool)
        return from_numpy(values) if null is None else pa.array(values, mask=null)

    def first_waiting(self) -> int | None:
        """A result is certain when its instant is over."""
        return None

    def unsettled(self) -> int | None:
        """A result is certain when its instant is over."""
        return None

    def compact(self, now: int) -> int | None:
        """Instances have values, and need no events; those go that no event to come can end in time."""
        longest = self._longest
        if longest is not None:
            self.state.end_runs_from("start", now - longest)
        return None

    @property
    def _longest(self) -> int | None:
        """How many ticks an instance may last, if that is known of every state."""
        bounds = algebra_in(self.query).automaton.bounds
        limits = [amount_of(bound) for bound in bounds if bound is not None]
        return max(limits, default=None) if len(limits) == len(bounds) else None

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The arrays as they are, with the results that were not asked for yet."""
        assert not self.made
        facts, arrays = self.state.dump()
        return {**self.dump_facts(), **facts}, arrays
