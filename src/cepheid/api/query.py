"""`Query`: the entry point of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from cepheid.api.by_reference import each_by_reference
from cepheid.api.change_session import ChangeSession
from cepheid.api.changed import ChangeList
from cepheid.api.changed_query import changed_query, lasting_query, query_with_log
from cepheid.api.events import to_table
from cepheid.api.fingerprint import fingerprint_of
from cepheid.api.matching import How, match_events, warn_of
from cepheid.api.meter import read_progress
from cepheid.api.opening import open_change_session, open_session, restored_session
from cepheid.api.options import (
    check_limit,
    check_open,
    check_options,
    read_column,
    read_functions,
    read_params,
    read_roles,
)
from cepheid.api.read_program import HasProgram, read_program
from cepheid.api.readable import readable_schema
from cepheid.api.session import Session
from cepheid.api.spark_bridge import Frame, is_spark, refuse_options, spark_room
from cepheid.api.surprises import Surprises
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import CompiledProgram, QueryCache, compile_program
from cepheid.engine.progress import Progress
from cepheid.engine.session.engines import read_choice
from cepheid.engine.session.history import AnyChange
from cepheid.engine.session.refused_changes import retracts_numbers
from cepheid.errors import UsageError
from cepheid.front.analysed import columns_read
from cepheid.front.automata.bound import BoundArc
from cepheid.front.automata.one_arc import bind_arc
from cepheid.front.runnable import Runnable
from cepheid.language import print_program
from cepheid.pattern.binding.schema import Schema, make_schema
from cepheid.pattern.expressions.calls import check_calls
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Program
from cepheid.pattern.tree.sequence import sequenced
from cepheid.pictures import drawn, highlighted

if TYPE_CHECKING:
    from cepheid.diagnosis.diagnosis import Diagnosis
    from cepheid.diagnosis.expected import WhyNot
    from cepheid.diagnosis.trace import Trace
    from cepheid.explain import Explanation


class Query:
    """A query, or a program of several, with its parameters and functions bound.

    query: the text, or a pattern of the builder.
    params: values of the parameters that the query names: numbers, strings, dates, sets, windows ("12 hours").
    functions: Python functions that the query calls, by name; they take and return Python values, None for NULL. An
        `Aggregate` folds the values of a closure.
    time: the time column: integers, timestamps or dates.
    unit: the unit of an integer time, and of a bare number in WITHIN.
    start: the column that says when an event started, if it is not over at once: its time is then its end.
    type: the column with the event type; None for a stream of one type.
    order_by: columns that order events with equal times, before the content of the row does.
    types: the attributes of each event type, if not every type has every column.

    >>> q = Query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 seconds")
    >>> m = q.match([{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}])
    >>> m.to_pylist()[0]["b"]
    {'ts': 2, 'type': 'B', 'id': 7}
    """

    def __init__(
        self,
        query: str | Program | HasProgram,
        *,
        params: Mapping[str, object] | None = None,
        functions: Mapping[str, Callable[..., object]] | None = None,
        time: str = "ts",
        type: str | None = "type",
        order_by: str | Sequence[str] = (),
        types: Mapping[str, Iterable[str]] | None = None,
        unit: str = "ms",
        start: str | None = None,
    ) -> None:
        self._program = read_program(query)
        self._params = read_params(params)
        self._options = {
            "params": params,
            "functions": functions,
            "time": time,
            "type": type,
            "order_by": order_by,
            "types": types,
            "unit": unit,
            "start": start,
        }
        roles = read_roles(time, type, order_by, types, unit, start)
        named = read_functions(functions)
        for q in self._program.queries:
            check_calls(q, named)
        fingerprint = fingerprint_of(self._program, self._params, roles, named)
        self._compiled = compile_program(self._program, self._params, roles, named, fingerprint)
        self._cache = QueryCache(self._compiled)
        self._surprises = Surprises(self._compiled)
        self._surprises.warn(self._surprises.of_query())

    def automaton(self, events: object = None) -> Query:
        """This query as an automaton (S18) that gives the same `match_start`, `match_end` and RETURN; `.text` shows it.

        It must be contiguous, without an absence at its ends and without OUTPUT. Without RETURN its matches have the
        register in place of the events.

        events: events or their schema, which tell the types of what is kept in the register; without them, only what
        keeps no attributes is written, and the time is an integer.
        """
        from cepheid.api.automata import automaton_of  # seldom needed

        columns = events if events is None or isinstance(events, pa.Schema) else self._table_of(events).schema
        return automaton_of(self, self.empty_table().schema if columns is None else readable_schema(columns))

    def sequenced(self, column: str | None) -> Query:
        """This query without transitions over a gap in the numbers of a column; itself if none is named."""
        if column is None:
            return self
        name = read_column("sequence", column, self._compiled.roles, alone=False)
        strategies = [strategy for query in self._compiled.queries for strategy in query.strategies.values()]
        return self.alike(sequenced(self._program, str(name), strategies))

    def alike(self, query: object, **options: Any) -> Query:
        """A query with the parameters, functions and roles of columns of this one, unless it is a `Query` already.

        options: others in place of those.
        """
        return query if isinstance(query, Query) else Query(query, **{**self._options, **options})  # type: ignore[arg-type]

    def changed(self, changes: ChangeList, schema: Schema, settled: int | None = None) -> Query:
        """This query after some changes, whose times are in ticks (S17), for events from a time on."""
        return changed_query(self, changes, schema, settled)

    def bind(self, schema: Schema) -> list[Runnable]:
        """Its queries, bound to events of a schema; what runs them is made of the same."""
        if len(self._compiled.queries) > 1:
            return self._compiled.bind(schema)
        return [self._cache.query(0, schema).query]

    @cached_property
    def lasting(self) -> Query:
        """This query for a session, in which its arcs may change."""
        return lasting_query(self)

    @property
    def is_automaton(self) -> bool:
        """Whether it is one automaton of the user's own."""
        return len(self._program.queries) == 1 and self.has_arcs

    @property
    def has_arcs(self) -> bool:
        """Whether an automaton of the user's own is among its queries."""
        return any(isinstance(query.pattern, AutomatonPattern) for query in self._program.queries)

    def with_log(self, changes: ChangeList, schema: Schema) -> Query:
        """This query after some changes, for one run on events of a schema, and not by the reference."""
        return query_with_log(self, changes, schema)

    def run_by(self, cache: QueryCache) -> Query:
        """This query, which nobody else has yet, run by what was made of it elsewhere."""
        self._cache = cache
        return self

    def bind_arc(self, arc: ArcClause, bound: Runnable) -> BoundArc:
        """An arc as one of this query, which is an automaton."""
        compiled = self._compiled
        return bind_arc(arc, self._program.queries[0], self._params, compiled.roles, compiled.functions, bound)

    def __getstate__(self) -> dict[str, object]:
        """Without what was made for earlier runs: it is made anew where the query arrives."""
        known = {name: value for name, value in vars(self).items() if name != "lasting"}
        return {**known, "_cache": QueryCache(self._compiled)}

    @property
    def parsed(self) -> Program:
        """The program as it was written."""
        return self._program

    @property
    def params(self) -> Mapping[str, object]:
        """The values of the parameters."""
        return self._params

    @property
    def cache(self) -> QueryCache:
        """The program with what was compiled for earlier runs."""
        return self._cache

    @property
    def compiled(self) -> CompiledProgram:
        """The program as the engine and Spark hold it."""
        return self._compiled

    @property
    def surprises(self) -> Surprises:
        """The warnings that were not given yet."""
        return self._surprises

    @property
    def text(self) -> str:
        """The query in canonical spelling."""
        return print_program(self._program)

    def __repr__(self) -> str:
        return f"<Query\n{self.text}\n>"

    def _repr_html_(self) -> str:
        return highlighted(self.text) + "".join(map(drawn, self.explain().graphs))

    @overload  # a DataFrame is an object too, and the first that fits counts
    def match(  # type: ignore[overload-overlap]
        self, events: Frame, *, engine: str = ..., plan: str = ..., **options: Any
    ) -> Frame: ...

    @overload
    def match(
        self,
        events: object,
        *,
        engine: str = ...,
        plan: str = ...,
        limit: int | None = ...,
        progress: Callable[[Progress], object] | bool | None = ...,
        open: bool = ...,
        op: str | None = ...,
        sequence: str | None = ...,
        changes: Sequence[AnyChange] = ...,
    ) -> Matches: ...

    def match(
        self,
        events: object,
        *,
        engine: str = "auto",
        plan: str = "auto",
        limit: int | None = None,
        open: bool = True,
        progress: Callable[[Progress], object] | bool | None = None,
        op: str | None = None,
        sequence: str | None = None,
        changes: Sequence[AnyChange] = (),
        **options: Any,
    ) -> Any:
        """All matches in a stream of events, in the order of their ends.

        plan: "automaton", "stacks", "lazy(c, b, a)", "tree", or "auto", which chooses the one expected to be fastest.

        open: whether an absence at the end of a match counts if the input ends before its WITHIN or FOR does: if the
        last event is before that time, or a window of n events has had fewer. False leaves such matches out.

        limit: the maximum number of matches, those that end first; works also if there are too many to hold in memory.

        progress: a function that is called with a `Progress` a few times a second; what it raises ends the run. Without
        it, a run of more than two seconds shows a bar on a terminal and in a notebook; False: it does not.

        op: the column that says of each row whether it inserts (`+`, `+I`, `+U`) or retracts an event (`-`, `-D`,
        `-U`). What is matched are the events that are left.

        sequence: a column that counts the events of a partition by 1: no match goes over a gap in it.

        changes: how the query changes in the course of the stream, and which others come and go: a list of
        `cep.add_arc(…, at=…)`, `cep.remove_arc`, `cep.add_query`, `cep.remove_query` and `cep.replace_query`, or the
        `changes` of a session. The matches of queries that were added are in `outputs`.

        If there are none, `diagnose` says why.

        A Spark DataFrame returns a Spark DataFrame; see `cepheid.spark.match` for its options.
        """
        if is_spark(events):
            refuse_options(limit=limit, progress=progress)
            changing = {"op": op, "sequence": sequence, "changes": changes or None}
            spark_options = {**options, **{name: value for name, value in changing.items() if value is not None}}
            return spark_room().match(events, self, engine=engine, plan=plan, open=open, **spark_options)
        check_options(options, ("engine", "plan", "limit", "open", "progress", "op", "sequence", "changes"))
        check_open(open)
        choice = read_choice(engine, plan)
        check_limit(limit)
        read_progress(progress)
        if sequence is not None and op is not None:
            raise retracts_numbers()
        how = How(engine, choice, limit, progress)
        return match_events(self, events, how, open=open, op=op, sequence=sequence, changes=changes)

    @overload
    def session(
        self,
        *,
        engine: str = ...,
        plan: str = ...,
        lateness: object = ...,
        late: str = ...,
        speculate: None = ...,
        op: str | None = ...,
        sequence: str | None = ...,
        trace: int | None = ...,
    ) -> Session: ...

    @overload
    def session(
        self,
        *,
        engine: str = ...,
        plan: str = ...,
        lateness: object = ...,
        late: str = ...,
        speculate: int | str | timedelta,
        op: str | None = ...,
        sequence: str | None = ...,
        trace: int | None = ...,
    ) -> ChangeSession: ...

    def session(
        self,
        *,
        engine: str = "auto",
        plan: str = "auto",
        lateness: object = None,
        late: str = "error",
        speculate: object = None,
        op: str | None = None,
        sequence: str | None = None,
        trace: int | None = None,
    ) -> Session:
        """A session for a stream of batches.

        plan: as for `match`; "auto" may change it when the event rates change.

        lateness: after each push the watermark is the greatest time minus this: "10 minutes", a timedelta, or a whole
        number in the unit of the query. None: only `advance` moves it.
        late: what to do with events before the watermark: "error", "drop" (they are counted) or "collect".

        speculate: how far ahead of the watermark matches are given, in the same forms, or "all" for at once. Each call
        then returns `Changes`: what it adds, and what it takes back of that. None: only certain matches are given.
        op: the column that says of each row whether it inserts (`+`, `+I`, `+U`) or retracts an event (`-`, `-D`,
        `-U`).
        sequence: a column that counts the events of a partition by 1, for contiguous queries: no match goes over a gap
        in it, so that each is given at once and never taken back.
        trace: how many of the last events are kept for `session.trace()`; a snapshot does not have them.
        """
        return open_session(
            self, engine, plan, lateness, late, speculate=speculate, op=op, sequence=sequence, trace=trace
        )

    def change_session(
        self,
        engine: str,
        plan: str,
        lateness: object = None,
        late: str = "error",
        speculate: object = None,
        *,
        op: str | None = None,
        sequence: str | None = None,
        trace: int | None = None,
    ) -> ChangeSession:
        """Open a session of changes, as `session` does; this query was compiled with `sequence` (`sequenced`)."""
        return open_change_session(self, engine, plan, lateness, late, speculate, op=op, sequence=sequence, trace=trace)

    def restore(self, blob: bytes, *, engine: str = "auto", plan: str = "auto", trace: int | None = None) -> Session:
        """A session that continues from a snapshot.

        If queries were added that call functions of their own, this query must have these too. trace: as for `session`;
        events from before the snapshot are not kept.
        """
        return restored_session(self, blob, engine, plan, trace)

    def all_by_reference(self, base: pa.Table, schema: Schema, horizon: int | None = None) -> list[Matches]:
        """The matches of each query, by the definition."""
        return each_by_reference(self, base, schema, horizon)

    def warn_of(self, events: object) -> None:
        """Warn about what the query may have got wrong of these events, such as a misspelt type; nothing is matched."""
        table = to_table(events, self._compiled.roles.type)
        schema = make_schema(table.schema, self._compiled.roles)
        warn_of(self, schema, table, ticks(schema, table))

    def _table_of(self, events: object) -> pa.Table:
        table = to_table(events, self._compiled.roles.type)
        return table if table.num_columns else self.empty_table()

    def empty_table(self) -> pa.Table:
        """An empty table for events without columns; it has the columns that the queries read."""
        names = dict.fromkeys(name for a in self._compiled.queries for name in columns_read(a))
        fields = {name: pa.null() for name in names} | {self._compiled.roles.time: pa.int64()}
        return pa.schema(list(fields.items())).empty_table()

    def schema(self, events: pa.Schema) -> Any:
        """The schema of the matches for a schema of events (of pyarrow or Spark), without running the query."""
        if is_spark(events):
            return spark_room().schema(events, self)
        if not isinstance(events, pa.Schema):
            remedy = "pass a pyarrow or Spark schema, such as table.schema"
            raise UsageError("CEP603", f"{events!r} is not a schema", remedy)
        read = make_schema(readable_schema(events), self._compiled.roles)
        return self._compiled.bind(read)[-1].match_schema()

    def explain(self, events: object = None, *, plan: str = "auto", **options: object) -> Explanation:
        """The query with all defaults written out, its components, and where each predicate is tested.

        With the schema of the events, also how the query runs; `.sources` has the generated source of each query. With
        events, in any form that `match` accepts, also the plan and the expected cost of each plan. With a Spark
        DataFrame, also what Spark does around the engine; the options are those of `match`.
        """
        from cepheid.explain import explain_program  # seldom needed

        if is_spark(events):
            explanation: Explanation = spark_room().explain(events, self, plan=plan, **options)
            return explanation
        check_options(options, ("plan",))
        choice = read_choice("auto", plan)
        if events is None:
            return explain_program(self._compiled.queries, self._compiled.sources)
        table = None if isinstance(events, pa.Schema) else self._table_of(events)
        columns = table.schema if table is not None else readable_schema(events)
        bound = self._compiled.bind(make_schema(columns, self._compiled.roles))
        return explain_program(self._compiled.queries, self._compiled.sources, bound, table, choice)

    def diagnose(
        self, events: object, *, sample: int | str | None = "auto", check: Callable[[], None] | None = None
    ) -> Diagnosis:
        """Why the query matches, or does not: what is likely wrong, how far runs came and what ended them.

        sample: on how many events runs are followed one by one; None: on all of them. "auto" takes about a second.
        What is said of columns and of the number of matches is always about all events.
        check: is called now and then; what it raises stops the diagnosis. Not on Spark.

        Of a batch DataFrame of Spark some events are collected and diagnosed on the driver: all events of some keys,
        or the first ones; with None the tasks follow all runs. Events, types and matches are counted by Spark.
        """
        if is_spark(events):
            diagnosed: Diagnosis = spark_room().diagnose(events, self, sample=sample)
            return diagnosed
        from cepheid.api.diagnosing import diagnosis, read_sample  # seldom needed

        return diagnosis(self, self._table_of(events), read_sample(sample), check or (lambda: None))

    def why_not(self, events: object, /, **rows: object) -> WhyNot:
        """Why some rows are not a match: the first rule that refuses them, by its number, in words.

        rows: of each variable the number of its row in the table, from 0, or a dict of columns that only one event has;
        of a closure, a list of them: `q.why_not(events, a=0, b=[{"id": 7}, 3])`. Of an automaton: `first` and `last`.

        Of a batch DataFrame of Spark, rows are dicts; all events with their keys are collected on the driver.
        """
        if is_spark(events):
            refusal: WhyNot = spark_room().why_not(events, self, rows)
            return refusal
        from cepheid.api.diagnosing import refusal_of  # seldom needed

        return refusal_of(self, self._table_of(events), rows)

    def trace(self, events: object, *, limit: int | None = 10_000) -> Trace:
        """What the runs of the query do, event by event: begin, take, proceed, merge, ignore, kill, emit and so on.

        limit: the maximum number of rows; events after those that fill it are not read. None: all of them.

        Of a batch DataFrame of Spark, the first 100,000 events are collected and traced on the driver.
        """
        if is_spark(events):
            traced: Trace = spark_room().trace(events, self, limit=limit)
            return traced
        from cepheid.api.diagnosing import trace  # seldom needed

        check_limit(limit)
        return trace(self, self._table_of(events), limit)
