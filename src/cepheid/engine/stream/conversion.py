"""A pipeline that goes on with another query (S17): with its state, or with the events that it has kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.times import ticks
from cepheid.engine.program import CompiledProgram
from cepheid.engine.state_shape import clauses
from cepheid.engine.stream.in_memory import MemorySource
from cepheid.engine.stream.pipeline import Pipeline
from cepheid.engine.stream.query_stream import QueryStream
from cepheid.engine.stream.snapshot import load_pipeline
from cepheid.errors import PatternError
from cepheid.pattern.analysis import Analysed
from cepheid.pattern.bind import Bound
from cepheid.pattern.tree import Automaton, Fires, Output


def fitting(old: CompiledProgram, new: CompiledProgram) -> list[bool]:
    """Of each query whether its state is one of the other query too."""
    return [_fits(*pair) for pair in zip(old.queries, new.queries, strict=True)]


def _fits(old: Analysed, new: Analysed) -> bool:
    if isinstance(old.query.pattern, Automaton) and isinstance(new.query.pattern, Automaton):
        # Arcs may come and go, but runs know when they began only where AT END asks for it.
        return _has_end(old.query.pattern) == _has_end(new.query.pattern)
    return repr(clauses(old.query)) == repr(clauses(new.query))


def _has_end(automaton: Automaton) -> bool:
    return any(arc.fires is Fires.END for arc in automaton.arcs)


def check_again(query: Bound, name: str) -> None:
    """Refuse to go over the events again that are kept where they do not tell all that has happened."""
    why = ""
    if query.output is not Output.ALL:
        why = f"which matches OUTPUT {query.output.value} has given"
    elif query.cooldown:
        why = "which matches COOLDOWN has kept back"
    elif query.looks_back:
        why = "which events were absent before"
    if why:
        message = f"'{name}' can't have other conditions while it runs: the events that are kept don't tell {why}"
        remedy = "remove the query and add the new one under a name of its own"
        raise PatternError("CEP229", message, remedy)


def convert(state: dict[str, Any], pipeline: Pipeline, fits: Sequence[bool], now: int | None) -> None:
    """Fill the pipeline of another query with a state in memory. now: all events before this time are in it."""
    load_pipeline(state, MemorySource(), pipeline, fits)
    for query, known in zip(pipeline.queries, fits, strict=True):
        if not known:
            _go_over(query, now)


def _go_over(query: QueryStream, now: int | None) -> None:
    """Runs that are under way have all their events among those that are kept; what these give was given before."""
    stream = query.stream
    if not stream.rows or now is None:
        return
    batch = Batch(stream.codes, stream.kept, ticks(stream.schema, stream.kept), stream.base)
    batch.floor = now if stream.is_mixed else None
    query.feed(batch)
    query.settle(now)
