"""Rules whose templates are chains: all of them in shared tables, so that an event meets only what it concerns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.columns import numbers_of
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.protocol import RULE, RuleMatches
from cepheid.engine.many.results import Part, found_of, rows_of
from cepheid.engine.many.routed.rule_places import EVER, FOREVER
from cepheid.engine.many.tables.chain import Chain, Copied
from cepheid.engine.many.tables.layout import TablesLayout, layout_of
from cepheid.engine.many.tables.level import ChainRules
from cepheid.engine.many.tables.placed import PlacedLevel, PlacedPart, place
from cepheid.engine.many.tables.renewal import Alive, Renewal
from cepheid.engine.many.tables.shared_runs import dump_runs, load_runs
from cepheid.engine.many.tables.tables import SharedTables
from cepheid.engine.matches.made_matches import ScanResults, once
from cepheid.engine.matches.match_table import MatchTable
from cepheid.front.templates.template import Joined
from cepheid.kernel import shared as k
from cepheid.pattern.expressions.types import Kind
from cepheid.values.json import Json

FEW_RULES = 2000
"""So many rules, that come and those of the last levels together, are put into a level before the next event."""
SOME_RULES = 16_000
"""So many rules and an eighth of all may be in small levels, or gone; then tables are made anew beside the input."""
NO_KIND = -1
MOST_LEVELS = 100
"""Levels in which runs can begin: each one is looked up in for every event. With more, new tables are waited for."""


@dataclass(frozen=True)
class ChainKind:
    """A variant of a template, as the tables have it."""

    template: int
    joined: Joined
    chain: Chain
    variables: tuple[int, ...]  # by step: the place of its variable among those of the pattern


@dataclass(frozen=True)
class TextRules:
    """Rules that were texts: what they have in common is a kind, and each has conditions of its own."""

    kind: ChainKind
    rules: ChainRules


class SharedTier:
    """All rules that are chains, of templates with one way to see an instant."""

    reloads = True

    def __init__(self, codes: StreamCodes, *, simultaneous: bool, merge: bool = True) -> None:
        self.codes = codes
        self.simultaneous = simultaneous
        self.merge = merge
        self.tables = SharedTables(simultaneous=simultaneous, merge=merge)
        self.kinds: list[ChainKind] = []
        self._numbers: dict[object, int] = {}
        self._levels: list[PlacedLevel] = []
        self._old: list[PlacedLevel] = []  # in which no run begins any more
        self._pending: list[PlacedPart] = []
        self._gone = 0  # rules that were removed, or are in a level in which no run begins any more
        self._slack = SOME_RULES  # so many may be out of place; more, when memory was short
        self._ending = 0, EVER  # how many were kept that end later, and when all of them have
        self._renewal: Renewal | None = None
        self._kind_of = np.zeros(0, np.int32)
        self._mortal = False  # whether some rule has not lived from the beginning, or is removed
        self._since = self._until = np.zeros(0, np.int64)  # which are kept from then on
        self._events = 0

    def anew(self, codes: StreamCodes, *, own: bool) -> SharedTier:
        """The same rules, from the beginning of another stream; own: some can be added and removed."""
        self.settle_rules()
        tier = SharedTier(codes, simultaneous=self.simultaneous, merge=self.merge)
        tier.tables = self.tables.anew(own=own)
        tier.kinds, tier._numbers, tier._levels = list(self.kinds), dict(self._numbers), list(self._levels)
        tier._kind_of = self._kind_of.copy() if own else self._kind_of
        assert not self._mortal, "the rules are those of the beginning"
        return tier

    # Rules.

    def add(self, numbers: np.ndarray, constants: pa.Table, at: int | None, kind: object = None) -> None:
        """Rules of a kind; they are put into the tables, all together, before the next event."""
        numbers = np.asarray(numbers, np.int64)
        if isinstance(kind, TextRules):
            part = kind.rules.take(np.searchsorted(kind.rules.numbers, numbers))
            kind = kind.kind
        else:
            assert isinstance(kind, ChainKind)
            part = ChainRules(kind.chain, numbers, constants)
        if id(kind.joined) not in self._numbers:
            self._numbers[id(kind.joined)] = len(self.kinds)
            self.kinds.append(kind)
        number = self._numbers[id(kind.joined)]
        self._reach(int(numbers.max(initial=-1)) + 1)
        self._kind_of[numbers] = number
        if at is not None:
            self._note_lives()
        if self._mortal:
            self._since[numbers] = EVER if at is None else at
            self._until[numbers] = FOREVER
        self._pending.append((number, part))

    def _reach(self, count: int) -> None:
        missing = count - len(self._kind_of)
        if missing > 0:
            missing = max(missing, len(self._kind_of) // 8)
            self._kind_of = np.append(self._kind_of, np.full(missing, NO_KIND, np.int32))
        if self._mortal:
            missing = len(self._kind_of) - len(self._since)
            self._since = np.append(self._since, np.full(missing, EVER))
            self._until = np.append(self._until, np.full(missing, FOREVER))

    def _note_lives(self) -> None:
        """From now on rules have lifetimes; those so far have lived from the beginning, and go on."""
        if not self._mortal:
            self._mortal = True
            self._reach(len(self._kind_of))

    def remove(self, numbers: np.ndarray, at: int) -> None:
        """Rules that see no event after a time."""
        self._note_lives()
        self._until[numbers] = np.minimum(self._until[numbers], at)
        self._gone += len(numbers)

    def settle_rules(self) -> None:
        """Put new rules into the tables, with those of the last levels if these are small."""
        if not self._pending:
            return
        parts, self._pending = self._pending, []
        count = sum(len(part.numbers) for _, part in parts)
        joined: list[PlacedLevel] = []
        while self._levels and len(self._levels[-1]) <= min(2 * count, FEW_RULES - count):
            if self._renewal is not None and self._renewal.covers(self._levels[-1]):
                break  # it would be in the new tables twice
            joined.append(self._levels.pop())
            parts = [*joined[-1].parts, *parts]
            count += len(joined[-1])
        self._gone += sum(map(len, joined))
        self._old += [level.retired() for level in joined]
        self.tables.retire([level.level for level in joined])
        alive = self._alive(self._until)
        parts = [(kind, part.take(np.flatnonzero(alive(part.numbers)))) for kind, part in parts]
        self._levels.append(place(self.tables, parts))

    def _alive(self, until: np.ndarray) -> Alive:
        """What says which rules may still match: one that was removed long ago leaves the tables some time."""
        last = self.tables.last
        if last is None or not self._mortal:
            return lambda numbers: np.ones(len(numbers), bool)
        return lambda numbers: until[numbers] >= last

    def _renew(self, batch: Batch) -> None:
        """Begin to make tables anew, or go on with those that were made, if it is time."""
        if self._renewal is not None and self._renewal.lost:
            self._renewal = None
        if self._renewal is not None and self._renewal.lacked_memory:
            self._renewal, self._slack = None, 2 * self._slack
        renewal = self._renewal
        if renewal is None:
            ending, end = self._ending
            if ending and self.tables.last is not None and self.tables.last > end:
                self._gone, self._ending = self._gone + ending, (0, EVER)
            if self._is_crowded:
                renewal = self._renewal = Renewal(self.tables)
                renewal.begin([*self._levels, *self._old], self._alive(self._until.copy()))
            return
        if len(self._levels) > MOST_LEVELS or self.tables.level_count > k.MOST_LEVELS - MOST_LEVELS:
            renewal.wait()
        fresh = self.tables.cells[k.FRESH]
        if not renewal.ready or self.tables.cells[k.MATCHES] or (fresh and self.tables.fresh[2] == batch.times[0]):
            return
        left = renewal.left([*self._levels, *self._old])
        if sum(map(len, renewal.left(self._levels))) > FEW_RULES:
            renewal.begin(left, self._alive(self._until.copy()))
            return
        self.tables = renewal.finish(left, self._alive(self._until))
        self._levels, self._old, self._renewal = renewal.placed, [], None
        self._count_gone()

    def _count_gone(self) -> None:
        """Rules that have ended since the new tables were begun are still in them, as are those that end later."""
        kept = [part.numbers for level in self._levels for _, part in level.parts] if self._mortal else []
        until = self._until[np.concatenate(kept or [np.zeros(0, np.int64)])]
        ending = until[until < FOREVER]
        last = self.tables.last
        self._gone = 0 if last is None else int((ending < last).sum())
        self._ending = len(ending) - self._gone, int(ending.max(initial=EVER))

    @property
    def _is_crowded(self) -> bool:
        """Whether much of the tables is of rules that are gone, or in small levels."""
        if len(self._levels) > MOST_LEVELS or self.tables.level_count > k.MOST_LEVELS // 2:
            return True
        sizes = [len(level) for level in self._levels]
        kept = sum(sizes)
        return self._gone + kept - max(sizes, default=0) > kept // 8 + self._slack

    # Events.

    def feed(self, batch: Batch) -> None:
        """Called with each batch in the order of time; `settle` returns its matches."""
        self._renew(batch)
        self.settle_rules()
        self._events += len(batch)
        self.tables.feed(batch)

    # Matches.

    def settle(self, watermark: int | None, rows: KeptRows) -> list[RuleMatches]:
        """The matches so far: each is certain as soon as it is there."""
        tables = self.tables
        if not tables.cells[k.MATCHES]:
            return []
        matched, reals = tables.take_matches()
        where = tables.nodes.array[matched[:, 0] * k.NODE + k.CHILDREN]
        counts = where >> 32
        match = np.repeat(np.arange(len(matched)), counts)
        begin = np.repeat((where & k.LOW) - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        numbers = tables.members.array[begin + np.arange(len(match))]
        if self._mortal:
            depth = tables.flags(matched[:, 0]) & k.DEPTH
            last = matched[np.arange(len(matched)), k.HELD + depth]
            ends = ticks(self.codes.schema, rows.kept)[last - rows.base]
            alive = (matched[match, k.START] > self._since[numbers]) & (ends[match] <= self._until[numbers])
            numbers, match = numbers[alive], match[alive]
        kinds = self._kind_of[numbers]
        results: list[RuleMatches] = []
        by_template: dict[int, list[tuple[ChainKind, Part]]] = {}
        for number in np.unique(kinds):
            kind, mine = self.kinds[number], np.flatnonzero(kinds == number)
            part = self._part(kind, numbers[mine], matched[match[mine]], reals[match[mine]], rows)
            by_template.setdefault(kind.template, []).append((kind, part))
        for template, parts in by_template.items():
            for kind, part in parts:
                results += found_of(template, kind.joined, [part], rows)
        return results

    def _part(
        self, kind: ChainKind, numbers: np.ndarray, matched: np.ndarray, reals: np.ndarray, rows: KeptRows
    ) -> Part:
        steps, count = len(kind.chain.steps), len(numbers)
        ids = matched[:, k.HELD : k.HELD + steps]
        if not kind.chain.valued:
            offsets = np.arange(0, (count + 1) * steps, steps)
            reached = frozenset(c.variable for c in kind.joined.bound.positive)
            variables = np.tile(np.array(kind.variables, np.int64), count)
            return numbers, MatchTable(ids.reshape(-1), variables, offsets, np.zeros(count, np.int64), (reached,))
        columns = list(self._results(kind, numbers, ids, matched, reals, rows))
        times = ticks(self.codes.schema, rows.kept)
        made = ScanResults(matched[:, k.START], times[ids[:, -1] - rows.base], columns)
        return rows_of(once(kind.joined.bound, made))

    def _results(
        self,
        kind: ChainKind,
        numbers: np.ndarray,
        ids: np.ndarray,
        matched: np.ndarray,
        reals: np.ndarray,
        rows: KeptRows,
    ) -> Iterator[pa.Array]:
        """The attributes of results of CESAR, in the form in which expressions have them."""
        slots_at = int(self.tables.cells[k.SLOTS_AT])
        for result in kind.chain.results:
            if isinstance(result, Copied):
                if result.column == RULE:
                    yield from_numpy(numbers)
                else:
                    taken = rows.kept.column(result.column).take(from_numpy(ids[:, result.step] - rows.base))
                    yield expressed(result.column, self.codes.schema.columns[result.column].kind, taken)
            else:
                null = (matched[:, k.NULLS] >> result.number & 1).astype(bool)
                if result.type.kind is Kind.FLOAT:
                    yield pa.array(reals[:, result.number] + 0.0, mask=null, from_pandas=False)
                else:
                    whole = matched[:, slots_at + result.number]
                    yield pa.array(whole.astype(bool) if result.type.kind is Kind.BOOL else whole, mask=null)

    def deadline(self) -> int | None:
        """A match is certain with its last event, and nothing is settled by time alone."""
        return None

    # Clearing, and the state.

    def compact(self, watermark: int) -> int | None:
        """Drop runs that are over; the first event that a match to come can have among those so far."""
        self.tables.sweep(watermark)
        return self.tables.oldest()

    def dump(self) -> tuple[Json, list[np.ndarray]]:
        """The runs, and the rules of their nodes."""
        self.settle_rules()
        facts, arrays = dump_runs(self.tables, self._places())
        late = np.flatnonzero(self._since > EVER)
        return {**facts, "events": self._events}, [late, self._since[late], *arrays]

    def load(self, facts: Json, arrays: list[np.ndarray], rows: KeptRows) -> None:
        """Take up runs, at the nodes that their rules have now; runs that no rule needs any more end."""
        self.settle_rules()
        self._events = facts["events"]
        late, since, *runs = arrays
        there = late < len(self._kind_of)
        late, since = late[there], since[there]
        known = self._kind_of[late] != NO_KIND
        if known.any():
            self._note_lives()
            self._since[late[known]] = since[known]
        # No run is in a level that is retired already: its rules are in another one too, which would have it again.
        places = [(level.numbers, level.paths) for level in self._levels]
        load_runs(self.tables, places, facts, runs, self.codes, rows)

    def _places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rules of each level, and their nodes, those of levels that are retired first."""
        return [(level.numbers, level.paths) for level in (*self._old, *self._levels)]

    def layout(self) -> TablesLayout:
        """What the tables hold, with the rules that have come last."""
        self.settle_rules()
        counts = np.bincount(self._kind_of[self._going_on], minlength=len(self.kinds)).tolist()
        chains = ((kind.template, kind.chain, count) for kind, count in zip(self.kinds, counts, strict=True))
        return layout_of(self.tables, chains, len(self._levels))

    @property
    def _going_on(self) -> Any:
        """Which rules no one has removed, by number."""
        known = self._kind_of != NO_KIND
        return known & (self._until == FOREVER) if self._mortal else known

    def counters(self) -> Mapping[str, int]:
        """What explains the work so far: events, rules, runs and nodes."""
        cells = self.tables.cells
        return {
            "events": self._events,
            "rules": int(self._going_on.sum()),
            "levels": len(self._levels) + bool(self._pending),
            "runs": int(cells[k.ALIVE]),
            "touched": int(cells[k.TOUCHED] + cells[k.CANDIDATES]),
            "state_bytes": self.tables.nbytes() + self.tables.runs.nbytes,
        }


def expressed(name: str, kind: Kind, column: pa.ChunkedArray) -> pa.Array:
    """A column of events as expressions have it: times in nanoseconds, dates in days, one zero."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if kind in (Kind.STRING, Kind.DECIMAL):
        return column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
    values = numbers_of(name, kind, pa.chunked_array([column]))
    null = np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    if kind is Kind.FLOAT:
        values = values + 0.0
    elif kind is Kind.BOOL:
        values = values.astype(bool)
    return pa.array(values, mask=null, from_pandas=False)
