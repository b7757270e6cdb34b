"""Queries that a session has run, whose code others of the same shape take over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.pattern.binding.schema import make_schema

if TYPE_CHECKING:
    from cepheid.engine.planning.compiled_query import CompiledQuery

MOST_SHAPES = 8
"""How many queries of a session are remembered for their code."""


class Shapes:
    """The last queries of a session. Another constant makes no other code: `learn` is called before a query runs."""

    def __init__(self) -> None:
        self._known: list[CompiledQuery] = []

    def learn(self, query: SessionQuery, running: Pipeline) -> None:
        """Let a query take over the code of another one. running: a pipeline of the session."""
        if len(query.compiled.queries) != 1:
            return
        schema = running.schema
        if len(running.program.queries) == 1:
            self._note(running.cache.query(0, schema))
        wanted = make_schema(schema.arrow, query.compiled.roles)  # one that is added may have another type=
        query.cache.learn(wanted, reversed(self._known))
        self._note(query.cache.query(0, wanted))

    def _note(self, compiled: CompiledQuery) -> None:
        if compiled not in self._known:
            self._known = [*self._known[1 - MOST_SHAPES :], compiled]
