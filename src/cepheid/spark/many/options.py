"""The options of many queries on Spark, validated before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from cepheid.errors import UsageError, did_you_mean


@dataclass(frozen=True, slots=True)
class ManyOptions:
    """What `match_many` takes besides the queries and the events; it says what each option means."""

    engine: str = "auto"
    partitions: int | None = None
    output: str | None = None
    own: bool = False

    def __post_init__(self) -> None:
        value: object = self.partitions
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UsageError("CEP603", f"partitions is {value!r}", "pass an integer, 1 or more, or None")
        if self.engine == "reference":
            raise UsageError("CEP601", "the reference interpreter does not run on Spark", "use engine='auto'")


NAMES = tuple(field.name for field in fields(ManyOptions))


def read_many_options(options: Mapping[str, object]) -> ManyOptions:
    """Return the options; raise for a name that does not exist, and suggest the nearest one."""
    for name in options:
        if name not in NAMES:
            raise UsageError("CEP603", f"unknown option '{name}'", did_you_mean(name, NAMES, "options on Spark"))
    return ManyOptions(**options)  # type: ignore[arg-type]
