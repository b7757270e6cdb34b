"""Matches as a kernel writes them: words of position and config, in the order in which they were found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cepheid.automaton.model import RegisterAutomaton
from cepheid.engine.encoding.arrow import room_for
from cepheid.engine.matches.counts import count_graph, count_some
from cepheid.engine.matches.graph import NOTHING, MatchGraph, Part, take_parts, together, whole_ends
from cepheid.engine.matches.in_words import said_matches
from cepheid.engine.matches.instants import Instants
from cepheid.engine.matches.match_columns import MatchColumns
from cepheid.engine.matches.match_table import MANY, NONE, MatchTable, first_of, some_or_one
from cepheid.errors import EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.match_store import MatchArrays, NodeArrays
from cepheid.pattern.tree.nodes import Strategy

TOO_MANY = "CEP505"
"""The code of the error for matches that are too many to enumerate."""
MOST = 50_000_000
"""Matches that are enumerated at once; more are counted, or given in parts."""
_GROUP = 4096  # matches of one end that are put in order before any is given
LAST_ROW = 2**32 - 1
"""The last row that fits into the narrow numbers of columns."""
FEW_WORDS = 2**22
"""Positions in all matches of which some are chosen: where there are more, the choice is made in the store."""
SOME_WORDS, MOST_WORDS = 2**25, 2**28
"""Positions in all matches: how many are written before the matches are counted, and at most (2 GB)."""


@dataclass(frozen=True)
class Decoder:
    """What the words of a query mean."""

    shift: int
    variables: np.ndarray  # of a config or an exit: which positive component its event is bound to
    reached: np.ndarray  # of an exit: a number into `reaches`
    reaches: tuple[frozenset[str], ...]
    ambiguous: bool
    waits: bool  # for an absence: then matches are not found in the order of their ends
    count: int  # of positive components
    compiled: bool
    subsets: tuple[str, ...] = ()  # variables that every subset of the events is bound to
    whole: bool = False  # all matches are tested, or some chosen of all: to ask for a few does not help
    instants: Instants | None = None  # where matches end together that end at one time

    def ends(self, words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """What matches are ordered by first: the event at which each ends, or its instant."""
        last = words[offsets[1:] - 1] >> self.shift
        return last if self.instants is None else self.instants.of(last)

    def decode(self, words: np.ndarray, offsets: np.ndarray, base: int) -> MatchTable:
        """Matches in the order of S9, each once; rows count from `base`."""
        matches = len(offsets) - 1
        ends = self.ends(words, offsets)
        if (ends[1:] < ends[:-1]).any():  # matches that had to wait for an absence
            words, offsets = take_parts(words, offsets, np.argsort(ends, kind="stable"))
        order = self.order(words, offsets)
        ends = words[offsets[1:] - 1] & ((1 << self.shift) - 1)
        reached = self.reached[ends]
        rows, owners = np.empty(len(words), np.int64), np.empty(len(words), np.int16)
        bounds = np.empty(matches + 1, np.int64)
        source = words, offsets, self.variables, order
        self.run("decode_matches", matches, self.shift, base, *source, rows, owners, bounds)
        decoded = MatchTable(rows, owners, bounds, reached[order], self.reaches)
        return decoded.take(self.unique(decoded)) if self.ambiguous else decoded

    def split(self, parts: list[Part], base: int) -> MatchColumns:
        """Matches in the order of S9 by variable; no end is in two parts."""
        matches, room = sum(len(offsets) - 1 for _, offsets in parts), sum(len(words) for words, _ in parts)
        rows, counts = room_for(self.count * room, np.uint32), np.zeros(self.count * matches, np.uint32)
        used = np.zeros(self.count, np.int64)
        first, last, reached = np.empty(matches, np.uint32), np.empty(matches, np.uint32), np.empty(matches, np.int64)
        at = 0
        for words, offsets in parts:
            some = len(offsets) - 1
            order = self.order(words, offsets)
            source = words, offsets, self.variables, order
            columns = rows, used, room, counts, matches, at, first, last
            self.run("split_variables", some, self.shift, base, *source, *columns)
            if len(self.reaches) > 1:
                reached[at : at + some] = self.reached[words[offsets[1:] - 1] & ((1 << self.shift) - 1)][order]
            at += some
        if len(self.reaches) == 1:
            reached[:] = 0
        by_variable = [rows[x * room : x * room + used[x]] for x in range(self.count)]
        numbers = [some_or_one(counts[x * matches : (x + 1) * matches]) for x in range(self.count)]
        return MatchColumns(by_variable, numbers, first, last, reached, self.reaches)

    def order(self, words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The order of S9, as a permutation; the ends are in order already."""
        matches = len(offsets) - 1
        order, spare = np.empty(matches, np.int64), np.empty(matches, np.int64)
        stored = matches, self.shift, self.count, words, offsets, self.variables
        if self.instants is None:
            self.run("order_matches", *stored, order, spare)
        else:
            self.run("order_instants", *stored, self.ends(words, offsets), order, spare)
        return order

    def run(self, name: str, *arguments: int | np.ndarray) -> None:
        """A function of the match store on arrays."""
        run_on_arrays(name, *arguments, native=self.compiled)

    def unique(self, matched: MatchTable) -> np.ndarray:
        """Of equal matches, the one that reached most."""
        chosen: dict[tuple[bytes, bytes], int] = {}
        for k in range(len(matched)):
            part = slice(matched.offsets[k], matched.offsets[k + 1])
            key = matched.rows[part].tobytes(), matched.variables[part].tobytes()
            old = chosen.setdefault(key, k)
            if len(matched.reaches[matched.reached[k]]) > len(matched.reaches[matched.reached[old]]):
                chosen[key] = k
        return np.array(list(chosen.values()), np.int64)


