"""Partitions by number: each key gets a lane, and a lane that has nothing more to do is given up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.codec import decode, encode
from cepheid.engine.columns import as_dictionary, nulls
from cepheid.pattern.types import Kind
from cepheid.values.columns import column_values
from cepheid.values.keys import group_key
from cepheid.values.lanes import Lanes
from cepheid.values.value import Value

NOWHERE = 0xFFFFFFFF
Key = tuple[Value, ...]


class LaneNumbers:
    """Which lane each key has."""

    def __init__(self, lanes: Lanes, kinds: dict[str, Kind], *, once: bool = False) -> None:
        self.once = once  # all events come at once: a key need not be found again
        self.span = 0  # where keys are lanes as they are
        self.columns = lanes.columns + lanes.agreed
        self.agreed = lanes.agreed
        self.kinds = kinds
        self.numbers: dict[Key, int] = {} if self.columns else {(): 0}

    def __len__(self) -> int:
        return max(len(self.numbers), self.span)

    def of(self, table: pa.Table) -> Any:
        """The lane of each event; NOWHERE for one that is in no match, since a value of `[attr]` is NULL."""
        if not self.columns:
            return np.zeros(table.num_rows, np.uint32)
        if self.once and len(self.columns) == 1:  # keys are lanes as they are, if there are not many more of them
            numbers = self._narrow(self.columns[0], table.column(self.columns[0]))
            if numbers is not None and numbers[2] - numbers[1] < max(table.num_rows // 4, 256):
                offsets, least, most = numbers
                self.span = most - least + 1
                return offsets.astype(np.uint32)
        codes: Any = None
        keys: list[Key] = [()]
        for name in self.columns:
            own, values = self._codes(name, table.column(name))
            if codes is None:
                codes, keys = own, [(value,) for value in values]
            else:
                mixed, codes = np.unique(codes * len(values) + own, return_inverse=True)
                keys = [(*keys[code // len(values)], values[code % len(values)]) for code in mixed.tolist()]
        if self.numbers:
            found = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], np.uint32)
        else:
            self.numbers = {key: lane for lane, key in enumerate(dict.fromkeys(keys))}
            found = np.array([self.numbers[key] for key in keys], np.uint32)
        if len(found) and (found == np.arange(len(found))).all():  # codes and lanes are the same: all keys are new
            lanes = codes.astype(np.uint32)
        else:
            lanes = found[codes] if len(found) else np.zeros(0, np.uint32)
        for name in self.agreed:
            column = table.column(name)
            if column.null_count:
                lanes[nulls(column).view(bool)] = NOWHERE
        return lanes

    def _codes(self, name: str, column: pa.ChunkedArray) -> tuple[Any, list[Value]]:
        """A column as numbers into its distinct values."""
        numbers = self._narrow(name, column)
        if numbers is not None:
            offsets, least, most = numbers
            there = np.zeros(most - least + 1, bool)
            there[offsets] = True
            distinct = np.flatnonzero(there)
            if len(distinct) == len(there):
                return offsets, (distinct + least).tolist()
            place = np.zeros(len(there), np.int64)
            place[distinct] = np.arange(len(distinct))
            return place[offsets], (distinct + least).tolist()
        coded = as_dictionary(column)
        values = [group_key(value) for value in column_values(pa.chunked_array([coded.dictionary]))]
        codes = coded.indices.cast(pa.int64())
        if codes.null_count:
            codes, values = codes.fill_null(len(values)), [*values, None]
        return codes.to_numpy(), values

    def _narrow(self, name: str, column: pa.ChunkedArray) -> tuple[Any, int, int] | None:
        """Whole numbers in a narrow range need no hashing: how far each is from the least, that one, and the most."""
        if self.kinds[name] is not Kind.INT or column.null_count or not len(column):
            return None
        numbers = whole_numbers(column)
        found = pc.min_max(pa.array(numbers))
        least, most = found["min"].as_py(), found["max"].as_py()
        if most - least >= max(4 * len(numbers), 65_536):
            return None
        return numbers - least if least else numbers, least, most

    def dump(self) -> tuple[Any, Any]:
        """The keys in the order of their lanes: whole numbers as an array, others as JSON."""
        keys = list(self.numbers)
        if len(self.columns) == 1 and self.kinds[self.columns[0]] is Kind.INT and (None,) not in self.numbers:
            return None, np.fromiter((key[0] for key in keys), np.int64, len(keys))
        return [encode(key) for key in keys], np.zeros(0, np.int64)

    def load(self, keys: Any, numbers: Any) -> None:
        """Take up what was dumped."""
        found = zip(numbers.tolist()) if keys is None else map(decode, keys)
        self.numbers = {key: lane for lane, key in enumerate(found)}

    def keep(self, alive: Any) -> None:
        """Give up lanes; the others are numbered anew, in order."""
        kept = [key for key, lane in self.numbers.items() if alive[lane]]
        self.numbers = {key: number for number, key in enumerate(kept)}


def whole_numbers(column: pa.ChunkedArray) -> Any:
    """A column of integers as one array."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    parts = [chunk.cast(pa.int64()).to_numpy() for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
