"""A query that is run for a diagnosis: for some processor time at most, or on the first events only."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheid.diagnosis.diagnose import Check
from cepheid.diagnosis.sampling import sample_of
from cepheid.diagnosis.what_if import Count
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.engine.matches.matches import Matches, count_some
from cepheid.engine.progress import Progress
from cepheid.errors import CepheidError
from cepheid.pattern.tree.nodes import Program, QueryTree

if TYPE_CHECKING:
    from cepheid.api.query import Query

FEWER = 8
"""The first of so many parts of the events are taken, where all of them are too many."""
_COUNTED = 100_000  # events of which the matches of a changed query are counted; of more it is a sample
_PATIENCE = 0.5  # seconds for a changed query: what takes longer is tried on fewer events
_COUNTING = 0.3  # seconds for the number of its matches


class TooLongError(Exception):
    """Raised when a query takes too long: of a changed one nothing is said then. reached: of so many events in all."""

    def __init__(self, reached: int, total: int) -> None:
        super().__init__()
        self.reached, self.total = reached, total


def patient(check: Check, seconds: float) -> Callable[[Progress], None]:
    """Raises when some time is over: of the processor, so that a busy machine gets the same answer."""
    end, over = time.thread_time() + seconds, False

    def checked(progress: Progress) -> None:
        nonlocal over
        check()
        before, over = over, progress.events >= progress.total  # what is told after that is of HAVING
        if time.thread_time() > end and (before or not over):
            raise TooLongError(progress.events, progress.total)

    return checked


def first_events(
    table: pa.Table, times: np.ndarray, most: int, numbers: np.ndarray | None = None
) -> tuple[pa.Table, np.ndarray]:
    """The first events by their time, and the numbers of their rows. numbers: of the rows of this table."""
    rows = np.sort(np.argsort(times, kind="stable")[: max(1, most)])
    return table.take(pa.array(rows)), rows if numbers is None else numbers[rows]


def counter(query: Query, table: pa.Table, columns: QueryColumns, check: Check) -> Count:
    """Counts the matches that the query would have if it were another one."""
    rows = sample_of(columns, _COUNTED)
    few = table if rows is None else table.take(pa.array(rows))
    times = columns.times if rows is None else columns.times[rows]

    def tried(other: Query, events: pa.Table) -> tuple[int, bool]:
        matches = match_while(other, events, patient(check, _PATIENCE), plan="automaton")
        return count_some(matches, _COUNTING)

    def count(changed: QueryTree) -> tuple[int, bool] | None:
        try:
            other = query.alike(Program((changed,)))
            with suppress(TooLongError):
                return tried(other, few)
            number, _ = tried(other, first_events(few, times, few.num_rows // FEWER)[0])
            return (number, False) if number else None
        except (CepheidError, TooLongError):
            return None  # it is no query like that, or takes too long on these as well

    def count_at(column: pa.ChunkedArray) -> tuple[int, bool] | None:
        name = query.compiled.roles.time
        at = few.column_names.index(name)
        try:
            return tried(query, few.set_column(at, name, column if rows is None else column.take(pa.array(rows))))
        except (CepheidError, TooLongError):
            return None

    return Count(few.num_rows, count, count_at)


def match_while(query: Query, table: pa.Table, check: Callable[[Progress], None], plan: str = "auto") -> Matches:
    """Match while a check allows it. check: called with the progress; what it raises ends the run."""
    matches: Matches = query.match(table, plan=plan, progress=check)
    return matches
