"""Runs a case on a path and returns the matches as lines of an outcome."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from cepheid.api import Query
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.testing.cases import Case
from cepheid.testing.outcomes import Outcome, error_line, to_json

Rows = Sequence[Mapping[str, Any]]
Matcher = Callable[[Query, pa.Table], Rows]
"""How a path matches a table: returns what `Query.match(events).to_pylist()` does."""

_ROW = "row of the case"
_TIMES = ("match_start", "match_end")


def run_case(case: Case, match: Matcher) -> Outcome:
    """The outcome of a case with a given way to match."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CepheidWarning)
        try:
            lines, error = tuple(_lines(case, match)), False
        except CepheidError as raised:
            lines, error = (error_line(raised),), True
    return Outcome(lines, error, tuple(str(w.message) for w in caught if w.category is CepheidWarning))


def _lines(case: Case, match: Matcher) -> Iterator[str]:
    query = Query(case.query, **case.options)
    if case.events is None:
        return
    found = match(query, case.events)
    # Errors and RETURN columns must not see the column of row numbers. It is the last column, so that it does not
    # change how the content of rows breaks ties (S1).
    numbers = pa.array(range(1, case.events.num_rows + 1), pa.int64())
    numbered = match(query, case.events.append_column(_ROW, numbers))
    if query.compiled.queries[-1].query.returns or not any(map(_events, numbered)):
        yield from map(to_json, found)
        return
    if [to_json(_without_numbers(m)) for m in numbered] != [to_json(dict(m)) for m in found]:
        raise AssertionError("a column that the query does not use changes the matches")
    events = case.events.to_pylist()
    for m in numbered:
        _check_events(m, events, case.options.get("time", "ts"))
        yield " ".join(f"{name}={_binding(value)}" for name, value in m.items() if name not in _TIMES)


def _events(match: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The events of a match that are rows of the case, unlike composite events and RETURN columns."""
    values = [item for value in match.values() for item in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, Mapping) and _ROW in value]


def _binding(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return f"[{' '.join(str(event[_ROW]) for event in value)}]"
    return str(value[_ROW])


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_numbers(item) for name, item in value.items() if name != _ROW}
    return [_without_numbers(item) for item in value] if isinstance(value, list) else value


def _check_events(match: Mapping[str, Any], events: Sequence[Mapping[str, Any]], time: str) -> None:
    """Check that the events of a match are complete, and its times those of the first and last event (S11)."""
    bound = _events(match)
    for event in bound:
        if to_json(_without_numbers(event)) != to_json(events[event[_ROW] - 1]):
            raise AssertionError(f"the match has the event {event}, but the table has {events[event[_ROW] - 1]}")
    times = [event[time] for event in bound]
    if (match["match_start"], match["match_end"]) != (min(times), max(times)):
        shown = f"{match['match_start']} to {match['match_end']}"
        raise AssertionError(f"the events of a match are from {min(times)} to {max(times)}, but it says {shown}")
