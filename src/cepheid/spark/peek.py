"""A look at the first events of a batch without a job of Spark, for the warnings that need events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.api.hosting import ENOUGH, Observed, tiny_gap
from cepheid.engine.encoding.times import ticks
from cepheid.errors import CepheidError
from cepheid.spark.introspect import plan_nodes
from cepheid.spark.job import Job
from cepheid.spark.names import column_named
from cepheid.spark.parquet.eligibility import eligible_paths
from cepheid.spark.parquet.footers import check_columns, read_footer
from cepheid.spark.parquet.not_direct import NotDirect
from cepheid.spark.slices import ticks_of

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_LOCAL_NODES = frozenset({"Filter", "LocalRelation", "Project", "SubqueryAlias", "View"})


def warn_of_first_events(job: Job) -> bool:
    """Warn of what the first events show. Returns whether they could be looked at."""
    surprises, schema = job.query.surprises, job.worker_query.schema
    surprises.warn(surprises.of_schema(schema))
    try:
        seen = _local_rows(job) or _local_files(job)
    except CepheidError:  # events that cannot be read: whoever runs the query gets the error
        return False
    if seen is not None:
        surprises.warn(surprises.of_events(schema, seen))
    return seen is not None


def _needed(job: Job) -> list[str]:
    roles = job.query.compiled.roles
    # A nested column is not read for this: of a key that is a field, nothing is reported.
    keys = (path[0] for path in job.query.surprises.claims.keys if len(path) == 1)
    names = {roles.time, roles.type, *keys}
    return [name for name in job.pushdown.columns if name in names]


def _local_files(job: Job) -> Observed | None:
    """Look at the first rows of the first file, if the files are Parquet on this machine."""
    schema = job.worker_query.schema
    needed = pa.schema([job.worker_query.event_schema.field(name) for name in _needed(job)])
    try:
        paths = eligible_paths(job)
        if not paths:
            return None
        footer = read_footer(paths[0])
        check_columns(paths[0], footer, needed)
    except NotDirect:
        return None
    with pq.ParquetFile(paths[0]) as file:
        batch = next(file.iter_batches(ENOUGH, columns=needed.names, use_threads=False), None)
    if batch is None:
        return None
    events = pa.Table.from_batches([batch])
    whole = len(paths) == 1 and footer.metadata.num_rows == events.num_rows
    return job.query.surprises.observe(schema, events, ticks(schema, events), whole=whole)


def _local_rows(job: Job) -> Observed | None:
    """Look at rows that are on the driver anyway, as those of a pandas DataFrame are."""
    names = {node.nodeName().split(" ")[0] for node in plan_nodes(job.df)}
    if not names or not names <= _LOCAL_NODES:
        return None
    time, *others = (job.time, *(name for name in _needed(job) if name != job.time))
    columns = [ticks_of(job.df, time).alias(time), *(column_named(name) for name in others)]
    first = job.df.select(*columns).limit(ENOUGH)
    plan: JavaObject = first._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() != "LocalRelation":
        return None
    rows = first.collect()
    times = np.array([row[0] for row in rows if row[0] is not None], np.int64)
    if not len(times):
        return None
    program, schema = job.query.compiled, job.worker_query.schema
    values = dict(zip(others, zip(*(row[1:] for row in rows), strict=True), strict=True))
    types = values.get(program.roles.type or "")
    return Observed(
        len(rows),
        len(rows) < ENOUGH,
        None if types is None else frozenset(name for name in types if name is not None),
        frozenset(name for name, column in values.items() if all(value is None for value in column)),
        int(times.min()),
        int(times.max()),
        tiny_gap(job.query.surprises.claims, schema, times),
    )
