"""What a front end makes of a tree and a schema: one frozen value, with all that follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import pyarrow as pa

from cepheid.front.relevance import Relevance
from cepheid.pattern.binding.placement import Placement
from cepheid.pattern.binding.schema import END, START, Schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import window_nanoseconds
from cepheid.pattern.expressions.types import Type, is_untyped
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Layout, absences
from cepheid.pattern.tree.nodes import Language, Output, PatternTree, Strategy, Ties
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.pattern.tree.scope import VisibleEvents


@dataclass(frozen=True, slots=True)
class Within:
    """A window: nanoseconds of time, or a number of events."""

    nanoseconds: int | None = None
    events: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A column of RETURN."""

    name: str
    expression: ex.Expression
    type: Type


class Body(ABC):
    """What runs, of one language, and the facts of a query that follow from it in another way than in others."""

    language: ClassVar[Language]
    ordered: ClassVar[bool] = True  # the order of events of one time may matter
    waits: bool  # matches may come when a window is over

    @abstractmethod
    def expressions(self) -> Iterator[ex.Expression]:
        """Those that no clause of the query has."""

    @abstractmethod
    def partitions(self, query: BoundQuery) -> Partitioning:
        """How the events of the query are split."""

    @abstractmethod
    def relevance(self, query: BoundQuery) -> Relevance:
        """Which events can matter to it."""

    @abstractmethod
    def span(self, query: BoundQuery) -> int | None:
        """Within how many ticks the events of a match are; None where only the events tell."""

    @abstractmethod
    def results(self, query: BoundQuery) -> BoundQuery | None:
        """The query as its matches know it, where these are rows of another schema; None where they are events."""


@dataclass(frozen=True, kw_only=True)
class BoundQuery:
    """A query whose names and expressions have types.

    same, partition_by: keys by name, of a column or of a part of one that the schema has (`Schema.parts`).
    pattern, components, layout: of another language than PATTERN, what is known of the events of a match.
    """

    body: Body
    schema: Schema
    pattern: PatternTree
    components: Mapping[str, Component]
    layout: Layout
    strategies: Mapping[str, Strategy]
    placement: Placement
    functions: Mapping[str, Callable[..., object]]
    typer: Typer
    reads: tuple[str, ...]  # the columns that it reads
    same: tuple[ex.SameValue, ...] = ()
    partition_by: tuple[str, ...] = ()
    within: Within | None = None
    having: ex.Expression | None = None
    returns: tuple[Result, ...] = ()
    into: str | None = None
    output: Output = Output.ALL
    cooldown: int = 0  # nanoseconds
    ties: Ties = Ties.ORDERED
    scope: VisibleEvents | None = None
    made: bool = False  # a match is one row that its query made, whose columns are those of RETURN
    copies: Mapping[str, str] = field(default_factory=dict)  # of a derived stream: its columns that have a key
    origins: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)  # and where its columns come from

    @property
    def language(self) -> Language:
        """The key of tables that say what is done for each language."""
        return self.body.language

    @property
    def window(self) -> int | None:
        """The window in ticks of the time column, or in events."""
        if self.within is None or self.within.nanoseconds is None:
            return None if self.within is None else self.within.events
        return -(-self.within.nanoseconds // self.schema.tick)

    @property
    def untyped(self) -> bool:
        """Whether a column that it reads has no type yet."""
        return any(is_untyped(self.schema.columns[name].arrow) for name in self.reads)

    @property
    def timed(self) -> bool:
        """Whether the window is of time."""
        return self.within is not None and self.within.events is None

    @property
    def counted(self) -> bool:
        """Whether the window is of events."""
        return self.within is not None and self.within.events is not None

    def ticks(self, nanoseconds: int | None) -> int:
        """A duration in ticks of the time column; 0 for none."""
        return 0 if nanoseconds is None else -(-nanoseconds // self.schema.tick)


@dataclass(frozen=True, kw_only=True)
class Runnable(BoundQuery):
    """A query that can be run on a table of its schema, with the facts that follow from its parts (`derive`).

    leading, trailing: the negations before the first event, and after the last one, by number.
    periods: of each negation, how many nanoseconds the event must be absent, where the query says it (S26).
    span: within how many ticks the events of a match are. ahead, behind: for how many ticks after its last event, and
    before its first one, an event can undo a match, whatever the window is (S26). reach: for how many ticks an event
    can matter to matches. None: only the events tell.
    waits: an event must be absent after the last one, so that a match is certain when its window is over.
    conditions: every conjunct over variables, once.
    results: the query as its matches know it, where these are rows of another schema.
    """

    positive: tuple[Component, ...]  # the components that a match binds, in the order of the text
    partitions: Partitioning
    relevance: Relevance
    leading: tuple[int, ...]
    trailing: tuple[int, ...]
    periods: tuple[int | None, ...]
    span: int | None
    ahead: int
    behind: int
    reach: int | None
    waits: bool
    conditions: tuple[ex.Expression, ...]
    results: Runnable | None

    @property
    def result(self) -> Runnable:
        """The query as its matches know it."""
        return self if self.results is None else self.results

    @property
    def looks_back(self) -> bool:
        """Whether an event must be absent before the first one."""
        return bool(self.leading)

    def with_parts(self, **parts: Any) -> Runnable:
        """The query with other parts, and the facts that follow from these."""
        return derive(BoundQuery(**{name: getattr(self, name) for name in _PARTS} | parts))

    def match_schema(self) -> pa.Schema:
        """The columns of a match (S11). A user function's type is known only from its values."""
        if self.results is not None:
            return self.results.match_schema()
        time = self.schema.columns[self.schema.roles.time].arrow
        columns = [pa.field(START, time), pa.field(END, time)]
        if self.returns or self.made:
            return pa.schema([*columns, *(pa.field(r.name, r.type.arrow) for r in self.returns)])
        event = pa.struct(list(self.schema.arrow))
        columns += [pa.field(c.variable, pa.list_(event) if c.array else event) for c in self.positive]
        return pa.schema(columns)


_PARTS = tuple(part.name for part in fields(BoundQuery))


def derive(query: BoundQuery) -> Runnable:
    """The query with the facts that follow from its parts, each of which is computed here and nowhere else."""
    body, layout, unit = query.body, query.layout, query.schema.roles.unit
    leading = tuple(dict.fromkeys(absences(layout.starts)))
    at_end = (move for moves in layout.moves for move in moves if move.target is None)
    trailing = tuple(dict.fromkeys(absences(at_end)))
    periods = tuple(
        None if absent.period is None else window_nanoseconds(absent.period, unit) for absent in layout.negations
    )
    ahead = max((query.ticks(periods[n]) for n in trailing), default=0)
    behind = max((query.ticks(periods[n]) for n in leading), default=0)
    span, results = body.span(query), body.results(query)
    return Runnable(
        **vars(query),
        positive=tuple(component for component in query.components.values() if not component.negated),
        partitions=body.partitions(query),
        relevance=body.relevance(query),
        leading=leading,
        trailing=trailing,
        periods=periods,
        span=span,
        ahead=ahead,
        behind=behind,
        reach=None if span is None else span + max(ahead, behind),
        waits=bool(trailing) or body.waits,
        conditions=_conditions(query.placement),
        results=None if results is None else derive(results),
    )


def _conditions(placement: Placement) -> tuple[ex.Expression, ...]:
    conditions = [c for placed in placement.at_place.values() for _, c in placed]
    conditions += [c for placed in (*placement.at_exit.values(), *placement.of_witness.values()) for c in placed]
    return tuple(dict.fromkeys(conditions))
