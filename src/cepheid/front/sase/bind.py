"""A pattern with its clauses, bound to a schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from cepheid.front.analysed import Analysed, Functions
from cepheid.front.clauses import bind_clauses, is_strict, span_of_window, split
from cepheid.front.relevance import Relevance
from cepheid.front.runnable import Body, BoundQuery, Runnable
from cepheid.front.sase.keys import bind_keys
from cepheid.front.sase.roles import relevance_of
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Language
from cepheid.pattern.tree.partitioning import Partitioning


@dataclass(frozen=True)
class PatternBody(Body):
    """A pattern: its layout and its clauses say all, so that it has nothing of its own."""

    language: ClassVar[Language] = Language.PATTERN
    waits: bool = False

    def expressions(self) -> Iterator[ex.Expression]:
        """None: all conditions are those of WHERE."""
        return iter(())

    def partitions(self, query: BoundQuery) -> Partitioning:
        """By `[attr]` too, unless events of other keys end runs, or may lack the attribute."""
        return split(query, agreed=not is_strict(query) and query.schema.roles.types is None)

    def relevance(self, query: BoundQuery) -> Relevance:
        """The events at its places and those that must be absent, unless others end runs or are counted."""
        return relevance_of(query)

    def span(self, query: BoundQuery) -> int | None:
        """That of the window, or of one event."""
        if query.within is not None:
            return span_of_window(query)
        single = all(move.target is None for moves in query.layout.moves for move in moves)
        return 1 if single else None

    def results(self, query: BoundQuery) -> None:
        """A match is made of events."""


def bind_pattern(analysed: Analysed, schema: Schema, functions: Functions) -> Runnable:
    """Check a pattern and its clauses against a schema."""
    typer = Typer(schema, analysed.components, functions, {})
    conditions = tuple(typer.condition(c) for c in analysed.conditions)
    keys = bind_keys(analysed, typer)
    return bind_clauses(analysed, typer, keys, PatternBody(), conditions=conditions, returns=analysed.query.returns)