def make_decoder(query: Runnable, automaton: RegisterAutomaton, shift: int, *, compiled: bool) -> Decoder:
    """The decoder of a query."""
    numbers = {component.variable: k for k, component in enumerate(query.positive)}
    configs = [numbers.get(config.label, 0) for config in automaton.configs]  # of one's own automata: states
    exits = [configs[exit_.config] for exit_ in automaton.exits]
    reaches = tuple(dict.fromkeys(exit_.reached for exit_ in automaton.exits)) or (frozenset(),)
    reached = [0] * len(configs) + [reaches.index(exit_.reached) for exit_ in automaton.exits]
    variables = np.array(configs + exits, np.int64)
    return Decoder(
        shift=shift,
        variables=variables,
        reached=np.array(reached, np.int64),
        reaches=reaches,
        ambiguous=automaton.ambiguous,
        waits=any(exit_.absent for exit_ in automaton.exits),
        count=len(numbers),
        compiled=compiled,
        subsets=tuple(c.variable for c in query.positive if c.array and query.strategies[c.variable] is Strategy.ANY),
    )


def too_many(decoder: Decoder) -> str:
    """What to do where there are too many matches."""
    common = "add conditions or a shorter WITHIN"
    if not decoder.whole:
        common = f"ask for some with limit=…, count them with count(), or {common}"
    if not decoder.subsets:
        return common
    names = ", ".join(decoder.subsets)
    return f"use skip_till_next_match for {names}, which is now bound to every subset of the events; or {common}"


