"""What is known of a DataFrame's plan before it runs; Spark Connect keeps it to itself."""

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
