"""The options of a query on Spark, validated before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cepheid.engine.session.history import AnyChange
from cepheid.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATE_POLICIES = ("drop", "error")


@dataclass(frozen=True, slots=True)
class Options:
    """What `match` takes besides the query and the events; `entry.match` says what each option means."""

    engine: str = "auto"
    plan: str = "auto"
    output: str | None = None
    partitions: int | None = None
    pushdown: bool = True
    direct: bool | None = None
    skew: bool | None = None
    open: bool = True
    late: str = "drop"
    buckets: int | None = None
    long: bool = False
    event_time: str | None = None
    checkpoint: str | None = None
    migrate: bool = False
    op: str | None = None
    speculate: object = None
    sequence: str | None = None
    changes: Sequence[AnyChange] = ()
    control: DataFrame | None = None

    def __post_init__(self) -> None:
        for name in ("partitions", "buckets"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError("CEP603", f"{name} is {value!r}", "pass an integer, 1 or more, or None")
        if not isinstance(self.open, bool):
            raise UsageError("CEP603", f"open is {self.open!r}", "pass True or False")
        if self.late not in LATE_POLICIES:
            remedy = did_you_mean(str(self.late), LATE_POLICIES, "policies on Spark")
            raise UsageError("CEP601", f"unknown policy {self.late!r} for late events", remedy)
        if self.engine == "reference":
            raise UsageError("CEP601", "the reference interpreter does not run on Spark", "use engine='auto'")


NAMES = tuple(field.name for field in fields(Options))


def read_options(options: Mapping[str, object]) -> Options:
    """Return the options; raise for a name that does not exist, and suggest the nearest one."""
    for name in options:
        if name not in NAMES:
            raise UsageError("CEP603", f"unknown option '{name}'", did_you_mean(name, NAMES, "options on Spark"))
    return Options(**options)  # type: ignore[arg-type]
