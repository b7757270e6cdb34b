"""The options of many queries on Spark, validated before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cepheid.errors import UsageError, did_you_mean
from cepheid.spark.options import LATE_POLICIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOR_STREAMS = ("late", "buckets", "checkpoint", "migrate", "control")


@dataclass(frozen=True, slots=True)
class ManyOptions:
    """What `match_many` takes besides the queries and the events; it says what each option means."""

    engine: str = "auto"
    partitions: int | None = None
    output: str | None = None
    own: bool = False
    late: str = "drop"
    buckets: int | None = None
    checkpoint: str | None = None
    migrate: bool = False
    control: DataFrame | None = None

    def __post_init__(self) -> None:
        for name in ("partitions", "buckets"):
            value: object = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError("CEP603", f"{name} is {value!r}", "pass an integer, 1 or more, or None")
        if self.engine == "reference":
            raise UsageError("CEP601", "the reference interpreter does not run on Spark", "use engine='auto'")
        if self.late not in LATE_POLICIES:
            remedy = did_you_mean(str(self.late), LATE_POLICIES, "policies on Spark")
            raise UsageError("CEP601", f"unknown policy {self.late!r} for late events", remedy)
        if self.migrate and self.checkpoint is None:
            message = "migrate needs the checkpoint, which has the rules so far"
            raise UsageError("CEP603", message, "pass checkpoint='…', the checkpoint location of the stream")
        if self.migrate and self.control is not None:
            message = "control and migrate can't be combined: the changes so far are of the old rules"
            raise UsageError(
                "CEP603", message, "leave out migrate=, and send the changes as rows of the control stream"
            )

        if self.output is not None and self.control is not None:
            message = "control and output can't be combined: rules of other templates may come"
            raise UsageError("CEP603", message, "leave out output=, and filter the matches by their column `template`")

    def check(self, *, streaming: bool) -> None:
        """Refuse options that are not for a batch, or not for a stream."""
        wrong = ("partitions",) if streaming else FOR_STREAMS
        for name in wrong:
            if getattr(self, name) != _DEFAULTS[name]:
                kinds = ("batches", "streams") if streaming else ("streams", "batches")
                message = f"{name} is an option for {kinds[0]}, and this is {'a stream' if streaming else 'a batch'}"
                more = ": a stream has buckets=" if streaming else ""
                raise UsageError("CEP603", message, f"leave it out{more}")


NAMES = tuple(field.name for field in fields(ManyOptions))
_DEFAULTS = {field.name: field.default for field in fields(ManyOptions)}


def read_many_options(options: Mapping[str, object]) -> ManyOptions:
    """Return the options; raise for a name that does not exist, and suggest the nearest one."""
    for name in options:
        if name not in NAMES:
            raise UsageError("CEP603", f"unknown option '{name}'", did_you_mean(name, NAMES, "options on Spark"))
    return ManyOptions(**options)  # type: ignore[arg-type]
