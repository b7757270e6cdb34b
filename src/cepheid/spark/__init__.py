"""Queries on Apache Spark: `q.match(df)` on batch and streaming DataFrames."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cepheid.errors import UsageError

if TYPE_CHECKING:
    from cepheid.spark.entry import explain, match, schema, sql
    from cepheid.spark.progress import metrics
    from cepheid.spark.settings import configure
    from cepheid.spark.stream import pending

__all__ = ["configure", "explain", "match", "metrics", "pending", "schema", "sql"]

if find_spec("pyspark") is None:
    raise UsageError("CEP602", "pyspark is not installed", "pip install 'cepheid[spark]'")

# Looked up when they are asked for: a Python worker needs none of them, and importing them takes it half a second.
_ROOMS = {"configure": "settings", "metrics": "progress", "pending": "stream"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cepheid.spark' has no attribute {name!r}")
    return getattr(import_module(f"cepheid.spark.{_ROOMS.get(name, 'entry')}"), name)
