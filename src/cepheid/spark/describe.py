"""What Spark does around the engine, in words."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.spark.batch import direct_scan, parts, why_keys_are_whole
from cepheid.spark.prepare import Prepared
from cepheid.spark.stream import bucket_count


def describe(prepared: Prepared) -> Iterator[str]:
    """A section of the explanation."""
    pushed, options = prepared.pushed, prepared.options
    yield f"Spark {'stream' if prepared.df.isStreaming else 'batch'}"
    yield f"  columns that cross into Python: {', '.join(pushed.columns)}"
    for kind, lines in (("pushed", pushed.pushed), ("refused", pushed.refused)):
        yield from (f"  {kind}: {line}" for line in lines)
    yield from (f"  {line}" for line in (_stream(prepared) if prepared.df.isStreaming else _batch(prepared)))
    if options.output is not None:
        yield f"  gives the matches of {options.output}"


def _batch(prepared: Prepared) -> Iterator[str]:
    split, names = prepared.split, ", ".join(prepared.split.key)
    direct = direct_scan(prepared)
    if isinstance(direct, str):
        yield f"read by Spark's own scan: {direct}"
    else:
        yield f"direct Parquet: {direct}"
    if split.key:
        yield f"split by key: {names}; within a task in the order of {prepared.time}, keys apart in the engine"
        whole = why_keys_are_whole(prepared)
        if not whole and isinstance(direct, str):
            yield "a key with too many events for a task is also split by time (a sample tells; skew=False: never)"
        elif whole:
            yield f"all events of a key in one task: {whole}"
    elif split.window is not None:
        yield f"no key: split by time into about {parts(prepared)} slices, which overlap by the window"
    else:
        yield f"no key: one task, in order; {split.unsliced}"


def _stream(prepared: Prepared) -> Iterator[str]:
    if prepared.split.key:
        yield f"split by key: {', '.join(prepared.split.key)}; state in {bucket_count(prepared)} buckets of keys"
    else:
        yield "no key: one bucket, so that one task does all the work"
    yield f"late events: {'counted and dropped' if prepared.options.late == 'drop' else 'an error'}"
