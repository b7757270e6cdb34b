"""`Query`: the entry point of the API."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, overload

import pyarrow as pa

from cepheid.api.bar import measured
from cepheid.api.change_session import ChangeSession, retracts_numbers
from cepheid.api.changed import Changes as OwnChanges
from cepheid.api.changed import changed_program
from cepheid.api.changing import in_ticks
from cepheid.api.each_query import run_each
from cepheid.api.events import to_table
from cepheid.api.history import AnyChange, History, Life
from cepheid.api.meter import read_progress
from cepheid.api.observed import observe
from cepheid.api.options import check_limit, read_column, read_functions, read_params, read_roles, stable
from cepheid.api.query_changes import ReplaceQuery, sequenced_queries, with_queries
from cepheid.api.readable import readable_schema, telling_of_text
from cepheid.api.session import Session
from cepheid.api.spark_bridge import Frame, is_spark, spark_options, spark_room
from cepheid.api.surprises import Surprises
from cepheid.engine.encoding.few_events import as_table
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.match_table import from_matches
from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import CompiledProgram, QueryCache, compile_program
from cepheid.engine.progress import Progress, Report
from cepheid.engine.stream.event_log import net_of
from cepheid.engine.stream.operations import split_operations
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.rows import Arrival, arrival_of
from cepheid.engine.stream.snapshot import from_bytes
from cepheid.errors import CepheidError, CepheidWarning, PatternError, UsageError, did_you_mean, nearest
from cepheid.language import parse, print_program
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.analysis import Functions, columns_read
from cepheid.pattern.bind import Bound
from cepheid.pattern.bound_automata import BoundArc
from cepheid.pattern.calls import check_calls
from cepheid.pattern.flow import EVENTS
from cepheid.pattern.lost_states import LOST
from cepheid.pattern.one_arc import bind_arc
from cepheid.pattern.schema import Roles, Schema, make_schema
from cepheid.pattern.sequence import sequenced
from cepheid.pattern.timeline import AddArc, RemoveArc, with_changes, with_rests
from cepheid.pattern.tree import Arc, Automaton, Program
from cepheid.pictures import drawn, highlighted
from cepheid.plan.spec import PlanSpec, read_plan

if TYPE_CHECKING:
    from cepheid.diagnosis.diagnosis import Diagnosis
    from cepheid.diagnosis.trace import Trace
    from cepheid.diagnosis.why_not import WhyNot
    from cepheid.engine.machines.factory import MachineFactory
    from cepheid.explain import Explanation

ENGINES = ("auto", "compiled", "plain", "interpreted", "reference")


class HasProgram(Protocol):
    """An object of the builder: anything with a pattern tree."""

    @property
    def program(self) -> Program: ...


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
        given = read_functions(functions)
        for q in self._program.queries:
            check_calls(q, given)
        self._compiled = self._compile(roles, given)
        self._cache = QueryCache(self._compiled)
        self._surprises = Surprises(self._compiled)
        self._surprises.warn(self._surprises.of_query())

    def _compile(self, roles: Roles, functions: Functions, *, linear: bool = True) -> CompiledProgram:
        """The program checked. linear: a CESAR expression as queries that automata can run, each on its own."""
        found = self._fingerprint(roles, functions)
        return compile_program(self._program, self._params, roles, functions, found, linear=linear)

    def automaton(self, events: object = None) -> Query:
        """This query as an automaton (S18) that gives the same `match_start`, `match_end` and RETURN; `.text` shows it.

        It must be contiguous, without an absence at its ends and without OUTPUT. Without RETURN its matches have the
        register in place of the events.

        events: events or their schema, which tell the types of what is kept in the register; without them, only what
        keeps no attributes is written, and the time is an integer.
        """
        from cepheid.api.automata import as_automaton  # seldom needed

        if any(isinstance(query.pattern, Algebra) for query in self._program.queries):
            message = "a CESAR expression can't be written as an automaton with a register"
            raise UsageError("CEP613", message, "explain(events) shows the automaton that runs it")
        found = None if events is None else events if isinstance(events, pa.Schema) else self._table_of(events).schema
        written = as_automaton(self._compiled, self.empty_table().schema if found is None else readable_schema(found))
        return self if written is None else Query(written, **{**self._options, "params": None})  # type: ignore[arg-type]

    def sequenced(self, column: str | None) -> Query:
        """This query without transitions over a gap in the numbers of a column; itself if none is named."""
        if column is None:
            return self
        name = read_column("sequence", column, self._compiled.roles, alone=False)
        strategies = [strategy for query in self._compiled.queries for strategy in query.strategies.values()]
        return Query(sequenced(self._program, str(name), strategies), **self._options)  # type: ignore[arg-type]

    def alike(self, query: object) -> Query:
        """A query with the parameters, functions and roles of columns of this one, unless it is a `Query` already."""
        return query if isinstance(query, Query) else Query(query, **self._options)  # type: ignore[arg-type]

    def changed(self, changes: OwnChanges, schema: Schema, settled: int | None = None) -> Query:
        """This query after some changes, whose times are in ticks (S17), for events from a time on."""
        if not changes:
            return self
        program = changed_program(self, changes, schema, settled)
        functions = dict(self._compiled.functions)
        for change in changes:
            if isinstance(change, ReplaceQuery):
                for name, function in change.query.compiled.functions.items():
                    if functions.setdefault(name, function) != function:
                        message = f"the function '{name}' is another one in the query in place of '{change.name}'"
                        raise PatternError("CEP229", message, "give it another name: both are needed, by turns")
        with warnings.catch_warnings():  # what there is to tell was told of the queries as they were written
            warnings.simplefilter("ignore", CepheidWarning)
            found = Query(program, **{**self._options, "functions": functions})  # type: ignore[arg-type]
        self._surprises.warn(one for one in found._surprises.of_query() if one.code == LOST)
        vars(found)["lasting"] = found  # which has its rests
        return found

    def bind(self, schema: Schema) -> list[Bound]:
        """Its queries, bound to events of a schema; what runs them is made of the same."""
        if len(self._compiled.queries) > 1:
            return self._compiled.bind(schema)
        return [self._cache.query(0, schema).query]

    @cached_property
    def lasting(self) -> Query:
        """This query for a session, in which its arcs may change."""
        if not self.is_automaton:
            return self
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CepheidWarning)
            return Query(with_rests(self._program), **self._options)  # type: ignore[arg-type]

    @property
    def is_automaton(self) -> bool:
        """Whether it is one automaton of the user's own."""
        return len(self._program.queries) == 1 and isinstance(self._program.queries[0].pattern, Automaton)

    def with_log(self, changes: OwnChanges, schema: Schema) -> Query:
        """This query after some changes, for one run on events of a schema, and not by the reference."""
        from cepheid.engine.planning.compiled_query import CompiledQuery
        from cepheid.engine.planning.many_changes import read_log

        arcs = [change for change in changes if isinstance(change, AddArc | RemoveArc)]
        automaton = self._program.queries[0].pattern
        if not arcs or len(arcs) < len(changes) or not self.is_automaton:
            return self.changed(changes, schema)
        assert isinstance(automaton, Automaton)
        log = read_log(automaton, arcs)
        try:
            found = Query(with_changes(self._program, log.added), **self._options)  # type: ignore[arg-type]
            bound = found._cache.query(0, schema).query
        except CepheidError:
            return self.changed(changes, schema)  # which tells what is wrong, with the numbers of the arc itself
        timed = bound.automaton and log.timed(bound.automaton)
        if timed is None:
            return self.changed(changes, schema)
        compiled = CompiledQuery(replace(bound, automaton=timed))
        found._cache = found._cache.of(compiled, schema, lambda: self.changed(changes, schema)._cache)
        return found

    def bind_arc(self, arc: Arc, bound: Bound) -> BoundArc:
        """An arc as one of this query, which is an automaton."""
        compiled = self._compiled
        return bind_arc(arc, self._program.queries[0], self._params, compiled.roles, compiled.functions, bound)

    def __getstate__(self) -> dict[str, Any]:
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
            if progress is not None:
                remedy = "leave it out: Spark shows the progress of its jobs itself"
                raise UsageError("CEP603", "progress= can't be used with a Spark DataFrame", remedy)
            if limit is not None:
                remedy = "limit the result: q.match(df).limit(n)"
                raise UsageError("CEP603", "limit= can't be used with a Spark DataFrame", remedy)
            own = {"op": op, "sequence": sequence, "changes": changes or None}
            given = {**options, **{name: value for name, value in own.items() if value is not None}}
            return spark_room().match(events, self, engine=engine, plan=plan, open=open, **given)
        _check_options(options, ("engine", "plan", "limit", "open", "progress", "op", "sequence", "changes"))
        _check_open(open)
        choice = _check_engine(engine, plan)
        check_limit(limit)
        read_progress(progress)
        if sequence is not None and op is not None:
            raise retracts_numbers()
        base = to_table(events, self._compiled.roles.type)
        if not base.num_columns:
            base = self.empty_table()
        elif read_column("op", op, self._compiled.roles) is not None:
            base = self._net(base, str(op))
        schema = make_schema(base.schema, self._compiled.roles)
        history = History(Life(self.sequenced(sequence)))
        changes = sequenced_queries(with_queries(in_ticks(changes, schema, None), self), sequence)
        history = history.after(changes, schema)
        with telling_of_text(base):
            times = ticks(schema, base)
            last = None if open or not len(times) else int(times.max())

            def run(life: Life) -> Matches:
                own = life.of(base, times)
                query = life.now(schema) if engine == "reference" else life.query.with_log(life.changes, schema)
                return query._match(*own, engine, choice, limit, life.known(last), progress)

            found = run(history.own)
            added = {name: run(life) for name, life in history.added.items()}
        return found.with_outputs({**found.outputs, **added}) if added else found

    def _match(
        self,
        base: pa.Table,
        times: Any,
        engine: str,
        choice: PlanSpec,
        limit: int | None,
        horizon: int | None,
        progress: Callable[[Progress], object] | bool | None,
    ) -> Matches:
        schema = make_schema(base.schema, self._compiled.roles)
        self._warn_of(schema, base, times)
        if engine == "reference":
            matches = self._by_reference(base, schema, horizon)
            return matches if limit is None else matches[:limit]
        readers = self._compiled.sources.count(EVENTS)
        with measured(base.num_rows * readers, progress) as meter:
            matches = self._run(schema, [arrival_of(schema, base, times)], engine, choice, horizon, meter)
        return matches if limit is None else matches.head(limit)

    def match_until(self, events: pa.Table, horizon: int | None) -> Matches:
        """The matches by the reference, with the absences that are known up to a time, in ticks; None: all of them."""
        table = events if events.num_columns else self.empty_table()
        schema = make_schema(table.schema, self._compiled.roles)
        return self._match(table, ticks(schema, table), "reference", read_plan("auto"), None, horizon, False)

    def _net(self, changes: pa.Table, op: str) -> pa.Table:
        """The events that are left of insertions and retractions."""
        table, signs = split_operations(changes, op)
        schema = make_schema(table.schema, self._compiled.roles)
        found, unmet = net_of(schema, (table, ticks(schema, table)), signs)
        self._surprises.warn(self._surprises.of_retractions(unmet))
        return table.slice(0, 0) if found is None else as_table(found[0])

    def match_arrivals(
        self, events: pa.Schema, arrivals: Sequence[Arrival], *, engine: str, plan: str, horizon: int | None = None
    ) -> Matches:
        """Like `match`, of events that have come in several tables of one schema, with their times in ticks.

        horizon: until when absences are known, in ticks; None: the end of the input ends them.
        """
        choice = _check_engine(engine, plan)
        return self._run(make_schema(events, self._compiled.roles), arrivals, engine, choice, horizon)

    def _run(
        self,
        schema: Schema,
        arrivals: Sequence[Arrival],
        engine: str,
        choice: PlanSpec,
        horizon: int | None,
        report: Report | None = None,
    ) -> Matches:
        factory = _machine_factory(engine, choice, sum(arrival.count for arrival in arrivals))
        pipeline = Pipeline(self._cache, factory, schema, once=True, report=report)
        for arrival in arrivals:
            pipeline.push(arrival)
        return self._named(pipeline.advance(None, horizon))

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
        if sequence is not None:
            if op is not None:
                raise retracts_numbers()
            own = self.sequenced(sequence)
            return own.change_session(engine, plan, lateness, late, speculate, sequence=sequence, trace=trace)
        if speculate is not None or op is not None:
            return self.change_session(engine, plan, lateness, late, speculate, op=op, trace=trace)
        choice = _check_engine(engine, plan)
        if engine == "reference":
            remedy = "use engine='auto', or speculate=0 for the same matches as changes"
            raise UsageError("CEP601", "engine 'reference' does not support sessions that only wait", remedy)
        factory = _machine_factory(engine, choice, None)
        return Session(
            self,
            factory,
            lateness=lateness,
            late=late,
            trace=trace,
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
        """Like `session`, of a query that goes over no gap in `sequence` itself."""
        choice = _check_engine(engine, plan)
        recomputes = engine == "reference"
        factory = _machine_factory("interpreted" if recomputes else engine, choice, None, steady=True)
        return ChangeSession(
            self,
            factory,
            lateness=lateness,
            late=late,
            speculate=speculate,
            op=read_column("op", op, self._compiled.roles),
            sequence=sequence,
            recomputes=recomputes,
            trace=trace,
        )

    def restore(self, blob: bytes, *, engine: str = "auto", plan: str = "auto") -> Session:
        """A session that continues from a snapshot.

        If queries were added that call functions of their own, this query must have these too.
        """
        header, source = from_bytes(blob)
        if "many" in header:
            message = "the snapshot is of a session of many queries"
            raise UsageError("CEP607", message, "restore it with the Queries that it was taken from")
        facts = header["session"]
        told: dict[str, Any] = {name: facts.get(name) for name in ("speculate", "op", "sequence")}
        own, known = self.sequenced(told["sequence"]), facts.get("functions", [])
        if facts["fingerprint"] == own._fingerprint(own._compiled.roles, known):  # others are for added queries
            facts["fingerprint"] = own._compiled.fingerprint
        session: Session = self.session(engine=engine, plan=plan, **told)
        session.load(header, source)
        return session

    def _fingerprint(self, roles: Roles, functions: Iterable[str]) -> str:
        """Identifies the query: a snapshot can only be restored by the same query."""
        params = sorted((name, repr(stable(value))) for name, value in self._params.items())
        facts: list[object] = [self.text, params, sorted(functions), repr(roles).replace(", start=None", "")]
        arcs = (arc for q in self._program.queries if isinstance(q.pattern, Automaton) for arc in q.pattern.arcs)
        lifetimes = [(arc.since, arc.until) for arc in arcs]  # which the text does not have
        if any(since is not None or until is not None for since, until in lifetimes):
            facts.append(lifetimes)
        return sha256(repr(facts).encode()).hexdigest()

    def _named(self, matches: Sequence[Matches]) -> Matches:
        named = zip(self._compiled.names, matches, strict=False)
        return matches[-1].with_outputs({name: found for name, found in named if not is_hidden(name)})

    def _by_reference(self, base: pa.Table, schema: Schema, horizon: int | None) -> Matches:
        found = self.all_by_reference(base, schema, horizon)
        names = [name for name in self._compiled.names if not is_hidden(name)]
        return found[-1].with_outputs(dict(zip(names, found, strict=True)))

    def all_by_reference(self, base: pa.Table, schema: Schema, horizon: int | None = None) -> list[Matches]:
        """The matches of each query, by the definition."""
        from cepheid.reference import interpret, interpret_algebra  # seldom needed

        compiled = self._compiled
        if any(isinstance(query.pattern, Algebra) for query in self._program.queries):
            compiled = self._compile(compiled.roles, compiled.functions, linear=False)
        known = None if horizon is None else horizon * schema.tick

        def run(_: str, bound: Bound, table: pa.Table) -> Matches:
            if bound.algebra is not None:
                return made_matches(bound, interpret_algebra(bound, table))
            return Matches(bound, table, from_matches(bound, interpret(bound, table, known)))

        return run_each(compiled, base, schema, run)

    def warn_of(self, events: object) -> None:
        """Warn about what the query may have got wrong of these events, such as a misspelt type; nothing is matched."""
        table = to_table(events, self._compiled.roles.type)
        schema = make_schema(table.schema, self._compiled.roles)
        self._warn_of(schema, table, ticks(schema, table))

    def _warn_of(self, schema: Schema, events: pa.Table, times: Any, *, whole: bool = True) -> None:
        self._surprises.warn(self._surprises.of_schema(schema))
        seen = observe(self._compiled, schema, events, times, whole=whole)
        self._surprises.warn(self._surprises.of_events(schema, seen))

    def _table_of(self, events: object) -> pa.Table:
        table = to_table(events, self._compiled.roles.type)
        return table if table.num_columns else self.empty_table()

    def empty_table(self) -> pa.Table:
        """An empty table for events without columns; it has the columns that the queries read."""
        names = dict.fromkeys(name for a in self._compiled.queries for name in columns_read(a))
        fields = {name: pa.null() for name in names} | {self._compiled.roles.time: pa.int64()}
        return pa.schema(list(fields.items())).empty_table()

    def schema(self, events: Any) -> Any:
        """The schema of the matches for a schema of events (of pyarrow or Spark), without running the query."""
        if is_spark(events):
            return spark_room().schema(events, self)
        if not isinstance(events, pa.Schema):
            remedy = "pass a pyarrow or Spark schema, such as table.schema"
            raise UsageError("CEP603", f"{events!r} is not a schema", remedy)
        read = make_schema(readable_schema(events), self._compiled.roles)
        return self._compiled.bind(read)[-1].match_schema()

    def explain(self, events: object = None, *, plan: str = "auto", **options: Any) -> Explanation:
        """The query with all defaults written out, its components, and where each predicate is tested.

        With the schema of the events, also how the query runs; `.sources` has the generated source of each query. With
        events, in any form that `match` accepts, also the plan and the expected cost of each plan. With a Spark
        DataFrame, also what Spark does around the engine; the options are those of `match`.
        """
        from cepheid.explain import explain_program  # seldom needed

        if is_spark(events):
            told: Explanation = spark_room().explain(events, self, plan=plan, **options)
            return told
        _check_options(options, ("plan",))
        choice = _check_engine("auto", plan)
        if events is None:
            return explain_program(self._compiled.queries, self._compiled.sources)
        table = None if isinstance(events, pa.Schema) else self._table_of(events)
        found = table.schema if table is not None else readable_schema(events)
        bound = self._compiled.bind(make_schema(found, self._compiled.roles))
        return explain_program(self._compiled.queries, self._compiled.sources, bound, table, choice)

    def diagnose(self, events: object, *, sample: int | str | None = "auto") -> Diagnosis:
        """Why the query matches, or does not: what is likely wrong, how far runs came and what ended them.

        sample: on how many events runs are followed one by one; None: on all of them. "auto" takes about two seconds at
        most. What is said of columns and of the number of matches is always about all events.

        Of a batch DataFrame of Spark some events are collected and diagnosed on the driver: all events of some keys,
        or the first ones; with None the tasks follow all runs. Events, types and matches are counted by Spark.
        """
        if is_spark(events):
            found: Diagnosis = spark_room().diagnose(events, self, sample=sample)
            return found
        from cepheid.api.diagnosing import diagnosis, read_sample  # seldom needed

        return diagnosis(self, self._table_of(events), read_sample(sample))

    def why_not(self, events: object, **rows: object) -> WhyNot:
        """Why some rows are not a match: the first rule that refuses them, by its number, in words.

        rows: of each variable the number of its row in the table, from 0, or a dict of columns that only one event has;
        of a closure, a list of them: `q.why_not(events, a=0, b=[{"id": 7}, 3])`.
        """
        from cepheid.api.diagnosing import refusal_of  # seldom needed

        return refusal_of(self, self._table_of(events), rows)

    def trace(self, events: object, *, limit: int | None = 10_000) -> Trace:
        """What the runs of the query do, event by event: begin, take, proceed, refuse, ignore, kill, drop, emit.

        limit: the maximum number of rows; events after those that fill it are not read. None: all of them.
        """
        from cepheid.api.diagnosing import trace  # seldom needed

        check_limit(limit)
        return trace(self, self._table_of(events), limit)


def read_program(query: object) -> Program:
    """The program that a text says, or an object of the builder has."""
    if isinstance(query, str):
        if re.fullmatch(r"\S+\.\w+", query.strip()):
            remedy = f"read the file first: Query(Path({query.strip()!r}).read_text())"
            raise UsageError(
                "CEP601", f"{query.strip()!r} looks like a file name; Query takes the text of a query", remedy
            )
        return parse(query)
    if isinstance(query, Program):
        return query
    program = getattr(query, "program", None)
    if isinstance(program, Program):
        return program
    shown = type(query).__name__
    raise UsageError("CEP601", f"Query can't read a {shown}", "pass the text of a query, or a pattern of the builder")


def _check_options(options: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse arguments that do not exist, and those that only Spark has. known: the others."""
    for name in options:
        only_spark = [option for option in spark_options() if option not in known]
        if name in ("lateness", "late", "speculate"):
            remedy = f"write q.session({name}=…), or leave it out: match() has all events and sorts them itself"
            raise UsageError("CEP603", f"'{name}' is an option of a session", remedy)
        if name in only_spark:
            message = f"'{name}' is not an option for events in memory"
            raise UsageError("CEP603", message, "use it with Spark DataFrames only")
        if nearest(name, [*known, *only_spark]) in only_spark:
            remedy = f"{did_you_mean(name, only_spark, 'options')} It is for Spark DataFrames only"
        else:
            remedy = did_you_mean(name, known, "arguments")
        raise UsageError("CEP603", f"unknown argument '{name}'", remedy)


def _check_open(open: object) -> None:
    if not isinstance(open, bool):
        raise UsageError("CEP603", f"open can't be {open!r}", "pass True or False")


def _check_engine(engine: object, plan: object) -> PlanSpec:
    if engine not in ENGINES:
        raise UsageError("CEP601", f"unknown engine {engine!r}", did_you_mean(str(engine), ENGINES, "engines"))
    choice = read_plan(plan)
    if choice.joins and engine in ("interpreted", "reference"):
        message = f"engine '{engine}' does not support plan '{choice}'"
        raise UsageError("CEP610", message, "use engine='auto', 'compiled' or 'plain'")
    return choice


def _machine_factory(engine: str, choice: PlanSpec, events: int | None, *, steady: bool = False) -> MachineFactory:
    """What makes the machines of a run: they and their kernels are a third of what there is to import."""
    from cepheid.engine.machines.factory import MachineFactory

    return MachineFactory(engine, choice, events, steady)
