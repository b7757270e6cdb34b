"""S9 and S12: equal matches are one, their order, and which of them are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepheid.pattern.bind import Bound
from cepheid.pattern.tree import Output, Ties
from cepheid.reference.runs import Run
from cepheid.values.evaluate import Compiler
from cepheid.values.keys import group_key
from cepheid.values.match import Match
from cepheid.values.rows import Event
from cepheid.values.value import Value


def arrange(query: Bound, runs: Iterable[Run]) -> list[Run]:
    """Complete runs as matches: without repetition, ordered by end, start, then positions (S9)."""
    variables = [component.variable for component in query.positive]

    def shape(run: Run) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(e.position for e in run.bindings.all.get(v, ())) for v in variables)

    def rank(run: Run) -> tuple[object, ...]:
        start, end = run.selected[0], run.selected[-1]
        reached = len(run.bindings.all)  # an array that was passed over rather than one that is unbound
        return _at(query, end), _at(query, start), tuple(e.position for e in run.selected), shape(run), -reached

    unique: dict[tuple[tuple[int, ...], ...], Run] = {}
    for run in sorted(runs, key=rank):
        unique.setdefault(shape(run), run)
    return list(unique.values())


def _at(query: Bound, event: Event) -> int:
    return event.time if query.ties is Ties.SIMULTANEOUS else event.position


def end_of(query: Bound, run: Run) -> int:
    """Where a complete run ends, as the order of matches counts it."""
    return _at(query, run.selected[-1])


def _interval(query: Bound, first: Event, last: Event) -> tuple[int, int]:
    """From where to where a match reaches; a composite event reaches back to its start (S13)."""
    if query.schema.start is not None:
        return first.start, last.time
    return _at(query, first), _at(query, last)


Busy = dict[tuple[Value, ...], int]
"""Until when each partition is taken by a match that was given (S12)."""


def choose(query: Bound, runs: Sequence[Run], busy: Busy | None = None) -> list[Run]:
    """HAVING, then NON_OVERLAP: per partition, what started at or before the end of a chosen match is dropped."""
    if query.having is not None:
        having = Compiler(query).condition(query.having)
        runs = [run for run in runs if having(run.bindings)]
    if query.output is Output.ALL:
        return list(runs)
    chosen: list[Run] = []
    busy_until: Busy = {} if busy is None else busy
    for run in runs:
        first = run.selected[0]
        partition = tuple(group_key(first.values[name]) for name in query.partition_by), *map(group_key, run.key)
        start, end = _interval(query, first, run.selected[-1])
        if start > busy_until.get(partition, start - 1):
            chosen.append(run)
            busy_until[partition] = end
    return chosen


def results(query: Bound, runs: Sequence[Run]) -> list[Match]:
    """The rows and RETURN values of matches."""
    compiler = Compiler(query)
    columns = [compiler.result(r.expression) for r in query.returns]
    return [
        Match(
            selected=tuple(event.row for event in run.selected),
            variables=tuple(query.layout.places[m.target].variable for m in run.path if m.target is not None),
            rows={variable: tuple(e.row for e in events) for variable, events in run.bindings.all.items()},
            values=tuple(column(run.bindings) for column in columns),
        )
        for run in runs
    ]
