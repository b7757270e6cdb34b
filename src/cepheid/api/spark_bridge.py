"""Events that are not in memory: a Spark DataFrame goes to the room that knows Spark."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol


class SparkFrame(Protocol):
    """What tells a Spark DataFrame from other events."""

    @property
    def isStreaming(self) -> bool: ...  # noqa: N802  Spark's name

    @property
    def sparkSession(self) -> Any: ...  # noqa: N802


def is_spark(value: object) -> bool:
    """Whether something is Spark's; Spark need not be installed to ask."""
    return type(value).__module__.partition(".")[0] == "pyspark"


def spark_room() -> Any:
    """The room lies above this one, and is an extra: it is looked up by name when a DataFrame has come."""
    return import_module("cepheid.spark")
