"""Whether a DataFrame is a plain scan of local Parquet files that pyarrow reads exactly as Spark does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from cepheid.spark.introspect import logical_plan
from cepheid.spark.job import Job
from cepheid.spark.parquet.footers import has_dates
from cepheid.spark.parquet.not_direct import NotDirect
from cepheid.spark.schemas import collated_columns

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

MOST_FILES = 2_000
"""The footers of all files are read on the driver before anything runs, so there must not be too many."""

_PLAIN_OPTIONS = frozenset({"path", "paths"})
_PLAIN_SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}
_REBASE = "spark.sql.parquet.datetimeRebaseModeInRead"
_LISTENERS = ("spark.extraListeners", "spark.sql.queryExecutionListeners")
"""How tools that follow the lineage of data are installed, such as OpenLineage and Spline."""


def eligible_paths(job: Job) -> list[str]:
    """Return the files of a plain Parquet scan; raise `NotDirect` if there is any doubt about it."""
    relation = _relation(job)
    _check_settings(job)
    return _local_paths(relation)


def _relation(job: Job) -> JavaObject:
    """Return the file relation below a DataFrame, if nothing but a choice of columns is above it."""
    df = job.df
    root = logical_plan(df)
    if root is None:
        raise NotDirect("Spark Connect does not expose the logical plan")
    if df.storageLevel.useMemory or df.storageLevel.useDisk:
        raise NotDirect("the DataFrame is cached")
    master = str(df.sparkSession.sparkContext.master)
    if not master.startswith("local[") and master != "local" and not job.options.direct:
        raise NotDirect(f"on {master} the workers may not have the files of the driver; direct=True says that they do")
    node = root
    while (name := node.getClass().getSimpleName()) in ("SubqueryAlias", "View", "Project"):
        node = node.children().head()
    if name != "LogicalRelation":
        raise NotDirect(f"it is not a plain Parquet scan: the logical plan has {name}")
    _check_output(root, node, job.columns)
    relation = node.relation()
    kind = relation.getClass().getSimpleName()
    if kind != "HadoopFsRelation":
        raise NotDirect(f"it is not a plain Parquet scan: it reads {kind}")
    _check_relation(relation)
    return relation


def _check_output(root: JavaObject, scan: JavaObject, needed: Sequence[str]) -> None:
    """Check that the needed columns are those of the files: they have kept their expression ids and names."""

    def attributes(node: JavaObject) -> Iterator[tuple[str, int]]:
        output = node.output()
        for k in range(output.size()):
            yield str(output.apply(k).name()), int(output.apply(k).exprId().id())

    scanned = set(attributes(scan))
    for name, number in attributes(root):
        if name in needed and (name, number) not in scanned:
            raise NotDirect(f"column {name} is computed or renamed above the scan")


def _check_relation(relation: JavaObject) -> None:
    form = str(relation.fileFormat().getClass().getName())
    if form != "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat":
        raise NotDirect(f"the files are read as {form.rsplit('.', 1)[-1]}")
    index = str(relation.location().getClass().getSimpleName())
    if index != "InMemoryFileIndex":
        raise NotDirect(f"the files are listed by {index}")
    if relation.partitionSchema().length():
        raise NotDirect("the files are partitioned by directory")
    if relation.bucketSpec().isDefined():
        raise NotDirect("the table is bucketed")
    keys = relation.options().keysIterator()
    names = []
    while keys.hasNext():
        names.append(str(keys.next()))
    special = sorted(name for name in names if name not in _PLAIN_OPTIONS)
    if special:
        raise NotDirect(f"the scan has the option {special[0]}")


def _check_settings(job: Job) -> None:
    conf = job.df.sparkSession.conf
    for name, plain in _PLAIN_SETTINGS.items():
        value = str(conf.get(name, plain)).lower()
        if value != plain:
            raise NotDirect(f"{name} is {value}")
    if str(conf.get(_REBASE, "CORRECTED")).upper() == "LEGACY" and has_dates(job.worker_query.event_schema):
        raise NotDirect(f"{_REBASE} is LEGACY")
    for name in _LISTENERS:
        if conf.get(name, "") and not job.options.direct:
            why = "a tool that follows the lineage of data would not see the files"
            raise NotDirect(f"{name} is set, and {why}; direct=True reads them all the same")
    for name in sorted(collated_columns(job.df.schema) & set(job.columns)):
        raise NotDirect(f"column {name} is CHAR, VARCHAR or collated")


def _local_paths(relation: JavaObject) -> list[str]:
    uris = [urlsplit(str(uri)) for uri in relation.location().inputFiles()]
    for uri in uris:
        if uri.scheme != "file":
            raise NotDirect(f"the files are on {uri.scheme or 'an unknown file system'}, not on a local disk")
    if len(uris) > MOST_FILES:
        raise NotDirect(f"there are {len(uris):,} files, more than the {MOST_FILES:,} whose footers are read")
    return sorted(unquote(uri.path) for uri in uris)
