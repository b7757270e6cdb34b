"""S9, S12 and S24: equal matches are one, their order, and which of them are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Output, Ties
from cepheid.reference.partition import UNSET
from cepheid.reference.runs import Run
from cepheid.reference.watching import SILENT, Dropped, Watcher
from cepheid.values.evaluate import Compiler
from cepheid.values.keys import group_key
from cepheid.values.match import Match
from cepheid.values.rows import Event
from cepheid.values.value import Value


def arrange(query: Runnable, runs: Iterable[Run], watcher: Watcher = SILENT) -> list[Run]:
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
        first = unique.setdefault(shape(run), run)
        if first is not run:
            watcher.dropped(run, Dropped.EQUAL, first)
    return list(unique.values())


def _at(query: Runnable, event: Event) -> int:
    return event.time if query.ties is Ties.SIMULTANEOUS else event.position


def start_of(query: Runnable, run: Run) -> int:
    """Where a run starts, as the order of matches counts it."""
    return _at(query, run.selected[0])


def end_of(query: Runnable, run: Run) -> int:
    """Where a complete run ends, as the order of matches counts it."""
    return _at(query, run.selected[-1])


def _interval(query: Runnable, first: Event, last: Event) -> tuple[int, int]:
    """From where to where a match reaches; a composite event reaches back to its start (S13)."""
    if query.schema.start is not None:
        return first.start, last.time
    return _at(query, first), _at(query, last)


@dataclass(frozen=True, slots=True)
class TakenSpan:
    """Until where a partition is taken by the match that was given last: its end, and from when on one may start."""

    end: int
    free: int


EVER = -(2**63)
"""A time before all others."""
UNKNOWN = ("unknown", None)
"""Stands for the value of an `[attr]` that no event of a run has."""
Partition = tuple[Value, ...]
Busy = dict[Partition, TakenSpan]


def partition_of(query: Runnable, run: Run) -> Partition:
    """The partition of a complete run: PARTITION BY and `[attr]`."""
    first = run.selected[0]
    agreed = (UNKNOWN if value is UNSET else group_key(value) for value in run.key)
    return tuple(group_key(first.values[name]) for name in query.partition_by), *agreed


def may_start(query: Runnable, run: Run, taken: TakenSpan | None) -> bool:
    """Whether a run starts after the last match that was given, and when its cooldown is over."""
    first = run.selected[0]
    start, _ = _interval(query, first, first)
    return taken is None or (start > taken.end and (first.time if query.schema.start is None else start) >= taken.free)


def take(query: Runnable, run: Run) -> TakenSpan:
    """What a partition is taken by when a run is given."""
    last = run.selected[-1]
    return TakenSpan(_interval(query, last, last)[1], last.time + query.cooldown)


def pass_having(query: Runnable, runs: Sequence[Run], watcher: Watcher = SILENT) -> list[Run]:
    """The complete runs that HAVING lets pass."""
    if query.having is None:
        return list(runs)
    having = Compiler(query).condition(query.having)
    passed = []
    for run in runs:
        if having(run.bindings):
            passed.append(run)
        else:
            watcher.dropped(run, Dropped.HAVING)
    return passed


def choose(query: Runnable, runs: Sequence[Run], busy: Busy | None = None, watcher: Watcher = SILENT) -> list[Run]:
    """HAVING, then NON_OVERLAP or LONGEST: per partition, those that start after the end of the last one taken."""
    runs = pass_having(query, runs, watcher)
    if query.output is Output.ALL:
        return runs
    if query.output is Output.LONGEST:
        runs = sorted(runs, key=lambda run: preference(query, run))
    busy = {} if busy is None else busy
    chosen: list[Run] = []
    last_of_partition: dict[Partition, Run] = {}
    for run in runs:
        partition = partition_of(query, run)
        if may_start(query, run, busy.get(partition)):
            chosen.append(run)
            busy[partition], last_of_partition[partition] = take(query, run), run
        else:
            before = replace(busy[partition], free=EVER)
            cools = may_start(query, run, before)
            watcher.dropped(run, Dropped.COOLDOWN if cools else Dropped.OVERLAP, last_of_partition.get(partition))
    return arrange(query, chosen)


def preference(query: Runnable, run: Run) -> tuple[int, int]:
    """S24: the earliest start, then the latest end; what follows is the order of S9."""
    return start_of(query, run), -end_of(query, run)


def results(query: Runnable, runs: Sequence[Run]) -> list[Match]:
    """The rows and RETURN values of matches."""
    compiler = Compiler(query, output=True)
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
