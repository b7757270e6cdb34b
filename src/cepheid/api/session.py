"""A session: a query on a stream of batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.api.events import to_table
from cepheid.engine.matches import Matches
from cepheid.engine.pipeline import Pipeline, Plan
from cepheid.engine.snapshot import FlatSink, Sink, Source, from_bytes, read_state, to_bytes, write_state
from cepheid.engine.times import tick, ticks, to_ticks
from cepheid.errors import InputError, UsageError, did_you_mean
from cepheid.pattern.durations import NANOSECONDS
from cepheid.pattern.schema import Roles, make_schema
from cepheid.pattern.types import Kind, from_arrow, zone_of

LATE = ("error", "drop", "collect")


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of a session and the size of its state."""

    events: int
    runs: int
    merged: int
    state_bytes: int
    matches: int
    late: int
    plan: str = ""  # of each query, separated by semicolons
    replans: int = 0  # how often the plan was changed
    tests: int = 0  # how often conditions over several events were evaluated, the steps of a search included


class Session:
    """A query on a stream of batches. The matches do not depend on how the stream is split into batches.

    push: adds events, with any number of keys and in any order, as long as none is before the watermark.
    advance: moves the watermark: all events before this time have arrived. Emits the matches that became certain.
    close: ends the stream and emits the remaining matches.

    >>> from cepheid import Query
    >>> s = Query("PATTERN SEQ(A a, B b) WITHIN 1 second").session()
    >>> s.push([{"ts": 2, "type": "B"}, {"ts": 1, "type": "A"}])
    <0 matches: match_start, match_end, a, b>
    >>> s.advance(3)
    <1 match: match_start, match_end, a, b>
    """

    def __init__(
        self,
        plan: Plan,
        roles: Roles,
        fingerprint: str,
        empty: Callable[[], pa.Table],
        *,
        lateness: object = None,
        late: str = "error",
    ) -> None:
        if late not in LATE:
            raise UsageError(
                "CEP601", f"unknown policy {late!r} for late events", did_you_mean(str(late), LATE, "policies")
            )
        if lateness is not None and (isinstance(lateness, bool) or not isinstance(lateness, int) or lateness < 0):
            remedy = "pass a whole number in the unit of the query, 0 or more, or None"
            raise UsageError("CEP603", f"lateness can't be {lateness!r}", remedy)
        self._plan = plan
        self._roles = roles
        self._fingerprint = fingerprint
        self._empty = empty
        self._lateness: int | None = lateness
        self._policy = late
        self._pipeline: Pipeline | None = None
        self._watermark: int | None = None
        self._closed = False
        self._failed = False
        self._late = 0
        self._events = 0
        self._matches = 0
        self._set_aside: list[pa.Table] = []

    def push(self, events: object) -> Matches:
        """Add events. With `lateness` the watermark follows them; otherwise only `advance` moves it."""
        self._check_open()
        table = to_table(events)
        if self._pipeline is not None and self._events and not hasattr(events, "columns"):
            table = self._completed(table)
        table = self._conform(table)
        times = ticks(self._opened.schema, table)
        if self._watermark is not None and len(times) and times.min() < self._watermark:
            table, times = self._sort_out(table, times)
        self._opened.push(table)
        self._events += table.num_rows
        if self._lateness is None or not len(times):
            return self._none()
        latest = int(times.max()) - self._lateness_ticks()
        return self._move(latest if self._watermark is None else max(latest, self._watermark))

    def advance(self, watermark: object) -> Matches:
        """Move the watermark: all events before it have arrived. Returns the matches that became certain."""
        self._check_open()
        if self._pipeline is None:
            raise UsageError(
                "CEP606",
                "advance was called before the first push",
                "push first, if only an empty table, to define the columns",
            )
        return self.reach(to_ticks(self._pipeline.schema, watermark), shown=watermark)

    def reach(self, to: int, *, shown: object = None) -> Matches:
        """Like `advance`, with the time in ticks of the time column."""
        if self._watermark is not None and to < self._watermark:
            told = to if shown is None else shown
            remedy = "pass a time that is not before the current watermark"
            raise UsageError("CEP606", f"the watermark {told!r} is before the current one", remedy)
        return self._move(to)

    def close(self) -> Matches:
        """End the stream. Returns the remaining matches."""
        self._check_open()
        if self._pipeline is None:
            self._conform(self._empty())
        self._closed = True
        return self._given(self._run(None))

    @property
    def stats(self) -> Stats:
        """Counters of the session and the size of its state."""
        stages = self._pipeline.stages if self._pipeline is not None else []
        return Stats(
            events=self._events,
            runs=sum(stage.machine.runs for stage in stages),
            merged=sum(stage.machine.merged for stage in stages),
            state_bytes=sum(stage.machine.state_bytes() + stage.kept.nbytes for stage in stages),
            matches=self._matches,
            late=self._late,
            plan="; ".join(stage.machine.plan for stage in stages),
            replans=sum(stage.machine.replans for stage in stages),
            tests=sum(stage.machine.tests for stage in stages),
        )

    @property
    def late_events(self) -> pa.Table:
        """With late="collect": the events that arrived after the watermark had passed them."""
        if not self._set_aside:
            return self._pipeline.schema.arrow.empty_table() if self._pipeline is not None else pa.table({})
        return pa.concat_tables(self._set_aside)

    def snapshot(self) -> bytes:
        """The state as bytes: `q.restore(blob)` continues from here."""
        flat = FlatSink()
        return to_bytes(self._save(flat), flat)

    def _save(self, sink: Sink) -> dict[str, Any]:
        """The state: a header, and parts that go into a sink."""
        self._check_open()
        facts = {
            "fingerprint": self._fingerprint,
            "watermark": self._watermark,
            "lateness": self._lateness,
            "policy": self._policy,
            "late": self._late,
            "events": self._events,
            "matches": self._matches,
        }
        return write_state(facts, self._pipeline, self.late_events if self._set_aside else None, sink)

    def _restore(self, blob: bytes) -> None:
        self._load(*from_bytes(blob))

    def _load(self, header: dict[str, Any], source: Source) -> None:
        facts, schema, load, late = read_state(header, source, self._fingerprint)
        self._watermark, self._lateness = facts["watermark"], facts["lateness"]
        self._policy, self._late = facts["policy"], facts["late"]
        self._events, self._matches = facts["events"], facts["matches"]
        self._set_aside = [late] if late is not None else []
        if schema is not None:
            self._pipeline = Pipeline(self._plan, make_schema(schema, self._roles))
            load(self._pipeline)

    @property
    def _opened(self) -> Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("CEP606", "the session is closed", "open a new one with q.session()")
        if self._failed:
            remedy = "fix the cause, and continue from the last snapshot with q.restore(…)"
            raise UsageError("CEP606", "the session was stopped by an earlier error", remedy)

    def _conform(self, table: pa.Table) -> pa.Table:
        """The first batch defines the columns; later ones must have the same."""
        if not table.num_columns:
            table = self._empty() if self._pipeline is None else self._pipeline.schema.arrow.empty_table()
        if self._pipeline is None or not self._events:  # before the first event, the columns may still change
            self._pipeline = Pipeline(self._plan, make_schema(table.schema, self._roles))
            return table
        wanted = self._pipeline.schema.arrow
        if set(table.column_names) != set(wanted.names):
            missing = sorted(set(wanted.names) - set(table.column_names))
            extra = sorted(set(table.column_names) - set(wanted.names))
            told = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"adds {', '.join(extra)}"] * bool(extra)
            remedy = f"give every batch the columns of the first: {', '.join(wanted.names)}"
            raise InputError("CEP409", f"the batch {' and '.join(told)}", remedy)
        table = table.select(wanted.names)
        for field in wanted:
            _check_fits(field, table.schema.field(field.name).type)
        try:
            return table.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            remedy = "give every batch the column types of the first"
            raise InputError("CEP409", f"the batch does not fit the first one: {error}", remedy) from None

    def _completed(self, table: pa.Table) -> pa.Table:
        """Add columns that no row of a list of dicts has, as NULL."""
        for field in self._opened.schema.arrow:
            if table.num_columns and field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        return table

    def _sort_out(self, table: pa.Table, times: Any) -> tuple[pa.Table, Any]:
        late = pa.array(times < self._watermark)
        count = late.true_count
        if self._policy == "error":
            row = late.index(True).as_py()
            value = table.column(self._roles.time)[row].as_py()
            remedy = 'advance later, or open the session with late="drop" or late="collect"'
            message = f"{count} of {table.num_rows} events are before the watermark, the first in row {row} ({value})"
            raise InputError("CEP408", message, remedy)
        self._late += count
        if self._policy == "collect":
            self._set_aside.append(table.filter(late))
        kept = ~late.to_numpy(zero_copy_only=False)
        return table.filter(pa.array(kept)), times[kept]

    def _move(self, watermark: int) -> Matches:
        self._watermark = watermark
        return self._given(self._run(watermark))

    def _run(self, now: int | None) -> list[Matches]:
        self._failed = True  # until it has succeeded
        given = self._opened.advance(now)
        self._failed = False
        return given

    def _lateness_ticks(self) -> int:
        """The lateness, given in the query's unit like a bare number in WITHIN, in ticks of the time column."""
        assert self._lateness is not None
        return -(-self._lateness * NANOSECONDS[self._roles.unit] // tick(self._opened.schema))

    def _none(self) -> Matches:
        return self._given([stage.nothing() for stage in self._opened.stages])

    def _given(self, matches: list[Matches]) -> Matches:
        self._matches += matches[-1].count()
        names = [query.query.into or f"query {number}" for number, query in enumerate(self._plan.queries, start=1)]
        return matches[-1].with_outputs(dict(zip(names, matches, strict=True)))


_WIDER = {(Kind.INT, Kind.FLOAT), (Kind.INT, Kind.DECIMAL)}


def _check_fits(field: pa.Field, arrow: pa.DataType) -> None:
    """Check that a column of a later batch fits the type that it has in the first."""
    wanted, given = from_arrow(field.type), from_arrow(arrow)
    zones = {zone_of(wanted) is None, zone_of(given) is None}
    alike = given.kind is wanted.kind and len(zones) == 1
    if alike or given.kind is Kind.NULL or (given.kind, wanted.kind) in _WIDER:
        return
    remedy = "give every batch the column types of the first; Arrow tables of one schema ensure that"
    raise InputError("CEP409", f"the batch has '{field.name}' as {given}, the first one as {wanted}", remedy)
