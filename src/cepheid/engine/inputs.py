"""The events of a batch as a generated function reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.engine.columns import Strings, Unfit, kinds, mask, nulls, values
from cepheid.errors import CepheidError
from cepheid.kernel.source import NEVER, Mask, Parameter
from cepheid.pattern.bind import Bound


class Reads(Protocol):
    """What a source reads."""

    @property
    def names(self) -> Mapping[str, str]: ...
    @property
    def masks(self) -> Sequence[Mask]: ...
    @property
    def types(self) -> Sequence[str]: ...


def read_events(
    query: Bound,
    source: Reads,
    parameters: Sequence[Parameter],
    table: pa.Table,
    strings: Strings,
    errors: dict[int, CepheidError],
) -> dict[str, Any]:
    """The columns, flags of NULLs, masks and types that a source asks for, as arrays."""
    found: dict[str, Any] = {}
    wanted = {p.name for p in parameters if p.size == "events"}
    for name, short in source.names.items():
        if f"c_{short}" in wanted:
            found[f"c_{short}"] = values(query, name, table.column(name), strings)
        if f"z_{short}" in wanted:
            found[f"z_{short}"] = nulls(table.column(name))
    for k, one in enumerate(source.masks):
        found[f"m{k}"] = mask(query, table, one, errors)
    if "kinds" in wanted:
        assert query.schema.roles.type is not None
        found["codes"], found["kinds"] = kinds(table.column(query.schema.roles.type), source.types)
    return found


def as_arguments(arrays: Mapping[str, Any], *, native: bool) -> dict[str, Any]:
    """Arrays for compiled code, lists for plain Python."""
    if not native:
        return {name: array.tolist() for name, array in arrays.items()}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def check_times(times: Any, window: int | None) -> None:
    """A window is added to a time, or taken off: in 64 bits, and one time is needed that never was."""
    if window is None or not len(times):
        return
    if int(times[0]) - window <= NEVER or int(times[-1]) + window >= -NEVER:
        raise Unfit("the times and WITHIN together are beyond 64 bits")
