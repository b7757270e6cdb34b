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

Rows = Sequence[Mapping[str, object]]
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


class Changed(Query):
    """A query on insertions and retractions, in `match` and in its sessions."""

    def __init__(self, query: Query, op: str) -> None:
        vars(self).update(vars(query))
        self._op = op

    def match(self, events: Any, **options: Any) -> Any:
        """Like the method of the query."""
        return super().match(events, **{"op": self._op, **options})

    def session(self, **options: Any) -> Any:
        """Like the method of the query."""
        return super().session(**{"op": self._op, **options})


def with_numbers(case: Case, table: pa.Table) -> pa.Table:
    """The events with their numbers. What is retracted has the number of what was inserted: it is equal to that."""
    numbers = list(range(1, table.num_rows + 1))
    if case.op is not None and case.op in table.column_names:
        rows = map(to_json, table.drop_columns([case.op]).to_pylist())
        first: dict[str, int] = {}
        numbers = [first.setdefault(row, number) for row, number in zip(rows, numbers, strict=True)]
    return table.append_column(_ROW, pa.array(numbers, pa.int64()))


def has_algebra(query: Query) -> bool:
    """Whether there is a CESAR expression, which would see a column of numbers as an attribute of the events."""
    return any(analysed.names is not None for analysed in query.compiled.queries)


def make_query(case: Case) -> Query:
    """The query of a case; raises CepheidError if it is refused."""
    query = Query(case.query, **case.options)
    return query if case.op is None else Changed(query, case.op)


def _lines(case: Case, match: Matcher) -> Iterator[str]:
    query = make_query(case)
    if case.events is None:
        return
    matches = match(query, case.events)
    if has_algebra(query):
        yield from map(to_json, matches)
        return
    # Errors and RETURN columns must not see the column of row numbers. It is the last column, so that it does not
    # change how the content of rows breaks ties (S1).
    indexed = match(query, with_numbers(case, case.events))
    if query.compiled.queries[-1].query.returns or not any(map(_events, indexed)):
        yield from map(to_json, matches)
        return
    if [to_json(_without_numbers(m)) for m in indexed] != [to_json(dict(m)) for m in matches]:
        raise AssertionError("a column that the query does not use changes the matches")
    events = [{name: value for name, value in row.items() if name != case.op} for row in case.events.to_pylist()]
    for m in indexed:
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


def _without_numbers(value: object) -> Any:
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
