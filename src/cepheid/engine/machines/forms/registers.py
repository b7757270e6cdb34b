"""Matches of an automaton of the user's own (S18): the first and the last event of each, and the register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.machines.forms.collected import clear_store
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.scan import Scan
from cepheid.engine.machines.written_values import read, written
from cepheid.engine.matches.match_table import NONE, MatchTable, concatenate
from cepheid.engine.matches.register_matches import KEPT, RegisterMatches, pairs
from cepheid.errors import EvaluationError
from cepheid.front.automata.bound import BoundSlot, automaton_in
from cepheid.kernel.arrays import Array
from cepheid.kernel.compile import library_function
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import Fires
from cepheid.values.value import Value

MOST = 50_000_000
"""Matches that are enumerated at once."""


class RegisterForm:
    """Two events and a register of each match.

    Until matches are emitted, their values are those of the register, and whether each came when a window was over.
    """

    splits = True

    def begin(self, scan: Scan) -> None:
        """Read the matches of a scan that has no events yet."""
        automaton = automaton_in(scan.query)
        self.scan = scan
        self._slots: Sequence[BoundSlot] = automaton.slots
        self._matches = RegisterMatches(scan.query)
        self._collected: list[MatchTable] = []
        self.quiet = True
        # Whether a match may come with its last event and once more when its window is over.
        finals = any(arc.target in automaton.finals for arc in automaton.arcs if arc.fires is not Fires.END)
        self._twice = automaton.waits and finals
        self._emitted: set[tuple[Value, ...]] = set()  # matches that may come again

    def check(self) -> None:
        """Runs are as many as there is memory for."""

    def collect(self) -> None:
        """Read the matches so far."""
        if self.scan.state.matches:
            self._collected.append(self._read())
            self.quiet = False
            self.scan.state.take_matches()

    def enumerated(self) -> MatchTable:
        """The matches so far, as the kernel has found them: not in order, and some of them twice."""
        self.collect()
        matches = concatenate(self._collected) if self._collected else NONE
        self._collected, self.quiet = [], True
        return matches

    def emit(self, watermark: int | None, rows: KeptRows) -> MatchTable:
        """The matches that became certain, given all events before a time (None: all)."""
        matches = self.enumerated()
        if watermark is None:
            self.scan.release()
        if not len(matches):
            return NONE
        return self._matches.given(self._new(self._matches.once(matches)).moved(-rows.base), rows.kept)

    def _new(self, matches: MatchTable) -> MatchTable:
        """Without those that were emitted before."""
        if not self._twice:
            return matches
        assert matches.values is not None
        keys = self._matches.keys(matches)
        new = [k for k, key in enumerate(keys) if key not in self._emitted]
        waited = matches.values[KEPT].to_pylist()
        self._emitted |= {key for key, late in zip(keys, waited, strict=True) if not late}
        return matches.take(np.array(new, np.int64))

    # Matches as the kernel has written them.

    def _read(self) -> MatchTable:
        starts, owners = self._starts()
        state, shift = self.scan.state, self.scan.kernel.shift
        nodes, matches = state.store()
        count = state.matches
        last = np.array(matches.word[:count], np.int64)
        waited = last < 0
        last[waited] = np.asarray(nodes.word, np.int64)[np.asarray(matches.root[:count], np.int64)[waited]]
        rows = np.stack([starts >> shift, last[owners] >> shift], axis=1).ravel()
        registers = [self._register(k, slot.type.kind, owners) for k, slot in enumerate(self._slots)]
        return pairs(rows, (*registers, from_numpy(waited[owners])))

    def _starts(self) -> tuple[Array, Array]:
        """Where each match can begin, as words, and the numbers of the matches."""
        state, native = self.scan.state, self.scan.native
        nodes, matches = state.store()
        count, held = state.matches, state.nodes
        run = library_function("enumerate_starts", native=native)
        make: Any = np.zeros if native else lambda size, _: [0] * size
        stack, place = make(2 * held + 2, np.uint32), make(1, np.int64)
        room, parts = max(1024, 2 * count), []
        while place[0] < count:
            starts, owners = make(room, np.int64), make(room, np.int64)
            seen = make(held + 1, np.int64)  # anew: a match for which there was no room is read again
            got = int(run(int(place[0]), count, *nodes, *matches, starts, owners, stack, seen, place, room))
            if got:
                parts.append((np.asarray(starts[:got], np.int64), np.asarray(owners[:got], np.int64)))
            else:
                room *= 4
            if sum(len(part) for part, _ in parts) + room > 4 * MOST:
                remedy = "add conditions to arcs, or a shorter WITHIN"
                raise EvaluationError("CEP505", f"there are more than {MOST:,} matches", remedy)
        starts, owners = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return starts, owners

    def _register(self, number: int, kind: Kind, owners: Array) -> pa.Array:
        """A field of the registers of matches, in the form in which expressions have it."""
        state = self.scan.state
        name, count = f"match_given_{number}", state.matches
        values = np.asarray(state.arrays[name][:count])[owners]
        flags = state.arrays.get(f"match_null_given_{number}")
        null = None if flags is None else np.asarray(flags[:count], np.uint8)[owners].astype(bool)
        if kind is Kind.STRING:
            texts = pa.array(list(self.scan.codes.strings.codes) or [""], pa.string())
            codes = np.clip(values.astype(np.int64), 0, len(texts) - 1)
            strings = texts.take(from_numpy(codes))
            return strings if null is None else pa.array(strings.to_pylist(), pa.string(), mask=null)
        type_ = {Kind.FLOAT: np.float64, Kind.BOOL: bool}.get(kind, np.int64)
        return pa.array(values.astype(type_), mask=null)

    def unsettled(self) -> int | None:
        """The first event at which a match ends that waits for its window to be over."""
        return self.scan.state.first_uncertain()

    def compact(self, watermark: int) -> int | None:
        """Drop nodes that no match to come can reach, and what can't come again."""
        self.collect()
        first = clear_store(self.scan, self._collected)
        self._emitted = {key for key in self._emitted if first is not None and key[0] >= first}
        return first

    def dump(self) -> StateFacts:
        """Clear what is over; the matches that may come again."""
        self.collect()
        assert not any(map(len, self._collected))
        self.scan.state.collect(self.scan.clock)
        known = [[first, last, *map(written, register)] for first, last, *register in self._emitted]
        return {"chosen": None, "before": sorted(known, key=repr)}

    def load(self, facts: StateFacts) -> None:
        """Restore the matches that may come again."""
        self._emitted = {(first, last, *map(read, register)) for first, last, *register in facts["before"]}
