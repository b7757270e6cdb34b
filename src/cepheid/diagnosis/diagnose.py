"""A query on its events, looked at from all sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cepheid.diagnosis.arcs import ARCS, EDGES, ByArcs, follow_arcs
from cepheid.diagnosis.column_hints import absent_types, column_hints, kind_of, needed_types
from cepheid.diagnosis.counting import MISSES, Counting
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.facts import Change, Hint, Miss, Stage, nearest_of
from cepheid.diagnosis.following import BUDGET, follow
from cepheid.diagnosis.key_columns import other_keys
from cepheid.diagnosis.other_times import other_times
from cepheid.diagnosis.ranking import in_order, is_cause
from cepheid.diagnosis.run_hints import arc_hints, run_hints
from cepheid.diagnosis.sampling import EVENTS, sample_of
from cepheid.diagnosis.surplus import surplus_hints
from cepheid.diagnosis.time_conditions import time_hints
from cepheid.diagnosis.value_ranges import range_of
from cepheid.diagnosis.what_if import Count, Known, alone, of_one_event, what_if
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.diagnosis.written import text_of
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.errors import CepheidWarning
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Language, QueryTree
from cepheid.values.rows import Event, read_events
from cepheid.values.scope import sight_of

Check = Callable[[], None]
"""Called now and then while a diagnosis runs; raises to stop it."""


@dataclass(frozen=True, slots=True)
class ProgramQuery:
    """A query of a program: as it was written, on the events that it reads.

    matches: how many it has; exact: else more than that. count: how many another query would have on these events.
    """

    name: str
    written: QueryTree
    columns: QueryColumns
    matches: int
    exact: bool
    count: Count


def diagnose(
    parts: Sequence[ProgramQuery],
    warnings: Iterable[CepheidWarning],
    sample: int | str | None,
    check: Check = lambda: None,
) -> Diagnosis:
    """Diagnose each query of a program."""
    findings = _Findings([Hint(warning.code, warning.message, warning.remedy) for warning in warnings])
    for part in parts:
        check()
        of_columns = column_hints(part.columns, part.matches)
        findings.hints += [hint for hint in of_columns if not (hint.code == "CEP032" and part is not parts[0])]
        events = _events(part.columns, EVENTS if sample == "auto" else _number(sample))
        check()
        budget = BUDGET if sample == "auto" else None
        _BY_LANGUAGE[part.columns.query.language](findings, parts, part, _Followable(events, budget, check))
    return Diagnosis(
        parts[0].columns.seen,
        parts[-1].matches,
        tuple(findings.stages),
        in_order(findings.hints, findings.of_runs),
        nearest_of(findings.misses, MISSES),
        findings.changes,
        findings.begun,
        findings.followed,
        findings.sampled,
        parts[0].count.events,
        parts[-1].exact,
    )


@dataclass(slots=True)
class _Findings:
    """What is found out, query by query. begun, followed: runs. sampled: events that were read."""

    hints: list[Hint]
    of_runs: list[Hint] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    changes: tuple[Change, ...] = ()
    begun: int = 0
    followed: int = 0
    sampled: int = 0


@dataclass(frozen=True, slots=True)
class _Followable:
    """The events that runs are followed on, and after how many steps that ends."""

    events: list[Event]
    budget: int | None
    check: Check


def _diagnose_arcs(
    by_arcs: ByArcs,
    findings: _Findings,
    parts: Sequence[ProgramQuery],
    part: ProgramQuery,
    followable: _Followable,
) -> None:
    arcs, read = follow_arcs(part.name, part.columns.query, followable.events, followable.budget, by_arcs)
    findings.stages += arcs.stages()
    findings.misses += arcs.kept
    findings.sampled += read
    findings.of_runs += arc_hints(arcs) if not part.matches else ()


def _diagnose_runs(
    findings: _Findings, parts: Sequence[ProgramQuery], part: ProgramQuery, followable: _Followable
) -> None:
    query, events, check = part.columns.query, followable.events, followable.check
    works = bool(part.matches and not parts[-1].matches)  # what is wrong is in another query of the program
    counted, runs = follow(part.name, query, events, followable.budget, check=check)
    findings.stages += counted.stages()
    findings.misses += () if works else counted.misses()
    findings.begun += runs.begun
    findings.followed += runs.followed
    findings.sampled += len(events)
    check()
    hints = findings.hints
    if part.matches:
        hints += () if works else surplus_hints(part.written, counted, part.columns, part.matches, part.count)
        return
    hints += absent_types(part.columns, {other.name for other in parts[:-1]})
    hints += _unseen(part, events)
    hints += time_hints(query)
    hints += _of_components(part, events, check)
    if len(parts) == 1 and part.columns.table.num_rows:
        findings.changes = what_if(part.written, part.count, _known(part, counted, hints))
    by_row = {event.row: event for event in events}
    findings.of_runs += run_hints(counted, by_row, findings.changes, part.columns.gap, part.count.events)


_BY_LANGUAGE: Mapping[Language, Callable[[_Findings, Sequence[ProgramQuery], ProgramQuery, _Followable], None]] = {
    Language.PATTERN: _diagnose_runs,
    Language.AUTOMATON: partial(_diagnose_arcs, ARCS),
    Language.CESAR: partial(_diagnose_arcs, EDGES),
}


def _known(part: ProgramQuery, counted: Counting, hints: Sequence[Hint]) -> Known:
    """What the changes that are tried follow from. Where a cause is known, only its condition is left out."""
    causes = [hint for hint in hints if is_cause(hint)]
    if causes:
        conditions = [c for c in part.written.where if not isinstance(c, ex.SameValue)]
        return Known(tuple(c for c in conditions if any(text_of(c) in hint.message for hint in causes)))
    span = part.columns.seen.span
    length = 0 if span is None else span[1] - span[0]
    keys, times = partial(_other_keys, part.columns), partial(other_times, part.columns)
    return Known(None, counted.longest, length, keys, times)


def _other_keys(columns: QueryColumns) -> list[str]:
    query, needed = columns.query, needed_types(columns)
    names = [test.attribute for test in query.same] + list(query.partition_by)
    return other_keys(columns, names, needed) if names and needed is not None else []


def _events(columns: QueryColumns, most: int | None) -> list[Event]:
    """Some events in their order, with their rows in the whole table."""
    rows = sample_of(columns, most)
    table = columns.table if rows is None else columns.table.take(from_numpy(rows))
    some = read_events(table, columns.query.schema)
    numbers = columns.numbers if rows is None or columns.numbers is None else columns.numbers[rows]
    numbers = rows if numbers is None else numbers
    return some if numbers is None else [replace(event, row=int(numbers[event.row])) for event in some]


def _number(sample: int | str | None) -> int | None:
    return sample if isinstance(sample, int) else None


def _unseen(part: ProgramQuery, events: Sequence[Event]) -> Iterator[Hint]:
    """Report that FROM sees none of the events."""
    if part.columns.query.scope is None or not events:
        return
    sees = sight_of(part.columns.query)
    if not any(map(sees, events)):
        condition = part.written.sees
        said = "its types" if condition is None else text_of(condition)
        yield Hint("CEP027", f"FROM lets none of {len(events):,} events through: {said}", "correct the filter of FROM")


def _of_components(part: ProgramQuery, events: Sequence[Event], check: Check) -> Iterator[Hint]:
    """A component that no event of its type can be, by the conditions on it alone."""
    query, types, count = part.columns.query, part.columns.types, part.count
    for component in query.positive:
        if types and component.types and not any(types.get(name) for name in component.types):
            continue
        conditions = [(c, of_one_event(component, c)) for c in part.written.where]
        single = [(condition, found) for condition, found in conditions if found is not None]
        check()
        if not single or count(alone(component, [found for _, found in single], part.written)) != 0:
            continue
        failed = [condition for condition, found in single if count(alone(component, [found], part.written)) == 0]
        told = failed[:1] or [condition for condition, _ in single]
        kind = kind_of(component)
        passes = f"passes {' AND '.join(map(text_of, told))}"
        message = f"no {kind} {passes}, so that none can be {component.variable}"
        if count.events < part.columns.table.num_rows:
            message = f"no {kind} in the {count.events:,} events that were tried {passes}"
        bound = {text_of(condition): condition for condition in query.conditions}
        seen = range_of(part.columns, component, bound.get(text_of(told[0]), told[0]), events) if len(told) == 1 else ""
        both = (
            "each of them is TRUE for some events, but never all of them" if len(told) > 1 else "correct the condition"
        )
        yield Hint("CEP022", message, seen or both)
