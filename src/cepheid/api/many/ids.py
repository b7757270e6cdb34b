"""The ids of rules: text or whole numbers, each once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cepheid.api.many.problems import Problems
from cepheid.api.readable import UNREADABLE
from cepheid.engine.encoding.arrow import to_numpy
from cepheid.errors import InputError, UsageError

BAD_RULES = "CEP616"
"""The code of errors that are of the table of rules itself."""


def as_ids(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    """The ids as one array of text or of 64-bit integers."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column.type, pa.DictionaryType):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    remedy = "use text or whole numbers as ids"
    raise UsageError(BAD_RULES, f"the ids in '{name}' are {column.type}, neither text nor whole numbers", remedy)


def listed_ids(ids: Iterable[object] | None, count: int, what: str) -> pa.Array:
    """Ids from a list; their positions where there is none."""
    if ids is None:
        return pa.array(range(count), pa.int64())
    if isinstance(ids, str | bytes):  # whose letters would be ids
        raise UsageError(BAD_RULES, f"ids is {ids!r}, not a list of ids", f"pass ids=[{ids!r}, …], one for each")
    try:
        listed = as_ids(ids if isinstance(ids, pa.Array | pa.ChunkedArray) else pa.array(list(ids)), "ids")
    except UNREADABLE as error:
        remedy = "pass a list of texts, or of whole numbers"
        raise UsageError(BAD_RULES, f"the ids can't be read: {str(error).splitlines()[0]}", remedy) from None
    if len(listed) != count:
        raise UsageError(BAD_RULES, f"there are {len(listed)} ids for {count} {what}", "pass one id for each")
    return listed


def check_ids(ids: pa.Array, problems: Problems, remedy: str) -> None:
    """Refuse NULLs, and what is there already."""
    if ids.null_count:
        error = InputError(BAD_RULES, "its id is NULL", remedy)
        problems.add(np.flatnonzero(_null(ids)), error)
    codes = to_numpy(ids.dictionary_encode("encode").indices).astype(np.int64)
    if len(codes) and int(codes.max()) + 1 < len(codes):
        order = np.argsort(codes, kind="stable")
        again = order[1:][codes[order][1:] == codes[order][:-1]]
        again = np.sort(again[~_null(ids)[again]])
        if len(again):
            remedy = f"give each {problems.what} an id of its own"
            problems.add(again, InputError(BAD_RULES, "its id is there already", remedy))


def _null(ids: pa.Array) -> np.ndarray:
    return np.asarray(ids.is_null().to_numpy(zero_copy_only=False))
