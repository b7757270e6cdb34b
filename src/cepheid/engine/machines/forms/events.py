"""Matches as the events of their variables, kept in a graph until somebody enumerates them."""

from __future__ import annotations

from dataclasses import replace

from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.forms.collected import clear_store
from cepheid.engine.machines.output_rules import OutputRules, oldest_start
from cepheid.engine.machines.protocol import KeptRows, StateFacts
from cepheid.engine.machines.scan import Scan, TooManyRuns
from cepheid.engine.matches.choice import KeptEvents, Key, Open
from cepheid.engine.matches.graph_choice import GraphChoice
from cepheid.engine.matches.graph_matches import Decoder, GraphMatches, make_decoder
from cepheid.engine.matches.graph_walk import GraphWalk
from cepheid.engine.matches.having import Having
from cepheid.engine.matches.instants import Instants
from cepheid.engine.matches.match_table import NONE, LazyMatches, MatchTable, arranged, concatenate
from cepheid.kernel.runtime import NEVER

FEW, FEW_EACH = 1_000, 8
"""Matches, and those for each way to end one, that are enumerated to choose among them.

Where there are more, the choice is made in the store, which takes longer for each match that is emitted."""
EAGER = 200_000
"""Matches that a session enumerates when it finds them; more stay in a graph until they are asked for."""
MOST_TRIED, MOST_TRIED_PLAIN = 2**20, 2**15
"""Room for runs, in plain Python also nodes, up to which runs test HAVING where they may be too many.

An event needs room for several times the runs of its partition, of which there are some 100,000 at most."""
MOST_TRIED_CHOICE = 8_192
"""Matches in the store, likewise, where some are chosen: if many pass, testing soon finds one."""


