"""From parse tree to pattern tree: the pattern and the clauses of a query."""

from __future__ import annotations

import re
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from cepheid.errors import ParseError, PatternError, Span, did_you_mean
from cepheid.language.automata import AutomatonBuilder
from cepheid.language.elements import with_elements
from cepheid.language.expressions import Parts, read_integer
from cepheid.language.lexis import name_of
from cepheid.pattern.binding.schema import MATCH_ID
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import NANOSECONDS, UNITS, units_of
from cepheid.pattern.expressions.types import INT
from cepheid.pattern.tree.lengths import with_lengths
from cepheid.pattern.tree.nodes import (
    AnyOrder,
    ArcClause,
    AutomatonPattern,
    Either,
    EventPattern,
    FromStream,
    KeyColumn,
    Maybe,
    Negation,
    Output,
    PatternTree,
    Program,
    QueryTree,
    RegisterSlot,
    Repeat,
    ReturnItem,
    Selection,
    Seq,
    Strategy,
    Ties,
    Window,
)
from cepheid.pattern.tree.walk import conjuncts

Clause = tuple[dict[str, Any], Span]
"""The fields of a query that a clause sets, and where the clause is."""

_CLAUSES = {
    "where": "WHERE",
    "partition_by": "PARTITION BY",
    "within": "WITHIN",
    "having": "HAVING",
    "returns": "RETURN",
    "output": "OUTPUT",
    "ties": "TIES",
}
_MEANT = {"m": "minutes; months have no fixed length", "row": "events", "rows": "events", "records": "events"}


