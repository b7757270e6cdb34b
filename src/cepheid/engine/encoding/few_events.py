"""A few events as Python values: to make an Arrow table of one event takes longer than to match it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.reordered import Reordered
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.durations import ARROW_UNITS
from cepheid.pattern.expressions.types import Kind, plain
from cepheid.values.value import Value

FEW = 32
"""Events that are looked at one by one, as Python values: to call Arrow takes longer."""


class RowForm:
    """The columns of events that are rows of values; each value is one that its column can hold as it is."""

    def __init__(self, schema: Schema) -> None:
        self.arrow = schema.arrow
        self.places = {name: k for k, name in enumerate(schema.columns)}
        # Values are in nanoseconds (`values.columns`), a column may be in a larger unit.
        self.scales = [
            ARROW_UNITS[plain(column).unit] if column.kind is Kind.TIMESTAMP else 1
            for column in schema.columns.values()
        ]
        self.time = self.places[schema.roles.time]


@dataclass(frozen=True, slots=True)
class FewEvents:
    """Events as rows of values, in the order of the columns."""

    form: RowForm
    rows: Sequence[tuple[Value, ...]]

    @property
    def num_rows(self) -> int:
        """The number of events, as a table has it."""
        return len(self.rows)

    def values(self, column: str) -> list[Value]:
        """The values of a column, as `values.columns` has them."""
        place = self.form.places[column]
        return [row[place] for row in self.rows]

    def ticks(self) -> np.ndarray:
        """The times, none of which is NULL, in the unit of their column."""
        times: list[int] = [row[self.form.time] for row in self.rows]
        scale = self.form.scales[self.form.time]
        return np.array(times if scale == 1 else [time // scale for time in times], np.int64)

    def to_table(self) -> pa.Table:
        """The events as an Arrow table, made at each call."""
        arrays = []
        for k, (column, scale) in enumerate(zip(self.form.arrow.types, self.form.scales, strict=True)):
            values: list[Value] = [row[k] for row in self.rows]
            if scale != 1:
                values = [None if value is None else value // scale for value in values]
            arrays.append(pa.array(values, column))
        return pa.Table.from_arrays(arrays, schema=self.form.arrow)


Events: TypeAlias = "pa.Table | FewEvents | Reordered"
"""Events in any form: all have `num_rows`."""


def as_table(events: Events) -> pa.Table:
    """Events as an Arrow table."""
    if isinstance(events, FewEvents):
        return events.to_table()
    return events.table if isinstance(events, Reordered) else events


def joined(parts: Iterable[Events]) -> Events:
    """Parts one after the other; rows become a table only if some of the parts are one."""
    joined_parts: list[Events] = []
    for is_rows, some in groupby(parts, key=lambda part: isinstance(part, FewEvents)):
        if is_rows:
            rows = [part for part in some if isinstance(part, FewEvents)]
            joined_parts.append(FewEvents(rows[0].form, [row for part in rows for row in part.rows]))
        else:
            joined_parts += some
    return joined_parts[0] if len(joined_parts) == 1 else pa.concat_tables(map(as_table, joined_parts))
