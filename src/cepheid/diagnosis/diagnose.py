"""A query on its events, looked at from all sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.diagnosis.arcs import follow_arcs
from cepheid.diagnosis.counting import MISSES
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.facts import Hint, Miss, Stage, nearest_of
from cepheid.diagnosis.following import BUDGET, follow
from cepheid.diagnosis.run_hints import arc_hints, change_hints, run_hints
from cepheid.diagnosis.sampling import EVENTS, sample_of
from cepheid.diagnosis.what_if import Count, alone, of_one_event, what_if
from cepheid.diagnosis.whole_columns import Columns, absent_types, column_hints, range_of
from cepheid.diagnosis.written import text_of
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.errors import CepheidWarning
from cepheid.pattern.tree import Query
from cepheid.values.rows import Event, read_events
from cepheid.values.scope import sight_of

_ORDER = (
    *("CEP032", "CEP009", "CEP005", "CEP028", "CEP027", "CEP004", "CEP003", "CEP008", "CEP020", "CEP021", "CEP022"),
    *("CEP025", "CEP006", "CEP007", "CEP023", "CEP026", "CEP029", "CEP024", "CEP030", "CEP031"),
)
"""What is most likely the cause comes first: what no run can get over, then what ended them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A query of a program: as it was written, on the events that it reads. matches: how many it has."""

    name: str
    written: Query
    columns: Columns
    matches: int


def diagnose(
    parts: Sequence[Part], warnings: Iterable[CepheidWarning], count: Count, sample: int | str | None
) -> Diagnosis:
    """Diagnose each query of a program. count: how many matches another query would have."""
    hints = [Hint(one.code, one.message, one.remedy) for one in warnings]
    stages: list[Stage] = []
    misses: list[Miss] = []
    begun = followed = sampled = 0
    made = {part.name for part in parts[:-1]}
    for part in parts:
        works = bool(part.matches and not parts[-1].matches)  # what is wrong is in another query of the program
        hints += [hint for hint in column_hints(part.columns) if _is_told(hint, part is parts[0], works)]
        query = part.columns.query
        events = _events(part.columns, EVENTS if sample == "auto" else _number(sample))
        budget = BUDGET if sample == "auto" else None
        if query.automaton is not None or query.algebra is not None:
            arcs, read = follow_arcs(part.name, query, events, budget)
            stages += arcs.stages()
            misses += arcs.kept
            sampled += read
            hints += arc_hints(arcs) if not part.matches else ()
            continue
        counted, runs = follow(part.name, query, events, budget)
        stages += counted.stages()
        misses += () if works else counted.misses()
        begun, followed, sampled = begun + runs.begun, followed + runs.followed, sampled + len(events)
        if not part.matches:
            hints += absent_types(part.columns, made)
            hints += _unseen(part, events)
            hints += _of_components(part, count)
            hints += run_hints(counted, {event.row: event for event in events})
    last = parts[-1]
    patterns = last.columns.query.automaton is None and last.columns.query.algebra is None
    empty = len(parts) == 1 and patterns and not last.matches and last.columns.table.num_rows
    changes = what_if(last.written, count) if empty else ()
    hints += change_hints(changes, hints)
    return Diagnosis(
        parts[0].columns.seen(),
        last.matches,
        tuple(stages),
        _in_order(hints),
        nearest_of(misses, MISSES),
        changes,
        begun,
        followed,
        sampled,
        count.events,
    )


def _is_told(hint: Hint, first: bool, works: bool) -> bool:
    """A query that reads what another one gives has no events when that one has no matches: the cause is there."""
    return not (hint.code == "CEP032" and not first) and not (hint.code == "CEP023" and works)


def _events(columns: Columns, most: int | None) -> list[Event]:
    """Some events in their order, with their rows in the whole table."""
    rows = sample_of(columns, most)
    if rows is None:
        return read_events(columns.table, columns.query.schema)
    some = read_events(columns.table.take(from_numpy(rows)), columns.query.schema)
    return [replace(event, row=int(rows[event.row])) for event in some]


def _number(sample: int | str | None) -> int | None:
    return sample if isinstance(sample, int) else None


def _unseen(part: Part, events: Sequence[Event]) -> Iterator[Hint]:
    """FROM lets nothing through."""
    if part.columns.query.scope is None or not events:
        return
    sees = sight_of(part.columns.query)
    if not any(map(sees, events)):
        condition = part.written.sees
        said = "its types" if condition is None else text_of(condition)
        yield Hint("CEP027", f"FROM lets none of {len(events):,} events through: {said}", "correct the filter of FROM")


def _of_components(part: Part, count: Count) -> Iterator[Hint]:
    """A component that no event of its type can be, by the conditions on it alone."""
    query, types = part.columns.query, part.columns.seen().types
    for component in query.positive:
        if types and component.types and not any(types.get(name) for name in component.types):
            continue
        own = [(c, of_one_event(component, c)) for c in part.written.where]
        single = [(condition, found) for condition, found in own if found is not None]
        if not single or count(alone(component, [found for _, found in single], part.written)) != 0:
            continue
        failed = [condition for condition, found in single if count(alone(component, [found], part.written)) == 0]
        told = failed[:1] or [condition for condition, _ in single]
        kind = "|".join(component.types) or "event"
        passes = f"passes {' AND '.join(map(text_of, told))}"
        message = f"no {kind} {passes}, so that none can be {component.variable}"
        if count.events < part.columns.table.num_rows:
            message = f"no {kind} in the {count.events:,} events that were tried {passes}"
        seen = range_of(part.columns, component, told[0]) if len(told) == 1 else ""
        yield Hint("CEP022", message, seen or "correct the condition")


def _in_order(hints: Sequence[Hint]) -> tuple[Hint, ...]:
    """The likeliest first. What another hint says more exactly of the same condition is left out."""
    found = list({hint.code + hint.message: hint for hint in reversed(hints)}.values())[::-1]
    codes = {hint.code for hint in found}
    if codes & {"CEP020", "CEP021"} or "CEP004" in codes:
        found = [hint for hint in found if hint.code not in ("CEP022", "CEP030")]
    elif "CEP022" in codes:
        found = [hint for hint in found if hint.code != "CEP030"]
    return tuple(sorted(found, key=lambda hint: _ORDER.index(hint.code) if hint.code in _ORDER else len(_ORDER)))
