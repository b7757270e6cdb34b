"""What is known of a DataFrame and its session before anything runs; Spark Connect keeps most of it to itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

_READS = frozenset(
    {
        "DataSourceV2Relation",
        "Filter",
        "InMemoryRelation",
        "LocalRelation",
        "LogicalRDD",
        "LogicalRelation",
        "Project",
        "Range",
        "RelationV2",
        "Repartition",
        "RepartitionByExpression",
        "SubqueryAlias",
        "Union",
        "View",
    }
)


def nodes(df: DataFrame) -> Iterator[Any]:
    """The nodes of the analysed plan, from the top; none on Spark Connect."""
    frame = getattr(df, "_jdf", None)
    waiting = [] if frame is None else [frame.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        yield node
        children = node.children()
        waiting += [children.apply(k) for k in range(children.size())]


def is_plain_read(df: DataFrame) -> bool:
    """Whether to read the DataFrame twice costs a second scan and no more: nothing is joined or aggregated below."""
    names = {node.nodeName().split(" ")[0] for node in nodes(df)}
    return bool(names) and names <= _READS


def size(df: DataFrame) -> int:
    """The bytes that Spark expects a DataFrame to have; 0 where it does not tell."""
    frame = getattr(df, "_jdf", None)
    return 0 if frame is None else int(str(frame.queryExecution().optimizedPlan().stats().sizeInBytes()))


def context(df: DataFrame) -> Any | None:
    """The Spark context; none on Spark Connect."""
    try:
        return df.sparkSession.sparkContext
    except Exception:  # one of several errors, by the release
        return None


def parallelism(df: DataFrame) -> int:
    """How many tasks run side by side."""
    found = context(df)
    if found is not None:
        return max(1, int(found.defaultParallelism))
    return int(df.sparkSession.conf.get("spark.default.parallelism", None) or 8)
