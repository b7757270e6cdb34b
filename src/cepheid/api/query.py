"""`Query`: the entry point of the API."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, overload

import pyarrow as pa

from cepheid.api.events import to_table
from cepheid.api.options import read_functions, read_params, read_roles, stable
from cepheid.api.session import Session
from cepheid.api.spark_bridge import SparkFrame, is_spark, spark_room
from cepheid.api.spelling import misspelt_types
from cepheid.engine.blueprint import Blueprint
from cepheid.engine.choose import make_machine
from cepheid.engine.found import from_matches
from cepheid.engine.matches import Matches
from cepheid.engine.pipeline import Pipeline, Plan, composite, composite_schema
from cepheid.errors import CepheidWarning, UsageError, did_you_mean
from cepheid.explain import Explanation, explain_program
from cepheid.language import parse, print_program
from cepheid.pattern.analysis import analyse, check_flow, columns_read
from cepheid.pattern.bind import bind
from cepheid.pattern.schema import Schema, make_schema
from cepheid.pattern.tree import Program
from cepheid.plan.choice import AUTO, Choice, read_choice
from cepheid.reference import interpret

ENGINES = ("auto", "compiled", "plain", "interpreted", "reference")


class HasProgram(Protocol):
    """An object of the builder: anything with a pattern tree."""

    @property
    def program(self) -> Program: ...


class Query:
    """A query, or a program of several, with its parameters and functions bound.

    query: the text, or a pattern of the builder.
    params: values of the parameters that the query names: numbers, strings, dates, sets, windows ("12 hours").
    functions: Python functions that the query calls, by name; they take and return Python values, None for NULL.
    time: the time column: integers, timestamps or dates. unit: of an integer time, and of a bare number in WITHIN.
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
    ) -> None:
        self._program = _read(query)
        self._params = read_params(params)
        self._functions = read_functions(functions)
        self._roles = read_roles(time, type, order_by, types, unit)
        self._sources = check_flow(self._program)
        self._analysed = tuple(
            analyse(q, self._params, self._roles if source is None else replace(self._roles, types=None))
            for q, source in zip(self._program.queries, self._sources, strict=True)
        )

        self._made: dict[Any, Blueprint] = {}
        for message in (message for analysed in self._analysed for message in analysed.surprises):
            warnings.warn(message, CepheidWarning, stacklevel=2)

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle, without cached results: they are recomputed after unpickling."""
        return {**vars(self), "_made": {}}

    @property
    def text(self) -> str:
        """The query in canonical spelling."""
        return print_program(self._program)

    def __repr__(self) -> str:
        return f"<Query\n{self.text}\n>"

    @overload
    def match(self, events: SparkFrame, *, engine: str = ..., plan: str = ..., **options: Any) -> Any: ...

    @overload
    def match(self, events: object, *, engine: str = ..., plan: str = ..., limit: int | None = ...) -> Matches: ...

    def match(
        self, events: object, *, engine: str = "auto", plan: str = "auto", limit: int | None = None, **options: Any
    ) -> Any:
        """All matches in a stream of events, in the order of their ends.

        plan: "automaton", "stacks", "lazy(c, b, a)", "tree", or "auto", which chooses the one expected to be fastest.

        limit: the maximum number of matches, those that end first; works also if there are too many to hold in memory.

        A Spark DataFrame returns a Spark DataFrame; see `cepheid.spark.match` for its options.
        """
        if is_spark(events):
            if limit is not None:
                remedy = "limit the result: q.match(df).limit(n)"
                raise UsageError("CEP603", "limit= can't be used with a Spark DataFrame", remedy)
            return spark_room().match(events, self, engine=engine, plan=plan, **options)
        _check_options(options)
        choice = _check_engine(engine, plan)
        _check_limit(limit)
        base = to_table(events)
        if not base.num_columns:
            base = self._empty_table()
        schema = make_schema(base.schema, self._roles)
        self.warn_of_types(base, stacklevel=3)
        if engine == "reference":
            matches = self._by_reference(base, schema)
            return matches if limit is None else matches[:limit]
        pipeline = Pipeline(self._plan(engine, base.num_rows, choice), schema)
        pipeline.push(base)
        matches = self._named(pipeline.advance(None))
        return matches if limit is None else matches.head(limit)

    def session(
        self, *, engine: str = "auto", plan: str = "auto", lateness: int | None = None, late: str = "error"
    ) -> Session:
        """A session for a stream of batches.

        plan: as for `match`; "auto" may change it when the event rates change.

        lateness: after each push the watermark is the greatest time minus this; None: only `advance` moves it.
        late: what to do with events before the watermark: "error", "drop" (they are counted) or "collect".
        """
        choice = _check_engine(engine, plan)
        if engine == "reference":
            raise UsageError("CEP601", "engine 'reference' does not support sessions", "use engine='auto'")
        flow = self._plan(engine, None, choice)
        return Session(flow, self._roles, self._fingerprint(), self._empty_table, lateness=lateness, late=late)

    def restore(self, blob: bytes, *, engine: str = "auto", plan: str = "auto") -> Session:
        """A session that continues from a snapshot."""
        session = self.session(engine=engine, plan=plan)
        session._restore(blob)
        return session

    def _plan(self, engine: str, events: int | None, choice: Choice = AUTO) -> Plan:
        machine = partial(make_machine, engine=engine, events=events, choice=choice)
        return Plan(self._analysed, self._sources, self._functions, machine, self._made)

    def _fingerprint(self) -> str:
        """Identifies the query: a snapshot can only be restored by the same query."""
        params = sorted((name, repr(stable(value))) for name, value in self._params.items())
        facts = [self.text, params, sorted(self._functions), repr(self._roles)]
        return sha256(repr(facts).encode()).hexdigest()

    def _named(self, matches: Sequence[Matches]) -> Matches:
        names = [a.query.into or f"query {number}" for number, a in enumerate(self._analysed, start=1)]
        return matches[-1].with_outputs(dict(zip(names, matches, strict=True)))

    def _by_reference(self, base: pa.Table, schema: Schema) -> Matches:
        made: dict[str, tuple[pa.Table, Schema]] = {}
        found: list[Matches] = []
        for analysed, source in zip(self._analysed, self._sources, strict=True):
            table, own = (base, schema) if source is None else made[source]
            bound = bind(analysed, own, self._functions)
            matches = Matches(bound, table, from_matches(bound, interpret(bound, table)))
            found.append(matches)
            if bound.into is not None:
                composites = composite(bound, matches, self._roles)
                made[bound.into] = composites, composite_schema(composites, self._roles)
        return self._named(found)

    def warn_of_types(self, events: pa.Table, *, stacklevel: int = 2) -> None:
        """Warn about types that no event has if a similar one occurs."""
        pairs = zip(self._analysed, self._sources, strict=True)
        for message in misspelt_types((analysed for analysed, source in pairs if source is None), events):
            warnings.warn(message, CepheidWarning, stacklevel=stacklevel)

    def _empty_table(self) -> pa.Table:
        """An empty table for events without columns; it has the columns that the queries read."""
        names = dict.fromkeys(name for a in self._analysed for name in columns_read(a))
        fields = {name: pa.null() for name in names} | {self._roles.time: pa.int64()}
        return pa.schema(list(fields.items())).empty_table()

    def schema(self, events: Any) -> Any:
        """The schema of the matches for a schema of events (of pyarrow or Spark), without running the query."""
        if is_spark(events):
            return spark_room().schema(events, self)
        if not isinstance(events, pa.Schema):
            remedy = "pass a pyarrow or Spark schema, such as table.schema"
            raise UsageError("CEP603", f"{events!r} is not a schema", remedy)
        return self.match(events.empty_table()).schema

    def explain(self, events: object = None, *, plan: str = "auto", **options: Any) -> Explanation:
        """The query with all defaults written out, its components, and where each predicate is tested.

        With the schema of the events, also how the query runs; `.sources` has the generated source of each query. With
        events, in any form that `match` accepts, also the plan and the expected cost of each plan. With a Spark
        DataFrame, also what Spark does around the engine; the options are those of `match`.
        """
        if is_spark(events):
            told: Explanation = spark_room().explain(events, self, plan=plan, **options)
            return told
        _check_options(options)
        choice = _check_engine("auto", plan)
        if events is None:
            return explain_program(self._analysed, self._sources)
        table = None if isinstance(events, pa.Schema) else to_table(events)
        if table is not None and not table.num_columns:
            table = self._empty_table()
        found = events if table is None else table.schema
        pipeline = Pipeline(self._plan("interpreted", 0), make_schema(found, self._roles))
        bound = [stage.query for stage in pipeline.stages]
        return explain_program(self._analysed, self._sources, bound, table, choice)


def _read(query: object) -> Program:
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


def _check_options(options: Mapping[str, object]) -> None:
    for name in options:
        raise UsageError(
            "CEP603", f"'{name}' is not an option for events in memory", "use it with Spark DataFrames only"
        )


def _check_limit(limit: object) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise UsageError("CEP603", f"limit can't be {limit!r}", "pass a whole number, 0 or more, or None")


def _check_engine(engine: object, plan: object) -> Choice:
    if engine not in ENGINES:
        raise UsageError("CEP601", f"unknown engine {engine!r}", did_you_mean(str(engine), ENGINES, "engines"))
    choice = read_choice(plan)
    if choice.joins and engine in ("interpreted", "reference"):
        message = f"engine '{engine}' does not support plan '{choice}'"
        raise UsageError("CEP610", message, "use engine='auto', 'compiled' or 'plain'")
    return choice