class EventForm:
    """The events of each match."""

    splits = True

    def begin(self, scan: Scan) -> None:
        """Read the matches of a scan that has no events yet."""
        self.scan = scan
        query, automaton = scan.query, scan.compiled.automaton
        self.rules = OutputRules(query, scan.pieces.report, tested=scan.compiled.tests_having)
        self._collected: list[MatchTable] = []  # matches that were enumerated to make room
        self.quiet = not self.rules.any
        self._simultaneous = automaton.simultaneous
        # Whether matches may stay in the store until they are chosen or not.
        self._may_choose = self.rules.choice is not None and query.schema.start is None and not self._simultaneous
        self._decoder = replace(
            make_decoder(query, automaton, scan.kernel.shift, compiled=scan.native), whole=self.rules.any
        )

    def decoder(self, rows: KeptRows | None = None) -> Decoder:
        """What reads the words of the store. rows: where the instants of events matter."""
        decoder = self._decoder
        if decoder.compiled is not self.scan.native:
            decoder = self._decoder = replace(decoder, compiled=self.scan.native)
        if rows is None or not self._simultaneous:
            return decoder
        return replace(decoder, instants=self._instants(rows))

    def _instants(self, rows: KeptRows) -> Instants | None:
        """The instants of the events that are kept, where those of one time are simultaneous."""
        if not self._simultaneous:
            return None
        return Instants(lambda: ticks(self.scan.query.schema, rows.kept), rows.base)

    @property
    def _chooses_in_store(self) -> bool:
        return self._may_choose and not self.rules.holds

    def check(self) -> None:
        """Give up runs that test HAVING if they are too many."""
        scan = self.scan
        if not scan.compiled.tries:
            return
        state = scan.state
        most = MOST_TRIED if scan.native else MOST_TRIED_PLAIN
        room = max(state.pool_room.values(), default=0)
        many = self._chooses_in_store and state.matches > MOST_TRIED_CHOICE
        if room >= most or many or (not scan.native and state.nodes >= most):
            raise TooManyRuns

    def collect(self) -> None:
        """Enumerate the matches so far."""
        state = self.scan.state
        if state.matches and not self._chooses_in_store:
            self._collected.append(GraphMatches(self.scan.graph(), self.decoder(), 0).all())
            self.quiet = False
            state.take_matches()

    def collected(self) -> MatchTable:
        """The matches that were enumerated, which are the caller's from then on."""
        matches = concatenate(self._collected) if self._collected else NONE
        self._collected, self.quiet = [], not self.rules.any
        return matches

    # Matches that are certain.

    def emit(self, watermark: int | None, rows: KeptRows) -> MatchTable | LazyMatches:
        """The matches that became certain, given all events before a time (None: all)."""
        scan, state = self.scan, self.scan.state
        if self._may_choose and not self.rules.holds:
            return self._choose(watermark, rows)
        if not self.rules.any and not self._collected:
            if watermark is None:
                done = scan.release if scan.native and scan.codes.once else None
                return GraphMatches(scan.graph(), self.decoder(rows), rows.base, done)
            if not state.matches:
                return NONE
            matches = GraphMatches(scan.graph(), self.decoder(rows), rows.base).some(
                EAGER if scan.native else EAGER // 100
            )
            state.take_matches()
            return matches
        if not self._collected and state.matches:
            table = GraphMatches(scan.graph(), self.decoder(), 0).all()
            state.take_matches()
        else:
            self.collect()
            table = self.collected()
            table = arranged(table, self._instants(rows)) if len(table) else NONE
        return self.rules.apply(table.moved(-rows.base), rows, watermark, self)

    def _choose(self, watermark: int | None, rows: KeptRows) -> MatchTable:
        """The matches that are emitted where they are apart; those that wait stay in the store."""
        state, choice, query = self.scan.state, self.rules.choice, self.scan.query
        if choice is None or not state.matches:
            return NONE
        graph, decoder = self.scan.graph(), self.decoder()
        limit = None if watermark is None or choice.longest else state.first_uncertain()
        if watermark is None or (limit is None and not choice.longest):
            matches = GraphMatches(graph, decoder, rows.base).all_if_few(FEW + FEW_EACH * state.matches)
            if matches is not None:
                state.take_matches()
                return self.rules.apply(matches, rows, None, self)
        events = KeptEvents(query, rows.kept, rows.base)
        having = None
        if self.rules.tests_having:
            having = Having(query, rows.kept, rows.base, decoder, self.scan.pieces.report)
        chosen = GraphChoice(graph, decoder, choice, events, having)
        if choice.longest:
            emitted = chosen.longest(None if watermark is None else self.opened(watermark, events))
        else:
            emitted = chosen.apart(limit)
        state.keep_matches(chosen.kept)
        return emitted

    def opened(self, watermark: int, events: KeptEvents) -> Open:
        """The first event of a run that goes on, by partition."""
        choice = self.rules.choice
        assert choice is not None
        nodes, lows = self.scan.state.open_runs(watermark)
        walk = GraphWalk(self.scan.graph())
        open_nodes: dict[Key, list[tuple[int, int]]] = {}
        keys = events.keys([walk.last_event(node) for node in nodes], choice.columns)
        for key, node, low in zip(keys, nodes, lows, strict=True):
            open_nodes.setdefault(key, []).append((node, low))

        def first_that_lasts(key: Key, bound: int) -> int | None:
            every = (event for node in open_nodes.get(key, ()) for event, _ in walk.starts(walk.below([node])))
            return min((event for event in every if choice.may_start(key, event, events)), default=None)

        def first(key: Key, bound: int) -> int | None:
            starts = [walk.first_start(node, low, bound) for node, low in open_nodes.get(key, ())]
            return min((start for start in starts if start is not None), default=None)

        return first_that_lasts if choice.lasts else first

    def first_uncertain(self) -> int | None:
        """The first event at which a match ends that waits for an absence."""
        return self.scan.state.first_uncertain()

    def unsettled(self) -> int | None:
        """The first event at which a match ends that is not certain yet, or waits to be chosen."""
        ends = [self.first_uncertain()]
        if self.rules.choice is not None:
            ends += [self.rules.first_end(), self.scan.state.first_end()]
        return min((end for end in ends if end is not None), default=None)

    # Clearing and snapshots.

    def compact(self, watermark: int) -> int | None:
        """Drop nodes that no match to come can reach."""
        self.collect()
        first = clear_store(self.scan, self._collected)
        return self.rules.first_needed(first, self.scan.clock, self._oldest_start)

    def _oldest_start(self) -> int:
        """A time before which no match to come starts: those that wait in the store may have begun earlier."""
        if any(map(len, self._collected)):
            return NEVER
        oldest = oldest_start(self.scan.query, self.scan.clock, self.rules)
        return min(oldest, self.scan.state.oldest_start()) if oldest > NEVER else NEVER

    def dump(self) -> StateFacts:
        """Clear what is over; the matches that wait for others."""
        self.collect()
        assert not any(map(len, self._collected))
        self.scan.state.collect(self.scan.clock)
        return {"chosen": self.rules.dump()}

    def load(self, facts: StateFacts) -> None:
        """Restore the matches that waited."""
        self.rules.load(facts["chosen"])
