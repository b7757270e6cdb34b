"""The rows of one of the files that a DataFrame reads, so that a look at some rows opens no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.spark.introspect import plan_nodes

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_METADATA = "_metadata"  # Spark's hidden column; a condition on it leaves out files before they are opened
_ROW_BY_ROW = frozenset({"Filter", "LogicalRelation", "Project", "SubqueryAlias"})


def one_file(df: DataFrame) -> DataFrame | None:
    """Return the rows of the last file, of a table by date the latest; None if the rows are not those of files."""
    if any(name.lower() == _METADATA for name in df.columns):
        return None
    for node in plan_nodes(df):
        name = node.nodeName().split(" ")[0]
        if name not in _ROW_BY_ROW:
            return None
        if name == "LogicalRelation" and node.relation().getClass().getSimpleName() != "HadoopFsRelation":
            return None
    frame: JavaObject = df._jdf
    files = frame.inputFiles()  # in the JVM: of maybe many names one crosses to Python
    if not len(files):
        return None
    uri = str(files[len(files) - 1])
    return df.where(
        F.col(f"{_METADATA}.file_path").isin(uri, uri.replace(":///", ":/", 1))
    )  # the column has the latter
