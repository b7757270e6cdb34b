"""What becomes of a query of a session when it changes (S17), and whether it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cepheid.engine.program import QueryCache
from cepheid.engine.session.history import EVER, AnyChange, Life, ticks_in
from cepheid.engine.session.session_query import SessionQuery
from cepheid.engine.session.shapes import Shapes
from cepheid.engine.stream.conversion import check_again
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.front.automata.timeline import AddArc, RemoveArc


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of one query, of which it is known that it can be made.

    query: as it runs from now on; None: as before. cache: what runs it where its code stays, and only data change.
    settled: the time from which on it is right.
    fits: of which of its queries the state is one of the new one too.
    first: the first time at which it is another one.
    """

    life: Life
    query: Any = None
    cache: QueryCache | None = None
    settled: int | None = None
    fits: Sequence[bool] = ()
    first: int = EVER


class Changeable(Protocol):
    """A query that runs in a session, as far as it takes to change it."""

    life: Life
    right_from: int | None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that runs the query, and whose state the next one continues."""

    def fitting(self, query: SessionQuery) -> Sequence[bool]:
        """Of which of its queries the state is one of another query too."""

    def check_turn(self, query: SessionQuery, fits: Sequence[bool]) -> None:
        """Refuse a query that can't go on from this one."""


def plan_turn(running: Changeable, after: Life, settled: int | None, shapes: Shapes) -> Turn | None:
    """What changes of a query, all that can be wrong with it being checked; None: nothing.

    settled: a time before which no event is read again.
    """
    before, pipeline = running.life, running.pipeline
    if before == after:
        return None
    if before.changes == after.changes:
        return Turn(after, first=ticks_in(after.lifetime.until))
    schema = pipeline.schema
    fresh = after.changes[len(before.changes) :]
    first = min(ticks_in(change.at) + 1 for change in fresh)
    if after.lifetime != before.lifetime:
        first = min(first, ticks_in(after.lifetime.until))
    elif (cache := _retimed(pipeline, fresh, after, settled)) is not None:
        return Turn(after, cache=cache, settled=settled, first=first)
    query = after.now(schema, settled)
    shapes.learn(query, pipeline)
    fits = running.fitting(query)
    if not all(fits):
        # Events before are read again: by the conditions that held for them.
        window = pipeline.window
        settled = None if settled is None or window is None else settled - window
        query = after.now(schema, settled)
        shapes.learn(query, pipeline)
        fits = running.fitting(query)
    running.check_turn(query, fits)
    return Turn(after, query, None, settled, fits, first)


def _retimed(pipeline: Pipeline, fresh: Sequence[AnyChange], after: Life, settled: int | None) -> QueryCache | None:
    """What runs the query where changes are data that its code reads; None where they are not, or are refused."""
    arcs = [change for change in fresh if isinstance(change, AddArc | RemoveArc)]
    if len(arcs) < len(fresh) or not after.query.is_automaton:
        return None
    from cepheid.engine.stream.retiming import retimed  # kernels are not needed before

    schema = pipeline.schema
    compiled = retimed(pipeline, arcs, settled, after.query.bind_arc)
    return None if compiled is None else pipeline.cache.of(compiled, schema, lambda: after.now(schema, settled).cache)


def check_goes_on(query: SessionQuery, fits: Sequence[bool], running: Pipeline) -> None:
    """Refuse a query that needs events to be read again which are not kept."""
    for bound, known, name in zip(query.bind(running.schema), fits, query.compiled.names, strict=True):
        if not known:
            check_again(bound, name)
