"""The column that says of each row whether an event is inserted or retracted (S16)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import to_numpy
from cepheid.engine.encoding.columns import as_dictionary
from cepheid.errors import BindError, InputError, did_you_mean

SIGNS = {"+": 1, "+I": 1, "+U": 1, "-": -1, "-D": -1, "-U": -1}
"""As in a change feed of Flink, and shorter."""
WORDS = ", ".join(SIGNS)


def split_operations(table: pa.Table, op: str) -> tuple[pa.Table, Any]:
    """The events without the column, and 1 for each that is inserted, -1 for each that is retracted."""
    if op not in table.column_names:
        if not table.num_columns:
            return table, np.zeros(0, np.int8)
        remedy = did_you_mean(op, table.column_names, "columns")
        raise BindError("CEP301", f"op is '{op}', and the events have no such column", remedy)
    column = table.column(op)
    return table.drop_columns([op]), read_signs(column, op)


def read_signs(column: pa.ChunkedArray, op: str) -> Any:
    """1 for each row that inserts an event, -1 for each that retracts one. op: what the column is called."""
    if pa.types.is_null(column.type) or column.null_count:
        if not len(column):
            return np.zeros(0, np.int8)
        raise _unknown(op, column.is_null().index(True).as_py(), None)
    arrow = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(arrow) or pa.types.is_large_string(arrow)):
        raise InputError("CEP412", f"column '{op}' is {arrow}, not text", f"write one of {WORDS} into it")
    codes = as_dictionary(column)
    words = codes.dictionary.to_pylist()
    signs = np.array([SIGNS.get(word, 0) for word in words] or [0], np.int8)[to_numpy(codes.indices).astype(np.int64)]
    if not signs.all():
        row = int((signs == 0).argmax())
        raise _unknown(op, row, column[row].as_py())
    return signs


def _unknown(op: str, row: int, value: object) -> InputError:
    message = f"column '{op}' is {value!r} in row {row}"
    return InputError(
        "CEP412", message, f"write one of {WORDS}: the first three insert an event, the others retract it"
    )
