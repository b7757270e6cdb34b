"""Partitions by number: each key gets one, and a partition that no query needs any more is given up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, room_for, to_numpy
from cepheid.engine.encoding.codec import decode, encode
from cepheid.engine.encoding.columns import as_dictionary, nulls
from cepheid.engine.encoding.reordered import Reordered
from cepheid.kernel.arrays import Pins
from cepheid.kernel.compile import has_compiler, library_function
from cepheid.kernel.runtime import NIL
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.partitioning import Partitioning
from cepheid.values.columns import column_values
from cepheid.values.keys import group_key
from cepheid.values.value import Value

NOWHERE = NIL
"""The partition of an event that is in no match, since a value of `[attr]` is NULL."""
Key = tuple[Value, ...]
MANY = 4_096
"""Whole numbers from which on a hash table is faster than a dict."""
VERY_MANY = 100_000
"""Those from which on a compiled loop is worth loading the compiler's library."""


class PartitionIndex:
    """Which partition each key has."""

    def __init__(self, partitions: Partitioning, kinds: dict[str, Kind], *, once: bool = False) -> None:
        self.once = once  # all events come at once: a key need not be found again
        self.span = 0  # where keys are partitions as they are
        self.columns = partitions.all
        self.agreed = partitions.agreed
        self.kinds = kinds
        self.numbers: dict[Key, int] = {} if self.columns else {(): 0}
        self.table = KeyTable()  # instead of the dict, where keys are many whole numbers
        self._plain: bool | None = None  # whether values are keys as they are; None: nobody has asked

    def __len__(self) -> int:
        return max(len(self.numbers), self.span, self.table.size)

    def of(self, table: pa.Table | Reordered) -> Any:
        """The partition of each event; NOWHERE for one that is in no match."""
        if not self.columns:
            return np.zeros(table.num_rows, np.uint32)
        if self.once and len(self.columns) == 1:
            partitions = self._keys_as_partitions(table.column(self.columns[0]))
            if partitions is not None:
                return partitions
        if self._takes_table(table):
            return self.table.number(whole_numbers(table.column(self.columns[0])))
        self._leave_table()
        codes: Any = None
        keys: list[Key] = [()]
        for name in self.columns:
            column_codes, values = self._codes(name, table.column(name))
            if codes is None:
                codes, keys = column_codes, [(value,) for value in values]
            else:
                mixed, codes = np.unique(codes * len(values) + column_codes, return_inverse=True)
                keys = [(*keys[code // len(values)], values[code % len(values)]) for code in mixed.tolist()]
        partition_of = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], np.uint32)
        partitions = partition_of[codes] if len(partition_of) else np.zeros(0, np.uint32)
        for name in self.agreed:
            column = table.column(name)
            if column.null_count:
                partitions[nulls(column).view(bool)] = NOWHERE
        return partitions

    def _keys_as_partitions(self, column: pa.ChunkedArray) -> Any:
        """Whole numbers are partitions as they are, if there are not many more of them than events; else None."""
        if self.kinds[self.columns[0]] is not Kind.INT or column.null_count or not len(column):
            return None
        partitions, least, most = _narrowed(whole_numbers(column))
        many = max(len(partitions) // 4, 256)
        if most - least >= many:
            return None
        if least < 0 or most >= many:
            partitions -= np.uint32(least % 2**32)
            most -= least
        self.span = most + 1
        return partitions

    def of_few(self, columns: Sequence[Sequence[Value]], count: int) -> Any:
        """The partitions of a few events, one by one, by the values of the columns that make up a key."""
        if not columns:
            return np.zeros(count, np.uint32)
        if self.table.size:
            if None not in columns[0]:
                return self.table.number(np.array(columns[0], np.int64))
            self._leave_table()
        first = len(self.columns) - len(self.agreed)
        partitions = []
        if self._plain is None:
            self._plain = all(self.kinds[name] in (Kind.INT, Kind.STRING, Kind.BOOL) for name in self.columns)
        for values in zip(*columns, strict=True):
            key = values if self._plain else tuple(map(group_key, values))
            nowhere = None in values[first:]
            partitions.append(NOWHERE if nowhere else self.numbers.setdefault(key, len(self.numbers)))
        return np.array(partitions, np.uint32)

    def _takes_table(self, table: pa.Table | Reordered) -> bool:
        """Whether the keys are many whole numbers, none of them NULL."""
        if len(self.columns) != 1 or self.kinds[self.columns[0]] is not Kind.INT or not has_compiler():
            return False
        if table.column(self.columns[0]).null_count:
            return False
        if not len(self.table) and (len(self.numbers) + table.num_rows < MANY or (None,) in self.numbers):
            return False
        if self.numbers:
            self.table.load(np.fromiter((key[0] for key in self.numbers), np.int64, len(self.numbers)))
            self.numbers = {}
        return True

    def _leave_table(self) -> None:
        """Move the keys from the hash table into a dict: it can hold NULL and keys of several columns."""
        if len(self.table):
            self.numbers = {(key,): partition for partition, key in enumerate(self.table.keys.tolist())}
            self.table = KeyTable()

    def _codes(self, name: str, column: pa.ChunkedArray) -> tuple[np.ndarray, list[Value]]:
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
        return to_numpy(codes), values

    def _narrow(self, name: str, column: pa.ChunkedArray) -> tuple[np.ndarray, int, int] | None:
        """Whole numbers in a narrow range need no hashing: how far each is from the least, that one, and the most."""
        if self.kinds[name] is not Kind.INT or column.null_count or not len(column):
            return None
        numbers = whole_numbers(column)
        least, most = _range(numbers)
        if most - least >= max(4 * len(numbers), 65_536):
            return None
        return numbers - least if least else numbers, least, most

    def find(self, keys: Iterable[Key]) -> dict[Key, int]:
        """The partitions of those of some keys that have one."""
        if not len(self.table):
            return {key: self.numbers[key] for key in keys if key in self.numbers}
        at = {key: partition for partition, key in enumerate(self.table.keys.tolist())}
        return {key: at[key[0]] for key in keys if key[0] in at}

    def known(self) -> list[Key]:
        """All keys that have a partition."""
        return [(key,) for key in self.table.keys.tolist()] if len(self.table) else list(self.numbers)

    def keep(self, alive: np.ndarray) -> None:
        """Drop partitions; the others are indexed anew, in order."""
        if len(self.table):
            self.table.load(self.table.keys[alive])
            return
        kept = [key for key, partition in self.numbers.items() if alive[partition]]
        self.numbers = {key: number for number, key in enumerate(kept)}

    def dump(self) -> tuple[Any, Any]:
        """The keys in the order of their partitions: whole numbers as an array, others as JSON."""
        if len(self.table):
            return None, self.table.keys
        keys = list(self.numbers)
        if len(self.columns) == 1 and self.kinds[self.columns[0]] is Kind.INT and (None,) not in self.numbers:
            return None, np.fromiter((key[0] for key in keys), np.int64, len(keys))
        return [encode(key) for key in keys], np.zeros(0, np.int64)

    def load(self, keys: Sequence[object] | None, numbers: np.ndarray) -> None:
        """Restore what `dump` returned."""
        if keys is None and len(numbers) >= MANY and has_compiler():
            self.table.load(numbers)
            self.numbers = {}
            return
        keys_of = zip(numbers.tolist()) if keys is None else map(decode, keys)
        self.numbers = {key: partition for partition, key in enumerate(keys_of)}


class KeyTable:
    """A hash table from whole numbers to partitions."""

    def __init__(self) -> None:
        self.known: np.ndarray = np.zeros(0, np.int64)
        self.size = 0
        self.table: np.ndarray = np.zeros(0, np.uint32)
        self._pins = Pins()

    def __len__(self) -> int:
        return self.size

    @property
    def keys(self) -> np.ndarray:
        """All keys, in the order of their partitions."""
        return self.known[: self.size]

    def load(self, keys: Any) -> None:
        """Start from some keys; the hash table is built when the next keys arrive."""
        self.known, self.size, self.table = keys, len(keys), np.zeros(0, np.uint32)

    def number(self, keys: np.ndarray) -> np.ndarray:
        """The partitions of some keys, new ones included."""
        wanted = self.size + len(keys)
        if 2 * wanted > len(self.table) or len(self.known) < wanted:
            known = np.zeros(2 * wanted, np.int64)
            known[: self.size] = self.keys
            self.table = np.full(1 << (2 * wanted).bit_length(), NIL, np.uint32)
            self.known, count, self.size = known, self.size, 0
            self._number(known[:count].copy())
        return self._number(keys)

    def _number(self, keys: np.ndarray) -> np.ndarray:
        partitions = np.empty(len(keys), np.uint32)
        function = library_function("number_keys", native=True)
        table, known = self._pins.pin([self.table, self.known])
        mask = len(self.table) - 1
        self.size = int(function(np.ascontiguousarray(keys), len(keys), table, mask, known, self.size, partitions))
        return partitions


def _narrowed(numbers: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Numbers by their last 32 bits, and the least and the greatest of them."""
    if len(numbers) < VERY_MANY or not has_compiler():
        return numbers.astype(np.uint32), int(numbers.min()), int(numbers.max())
    narrow, bounds = room_for(len(numbers), np.uint32), np.empty(2, np.int64)
    library_function("narrow_keys", native=True)(numbers, len(numbers), narrow, bounds)
    least, most = bounds.tolist()
    return narrow, least, most


def _range(numbers: np.ndarray) -> tuple[int, int]:
    if len(numbers) < MANY:
        return int(numbers.min()), int(numbers.max())
    import pyarrow.compute as pc  # takes a while to import, and goes over many numbers once where numpy goes twice

    extremes = pc.min_max(from_numpy(numbers))
    return extremes["min"].as_py(), extremes["max"].as_py()


def whole_numbers(column: pa.ChunkedArray) -> np.ndarray:
    """A column of integers as one array."""
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    parts = [to_numpy(chunk if chunk.type == pa.int64() else chunk.cast(pa.int64())) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
