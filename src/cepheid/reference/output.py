"""S9 and S12: equal matches are one, their order, and which of them are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheid.pattern.bind import Bound
from cepheid.pattern.tree import Output, Ties
from cepheid.reference.evaluate import Compiler
from cepheid.reference.runs import Run
from cepheid.reference.stream import Event
from cepheid.reference.values import Value, group_key


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the rows of each variable in the table as it was given, and the values of RETURN."""

    start: int  # the row of the first event
    end: int
    rows: Mapping[str, tuple[int, ...]]
    values: tuple[Value, ...] = ()


def arrange(query: Bound, runs: Iterable[Run]) -> list[Run]:
    """Complete runs as matches: without repetition, ordered by end, start, then positions (S9)."""
    variables = [component.variable for component in query.positive]

    def shape(run: Run) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(e.position for e in run.bindings.get(v, ())) for v in variables)

    def rank(run: Run) -> tuple[object, ...]:
        start, end = run.selected[0], run.selected[-1]
        return _at(query, end), _at(query, start), tuple(e.position for e in run.selected), shape(run)

    unique = {shape(run): run for run in runs}
    return sorted(unique.values(), key=rank)


def _at(query: Bound, event: Event) -> int:
    return event.time if query.ties is Ties.SIMULTANEOUS else event.position


def choose(query: Bound, runs: Sequence[Run]) -> list[Run]:
    """HAVING, then NON_OVERLAP: per partition, what started at or before the end of a chosen match is dropped."""
    if query.having is not None:
        having = Compiler(query).condition(query.having)
        runs = [run for run in runs if having(run.bindings)]
    if query.output is Output.ALL:
        return list(runs)
    chosen: list[Run] = []
    busy_until: dict[tuple[Value, ...], int] = {}
    for run in runs:
        first = run.selected[0]
        partition = tuple(group_key(first.values[name]) for name in query.partition_by), *map(group_key, run.key)
        start, end = _at(query, first), _at(query, run.selected[-1])
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
            start=run.selected[0].row,
            end=run.selected[-1].row,
            rows={variable: tuple(e.row for e in events) for variable, events in run.bindings.items()},
            values=tuple(column(run.bindings) for column in columns),
        )
        for run in runs
    ]
