"""An automaton of the user's own on its scan (S18): a match is its first and its last event, and the register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import StreamCodes
from cepheid.engine.machines.interpreted_automaton import read, written
from cepheid.engine.machines.policy import Policy
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.matches.match_table import NONE, MatchTable, concatenate
from cepheid.engine.matches.register_matches import KEPT, RegisterMatches, pairs
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.errors import EvaluationError
from cepheid.front.automata.bound import automaton_in
from cepheid.kernel.compile import library_function
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.nodes import Fires

MOST = 50_000_000
"""Matches that are enumerated at once."""


class AutomatonMachine(ScanMachine):
    """One automaton over a stream that comes in batches.

    Until matches are settled, their values are those of the register, and whether each came when a window was over.
    """

    def __init__(self, compiled: CompiledQuery, codes: StreamCodes, policy: Policy, events: int = 0) -> None:
        super().__init__(compiled if codes.once else compiled.lasting, codes, policy, events)

    def begin(self, compiled: CompiledQuery, events: int, *, native: bool = False) -> None:
        """Before the first event, or all over again."""
        super().begin(compiled, events, native=native)
        self.before: set[tuple[Any, ...]] = set()  # matches that may come again

    def retime(self, compiled: CompiledQuery) -> None:
        """Go on with the same code of a query whose arcs come and go at other times, or have other constants."""
        self.compiled = compiled if self.codes.once else compiled.lasting
        self.codes.derive(self.compiled.derived, self.compiled.pieces)

    @property
    def matches(self) -> RegisterMatches:
        """What is made of such matches."""
        return RegisterMatches(self.query)

    def flush(self) -> None:
        """Find the matches so far, so that their nodes can go."""
        if self.state.matches:
            self.given.append(self._found())
            self.state.take_matches()

    def settle(self, now: int | None, rows: KeptRows, horizon: int | None = None) -> MatchTable:
        """The matches that became certain."""
        self.state.expire(horizon if now is None else now)
        if self.state.ahead is not None:
            self.state.end_old_runs(self.clock)
        self.flush()
        found = concatenate(self.given) if self.given else NONE
        self.given = []
        if now is None and self.native and self.codes.once:
            self.hand_back()
        if not len(found):
            return NONE
        return self.matches.given(self._new(self.matches.once(found)).moved(-rows.base), rows.kept)

    # Matches as the kernel has written them.

    def _found(self) -> MatchTable:
        starts, owners = self._starts()
        nodes, (roots, words, _) = self.state.store()
        count, shift = self.state.matches, self.kernel.shift
        last = np.array(words[:count], np.int64)
        waited = last < 0
        last[waited] = np.asarray(nodes[0], np.int64)[np.asarray(roots[:count], np.int64)[waited]]
        rows = np.stack([starts >> shift, last[owners] >> shift], axis=1).ravel()
        registers = [self._register(k, slot.type.kind, owners) for k, slot in enumerate(self._slots)]
        return pairs(rows, (*registers, from_numpy(waited[owners])))

    @property
    def _slots(self) -> Sequence[Any]:
        return automaton_in(self.query).slots

    def _starts(self) -> tuple[Any, Any]:
        """Where each match can begin, as words, and the numbers of the matches."""
        nodes, matches = self.state.store()
        count, held = self.state.matches, self.state.nodes
        run = library_function("enumerate_starts", native=self.native)
        make: Any = np.zeros if self.native else lambda size, _: [0] * size
        stack, place = make(2 * held + 2, np.uint32), make(1, np.int64)
        room, found = max(1024, 2 * count), []
        while place[0] < count:
            starts, owners = make(room, np.int64), make(room, np.int64)
            seen = make(held + 1, np.int64)  # anew: a match for which there was no room is gone over again
            got = int(run(int(place[0]), count, *nodes, *matches, starts, owners, stack, seen, place, room))
            if got:
                found.append((np.asarray(starts[:got], np.int64), np.asarray(owners[:got], np.int64)))
            else:
                room *= 4
            if sum(len(part) for part, _ in found) + room > 4 * MOST:
                remedy = "add conditions to arcs, or a shorter WITHIN"
                raise EvaluationError("CEP505", f"there are more than {MOST:,} matches", remedy)
        starts, owners = (np.concatenate(one) for one in zip(*found, strict=True))
        return starts, owners

    def _register(self, number: int, kind: Kind, owners: Any) -> pa.Array:
        """A field of the registers of matches, in the form in which expressions have it."""
        name, count = f"match_given_{number}", self.state.matches
        values = np.asarray(self.state.arrays[name][:count])[owners]
        flags = self.state.arrays.get(f"match_null_given_{number}")
        null = None if flags is None else np.asarray(flags[:count], np.uint8)[owners].astype(bool)
        if kind is Kind.STRING:
            texts = pa.array(list(self.codes.strings.codes) or [""], pa.string())
            codes = np.clip(values.astype(np.int64), 0, len(texts) - 1)
            found = texts.take(from_numpy(codes))
            return found if null is None else pa.array(found.to_pylist(), pa.string(), mask=null)
        type_ = {Kind.FLOAT: np.float64, Kind.BOOL: bool}.get(kind, np.int64)
        return pa.array(values.astype(type_), mask=null)

    # One match may come with its last event and once more when its window is over.

    @property
    def _twice(self) -> bool:
        own = automaton_in(self.query)
        return own.waits and any(arc.target in own.finals for arc in own.arcs if arc.fires is not Fires.END)

    def _new(self, found: MatchTable) -> MatchTable:
        """Without matches that were given before."""
        if not self._twice:
            return found
        assert found.values is not None
        keys = self.matches.keys(found)
        wanted = [k for k, key in enumerate(keys) if key not in self.before]
        late = found.values[KEPT].to_pylist()
        self.before |= {key for key, waited in zip(keys, late, strict=True) if not waited}
        return found.take(np.array(wanted, np.int64))

    def compact(self, now: int) -> int | None:
        """Let go of nodes that no match to come can reach, and of what can't come again."""
        first = super().compact(now)
        self.before = {key for key in self.before if first is not None and key[0] >= first}
        return first

    def dump(self) -> tuple[dict[str, Any], list[Any]]:
        """The arrays as they are, and the matches that may come again."""
        facts, arrays = super().dump()
        known = [[first, last, *map(written, register)] for first, last, *register in self.before]
        return {**facts, "before": sorted(known, key=repr)}, arrays

    def load(self, facts: dict[str, Any], arrays: list[Any], rows: KeptRows) -> None:
        """Take up a state that was dumped."""
        super().load(facts, arrays, rows)
        self.before = {(first, last, *map(read, register)) for first, last, *register in facts["before"]}
