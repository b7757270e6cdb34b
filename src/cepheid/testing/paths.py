"""Execution paths: every way to run a query must give what the case says."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from cepheid.api import Query
from cepheid.testing.cases import Case
from cepheid.testing.outcomes import Outcome
from cepheid.testing.runs import Rows, run_case


@dataclass(frozen=True, slots=True)
class Path:
    """A way to run a case. Another engine plugs in as `Path("engine", partial(run_case, match=…))`."""

    name: str
    run: Callable[[Case], Outcome]


def run_reference(case: Case) -> Outcome:
    """The reference interpreter on the events in the order of the case."""
    return run_case(case, _reference)


def run_shuffled(case: Case) -> Outcome:
    """The reference on the events in other orders: arrival breaks no tie (S1). The first that is wrong, if any."""
    outcomes = [run_case(case, partial(_shuffled, seed)) for seed in range(3)]
    return next((o for o in outcomes if o != case.expected), outcomes[0])


def run_dictionary(case: Case) -> Outcome:
    """The reference on strings in dictionary encoding."""
    return run_case(case, _encoded)


def _reference(query: Query, table: pa.Table) -> Rows:
    return query.match(table, engine="reference").to_pylist()


def _shuffled(seed: int, query: Query, table: pa.Table) -> Rows:
    order = list(range(table.num_rows))
    order.reverse() if seed == 0 else random.Random(seed).shuffle(order)
    return _reference(query, table.take(pa.array(order, pa.int64())))


def _encoded(query: Query, table: pa.Table) -> Rows:
    for k, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(k, field.name, table.column(k).dictionary_encode())
    return _reference(query, table)


REFERENCE = Path("reference", run_reference)
PATHS = (REFERENCE, Path("shuffled", run_shuffled), Path("arrow_dictionary", run_dictionary))
