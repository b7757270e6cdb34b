"""A session of many queries: events, and rules that come and go, in any order of calls (S17, S23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.api.events import to_table
from cepheid.api.many.bound import check_bound
from cepheid.api.many.by_definition import no_matches
from cepheid.api.many.compared import only, same_rules
from cepheid.api.many.id_index import IdIndex
from cepheid.api.many.ids import BAD_RULES
from cepheid.api.many.many_matches import ManyMatches
from cepheid.api.many.problems import Problems
from cepheid.api.many.untyped import EventsWithoutTypes
from cepheid.api.many.written_rules import read_rule_set, write_rule_set
from cepheid.api.readable import UNREADABLE, check_text
from cepheid.api.shown_session import session_line
from cepheid.engine.encoding.arrow import empty_table
from cepheid.engine.encoding.times import from_ticks, time_value, to_ticks
from cepheid.engine.many.lifetimes import ALWAYS, NEVER, Lifetimes
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.many.stream import ManyStream
from cepheid.engine.session.batches import completed, with_columns_of, with_types_of
from cepheid.engine.session.delays import read_delay
from cepheid.engine.session.refused_calls import advanced_too_early, check_forward, check_policy, check_usable
from cepheid.engine.stream.late import LateFilter
from cepheid.engine.stream.parts import FlatSink, PartSource, Sink
from cepheid.engine.stream.retyped import as_types, typed_like
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.snapshot import telling_damage, to_bytes
from cepheid.errors import InputError, PatternError, UsageError, did_you_mean
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pictures import fact_table
from cepheid.values.json import Json

if TYPE_CHECKING:
    from cepheid.api.queries import Queries


@dataclass(frozen=True, slots=True)
class ManyStats:
    """Counters of a session of many queries. counters: what the engine counts, such as `touched`."""

    queries: int
    events: int
    matches: int
    late: int
    counters: Mapping[str, int] = field(default_factory=dict)


class ManySession:
    """Many queries on a stream of batches. The matches do not depend on how the stream is split into batches.

    push, advance, close: as in a session of one query; each returns `ManyMatches`.
    add, remove: rules come and go while it runs; a rule sees the events after the time at which it was added, and up
    to the time at which it was removed. A change that is refused alters nothing.
    """

    def __init__(self, queries: Queries, engine: str, *, lateness: object = None, late: str = "error") -> None:
        check_policy(late)
        self._queries = queries
        self._options = queries.options
        self._engine = engine
        self._rules: RuleSet = queries.rules
        self._lives = Lifetimes.for_good(len(queries.ids))
        self._index = IdIndex(queries.ids)
        self._problems: Problems = queries.problems
        self._late = LateFilter(late)
        self._lateness = None if lateness is None else read_delay("lateness", lateness, self._options.roles.unit)
        self._schema: Schema | None = None
        self._untyped: EventsWithoutTypes | None = None
        self._guessed = False  # whether the columns are those that the rules read, because nobody has said any
        self._stream: ManyStream | None = None
        self._watermark: int | None = None
        self._latest: int | None = None
        self._events = 0
        self._matches = 0
        self._closed = False
        self._failed = False

    @property
    def _shown_watermark(self) -> object:
        if self._watermark is None or self._schema is None:
            return None
        return from_ticks(self._schema, self._watermark)

    def _repr_html_(self) -> str:
        stats = self.stats
        facts = {
            "queries": stats.queries,
            "events": stats.events,
            "matches": stats.matches,
            "watermark": self._shown_watermark or "none yet",
            "runs": stats.counters.get("runs", 0),
            "state": f"{stats.counters.get('state_bytes', 0):,} bytes",
            "late events": stats.late,
        }
        return fact_table(repr(self), facts)

    def __repr__(self) -> str:
        alive = self._alive()
        return session_line(
            f"{alive:,} quer{'y' if alive == 1 else 'ies'}",
            closed=self._closed,
            failed=self._failed,
            events=self._events,
            matches=self._matches,
            reached=self._shown_watermark,
        )

    # Events.

    def push(self, events: object) -> ManyMatches:
        """Add events. With `lateness` the watermark follows them; otherwise only `advance` moves it."""
        self._check_open()
        table = to_table(events, self._options.roles.type)
        if self._schema is None or not self._events:
            table = self._begin(table)
        assert self._schema is not None
        assert self._stream is not None
        if self._events:
            if not hasattr(events, "columns"):
                table = completed(table, self._schema.arrow)
            self._learn_types(table.schema)
            table = _as_batch(table, self._schema.arrow)
        check_text(table)  # the session would be lost if it were found later
        arrival = self._late.on_time(arrival_of(self._schema, table), self._stream.stream.arrivals, self._watermark)
        self._stream.push(arrival)
        if self._untyped is not None:
            self._untyped.add(arrival.rows.table())
        self._events += arrival.count
        if not arrival.count:
            return self._given([])
        self._latest = arrival.high if self._latest is None else max(self._latest, arrival.high)
        if self._lateness is None:
            return self._given([])
        reached = arrival.high - -(-self._lateness // self._schema.tick)
        return self._move(reached if self._watermark is None else max(reached, self._watermark))

    def advance(self, watermark: object) -> ManyMatches:
        """Move the watermark: all events before it have arrived. Returns the matches that became certain."""
        self._check_open()
        if self._schema is None:
            raise advanced_too_early()
        to = to_ticks(self._schema, watermark)
        check_forward(to, self._watermark, watermark)
        return self._move(to)

    def close(self) -> ManyMatches:
        """End the stream. Returns the remaining matches."""
        self._check_open()
        if self._stream is None:
            self._begin(pa.table({}))
        assert self._stream is not None
        self._closed = True
        return self._run(None)

    def _begin(self, table: pa.Table) -> pa.Table:
        """The first events say what the columns are; until there is one, they may be others."""
        self._guessed = not table.num_columns and (self._schema is None or self._guessed)
        if self._guessed:
            table = self._queries.empty_events(self._rules)
        elif not table.num_columns:
            assert self._schema is not None
            table = empty_table(self._schema.arrow)
        elif self._schema is not None and set(table.column_names) == set(self._schema.columns):
            # An empty table has said what a column is that has only NULL now.
            table = as_types(table, typed_like(table.schema, self._schema.arrow))
        schema = make_schema(table.schema, self._options.roles)
        rules, problems = self._fitting(schema)
        self._stream = self._queries.stream(rules, schema, self._engine, self._lives, self._watermark)
        # They are in the tables: what texts were read as is let go of.
        self._schema, self._problems, self._rules = schema, problems, rules.as_texts()
        self._untyped = EventsWithoutTypes.of(schema.arrow)
        return table

    def _learn_types(self, types: pa.Schema) -> None:
        """Where columns get types that they did not have, go over the events again; what they gave is known."""
        wanted = None if self._untyped is None else self._untyped.typed(types)
        if self._untyped is None or wanted is None:
            return
        schema, problems = make_schema(wanted, self._options.roles), self._problems.copy()
        check_bound(self._rules, self._options, schema, problems)
        rules = self._rules.without(problems.numbers)
        stream = self._queries.stream(rules, schema, self._engine, self._lives, None)
        known = EventsWithoutTypes.of(wanted)
        for table in self._untyped.as_types(wanted):
            stream.push(arrival_of(schema, table))
            if known is not None:
                known.add(table)
        if self._watermark is not None:
            stream.advance(self._watermark)
        self._schema, self._problems, self._rules, self._stream, self._untyped = schema, problems, rules, stream, known

    def _fitting(self, schema: Schema) -> tuple[RuleSet, Problems]:
        """The rules that fit events of a schema, and what is wrong with the others."""
        if self._rules is self._queries.rules:  # none has come or gone
            known = self._queries.prepared(schema)
            return known.rules, known.problems.copy()
        problems = self._problems.copy()
        check_bound(self._rules, self._options, schema, problems)
        return self._rules.without(problems.numbers), problems

    def _move(self, watermark: int) -> ManyMatches:
        self._watermark = watermark
        return self._run(watermark)

    def _run(self, watermark: int | None) -> ManyMatches:
        return self._given(self._advance(watermark))

    def _advance(self, watermark: int | None) -> list[RuleMatches]:
        assert self._stream is not None
        self._failed = True  # until it has succeeded
        results = self._stream.advance(watermark)
        self._failed = False
        return results

    def _given(self, results: list[RuleMatches]) -> ManyMatches:
        assert self._schema is not None
        matches = ManyMatches(self._rules, results, partial(no_matches, self._rules, self._options, self._schema.arrow))
        self._matches += len(matches)
        return matches

    def _check_open(self) -> None:
        check_usable("queries", closed=self._closed, failed=self._failed)

    # Rules come and go (S17).

    def add(self, rules: object, *, at: object = None, ids: Iterable[object] | None = None) -> None:
        """More rules, on the events after `at`: by default after the greatest time so far, or the watermark.

        rules: a table, as for `Queries`; where those are a list of queries, more of these, with `ids`.
        """
        self._check_open()
        since = self._time(at)
        self._add(*self._queries.read_more(rules, ids, self._rules), since)

    def _add(self, more: RuleSet, problems: Problems, since: int | None) -> None:
        """More rules, whose numbers begin at 0."""
        first = len(self._rules.ids)
        again = self._repeated(more.ids, since)
        if len(again):
            remedy = f"remove it first, or give the {problems.what} another id"
            problems.add(again, InputError(BAD_RULES, "its id is there already", remedy))
        more = more.without(problems.numbers)
        if self._schema is not None and not self._guessed:
            check_bound(more, self._options, self._schema, problems)
            more = more.without(problems.numbers)
        moved = more.numbered_from(first)
        if self._stream is not None and not self._guessed:
            self._stream.add(moved.templates, moved.rules, since)
        self._index.add(more.ids, first)
        self._rules = self._rules.more(moved)
        self._lives = self._lives.added(len(more.ids), since)
        for number in problems.numbers:  # these have no lifetime
            self._lives.until[first + number] = ALWAYS
        self._problems = self._problems.more(problems, self._rules.ids, first)
        if self._guessed:
            self._begin(pa.table({}))

    def _repeated(self, ids: pa.Array, since: int | None) -> np.ndarray:
        """Those of some ids that belong to rules which are not over by a time."""
        known = self._rules.ids
        if not len(known) or not len(ids):
            return np.zeros(0, np.int64)
        if ids.type != known.type:
            message = f"the ids are {ids.type}, and those of the rules so far are {known.type}"
            raise UsageError(BAD_RULES, message, "use ids of one type")
        places, numbers = self._index.find(ids, known)
        return np.unique(places[self._lives.until[numbers] > (ALWAYS if since is None else since)])

    def remove(self, ids: Iterable[object] | int, *, at: object = None) -> None:
        """Rules give the matches that end at or before `at`, and whose absences were decided by then.

        ids: of the rules, or the id of one. `at`: by default the greatest time so far, or the watermark.
        """
        self._check_open()
        until = self._time(at)
        asked = [ids] if isinstance(ids, str | int) else ids
        numbers = self._alive_numbers(asked, until)
        self._remove(numbers, until)

    def _remove(self, numbers: np.ndarray, until: int | None) -> None:
        """Rules, by their numbers, that end at a time."""
        if until is None or self._stream is None:  # there are no events yet
            self._rules = self._rules.without(numbers)
            self._lives = self._lives.removed(numbers, ALWAYS)
            return
        self._stream.remove(numbers, until)
        self._lives = self._lives.removed(numbers, until)

    def update(self, rules: RuleSet, at: int | None = None) -> None:
        """Go on with other rules, compared by id: those that are the same go on, others come and go.

        at: when they do, in ticks; None: now.
        """
        at = self._time(None) if at is None else at
        alive = np.zeros(len(self._rules.ids), bool)
        for some in self._rules.rules:
            alive[some.numbers] = self._lives.until[some.numbers] == NEVER
        numbers, same = same_rules(rules, self._rules, self._index, alive)
        alive[same] = False
        gone = np.flatnonzero(alive)
        if len(gone):
            self._remove(gone, at)
        every = np.concatenate([some.numbers for some in rules.rules] or [numbers])
        more = only(rules, np.setdiff1d(every, numbers)).after(self._rules.templates)
        if len(more.ids):
            self._add(more, Problems(more.ids, collect=self._queries.collects, what=self._problems.what), at)

    def _alive_numbers(self, ids: Iterable[object], at: int | None) -> np.ndarray:
        """The numbers of rules that are not over at a time, by their ids."""
        known = self._rules.ids
        try:
            asked = ids if isinstance(ids, pa.Array) else pa.array(list(ids), known.type)
        except UNREADABLE as error:
            message = f"the ids can't be read: {str(error).splitlines()[0]}"
            raise UsageError(BAD_RULES, message, f"the ids of these rules are {known.type}") from None
        places, numbers = self._index.find(asked, known)
        lives = self._lives.until[numbers] > (ALWAYS if at is None else at)
        living, alive = places[lives], np.unique(numbers[lives])
        missing = np.setdiff1d(np.arange(len(asked)), living)
        if len(missing):
            name = asked[int(missing[0])].as_py()
            if missing[0] in places:
                message = f"the rule {name!r} is over at that time"
                raise PatternError("CEP229", message, "remove it at an earlier time, or not at all")
            known_ids = map(str, known.slice(0, 1000).to_pylist())
            raise PatternError("CEP229", f"there is no rule {name!r}", did_you_mean(str(name), known_ids, "ids"))
        begun = self._lives.since[alive]
        if at is not None and (begun > at).any():
            name = known[int(alive[begun > at][0])].as_py()
            message = f"the rule {name!r} begins after that time, and would end before"
            raise PatternError("CEP229", message, "remove it at a later time")
        return alive

    def _time(self, at: object) -> int | None:
        """When a change holds from, in ticks; None: from the beginning, before there are events."""
        if self._schema is None:
            if at is None:
                return None
            message = "rules can't change at a time before the first push"
            raise UsageError("CEP606", message, "push first, if only an empty table, to define the columns")
        known = [time for time in (self._latest, self._watermark) if time is not None]
        if at is None:
            return max(known, default=None)
        time = to_ticks(self._schema, at, down=True)
        shown = time_value(self._schema, time)
        if self._watermark is not None and time < self._watermark:
            reached = time_value(self._schema, self._watermark)
            message = f"the change at {shown} is before the watermark {reached}"
            raise UsageError("CEP608", message, "let it hold from a later time on: at=…, or leave out at=")
        if self._latest is not None and time < self._latest:
            message = f"the change at {shown} is before events that have come"
            raise UsageError("CEP608", message, "let it hold from a later time on: at=…, or leave out at=")
        return time

    # For Spark, which has watermarks, policies and rules in its own hands.

    def open(self, schema: Schema, stream: ManyStream | None = None) -> None:
        """Begin with columns that the rules are known to fit. stream: what runs these rules, if it is there already."""
        self._schema = schema
        self._stream = stream or self._queries.stream(self._rules, schema, self._engine, self._lives, self._watermark)

    def take(self, arrival: Arrival, late: str) -> int:
        """Take in events; return how many of them are not late."""
        assert self._stream is not None
        self._late.policy = late
        arrival = self._late.on_time(arrival, self._stream.stream.arrivals, self._watermark)
        self._stream.push(arrival)
        self._events += arrival.count
        return arrival.count

    def reach(self, watermark: int | None) -> list[RuleMatches]:
        """Move the watermark, in ticks; None: the stream ends. Return the matches that became certain."""
        self._watermark = self._watermark if watermark is None else watermark
        return self._advance(watermark)

    def begin(self, rules: RuleSet, at: int) -> None:
        """More rules that are known to be right, whose numbers begin at 0, on the events after a time in ticks."""
        self._add(rules, Problems(rules.ids, collect=False, what=self._problems.what), at)

    def end(self, ids: pa.Array, at: int) -> None:
        """Those of some rules that there are end at a time in ticks."""
        _, numbers = self._index.find(ids, self._rules.ids)
        self._remove(np.unique(numbers[self._lives.until[numbers] > at]), at)

    @property
    def stream(self) -> ManyStream | None:
        return self._stream

    # What it knows.

    @property
    def rules(self) -> RuleSet:
        """All rules that there are or were."""
        return self._rules

    @property
    def lives(self) -> Lifetimes:
        """From when to when each rule lives."""
        return self._lives

    @property
    def errors(self) -> pa.Table:
        """With errors="collect": what is wrong with which rule: `id`, `code`, `message`."""
        return self._problems.table()

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the events that arrived after the watermark had passed them."""
        if not self._late.set_aside:
            return empty_table(self._schema.arrow) if self._schema is not None else pa.table({})
        return pa.concat_tables(self._late.set_aside)

    def _alive(self) -> int:
        reached = ALWAYS if self._watermark is None else self._watermark
        return sum(int((self._lives.until[some.numbers] >= reached).sum()) for some in self._rules.rules)

    @property
    def stats(self) -> ManyStats:
        """How many rules, events, matches and late events there are, and the counters of what runs the rules."""
        counters = {} if self._stream is None else self._stream.counters()
        return ManyStats(self._alive(), self._events, self._matches, self._late.count, counters)

    # Snapshots.

    def snapshot(self) -> bytes:
        """The state with the rules, as bytes: `queries.restore(blob)` continues from here."""
        self._check_open()
        flat = FlatSink()
        return to_bytes(self.save(flat), flat)

    def save(self, flat: Sink, known: int = 0) -> Json:
        """The state for a header; its parts go into a sink. known: so many rules are not written."""
        header: Json = {
            "many": {
                "watermark": self._watermark,
                "latest": self._latest,
                "delay": self._lateness,
                "policy": self._late.policy,
                "late": self._late.count,
                "events": self._events,
                "matches": self._matches,
            },
            "known": known,
            "rules": write_rule_set(_later(self._rules, known), flat) if len(self._rules.ids) > known else None,
            "since": flat.array("since", self._lives.since),
            "until": flat.array("until", self._lives.until),
            "set_aside": flat.table("late", self.late_events) if self._late.set_aside else None,
        }
        if self._stream is not None and self._schema is not None:
            header["schema"] = flat.add("schema", self._schema.arrow.serialize())
            header["state"] = self._stream.save(flat)
            seen = None if self._untyped is None else self._untyped.table()
            header["untyped"] = None if seen is None else flat.table("untyped", seen)
        return header

    def load(self, header: Json, source: PartSource, stream: ManyStream | None = None) -> None:
        """Take up a state, in a new session; the rules are those of the state, after those that it does not have.

        stream: what has run the same rules, if that is at hand.
        """
        with telling_damage():
            facts = header["many"]
            self._watermark, self._latest = facts["watermark"], facts["latest"]
            self._lateness, self._events, self._matches = facts["delay"], facts["events"], facts["matches"]
            self._late.policy, self._late.count = facts["policy"], facts["late"]
            if header["set_aside"] is not None:
                self._late.set_aside = [source.table(header["set_aside"])]
            if header["rules"] is not None:
                saved = read_rule_set(header["rules"], source, self._queries.rules, self._options)
                known = header.get("known", 0)
                self._rules = self._rules.more(saved.numbered_from(known)) if known else saved
            self._index = IdIndex(self._rules.ids)
            self._lives = Lifetimes(source.array(header["since"]).copy(), source.array(header["until"]).copy())
            self._problems = Problems(self._rules.ids, collect=self._queries.collects, what=self._problems.what)
            if "schema" in header:
                arrow = pa.ipc.read_schema(pa.py_buffer(source.part(header["schema"])))
                self._schema = make_schema(arrow, self._options.roles)
                if header.get("untyped") is not None:
                    self._untyped = EventsWithoutTypes(arrow)
                    self._untyped.add(source.table(header["untyped"]))
                if stream is not None:
                    stream.reload(header["state"], source)
                    self._stream = stream
                    return
                self._stream = self._queries.stream(None, self._schema, self._engine)
                self._stream.load(self._rules, self._lives, self._watermark, header["state"], source)


def _later(rules: RuleSet, first: int) -> RuleSet:
    """The rules from a number on, numbered from 0."""
    kept = rules.without(np.arange(first)) if first else rules
    return replace(kept.numbered_from(-first), ids=rules.ids.slice(first))


def _as_batch(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """A table with the columns of the first one."""
    if table.schema.equals(wanted):
        return table
    if not table.num_columns:
        return wanted.empty_table()
    table = with_columns_of(table, wanted)
    for column in wanted:
        if pa.types.is_null(column.type) and not pa.types.is_null(table.schema.field(column.name).type):
            remedy = "push an empty table first whose columns have their types"
            raise InputError("CEP409", f"the column '{column.name}' had only NULL so far, and now has a type", remedy)
    return with_types_of(table, wanted)
