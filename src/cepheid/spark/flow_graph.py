"""What Spark does around the engine, as a graph: from the source to the matches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from cepheid.pattern.expressions.paths import spell
from cepheid.pictures import Edge, Graph, Node, NodeKind
from cepheid.spark.batch import direct_scan, slice_count
from cepheid.spark.job import Job
from cepheid.spark.stream import bucket_count


def flow_graph(job: Job) -> Graph:
    """One step after the other: source, pushed filters, shuffle, engine, sink."""
    streams = job.df.isStreaming
    nodes = (
        Node("source", tuple(_source(job)), NodeKind.SOURCE),
        Node("pushed", tuple(_pushed(job)), NodeKind.STAGE),
        Node("shuffle", tuple(_shuffle(job)), NodeKind.STAGE),
        Node("engine", tuple(_engine(job)), NodeKind.STAGE),
        Node("sink", tuple(_sink(job)), NodeKind.SINK),
    )
    edges = (Edge(node.name, following.name) for node, following in pairwise(nodes))
    return Graph(nodes, tuple(edges), (f"Spark {'stream' if streams else 'batch'}",))


def _source(job: Job) -> Iterator[str]:
    yield "stream" if job.df.isStreaming else "DataFrame"
    if not job.df.isStreaming:
        yield "read by Spark" if isinstance(direct_scan(job), str) else "Parquet files, read by the tasks"


def _pushed(job: Job) -> Iterator[str]:
    yield "in the JVM" if job.pushdown.pushed else "no filter is pushed down"
    yield from job.pushdown.pushed
    yield f"columns: {', '.join(job.pushdown.columns)}"


def _shuffle(job: Job) -> Iterator[str]:
    key = ", ".join(path[0] if len(path) == 1 else spell(path) for path in job.partitioning.key)
    if key:
        yield f"shuffle by {key}"
    if job.df.isStreaming:
        buckets = bucket_count(job) if key else 1
        yield f"state in {buckets} bucket{'s' * (buckets != 1)}"
    elif not key and job.partitioning.window is not None:
        yield f"about {slice_count(job)} slices of time, which overlap by the window"
    elif not key:
        yield "one task, in order"


def _engine(job: Job) -> Iterator[str]:
    yield "engine, in Python workers"
    yield f"events by {job.time}"


def _sink(job: Job) -> Iterator[str]:
    changes = job.worker_query.speculate is not None
    yield "changes of matches" if changes else "matches"
    if job.options.output is not None:
        yield f"of {job.options.output}"