@v_args(meta=True)
class QueryBuilder(AutomatonBuilder):
    """The part of the transformer above expressions and automata."""

    def program(self, meta: Meta, queries: list[QueryTree]) -> Program:
        return Program(tuple(queries))

    def query(self, meta: Meta, parts: Parts) -> QueryTree:
        source, pattern, *clauses = parts
        return self.with_clauses(meta, source, pattern, clauses)

    def automaton(self, meta: Meta, parts: Parts) -> QueryTree:
        source, start, *rest = parts
        finals = [part for part in rest if isinstance(part, str)]
        arcs = [part for part in rest if isinstance(part, ArcClause)]
        slots: list[RegisterSlot] = [slot for part in rest if isinstance(part, list) for slot in part]
        clauses = [part for part in rest if isinstance(part, tuple)]
        pattern = AutomatonPattern(start, tuple(finals), tuple(slots), tuple(arcs), span=self.span(meta))
        return self.with_clauses(meta, source, pattern, clauses)

    def with_clauses(self, meta: Meta, source: Any, pattern: PatternTree, clauses: list[Clause]) -> QueryTree:
        """A query of its FROM, its pattern and its clauses."""
        streams, sees = source or ((), None)
        clauses_read: dict[str, Any] = {}
        for changes, span in clauses:
            for key in changes:
                if key in clauses_read and key in _CLAUSES:
                    remedy = "keep one of them" + ("; join their conditions with AND" * (key == "where"))
                    raise ParseError("CEP106", f"there are two {_CLAUSES[key]} clauses", remedy, span)
            clauses_read |= changes
        query = QueryTree(pattern=pattern, streams=streams, sees=sees, span=self.span(meta), **clauses_read)
        return with_elements(with_lengths(query))

    def source(self, meta: Meta, parts: Parts) -> tuple[tuple[FromStream, ...], ex.Expression | None]:
        *streams, condition = parts
        return tuple(streams), condition

    def stream(self, meta: Meta, parts: Parts) -> FromStream:
        name, types = parts
        return FromStream(name, types or (), span=self.span(meta))

    def seen(self, meta: Meta, parts: list[str]) -> tuple[str, ...]:
        return tuple(parts)

    def pattern_list(self, meta: Meta, parts: list[PatternTree]) -> PatternTree:
        return parts[0]

    def either(self, meta: Meta, parts: list[PatternTree]) -> PatternTree:
        return Either(tuple(parts), span=self.span(meta))

    def any_order(self, meta: Meta, parts: list[PatternTree]) -> PatternTree:
        return AnyOrder(tuple(parts), span=self.span(meta))

    def seq(self, meta: Meta, parts: Parts) -> PatternTree:
        return self.quantified(Seq(tuple(parts[:-1]), span=self.span(meta)), parts[-1], meta)

    def either_call(self, meta: Meta, parts: Parts) -> PatternTree:
        return self.quantified(Either(tuple(parts[:-1]), span=self.span(meta)), parts[-1], meta)

    def any_order_call(self, meta: Meta, parts: Parts) -> PatternTree:
        return self.quantified(AnyOrder(tuple(parts[:-1]), span=self.span(meta)), parts[-1], meta)

    def group(self, meta: Meta, parts: Parts) -> PatternTree:
        # PATTERN(STOCK+ a[], STOCK b), as SASE+ 6 prints it, is a sequence.
        inner = parts[0] if len(parts) == 2 else Seq(tuple(parts[:-1]), span=self.span(meta))
        return self.quantified(inner, parts[-1], meta)

    def quantified(self, body: PatternTree, times: tuple[int, int | None] | str | None, meta: Meta) -> PatternTree:
        if times is None:
            return body
        if times == "?":
            return Maybe(body, span=self.span(meta))
        assert isinstance(times, tuple)
        return Repeat(body, times[0], times[1], span=self.span(meta))

    def negation(self, meta: Meta, parts: Parts) -> PatternTree:
        event, period = parts
        if not isinstance(event, EventPattern):
            raise PatternError(
                "CEP209",
                "only a single event can be negated",
                "write !(Type b) or !(ANY(T1, T2) b); a sequence or a repetition can't be negated",
                self.span(meta),
            )
        return Negation(event, period, span=self.span(meta))

    def period(self, meta: Meta, parts: Parts) -> Window:
        return self.window(meta, parts)

    def period_interval(self, meta: Meta, parts: list[ex.Expression]) -> Window:
        return self.cooldown_interval(meta, parts)

    def event(self, meta: Meta, parts: Parts) -> PatternTree:
        names, times, variable = parts
        name, is_array = variable or (None, False)
        repeated = isinstance(times, tuple)
        if is_array and not repeated:
            shown = names[0] if names else "*"
            single = f"{shown}{times or ''} {name}"
            raise PatternError(
                "CEP208",
                f"{name}[] declares a list of events, but {shown} is a single event",
                f"write {shown}+ {name}[] for a Kleene closure, or {single} for one event",
                self.span(meta),
            )
        return self.quantified(EventPattern(tuple(names), name, span=self.span(meta)), times, meta)

    def types(self, meta: Meta, parts: list[str]) -> list[str]:
        return parts

    def any_type(self, meta: Meta, parts: list[Token]) -> list[str]:
        return []

    def type_name(self, meta: Meta, parts: list[Token]) -> str:
        return name_of(parts[0])

    def variable(self, meta: Meta, parts: Parts) -> tuple[str, bool]:
        return name_of(parts[0]), parts[1] is not None

    def plus(self, meta: Meta, _: Parts) -> tuple[int, int | None]:
        return 1, None

    def star(self, meta: Meta, _: Parts) -> tuple[int, int | None]:
        return 0, None

    def maybe(self, meta: Meta, _: Parts) -> str:
        return "?"

    def exactly(self, meta: Meta, parts: list[Token]) -> tuple[int, int | None]:
        return self.times(meta, parts[0], parts[0])

    def between_times(self, meta: Meta, parts: Parts) -> tuple[int, int | None]:
        return self.times(meta, parts[0], parts[1])

    def times(self, meta: Meta, low: Token, high: Token | None) -> tuple[int, int | None]:
        fewer = "write a smaller number"
        least = read_integer(low, self.span(meta), fewer)
        most = None if high is None else read_integer(high, self.span(meta), fewer)
        if most is not None and (most == 0 or most < least):
            remedy = "write the smaller number first, as in {2,4}; the larger one must be at least 1"
            raise ParseError("CEP109", f"{{{least},{most}}} is not a range of repetitions", remedy, self.span(meta))
        return least, most

    def where(self, meta: Meta, parts: list[ex.Expression]) -> Clause:
        return {"where": conjuncts(parts[0])}, self.span(meta)

    def where_strategy(self, meta: Meta, parts: Parts) -> Clause:
        where = () if parts[-1] is None else conjuncts(parts[-1])
        return {"strategies": tuple(parts[:-1]), "where": where}, self.span(meta)

    def strategy(self, meta: Meta, parts: Parts) -> Selection:
        strategy = Strategy(parts[0].lower().replace("-", "_"))
        variables = tuple(p[0] for p in parts[1:] if p is not None)
        return Selection(strategy, variables, span=self.span(meta))

    def partition(self, meta: Meta, parts: list[KeyColumn]) -> Clause:
        return {"partition_by": tuple(parts)}, self.span(meta)

    def within(self, meta: Meta, parts: Parts) -> Clause:
        return {"within": self.window(meta, parts)}, self.span(meta)

    def window(self, meta: Meta, parts: Parts) -> Window:
        """A length, and its unit in the spelling of `durations`."""
        amount, unit = parts
        if unit is not None:
            word = unit.lower()
            if word not in UNITS and word not in ("event", "events"):
                remedy = did_you_mean(word, [*NANOSECONDS, "events"], "units")
                if word.startswith(("month", "year")):
                    remedy = "months and years have no fixed length; write days"
                elif word in _MEANT:
                    remedy = f"write {_MEANT[word]}"
                elif re.fullmatch(r"[a-z]+\d\w*", word):
                    remedy = "write one number and one unit, 90 minutes, or INTERVAL '1 hour 30 minutes'"
                raise ParseError("CEP111", f"unknown window unit '{unit}'", remedy, self.span(unit))
            unit = UNITS.get(word, "events")
        return Window(amount, unit, span=self.span(meta))

    def within_interval(self, meta: Meta, parts: list[ex.Expression]) -> Clause:
        return {"within": self.cooldown_interval(meta, parts)}, self.span(meta)

    def cooldown_interval(self, meta: Meta, parts: list[ex.Expression]) -> Window:
        length = parts[0]
        if not isinstance(length, ex.Literal):
            raise ParseError("CEP111", "a window can't be negative", "write INTERVAL 5 MINUTES", self.span(meta))
        amount, unit = units_of(int(str(length.value)))
        return Window(ex.Literal(amount, INT, span=length.span), unit, span=self.span(meta))

    def amount(self, meta: Meta, parts: list[Token]) -> ex.Expression:
        build = {"INTEGER": self.integer, "DECIMAL": self.number, "NAME": self.name}[parts[0].type]
        return build(meta, parts)

    def having(self, meta: Meta, parts: list[ex.Expression]) -> Clause:
        return {"having": parts[0]}, self.span(meta)

    def returns(self, meta: Meta, parts: Parts) -> Clause:
        return {"returns": tuple(parts[:-1]), "into": parts[-1]}, self.span(meta)

    def into(self, meta: Meta, parts: list[str]) -> str:
        return parts[0]

    def item(self, meta: Meta, parts: Parts) -> ReturnItem:
        expression, name = parts
        return ReturnItem(expression, name_of(name) if name else self.default_name(expression), span=self.span(meta))

    def default_name(self, expression: ex.Expression) -> str:
        match expression:
            case ex.Attribute(name=name) | ex.Name(name=name) | ex.Field(name=name):
                return name
            case ex.Rows(index=ex.Index.EACH, variable=name):
                return name
            case ex.MatchId():
                return MATCH_ID
            case ex.AggregateCall(function=function, argument=ex.Attribute(name=name)):
                return f"{function}_{name}"
        raise PatternError(
            "CEP213", "this RETURN column has no name", "add AS and a name: a.x + 1 AS total", expression.span
        )

    def output(self, meta: Meta, parts: Parts) -> Clause:
        mode, cooldown = parts
        return {"output": Output(mode.upper().replace("-", "_")), "cooldown": cooldown}, self.span(meta)

    def cooldown(self, meta: Meta, parts: Parts) -> Window:
        return self.window(meta, parts)

    def ties(self, meta: Meta, parts: list[Token]) -> Clause:
        return {"ties": Ties(parts[0].upper())}, self.span(meta)
