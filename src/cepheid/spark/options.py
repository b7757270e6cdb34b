"""How a query is to be run on Spark, checked before anything is planned."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.errors import UsageError, did_you_mean

POLICIES = ("drop", "error")


@dataclass(frozen=True, slots=True)
class Options:
    """What `match` takes besides the query and the events."""

    engine: str = "auto"
    plan: str = "auto"
    output: str | None = None
    partitions: int | None = None
    pushdown: bool = True
    direct: bool | None = None
    skew: bool | None = None
    late: str = "drop"
    buckets: int | None = None

    def __post_init__(self) -> None:
        for name in ("partitions", "buckets"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError("CEP603", f"{name} is {value!r}", "give a whole number, 1 or more, or None")
        if self.late not in POLICIES:
            remedy = did_you_mean(str(self.late), POLICIES, "policies on Spark")
            raise UsageError("CEP601", f"unknown policy {self.late!r}", remedy)
        if self.engine == "reference":
            raise UsageError("CEP601", "the reference does not run on Spark", "use engine='auto'")
