"""What events are compared by in the tables: whole numbers that are in the order of the values, and NULL below all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import as_dictionary, numbers_of, take_codes
from cepheid.engine.encoding.masks import evaluate_mask
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.engine.many.tables.chain import Chain, ComparisonForm, ComputedCondition, Constant, Key, RuleConstant
from cepheid.errors import CepheidError
from cepheid.kernel.compile import has_compiler, run_on_arrays
from cepheid.kernel.runtime import NIL
from cepheid.kernel.shared import HALF, NAN_KEY, NULL, POSITIVE
from cepheid.pattern.expressions.types import Kind

LEAST, MOST = NULL + 1, POSITIVE
"""The bounds of what is not NULL."""
UNKNOWN = -1
"""The code of a text that no rule has."""


def real_keys(values: np.ndarray) -> np.ndarray:
    """Doubles as whole numbers of the same order; NaN is the greatest, and there is one zero."""
    values = np.ascontiguousarray(values, np.float64)
    bits = values.view(np.int64)
    keys = np.where(bits < 0, bits ^ POSITIVE, bits)
    keys = np.where(values == 0.0, 0, keys)
    return np.where(np.isnan(values), NAN_KEY, keys)


class KeyColumns:
    """The columns of the tables: column 0 says nothing, the others are the keys of templates in the order they came."""

    def __init__(self) -> None:
        self.keys: list[Key | None] = [None]
        self.places: dict[Key, int] = {}
        self.wide: list[int] = [0]  # whether a column is compared by its upper half first
        self.texts: dict[str, int] = {}

    def copy(self) -> KeyColumns:
        """The same, to which more may come."""
        columns = KeyColumns()
        columns.keys, columns.places, columns.wide = list(self.keys), dict(self.places), list(self.wide)
        columns.texts = dict(self.texts)
        return columns

    def place(self, key: Key) -> int:
        """The column of a key."""
        if key not in self.places:
            self.places[key] = len(self.keys)
            self.keys.append(key)
            self.wide.append(int(key.form == ComparisonForm.REAL or key.kind in (Kind.TIMESTAMP, Kind.DURATION)))
        return self.places[key]

    def __len__(self) -> int:
        return len(self.keys)

    # Constants.

    def code(self, text: str) -> int:
        """The code of a text that a rule has."""
        return self.texts.setdefault(text, len(self.texts))

    def constants(self, key: Key, constant: Constant, rules: pa.Table, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The key of a constant of each of so many rules, and where it is NULL."""
        if isinstance(constant, RuleConstant):
            column = rules.column(constant.column)
            null = np.asarray(column.is_null().combine_chunks().to_numpy(zero_copy_only=False), bool)
            return self._of_column(key, constant, column), null
        if constant.value is None:
            return np.zeros(count, np.int64), np.ones(count, bool)
        return np.full(count, self._of_value(key, constant.value), np.int64), np.zeros(count, bool)

    def _of_column(self, key: Key, constant: RuleConstant, column: pa.ChunkedArray) -> np.ndarray:
        if key.form in (ComparisonForm.TEXT, ComparisonForm.TYPE):
            coded = as_dictionary(column)
            codes = np.array([self.code(text) for text in coded.dictionary.to_pylist()], np.int64)
            return take_codes(codes, coded.indices, UNKNOWN)
        numbers = numbers_of(constant.column, constant.type.kind, column)
        return real_keys(numbers) if key.form == ComparisonForm.REAL else np.asarray(numbers, np.int64)

    def _of_value(self, key: Key, value: object) -> int:
        if key.form in (ComparisonForm.TEXT, ComparisonForm.TYPE):
            return self.code(str(value))
        assert isinstance(value, int | float)
        return int(real_keys(np.array([value]))[0]) if key.form == ComparisonForm.REAL else int(value)

    # Events.

    def of(
        self, batch: Batch, partitions: Sequence[PartitionIndex | None], *, native: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """The keys of events, row by row, and the same in 32 bits."""
        count, width = len(batch), len(self.keys)
        keys = np.zeros((count, width), np.int64)
        for at, key in enumerate(self.keys):
            if key is not None:
                self._write(batch, key, partitions[at], keys, at, native=native)
        quick = np.zeros((count, width), np.uint32)
        flat = keys.reshape(-1), quick.reshape(-1)
        shifts = np.array([32 * wide for wide in self.wide], np.int64)
        if count:
            run_on_arrays("quick_keys", count, width, shifts, *flat, native=native)
        return flat

    def of_one(self, batch: Batch, key: Key) -> np.ndarray:
        """The keys of events by one column, which is none of the tables and no partition."""
        keys = np.zeros((len(batch), 1), np.int64)
        self._write(batch, key, None, keys, 0, native=has_compiler())
        return keys[:, 0]

    def _write(
        self, batch: Batch, key: Key, partitions: PartitionIndex | None, keys: np.ndarray, at: int, *, native: bool
    ) -> None:
        if key.form == ComparisonForm.PARTITION:
            assert partitions is not None
            partition_codes = batch.partitions(partitions).astype(np.int64)
            keys[:, at] = np.where(partition_codes == NIL, NULL, partition_codes)
            return
        if key.form == ComparisonForm.MASK:
            assert key.computed is not None
            keys[:, at] = _answers(batch, key.computed)
            return
        if key.form == ComparisonForm.TYPE:
            codes, names = batch.type_codes
            keys[:, at] = self._known(names)[codes]
            return
        if key.form == ComparisonForm.TEXT:
            coded = as_dictionary(batch.column(key.column))
            keys[:, at] = take_codes(self._known(coded.dictionary.to_pylist()), coded.indices, NULL)
            return
        values = batch.values(key.column)
        if key.form == ComparisonForm.REAL:
            values = np.ascontiguousarray(values, np.float64)
            if len(values):
                flat = keys.reshape(-1)
                run_on_arrays(
                    "float_keys", values, len(values), values.view(np.int64), keys.shape[1], at, flat, native=native
                )
        else:
            # No rule is compared with the least two numbers, so that they need not be told apart; see `fits`.
            keys[:, at] = np.maximum(np.asarray(values, np.int64), LEAST)
        if batch.has_nulls(key.column):
            keys[batch.nulls(key.column).astype(bool), at] = NULL

    def _known(self, texts: Sequence[str | None]) -> np.ndarray:
        codes = [NULL if text is None else self.texts.get(text, UNKNOWN) for text in texts]
        return np.array(codes, np.int64)


def _answers(batch: Batch, computed: ComputedCondition) -> np.ndarray:
    """Where a condition on one event holds."""
    errors: dict[int, CepheidError] = {}
    answers = evaluate_mask(computed.query, batch, computed.mask, errors)
    if errors:
        raise errors[min(errors)]
    return answers


def short(values: np.ndarray) -> np.ndarray:
    """Which keys are exact in 32 bits: the least are for NULL and all that is below, the greatest for all above."""
    return (values > 1 - HALF) & (values < HALF - 1)


def fits(chain: Chain, rules: pa.Table) -> bool:
    """Whether no constant of some rules is next to what stands for NULL."""
    fences = [fence for step in chain.steps for fence in (step.fence, *step.fence.ways)]
    fences += [step.wait.ending for step in chain.steps if step.wait is not None and step.wait.ending is not None]
    for bounds in (bounds for fence in fences for bounds in fence.bounds if bounds.key.form == ComparisonForm.VALUE):
        if isinstance(bounds.constant, RuleConstant):
            if bounds.constant.type.kind is Kind.INT:
                least = pc.min(rules.column(bounds.constant.column)).as_py()
                if least is not None and least < LEAST + 2:
                    return False
        elif isinstance(bounds.constant.value, int) and bounds.constant.value < LEAST + 2:
            return False
    return True
