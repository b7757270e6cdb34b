"""What `Query` asks `cepheid.diagnosis`: why, why not, and step by step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.api.each_query import run_each
from cepheid.api.observed import observe
from cepheid.diagnosis.diagnose import Part, diagnose
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.sampling import EVENTS, sample_of
from cepheid.diagnosis.trace import Trace, Traced, make_trace
from cepheid.diagnosis.what_if import Count
from cepheid.diagnosis.whole_columns import Columns
from cepheid.diagnosis.why_not import WhyNot, why_not
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.matches import Matches
from cepheid.errors import CepheidError, CepheidWarning, UsageError
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.bind import Bound
from cepheid.pattern.schema import make_schema
from cepheid.pattern.tree import Automaton, Program
from cepheid.pattern.tree import Query as Written

if TYPE_CHECKING:
    from cepheid.api.query import Query

_COUNTED = 200_000  # events of which the matches of a changed query are counted; of more it is a sample


def trace(query: Query, table: pa.Table, limit: int | None) -> Trace:
    """The steps of each query of a program."""
    return make_trace(parts_of(query, table), limit)


def diagnosis(query: Query, table: pa.Table, sample: int | str | None) -> Diagnosis:
    """What a query does on some events."""
    compiled = query.compiled
    schema = make_schema(table.schema, compiled.roles)
    times = ticks(schema, table)
    seen = observe(compiled, schema, table, times, whole=True)
    told = query.surprises
    found = [*told.of_query(), *told.of_schema(schema), *told.of_events(schema, seen)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        matches = _matches(query, table)
        parts = [
            Part(part.name, analysed.query, Columns(part.query, part.table, ticks(part.query.schema, part.table)), 0)
            for part, analysed in zip(parts_of(query, table, runs=False), compiled.queries, strict=True)
        ]
        counts = [matches.outputs.get(part.name, matches).count() for part in parts]
        counted = [replace(part, matches=number) for part, number in zip(parts, counts, strict=True)]
        return diagnose(counted, found, _counter(query, table, parts[0].columns), sample)


def _counter(query: Query, table: pa.Table, columns: Columns) -> Count:
    """Counts the matches that the query would have if it were another one."""
    few = table if table.num_rows <= _COUNTED else table.take(pa.array(sample_of(columns, EVENTS)))

    def count(changed: Written) -> int | None:
        try:
            return _matches(query.alike(Program((changed,))), few, plan="automaton").count()
        except CepheidError:
            return None  # it is no query like that

    return Count(few.num_rows, count)


def _matches(query: Query, table: pa.Table, plan: str = "auto") -> Matches:
    found: Matches = query.match(table, plan=plan, progress=False)
    return found


def read_sample(sample: object) -> int | str | None:
    """How many events the runs are followed on."""
    if sample is None or sample == "auto":
        return None if sample is None else "auto"
    if isinstance(sample, int) and not isinstance(sample, bool) and sample > 0:
        return sample
    raise UsageError("CEP603", f"sample can't be {sample!r}", "pass a number of events, 'auto', or None for all")


def refusal_of(query: Query, table: pa.Table, rows: Mapping[str, object]) -> WhyNot:
    """Why some rows are not a match."""
    if len(query.compiled.queries) > 1:
        message = "why_not is about one query, and this is a program of several"
        raise UsageError("CEP617", message, "make a Query of the one that is meant")
    part = parts_of(query, table)[0]
    return why_not(part.query, query.compiled.queries[0].query, part.table, rows)


def parts_of(query: Query, table: pa.Table, *, runs: bool = True) -> list[Traced]:
    """Each query of a program with the events that it reads, which may be what another one gives.

    runs: whether they must be queries whose runs are told, and not arcs.
    """
    compiled = query.compiled
    for analysed in compiled.queries if len(compiled.queries) > 1 or runs else ():
        if isinstance(analysed.query.pattern, Automaton | Algebra):
            kind = "an automaton" if isinstance(analysed.query.pattern, Automaton) else "a CESAR expression"
            message = f"{kind} has no runs that can be told one by one, as those of a PATTERN can"
            raise UsageError("CEP617", message, "diagnose it alone, or look at its arcs in explain(events)")
    schema = make_schema(table.schema, compiled.roles)
    if len(compiled.queries) == 1:
        return [Traced(compiled.names[0], query.bind(schema)[0], table)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        made = _matches(query, table).outputs
    parts: list[Traced] = []

    def keep(name: str, bound: Bound, own: pa.Table) -> Matches:
        parts.append(Traced(name, bound, own))
        return made[name]

    run_each(compiled, table, schema, keep)
    return parts
