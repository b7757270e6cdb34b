"""Events that are not in memory: a Spark DataFrame is passed to `cepheid.spark`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, TypeVar

from cepheid.errors import UsageError


class SparkFrame(Protocol):
    """The attributes that identify a Spark DataFrame."""

    @property
    def isStreaming(self) -> bool: ...  # noqa: N802  Spark's name

    @property
    def sparkSession(self) -> object: ...  # noqa: N802


Frame = TypeVar("Frame", bound=SparkFrame)


def is_spark(value: object) -> bool:
    """Whether an object comes from Spark; Spark need not be installed."""
    return type(value).__module__.partition(".")[0] == "pyspark"


def spark_room() -> Any:
    """Import `cepheid.spark` by name: it is an extra, and imports this package itself."""
    return import_module("cepheid.spark")


def spark_options() -> tuple[str, ...]:
    """The names of the options of a query on Spark; none if Spark is not installed."""
    try:
        names: tuple[str, ...] = import_module("cepheid.spark.options").NAMES
    except UsageError:
        return ()
    return names


def refuse_options(*, limit: object = None, progress: object = None) -> None:
    """Refuse what is an option for events in memory only."""
    remedies = {
        "progress": (progress, "leave it out: Spark shows the progress of its jobs itself"),
        "limit": (limit, "limit the result: q.match(df).limit(n)"),
    }
    for name, (value, remedy) in remedies.items():
        if value is not None:
            raise UsageError("CEP603", f"{name}= can't be used with a Spark DataFrame", remedy)
