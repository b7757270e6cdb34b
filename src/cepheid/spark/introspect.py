"""What is known of a DataFrame and its session before anything runs. Spark Connect does not expose most of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_PLAIN_NODES = frozenset(
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

_TEXT_FORMATS = frozenset({"CSVFileFormat", "JsonFileFormat", "TextFileFormat"})


def logical_plan(df: DataFrame) -> JavaObject | None:
    """Return the root of the analysed logical plan, an object of the JVM; None on Spark Connect."""
    frame = getattr(df, "_jdf", None)
    return None if frame is None else frame.queryExecution().analyzed()


def plan_nodes(df: DataFrame) -> Iterator[JavaObject]:
    """Yield the nodes of the analysed logical plan from the root down; none on Spark Connect."""
    root = logical_plan(df)
    stack = [] if root is None else [root]
    while stack:
        node = stack.pop()
        yield node
        children = node.children()
        stack += [children.apply(k) for k in range(children.size())]


def is_plain_read(df: DataFrame) -> bool:
    """Tell whether reading the DataFrame twice costs no more than a second scan: it has no joins or aggregates."""
    names = {node.nodeName().split(" ")[0] for node in plan_nodes(df)}
    return bool(names) and names <= _PLAIN_NODES


def sources_read_all(df: DataFrame) -> bool:
    """Tell whether no source of the DataFrame can read less because of a filter above it."""
    for node in plan_nodes(df):
        if node.children().size():
            continue
        name = node.nodeName().split(" ")[0]
        if name not in _PLAIN_NODES or name in ("DataSourceV2Relation", "RelationV2"):
            return False
        if name == "LogicalRelation":
            relation = node.relation()
            if relation.getClass().getSimpleName() != "HadoopFsRelation" or relation.partitionSchema().length():
                return False
            if relation.fileFormat().getClass().getSimpleName() not in _TEXT_FORMATS:
                return False
    return logical_plan(df) is not None


def estimated_bytes(df: DataFrame) -> int:
    """Return the size that Spark's optimizer estimates; 0 on Spark Connect."""
    frame = getattr(df, "_jdf", None)
    return 0 if frame is None else int(str(frame.queryExecution().optimizedPlan().stats().sizeInBytes()))


def spark_context(df: DataFrame) -> JavaObject | None:
    """Return the SparkContext of the session; None on Spark Connect."""
    try:
        return df.sparkSession.sparkContext
    except Exception:  # which one depends on the release of PySpark
        return None


def parallelism(df: DataFrame) -> int:
    """Return how many tasks run at the same time."""
    context = spark_context(df)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    return int(df.sparkSession.conf.get("spark.default.parallelism", None) or 8)
