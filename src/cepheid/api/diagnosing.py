"""What `Query` asks `cepheid.diagnosis`: why, why not, and step by step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.api.each_query import run_each
from cepheid.api.trying import FEWER, TooLongError, counter, first_events, match_while, patient
from cepheid.diagnosis.diagnose import Check, ProgramQuery, diagnose
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.edge_steps import results
from cepheid.diagnosis.expected import WhyNot
from cepheid.diagnosis.facts import Hint
from cepheid.diagnosis.trace import Trace, Traced, make_trace
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.diagnosis.why_not import check_rows, why_not
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.graph_matches import TOO_MANY
from cepheid.engine.matches.made_matches import made_matches
from cepheid.engine.matches.matches import Matches, count_some
from cepheid.errors import CepheidWarning, EvaluationError, UsageError
from cepheid.front.runnable import Runnable
from cepheid.pattern.algebra.flow import is_hidden
from cepheid.pattern.binding.schema import make_schema

if TYPE_CHECKING:
    from cepheid.api.query import Query

_OWN_PATIENCE = 5.0  # seconds for the query itself: what takes longer is diagnosed on fewer events
_COUNTING = 3.0  # seconds for the number of its matches
_LONG = "CEP038"


def trace(query: Query, table: pa.Table, limit: int | None) -> Trace:
    """The steps of each query of a program."""
    return make_trace(parts_of(query, table), limit)


def diagnosis(
    query: Query,
    table: pa.Table,
    sample: int | str | None,
    check: Check = lambda: None,
    numbers: np.ndarray | None = None,
) -> Diagnosis:
    """What a query does on some events. check: is called now and then, and raises to stop.

    numbers: of the rows, where the table is a part of another one.
    """
    compiled = query.compiled
    schema = make_schema(table.schema, compiled.roles)
    times = ticks(schema, table)
    surprises = query.surprises
    seen = surprises.observe(schema, table, times, whole=True)
    hints = [*surprises.of_query(), *surprises.of_schema(schema), *surprises.of_events(schema, seen)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        try:
            matches = match_while(query, table, patient(check, inf if sample is None else _OWN_PATIENCE))
        except TooLongError as late:
            reached = late.reached * table.num_rows // late.total
            fewer = reached // 2 if reached < table.num_rows else reached // FEWER  # of HAVING it is not known how far
            first, rows = first_events(table, times, fewer, numbers)
            return _of_the_first(diagnosis(query, first, sample, check, rows), _too_long(reached, table.num_rows))
        except EvaluationError as many:
            if many.code != TOO_MANY or table.num_rows < FEWER:
                raise
            first, rows = first_events(table, times, table.num_rows // FEWER, numbers)
            return _of_the_first(diagnosis(query, first, sample, check, rows), (many.code, many.message, many.remedy))
        check()
        parts = [
            ProgramQuery(
                part.name,
                analysed.query,
                columns,
                *((0, True) if matches_of_query is None else count_some(matches_of_query, _COUNTING)),
                counter(query, part.table, columns, check),
            )
            for (part, matches_of_query), analysed in zip(_each(query, table, matches), compiled.queries, strict=True)
            for columns in [
                QueryColumns(
                    part.query,
                    part.table,
                    ticks(part.query.schema, part.table),
                    numbers if part.table is table else None,
                )
            ]
        ]
        return diagnose(parts, hints, sample, check)


def _too_long(reached: int, events: int) -> tuple[str, str, str]:
    far = (
        "it has not tested HAVING on all matches"
        if reached >= events
        else f"it got over {reached:,} of {events:,} events"
    )
    message = f"the query takes long: {far} in {_OWN_PATIENCE:g} seconds"
    return _LONG, message, "a key, a shorter window or conditions on fewer events make the query faster"


def _of_the_first(diagnosis: Diagnosis, why: tuple[str, str, str]) -> Diagnosis:
    """A diagnosis of the first events, with a hint that says so. why: its code, message and remedy."""
    code, message, remedy = why
    about = f"this diagnosis is about the first {diagnosis.seen.events:,} events; {remedy}"
    hints = [hint for hint in diagnosis.hints if hint.code not in (_LONG, TOO_MANY)]
    return replace(diagnosis, hints=(Hint(code, message, about), *hints))


def read_sample(sample: object) -> int | str | None:
    """How many events the runs are followed on."""
    if sample is None or sample == "auto":
        return None if sample is None else "auto"
    if isinstance(sample, int) and not isinstance(sample, bool) and sample > 0:
        return sample
    raise UsageError("CEP603", f"sample can't be {sample!r}", "pass a number of events, 'auto', or None for all")


def refusal_of(query: Query, table: pa.Table, rows: Mapping[str, object]) -> WhyNot:
    """Why some rows are not a match."""
    check_rows(query.parsed.queries[-1])
    if len(query.compiled.queries) > 1:
        message = "why_not is about one query, and this is a program of several"
        raise UsageError("CEP617", message, "make a Query of the one that is meant")
    part = parts_of(query, table)[0]
    return why_not(part.query, query.compiled.queries[0].query, part.table, rows)


def parts_of(query: Query, table: pa.Table, matches: Matches | None = None) -> list[Traced]:
    """Each query of a program with the events that it reads, which may be what another one gives.

    matches: those of the program, if they are known.
    """
    return [part for part, _ in _each(query, table, matches)]


def _each(query: Query, table: pa.Table, matches: Matches | None) -> list[tuple[Traced, Matches | None]]:
    """The same, with the matches of each query. Of one alone they need not be known."""
    compiled = query.compiled
    schema = make_schema(table.schema, compiled.roles)
    if len(compiled.queries) == 1:
        return [(Traced(compiled.names[0], query.bind(schema)[0], table), matches)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        made = (match_while(query, table, lambda _: None) if matches is None else matches).outputs
    parts: list[tuple[Traced, Matches | None]] = []

    def keep(name: str, bound: Runnable, events: pa.Table) -> Matches:
        matches_of_query = made_matches(bound, results(bound, events)) if is_hidden(name) else made[name]
        parts.append((Traced(name, bound, events), matches_of_query))
        return matches_of_query

    run_each(compiled, table, schema, keep)
    return parts