class GraphMatches:
    """Matches in a graph: counted without being enumerated, enumerated when they are asked for."""

    def __init__(self, graph: MatchGraph, decoder: Decoder, base: int, done: Callable[[], None] | None = None) -> None:
        self.graph = graph
        self.done = done  # called when the graph is needed no more
        self.decoder = decoder
        self.base = base
        self.parts: list[Part] | None = None

    @cached_property
    def _number(self) -> int:
        """How many the graph has, counted once: a closure with very many takes seconds."""
        return count_graph(self.graph)

    def count(self) -> int:
        """How many there are, exactly."""
        if self.decoder.ambiguous:
            return len(self.all())
        return self._number if self.parts is None else self.size()

    def count_some(self, seconds: float) -> tuple[int, bool]:
        """How many there are, and whether these are all: where it takes long, only the first are counted."""
        exact = self.decoder.ambiguous or self.parts is not None
        return (self.count(), True) if exact else count_some(self.graph, seconds)

    def bound(self) -> tuple[int, bool]:
        """How many there are at most, found without enumerating them, and whether that is exact."""
        if self.parts is not None:
            return self.count(), True
        return self._number, not self.decoder.ambiguous

    def few(self, wanted: int) -> MatchTable | None:
        """The first few; None if very many must be enumerated to know which these are."""
        in_order = not (self.decoder.ambiguous or self.decoder.waits)
        if self.parts is None and not in_order and self._number > MANY:
            return None
        return first_of(self.batches(wanted), wanted)

    def size(self) -> int:
        """How many there are, by enumerating them."""
        return len(self.all()) if self.decoder.ambiguous else sum(len(o) - 1 for _, o in self.enumerated())

    def enumerated(self) -> list[Part]:
        """All matches as words, enumerated once."""
        if self.parts is None:
            parts: list[Part] = []
            words = 0
            for part in self.graph.enumerate():
                parts.append(part)
                before, words = words, words + len(part[0])
                # Before much is written, it is asked how much there would be.
                many = before <= SOME_WORDS < words and self._number > MOST
                if many or words > MOST_WORDS:
                    message = f"{said_matches(self._number)} are too many to enumerate"
                    raise EvaluationError(TOO_MANY, message, too_many(self.decoder))
            self.parts = parts
            if self.done is not None:
                # Another run has its arrays now.
                self.graph = MatchGraph(NodeArrays([], [], [], []), MatchArrays([], [], []), 0, compiled=False)
                self.done()
        return self.parts

    def batches(self, size: int) -> Iterator[MatchTable]:
        """One part after the other, in the order of S9; only where one end has very many matches are those split."""
        if self.parts is not None or self.decoder.ambiguous or self.decoder.waits:
            yield from self.all().batches(size)
            return
        self.done = None  # the graph is read for as long as someone asks for more
        rest = NOTHING
        for part in self.graph.enumerate(max(size, _GROUP)):
            words, offsets = together([rest, part])
            ends = self.decoder.ends(words, offsets)
            whole = int(np.searchsorted(ends, ends[-1]))  # the last end may have more matches
            if not whole and len(ends) >= _GROUP:
                whole = len(ends)
            yield from self.decoder.decode(words[: offsets[whole]], offsets[: whole + 1], self.base).batches(size)
            rest = words[offsets[whole] :], offsets[whole:] - offsets[whole]
        yield from self.decoder.decode(*rest, self.base).batches(size)

    def all_if_few(self, most: int) -> MatchTable | None:
        """All of them if they are few, else None."""
        parts: list[Part] = []
        matches = words = 0
        for part in self.graph.enumerate():
            parts.append(part)
            matches, words = matches + len(part[1]) - 1, words + len(part[0])
            if matches > most or words > FEW_WORDS:
                return None
        return self.decoder.decode(*together(parts), self.base) if parts else NONE

    def some(self, most: int) -> MatchTable | GraphMatches:
        """All of them if they are few; else a copy of the graph, which the scan goes on with."""
        parts: list[Part] = []
        for part in self.graph.enumerate():
            parts.append(part)
            if sum(len(offsets) - 1 for _, offsets in parts) > most:
                break
        else:
            return self.decoder.decode(*together(parts), self.base) if parts else NONE
        nodes = NodeArrays(*(array.copy() for array in self.graph.nodes))
        matches = MatchArrays(*(array.copy() for array in self.graph.matches))
        return GraphMatches(replace(self.graph, nodes=nodes, matches=matches), self.decoder, self.base)

    def all(self) -> MatchTable:
        """All of them, or an error that says how many there are."""
        return self.decoder.decode(*together(self.enumerated()), self.base)

    def columns(self, variables: int) -> MatchColumns:
        """The matches by variable, without a table of all where that is possible."""
        parts = self.enumerated()
        far = bool(parts) and (int(parts[-1][0][-1]) >> self.decoder.shift) - self.base > LAST_ROW
        if self.decoder.ambiguous or self.decoder.waits or far:
            return self.all().columns(variables)
        return self.decoder.split(list(whole_ends(parts, self.decoder.ends)), self.base)
