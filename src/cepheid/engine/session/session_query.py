"""What a session asks of a query that it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from cepheid.engine.matches.matches import Matches
from cepheid.engine.program import CompiledProgram, QueryCache
from cepheid.front.automata.bound import BoundArc
from cepheid.front.runnable import Runnable
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.tree.nodes import ArcClause, Program

if TYPE_CHECKING:
    from cepheid.engine.session.query_changes import ReplaceQuery
    from cepheid.front.automata.timeline import AddArc, RemoveArc


class SessionQuery(Protocol):
    """A query or a program with its parameters, compiled once and shared by all sessions of it."""

    @property
    def compiled(self) -> CompiledProgram:
        """The program after its checks, as plans read it."""

    @property
    def cache(self) -> QueryCache:
        """What was compiled for earlier runs."""

    @property
    def lasting(self) -> SessionQuery:
        """The query for a session, in which its arcs may change."""

    @property
    def is_automaton(self) -> bool:
        """Whether it is one automaton of the user's own."""

    @property
    def has_arcs(self) -> bool:
        """Whether an automaton of the user's own is among its queries."""

    @property
    def parsed(self) -> Program:
        """The program as it was written."""

    @property
    def params(self) -> Mapping[str, object]:
        """The values of the parameters."""

    @property
    def text(self) -> str:
        """The query in canonical spelling."""

    def alike(self, query: object) -> Any:
        """A query with the parameters, functions and roles of columns of this one, unless it is one already."""

    def sequenced(self, column: str | None) -> Any:
        """The query without transitions over a gap in the numbers of a column."""

    def changed(
        self, changes: Sequence[AddArc | RemoveArc | ReplaceQuery], schema: Schema, settled: int | None = None
    ) -> Any:
        """The query after some changes, whose times are in ticks (S17), for events from a time on."""

    def with_log(self, changes: Sequence[AddArc | RemoveArc | ReplaceQuery], schema: Schema) -> Any:
        """The query after some changes, for one run on events of a schema."""

    def empty_table(self) -> pa.Table:
        """No events, with the columns that it reads."""

    def bind(self, schema: Schema) -> list[Runnable]:
        """Its queries, bound to events of a schema."""

    def bind_arc(self, arc: ArcClause, bound: Runnable) -> BoundArc:
        """An arc as one of this query, which is an automaton."""

    def all_by_reference(self, base: pa.Table, schema: Schema, horizon: int | None = None) -> list[Matches]:
        """The matches of each query by the reference."""
