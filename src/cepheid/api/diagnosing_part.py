"""The counts of a diagnosis of one part of a stream, whose keys no other part has: such parts can be added."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.api.diagnosing import parts_of
from cepheid.diagnosis.counting import MISSES
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.facts import Miss, Stage, nearest_of
from cepheid.diagnosis.part_counts import count_part
from cepheid.diagnosis.tracing import read
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.engine.encoding.times import ticks
from cepheid.engine.matches.matches import Matches
from cepheid.errors import CepheidWarning

if TYPE_CHECKING:
    from cepheid.api.query import Query


def diagnose_part(query: Query, table: pa.Table, last: int) -> Diagnosis:
    """How far all runs of a part come, without hints. last: the time of the last event of all parts, in nanoseconds."""
    stages: list[Stage] = []
    misses: list[Miss] = []
    begun = followed = sampled = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        matches: Matches = query.match(table, progress=False)
        count = matches.count()
        parts = parts_of(query, table, matches)
    for part in parts:
        events = read(part.query, part.table)
        counts = count_part(part.name, part.query, events, last if part.table is table else None)
        stages += counts.stages
        misses += counts.misses
        begun, followed, sampled = begun + counts.begun, followed + counts.followed, sampled + counts.sampled
    first = parts[0]
    seen = QueryColumns(first.query, first.table, ticks(first.query.schema, first.table)).seen
    return Diagnosis(seen, count, tuple(stages), (), nearest_of(misses, MISSES), (), begun, followed, sampled, tried=0)
