"""Which row groups each task reads, and among how many buckets the events are divided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq

from cepheid.spark.introspect import parallelism
from cepheid.spark.job import Job
from cepheid.spark.parquet.eligibility import eligible_paths
from cepheid.spark.parquet.footers import Footer, check_columns, read_footer
from cepheid.spark.parquet.not_direct import NotDirect

BUCKET_BYTES = 64 << 20
SAMPLE_ROWS = 1 << 14
LEAST_SHARE = 1 / 16  # of the rows that is assumed to be sent, however few a sample has
_SHOWN = 3  # files that a plan names
TASKS_PER_CORE = 2  # few, because each task has a fixed cost and all have the same size


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of one file."""

    path: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DirectScan:
    """What each task reads, and among how many buckets the events are divided.

    groups, skipped: how many row groups there are, and how many of them have no row that is needed.
    """

    tasks: tuple[tuple[RowGroups, ...], ...]
    files: int
    groups: int
    skipped: int
    buckets: int

    def names(self) -> str:
        """Return which files these are, as the plan of Spark shows it."""
        paths = list(dict.fromkeys(group.path for task in self.tasks for group in task))
        return ", ".join(paths[:_SHOWN]) + (f", … ({len(paths):,} files)" if len(paths) > _SHOWN else "")

    def __str__(self) -> str:
        kept = (
            f"{self.groups - self.skipped} of {self.groups} row groups" if self.skipped else f"{self.groups} row groups"
        )
        return f"{self.files} files, {kept}, read by {len(self.tasks)} tasks, matched in {self.buckets} buckets of keys"


def find_direct_scan(job: Job) -> DirectScan | str:
    """Return what tasks can read themselves, or the reason why Spark's own scan must read. Any doubt is a reason."""
    try:
        footers = {path: read_footer(path) for path in eligible_paths(job)}
        for path, footer in footers.items():
            check_columns(path, footer, job.sent)
        return _assign(job, footers)
    except NotDirect as reason:
        return str(reason)


def _assign(job: Job, footers: Mapping[str, Footer]) -> DirectScan:
    """Assign the row groups that may have a row that is needed to tasks of about the same size, in file order."""
    where, names = job.pushdown.row_groups, set(job.columns)
    chosen: list[tuple[str, int, int]] = []  # path, number, size
    groups = rows = 0
    for path, footer in footers.items():
        groups += footer.metadata.num_row_groups
        for number in _possible_groups(path, footer, where):
            chunk = footer.metadata.row_group(number)
            if not chunk.num_rows:
                continue
            columns = [chunk.column(k) for k in range(chunk.num_columns)]
            size = sum(c.total_compressed_size for c in columns if c.path_in_schema in names)
            rows += chunk.num_rows
            chosen.append((path, number, size))
    cores = parallelism(job.df)
    tasks = _in_tasks(chosen, TASKS_PER_CORE * cores)
    share = _share_sent(job, *chosen[len(chosen) // 2][:2]) if chosen else 0.0
    sent = rows * share * sum(_width(field.type) for field in job.worker_query.event_schema)
    buckets = job.options.partitions or max(2 * cores, math.ceil(sent / BUCKET_BYTES))
    return DirectScan(tuple(map(_by_file, tasks)), len(footers), groups, groups - len(chosen), buckets)


def _possible_groups(path: str, footer: Footer, where: pc.Expression | None) -> Sequence[int]:
    """Return the row groups whose statistics do not exclude a row that is needed."""
    if where is None or not footer.metadata.num_row_groups:
        return range(footer.metadata.num_row_groups)
    form = pyarrow.dataset.ParquetFileFormat()
    fragment = form.make_fragment(path, pyarrow.fs.LocalFileSystem())
    return [group.id for group in fragment.subset(where, schema=footer.schema).row_groups]


def _in_tasks(groups: Sequence[tuple[str, int, int]], count: int) -> list[list[tuple[str, int]]]:
    """Divide row groups, given by path, number and size, among about `count` tasks."""
    share = sum(size for _, _, size in groups) / count
    tasks: list[list[tuple[str, int]]] = []
    room = 0.0
    for path, number, size in groups:
        if room <= 0 or not tasks:
            tasks.append([])
            room += share
        tasks[-1].append((path, number))
        room -= size
    return tasks


def _by_file(groups: Sequence[tuple[str, int]]) -> tuple[RowGroups, ...]:
    files = groupby(groups, key=lambda group: group[0])
    return tuple(RowGroups(path, tuple(number for _, number in members)) for path, members in files)


def _share_sent(job: Job, path: str, number: int) -> float:
    """Estimate from a sample which share of the rows is needed. A bucket that is larger is matched in parts."""
    names = job.sent.names
    with pq.ParquetFile(path) as file:
        sample = next(file.iter_batches(SAMPLE_ROWS, [number], columns=names, use_threads=False))
    return max(int(job.pushdown.filter_batch(sample).num_rows) / int(sample.num_rows), LEAST_SHARE)


def _width(arrow: pa.DataType) -> int:
    """Return the bytes of a value, for strings a guess."""
    try:
        return max(1, int(arrow.bit_width) // 8)
    except ValueError:
        return 16
