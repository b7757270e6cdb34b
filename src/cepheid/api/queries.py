"""`Queries`: many queries on one stream (S23)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, overload

import pyarrow as pa

from cepheid.api.bar import measured
from cepheid.api.events import to_table
from cepheid.api.many.bound import check_bound
from cepheid.api.many.by_definition import match_each, no_matches
from cepheid.api.many.framed_texts import samples
from cepheid.api.many.ids import BAD_RULES, listed_ids
from cepheid.api.many.many_matches import ManyMatches
from cepheid.api.many.options import SharedOptions
from cepheid.api.many.problems import COLLECT, RAISE, Problems
from cepheid.api.many.read_queries import is_list, read_list, read_templates, with_roles_of
from cepheid.api.many.read_rules import example, read_rules, rule_table
from cepheid.api.many.running import many_stream
from cepheid.api.many.session import ManySession
from cepheid.api.many.surprises import surprises_of
from cepheid.api.readable import readable_schema, telling_of_text
from cepheid.api.spark_bridge import Frame, is_spark, refuse_options, spark_room
from cepheid.engine.many.lifetimes import Lifetimes
from cepheid.engine.many.rules import RuleSet
from cepheid.engine.many.stream import ManyStream
from cepheid.engine.progress import Progress
from cepheid.engine.session.engines import check_engine
from cepheid.engine.stream.rows import arrival_of
from cepheid.engine.stream.snapshot import from_bytes
from cepheid.errors import UsageError, did_you_mean, warn
from cepheid.explain import Explanation
from cepheid.front.analysed import columns_read
from cepheid.pattern.binding.schema import Schema, make_schema

_ERRORS = (RAISE, COLLECT)


@dataclass(frozen=True)
class Rereading:
    """How the rules of `Queries` are read: with which options, by which column of ids, whether they name templates."""

    options: SharedOptions
    id: str
    named: bool
    listed: bool


@dataclass
class Prepared:
    """The rules that fit events of a schema, and what was made of them for an engine."""

    schema: pa.Schema
    rules: RuleSet
    problems: Problems
    streams: dict[str, ManyStream] = field(default_factory=dict)


class Queries:
    """Many queries on one stream of events; what an event costs depends on what it concerns.

    source: a template, with a table of rules; a dict of templates, with rules that have a column `template`; or a list
        of queries, each a text, a pattern of the builder or a `Query`, with `ids` (by default their positions).
    rules: any table that `match` takes as events. Each row is a query: the template with the values of its columns as
        parameters. The column `id` has its id, text or a whole number, which no other rule has.
    errors: "raise" tells of the first wrong rule; "collect" leaves wrong rules out, and `errors` has them.

    params, functions, time, type, order_by, types, unit, start: as for `Query`, for all of them.

    >>> alerts = Queries(
    ...     "PATTERN SEQ(Stock a, Stock b) WHERE [symbol = name] AND a.price > high AND b.price < low WITHIN span",
    ...     [
    ...         {"id": "u1", "name": "X", "high": 10, "low": 5, "span": "5 minutes"},
    ...         {"id": "u2", "name": "Y", "high": 10, "low": 5, "span": "1 minute"},
    ...     ],
    ... )
    >>> prices = [{"ts": t, "type": "Stock", "symbol": "X", "price": p} for t, p in ((1, 12), (2, 8), (3, 4))]
    >>> alerts.match(prices)
    <1 match: query, match_start, match_end, a, b>
    """

    def __init__(
        self,
        source: Any,
        rules: object = None,
        *,
        ids: Iterable[object] | None = None,
        id: str = "id",
        params: Mapping[str, object] | None = None,
        functions: Mapping[str, Callable[..., object]] | None = None,
        time: str = "ts",
        type: str | None = "type",
        order_by: str | Sequence[str] = (),
        types: Mapping[str, Iterable[str]] | None = None,
        unit: str = "ms",
        start: str | None = None,
        errors: str = RAISE,
        progress: Callable[[Progress], object] | bool | None = None,
    ) -> None:
        if errors not in _ERRORS:
            raise UsageError("CEP603", f"errors can't be {errors!r}", did_you_mean(str(errors), _ERRORS, "choices"))
        options_here = SharedOptions(params or {}, functions or {}, time, type, order_by, types, unit, start).checked()
        listed = is_list(source)
        if listed:
            source = list(source)
        self._options = options = with_roles_of(source, options_here)
        self._collects = errors == COLLECT
        self._id = id
        self._named = isinstance(source, Mapping)
        self._listed = listed
        self._latest: Problems | None = None  # of the events that were matched last
        self._prepared: Prepared | None = None  # for events such as those
        self._warned = False  # of what the first events say
        if listed:
            if rules is not None:
                remedy = "pass a template with rules, a dict of templates with rules, or a list of queries with ids="
                raise UsageError("CEP603", "a list of queries has no rules", remedy)
            with measured(len(source), progress, "queries") as meter:
                of_list = listed_ids(ids, len(source), "queries")
                self._rules, self._problems = read_list(source, of_list, options, collect=self._collects, report=meter)
            return
        if ids is not None:
            remedy = f"name the column of the ids with id= (it is '{id}')"
            raise UsageError("CEP603", "ids= is for a list of queries; rules have a column of ids", remedy)
        if rules is None:
            remedy = "pass a table of them; [] begins without any, and one query alone is a Query"
            raise UsageError("CEP603", "a template needs rules", remedy)
        table = rule_table(rules)
        templates = read_templates(source, options)
        self._rules, self._problems = read_rules(
            templates, table, options, id=id, named=self._named, collect=self._collects
        )

    @classmethod
    def of(cls, rules: RuleSet, like: Rereading) -> Queries:
        """Queries whose rules were read before. Wrong ones that come later are collected."""
        made = cls.__new__(cls)
        made._options, made._id, made._named, made._listed = like.options, like.id, like.named, like.listed
        made._collects, made._latest, made._prepared, made._warned = True, None, None, True
        made._rules = rules
        made._problems = Problems(rules.ids, collect=True, what="query" if like.listed else "rule")
        return made

    @property
    def rereading(self) -> Rereading:
        """What is needed to read more rules."""
        return Rereading(self._options, self._id, self._named, self._listed)

    def __len__(self) -> int:
        return len(self._rules)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_prepared": None}

    def __repr__(self) -> str:
        wrong = len(self._problems.numbers)
        count, templates = len(self), len(self._rules.templates)
        refused = f", {wrong:,} wrong" if wrong else ""
        return (
            f"<{count:,} quer{'y' if count == 1 else 'ies'} of {templates:,} template{'s' * (templates != 1)}{refused}>"
        )

    @property
    def rules(self) -> RuleSet:
        """The rules as the engine has them."""
        return self._rules

    @property
    def ids(self) -> pa.Array:
        """The ids, in the order of the rules."""
        return self._rules.ids

    @property
    def errors(self) -> pa.Table:
        """With errors="collect": what is wrong with which rule: `id`, `code`, `message`.

        After `match` also what does not fit the events.
        """
        return (self._latest or self._problems).table()

    @property
    def options(self) -> SharedOptions:
        """The roles, parameters and functions that all queries share."""
        return self._options

    @property
    def problems(self) -> Problems:
        """What is wrong with rules, whatever the events are."""
        return self._problems

    @property
    def collects(self) -> bool:
        """Whether wrong rules are left out."""
        return self._collects

    @overload  # a DataFrame is an object too, and the first that fits counts
    def match(self, events: Frame, *, engine: str = ..., **options: Any) -> Frame: ...  # type: ignore[overload-overlap]

    @overload
    def match(
        self, events: object, *, engine: str = ..., progress: Callable[[Progress], object] | bool | None = ...
    ) -> ManyMatches: ...

    def match(
        self,
        events: object,
        *,
        engine: str = "auto",
        progress: Callable[[Progress], object] | bool | None = None,
        **options: Any,
    ) -> Any:
        """All matches of all queries, each with the id of its query: by end, then in the order of the ids (S23).

        engine: "auto", or "reference", which runs each query alone, as the meaning is defined.
        progress: as for `Query.match`.

        A Spark DataFrame returns a Spark DataFrame; see `cepheid.spark.match_many` for its options.
        """
        check_engine(engine)
        if is_spark(events):
            refuse_options(progress=progress)
            return spark_room().match_many(events, self, engine=engine, **options)
        _check_no_options(options)
        table = self._table_of(events)
        schema = make_schema(table.schema, self._options.roles)
        known = self.prepared(schema)
        self._latest = known.problems
        self._warn_of(known.rules, schema, table)
        if engine == "reference":
            results = match_each(known.rules, self._options, table)
        else:
            with telling_of_text(table), measured(table.num_rows, progress) as meter:
                made = self._stream_of(known, schema, engine)
                stream = many_stream(known.rules, schema, engine, events=table.num_rows, report=meter, prepared=made)
                stream.push(arrival_of(schema, table))
                results = stream.advance(None)
        return ManyMatches(known.rules, results, partial(no_matches, known.rules, self._options, table.schema))

    def explain(self, events: object = None, **options: object) -> Explanation:
        """The templates and their rules; with events or their schema, also what rules share and how they are found.

        It also says which rules are not in the shared tables, and why. A Spark DataFrame: how its events would be
        divided, and for which rules; options are those of `match`.
        """
        from cepheid.explain.many import explain_many  # seldom needed

        if is_spark(events):
            explanation: Explanation = spark_room().explain_many(events, self, **options)
            return explanation
        _check_no_options(options)
        if events is None:
            return explain_many(self._rules, len(self._problems.numbers), None)
        count: int | None = None
        if isinstance(events, pa.Schema):
            columns = readable_schema(events)
        else:
            table = self._table_of(events)
            columns, count = table.schema, table.num_rows
        schema = make_schema(columns, self._options.roles)
        known = self.prepared(schema)
        self._latest = known.problems
        made = self._stream_of(known, schema, "auto")
        stream = many_stream(known.rules, schema, "auto", events=count, prepared=made)
        return explain_many(known.rules, len(known.problems.numbers), stream)

    def _warn_of(self, rules: RuleSet, schema: Schema, events: pa.Table) -> None:
        """Warn of what templates may have got wrong of events, such as a misspelt type; once."""
        if not self._warned and events.num_rows:
            self._warned = True
            warnings = {str(warning): warning for warning in surprises_of(rules, self._options, schema, events)}
            for warning in warnings.values():
                warn(warning)

    def _table_of(self, events: object) -> pa.Table:
        table = to_table(events, self._options.roles.type)
        return table if table.num_columns else self.empty_events()

    def fitting(self, schema: Schema) -> RuleSet:
        """The rules that fit events of a schema; others are errors."""
        known = self.prepared(schema)
        self._latest = known.problems
        return known.rules

    def prepared(self, schema: Schema) -> Prepared:
        """The same, and what is made of them: it is kept for the next events of the same schema."""
        known = self._prepared
        if known is None or not known.schema.equals(schema.arrow):
            problems = self._problems.copy()
            check_bound(self._rules, self._options, schema, problems)
            known = Prepared(schema.arrow, self._rules.without(problems.numbers), problems)
            self._prepared = known
        return known

    def _stream_of(self, known: Prepared, schema: Schema, engine: str) -> ManyStream:
        """The tables of rules that fit events of a schema, which are kept for the next ones."""
        if engine not in known.streams:
            made = many_stream(known.rules, schema, engine)
            made.settle_rules()  # before another thread can see it
            known.streams[engine] = made
            # Texts that are in the tables are read again if other events come: what they were read as is as long.
            lean = known.rules.as_texts()
            self._rules = lean if self._rules is known.rules else self._rules.as_texts()
            known.rules = lean
        return known.streams[engine]

    def empty_events(self, rules: RuleSet | None = None) -> pa.Table:
        """No events, where nobody has said which columns they have: those that rules read."""
        names: dict[str, pa.DataType] = {}
        rules = self._rules if rules is None else rules
        for some in rules.rules:
            template = rules.templates[some.template]
            program, params = template.of(example(template, some))
            for sample in samples(some) if template.texts else (program,):
                for query in self._options.compiled_program(template, sample, params).queries:
                    names |= dict.fromkeys(columns_read(query), pa.null())
        roles = self._options.roles
        named = (roles.type, roles.start, *roles.order_by)
        names = dict.fromkeys((name for name in named if name is not None), pa.null()) | names
        return pa.schema(list((names | {roles.time: pa.int64()}).items())).empty_table()

    def session(self, *, engine: str = "auto", lateness: object = None, late: str = "error") -> ManySession:
        """A session for a stream of batches, in which rules come and go.

        lateness, late: as for `Query.session`.
        """
        check_engine(engine)
        if engine == "reference":
            remedy = "use engine='auto', or match(events, engine='reference')"
            raise UsageError("CEP601", "engine 'reference' does not support sessions of many queries", remedy)
        return ManySession(self, engine, lateness=lateness, late=late)

    def restore(self, blob: bytes, *, engine: str = "auto", update: bool = False) -> ManySession:
        """A session that continues from a snapshot, with the rules that it had then.

        update: with these rules, compared by id. Those that are the same go on; others are removed, or added, at the
        greatest time so far.
        """
        header, source = from_bytes(blob)
        if "many" not in header:
            message = "the snapshot is of a session of one query"
            raise UsageError("CEP607", message, "restore it with the Query that it was taken from")
        session = self.session(engine=engine)
        session.load(header, source)
        if update:
            session.update(self._rules)
        return session

    # For sessions.

    def stream(
        self,
        rules: RuleSet | None,
        schema: Schema,
        engine: str,
        lives: Lifetimes | None = None,
        watermark: int | None = None,
    ) -> ManyStream:
        """Return what runs the rules of a session. None: the rules come with a state that is restored next."""
        known, made = self._prepared, None
        fits = known is not None and known.rules is rules and known.schema.equals(schema.arrow)
        if known is not None and fits and watermark is None and (lives is None or lives.whole):
            made = self._stream_of(known, schema, engine)
        return many_stream(rules, schema, engine, lives=lives, watermark=watermark, prepared=made)

    def read_more(self, rules: object, ids: Iterable[object] | None, known: RuleSet) -> tuple[RuleSet, Problems]:
        """Rules that come to those which are known; their numbers begin at 0."""
        if self._listed:
            if not is_list(rules):
                raise UsageError("CEP603", "these are no queries", "pass a list of queries, and ids=")
            some = list(rules)
            if ids is None and pa.types.is_integer(known.ids.type):
                ids = range(len(known.ids), len(known.ids) + len(some))
            if ids is None:
                raise UsageError(BAD_RULES, "the queries have no ids", "pass ids=[…], one for each")
            listed = listed_ids(ids, len(some), "queries")
            more, problems = read_list(some, listed, self._options, collect=self._collects, report=None)
            return more.after(known.templates), problems
        if ids is not None:
            remedy = f"name the ids in the column '{self._id}'"
            raise UsageError("CEP603", "ids= is for a list of queries; rules have a column of ids", remedy)
        return read_rules(
            known.templates, rule_table(rules), self._options, id=self._id, named=self._named, collect=self._collects
        )


def _check_no_options(options: Mapping[str, object]) -> None:
    for name in options:
        raise UsageError("CEP603", f"{name}= is an option for Spark", "leave it out, or pass a Spark DataFrame")
