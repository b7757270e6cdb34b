"""Queries on Apache Spark: `q.match(df)` on batch and streaming DataFrames. The only room that knows pyspark.

Spark moves the data; the embedded engine runs in its Python workers (`worker`). In batch, `partitioning` decides how
the events are divided among tasks: by key, by time (`slices`), or not. `pushdown` drops rows and columns before they
reach Python, and in `parquet` tasks read the files themselves. Streams are in `stream`, and the state of their
buckets of keys in `state`. `many` runs many rules.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.spark.diagnosing import diagnose
    from cepheid.spark.entry import explain, match, schema, sql
    from cepheid.spark.exporter import prometheus
    from cepheid.spark.many import explain_many, match_many
    from cepheid.spark.pending_matches import pending
    from cepheid.spark.progress import metrics
    from cepheid.spark.recorder import record
    from cepheid.spark.settings import configure
    from cepheid.spark.standing import current
    from cepheid.spark.stream import changes, refusals
    from cepheid.spark.tracing import trace, why_not

__all__ = [
    "changes",
    "configure",
    "current",
    "diagnose",
    "explain",
    "explain_many",
    "match",
    "match_many",
    "metrics",
    "pending",
    "prometheus",
    "record",
    "refusals",
    "schema",
    "sql",
    "trace",
    "why_not",
]

if find_spec("pyspark") is None:
    raise UsageError("CEP602", "pyspark is not installed", "pip install 'cepheid[spark]'")

# These are imported on first use: a Python worker uses none of them, and importing them would take half a second.
_MODULES = {
    "changes": "stream",
    "configure": "settings",
    "current": "standing",
    "diagnose": "diagnosing",
    "explain_many": "many",
    "match_many": "many",
    "metrics": "progress",
    "pending": "pending_matches",
    "prometheus": "exporter",
    "record": "recorder",
    "refusals": "stream",
    "trace": "tracing",
    "why_not": "tracing",
}


def __dir__() -> list[str]:
    """The API, without the modules that it is made of."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cepheid.spark' has no attribute {name!r}")
    return getattr(import_module(f"cepheid.spark.{_MODULES.get(name, 'entry')}"), name)
