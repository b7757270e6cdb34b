"""Diagnoses of batch DataFrames: of a sample on the driver, or of all events in tasks, whose counts are added."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.api import Query
from cepheid.api.hosting import Observed
from cepheid.api.hosting.diagnoses import diagnose_part, read_sample
from cepheid.diagnosis.diagnosis import Diagnosis
from cepheid.diagnosis.facts import Hint
from cepheid.errors import CepheidWarning
from cepheid.pattern.binding.schema import Schema
from cepheid.spark import batch
from cepheid.spark.collected import COLLECTED, batch_job, collect, first_events
from cepheid.spark.job import Job, make_job
from cepheid.spark.names import column_at, column_named, rename_for_python
from cepheid.spark.options import read_options
from cepheid.spark.slices import ticks_of
from cepheid.spark.worker import Batches, WorkerQuery, cached_query, conform

_SHARES = 1 << 20  # in how many shares the keys are divided, some of which are collected
_UNKNOWN_TYPE = "CEP005"
_PICKLED = "diagnosis binary"


@dataclass(frozen=True, slots=True)
class _Whole:
    """All events, and their columns. first, last: their times, as text; begin, end: the same in ticks."""

    schema: Schema
    events: int
    types: dict[str, int]
    first: str | None
    last: str | None
    begin: int
    end: int


def diagnose(df: DataFrame, query: Query, *, sample: int | str | None = "auto") -> Diagnosis:
    """Say why a query matches in a batch DataFrame, or does not.

    sample: about how many events are collected and diagnosed on the driver: all events of some keys, or the first ones
    if the query has no key. None: the tasks follow all runs. Events, types and matches are counted by Spark, as are
    keys; rows are counted in the sample, or in their task.
    """
    wanted = read_sample(sample)
    remedy = "diagnose a batch of the same data, such as q.diagnose(spark.read.parquet(…))"
    job = batch_job(df, query, "diagnosed", remedy)
    whole = _count(job)
    few = _collect(job, whole, wanted if isinstance(wanted, int) else COLLECTED)
    diagnosis = query.diagnose(few, sample="auto" if wanted is None else wanted)
    if wanted is None and whole.events:
        return _with_hints(_in_tasks(job, whole), diagnosis, query, whole)
    if few.num_rows == whole.events:
        return diagnosis
    with warnings.catch_warnings():  # what there is to say are hints
        warnings.simplefilter("ignore", CepheidWarning)
        matches = batch.match(make_job(df, query, read_options({}))).count()
    tick = whole.schema.tick
    seen = replace(
        diagnosis.seen,
        events=whole.events,
        types=whole.types,
        first=whole.first,
        last=whole.last,
        partitions=_keys(job),
        span=(whole.begin * tick, whole.end * tick),
    )
    return _with_hints(replace(diagnosis, matches=matches, seen=seen), diagnosis, query, whole)


def _count(job: Job) -> _Whole:
    """Count the events of each type, and find the first and the last time."""
    kind, time = job.query.compiled.roles.type, column_named(job.time)
    types = [] if kind is None or kind not in job.df.columns else [column_named(kind).alias("type")]
    counts = job.df.groupBy(*types).agg(
        F.count(F.lit(1)).alias("events"),
        F.min(time).alias("first"),
        F.max(time).alias("last"),
        F.min(ticks_of(job.df, job.time)).alias("begin"),
        F.max(ticks_of(job.df, job.time)).alias("end"),
    )
    rows = [row for row in counts.toArrow().to_pylist() if row["events"]]
    timed = [row for row in rows if row["first"] is not None]
    return _Whole(
        job.worker_query.schema,
        sum(row["events"] for row in rows),
        {str(row["type"]): row["events"] for row in rows if types and row["type"] is not None},
        str(min(row["first"] for row in timed)) if timed else None,
        str(max(row["last"] for row in timed)) if timed else None,
        min((row["begin"] for row in timed), default=0),
        max((row["end"] for row in timed), default=0),
    )


def _keys(job: Job) -> int:
    """Count the partitions of the query."""
    key = job.partitioning.key
    return job.df.select(*map(column_at, key)).distinct().count() if key else 1


def _collect(job: Job, whole: _Whole, most: int) -> pa.Table:
    """Collect some events: those of some keys, which a hash chooses, or the first ones."""
    rows = job.events
    if whole.events <= most:
        return collect(job, rows)
    if job.partitioning.key:
        share = F.pmod(F.xxhash64(*map(column_at, job.partitioning.key)), F.lit(_SHARES))
        chosen = rows.where(share < F.lit(most * _SHARES // whole.events))
        few = first_events(job, chosen, 2 * most)  # one of these keys may have nearly all events
        if few.num_rows:
            return few
    return first_events(job, rows, most)


def _in_tasks(job: Job, whole: _Whole) -> Diagnosis:
    """Follow all runs, those of a key in one task, and add what the tasks have counted."""
    key = list(map(column_at, job.partitioning.key))
    placed = job.events.repartition(*key) if key else job.events.repartition(1)
    function = _diagnose_in_task(job.worker_query, whole.end * job.worker_query.schema.tick)
    rows = rename_for_python(placed).mapInArrow(function, _PICKLED).collect()
    parts: list[Diagnosis] = [pickle.loads(row[0]) for row in rows]  # written by our own tasks
    return reduce(add, parts)


def _diagnose_in_task(worker_query: WorkerQuery, last: int) -> Callable[[Batches], Batches]:
    def cepheid_diagnose(batches: Batches) -> Batches:
        arrived = [arrived_batch for arrived_batch in batches if arrived_batch.num_rows]
        if arrived:
            events = conform(pa.Table.from_batches(arrived), worker_query.event_schema)
            part = diagnose_part(cached_query(worker_query.query), events, last)
            yield pa.record_batch({"diagnosis": pa.array([pickle.dumps(part)], pa.binary())})

    return cepheid_diagnose


def _with_hints(diagnosis: Diagnosis, sampled: Diagnosis, query: Query, whole: _Whole) -> Diagnosis:
    """What is said of all events, with the hints of a sample, but for the types, which are those of all events."""
    if diagnosis.matches and not sampled.matches:
        return replace(diagnosis, hints=(), changes=(), tried=0)
    hints = sampled.hints
    if sampled.seen.types.keys() != whole.types.keys():
        others = [hint for hint in hints if hint.code != _UNKNOWN_TYPE]
        hints = (*_of_types(query, whole), *others)
    return replace(diagnosis, hints=hints, changes=sampled.changes, tried=sampled.tried)


def _of_types(query: Query, whole: _Whole) -> Iterator[Hint]:
    """Types that no event has."""
    seen = Observed(whole.events, whole=True, types=frozenset(whole.types))
    for warned in query.surprises.of_events(whole.schema, seen):
        if warned.code == _UNKNOWN_TYPE:
            yield Hint(warned.code, warned.message, warned.remedy)
