"""The part of an explanation that says what Spark does around the engine."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.engine.session.delays import ALL, spelt_speculation
from cepheid.pattern.expressions.paths import spell
from cepheid.spark.batch import direct_scan, slice_count, why_keys_are_whole
from cepheid.spark.job import Job
from cepheid.spark.stream import bucket_count

NOT_AHEAD = spelt_speculation(0, "seconds")


def describe(job: Job) -> Iterator[str]:
    """Yield the lines of that section."""
    pushdown, options = job.pushdown, job.options
    yield f"Spark {'stream' if job.df.isStreaming else 'batch'}"
    yield f"  columns that cross into Python: {', '.join(pushdown.columns)}"
    for kind, lines in (("pushed down", pushdown.pushed), ("not pushed down", pushdown.refused)):
        yield from (f"  {kind}: {line}" for line in lines)
    yield from (f"  {line}" for line in (_stream(job) if job.df.isStreaming else _batch(job)))
    if options.output is not None:
        yield f"  returns the matches of {options.output}"


def _batch(job: Job) -> Iterator[str]:
    partitioning, names = job.partitioning, _key(job)
    direct = direct_scan(job)
    if isinstance(direct, str):
        yield f"read by Spark's own scan: {direct}"
    else:
        yield f"direct Parquet: {direct}"
        if job.pushdown.computes:
            yield "conditions on computed values are left to the engine, since the files are not read by Spark"
    if partitioning.key:
        yield f"split by key: {names}; each task sorts its events by {job.time}, and the engine keeps the keys apart"
        whole = why_keys_are_whole(job)
        if not whole and isinstance(direct, str):
            yield "a key with too many events for a task is also split by time (found by a sample; skew=False: never)"
        elif whole:
            yield f"all events of a key in one task: {whole}"
    elif partitioning.window is not None:
        yield f"no key: split by time into about {slice_count(job)} slices, which overlap by the window"
    else:
        yield f"no key: one task, in order; {partitioning.not_by_time}"
    if job.options.op is not None:
        yield f"column {job.options.op}: each task drops the events that are retracted, and matches the others"


def _key(job: Job) -> str:
    return ", ".join(path[0] if len(path) == 1 else spell(path) for path in job.partitioning.key)


def _stream(job: Job) -> Iterator[str]:
    if job.partitioning.key:
        yield f"split by key: {_key(job)}; the state is in {bucket_count(job)} buckets of keys"
    else:
        yield "no key: one bucket, so that one task does all the work"
    yield from _changes(job)
    yield f"late events: {'counted and dropped' if job.options.late == 'drop' else 'an error'}"


def _changes(job: Job) -> Iterator[str]:
    op, speculate = job.options.op, job.worker_query.speculate
    if speculate == NOT_AHEAD:
        yield "matches are given when they are certain, as changes: op is always +"
    elif speculate is not None and job.options.sequence is None:
        when = "as soon as their events are there" if speculate == ALL else f"{speculate} ahead of the watermark"
        yield f"matches are emitted {when} (op is +), and retracted (op is -) if what comes later undoes them"
        yield "the events since the watermark are kept in order to match them again"
    if job.options.sequence is not None:
        yield f"no match spans a gap in column {job.options.sequence}: each is emitted at once, for good"
    if op is not None and speculate is None:
        yield f"column {op}: a retraction cancels an event that still waits for the watermark"
    elif op is not None:
        yield f"column {op}: a retraction withdraws an event that the watermark has not passed, and its matches"
