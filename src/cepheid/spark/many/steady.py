"""Buckets of a stream: a value, or a rule, is always in the same one, whatever other rules there are."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.spark.many.split import RuleSplit, VariantRules, constants_of

MOST_SHARDS = 8
"""Buckets of rules to which all events go: each of them costs a copy of every event."""


def hashes(values: pa.Array) -> np.ndarray:
    """A hash of whole numbers or texts, which Spark computes too; that of NULL is -1."""
    texts = values.cast(pa.string()).to_pylist()
    return np.fromiter((-1 if text is None else crc32(text.encode()) for text in texts), np.int64, len(texts))


def hash_of(column: Column) -> Column:
    """The same in Spark; that of NULL is NULL."""
    return F.crc32(column.cast("string").cast("binary"))


def places_of(hashed: np.ndarray, way: RuleSplit) -> np.ndarray:
    """The bucket of each hash; -1 for that of NULL."""
    return np.where(hashed < 0, -1, way.first + hashed % way.buckets)


class Steadily:
    """By hashes. buckets: how many there are for each way; ids: of the rules, by their numbers."""

    slices: int | None = None

    def __init__(self, buckets: int, ids: pa.Array) -> None:
        self.keyed = buckets
        self._ids = ids

    def by_constant(self, parts: Sequence[VariantRules], column: str, first: int) -> RuleSplit:
        """By the hash of the constant."""
        numbers, coded = constants_of(parts, column)
        way = RuleSplit(numbers, self.keyed, first, column=column)
        of_value = places_of(hashes(coded.dictionary), way)
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        places = np.where(codes < 0, -1, np.append(of_value, -1)[codes])
        values = pa.table({"value": coded.dictionary})
        return RuleSplit(numbers, self.keyed, first, column=column, values=values, places=places)

    def by_rules(self, numbers: np.ndarray, first: int) -> RuleSplit:
        """By the hash of the id."""
        way = RuleSplit(numbers, min(self.keyed, MOST_SHARDS), first)
        places = places_of(hashes(self._ids.take(pa.array(numbers, pa.int64()))), way)
        return RuleSplit(numbers, way.buckets, first, places=places)
