"""Conditions on one event that no kernel can compute: they are evaluated for a whole batch beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import as_dictionary, take_codes, type_numbers
from cepheid.errors import CepheidError, EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.kernel.arguments import Mask
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind
from cepheid.pattern.tree.walk import walk
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import read_rows


def evaluate_mask(query: Runnable, batch: Batch, wanted: Mask, errors: dict[int, CepheidError]) -> np.ndarray:
    """Where a condition on one event holds: 1; 2 where it could not be computed, and `errors` says why."""
    component = query.components.get(wanted.variable)  # an automaton of one's own has none for its events
    mask = np.zeros(len(batch), np.uint8)
    rows = np.arange(len(batch))
    if query.schema.roles.type is not None and component is not None and component.types:
        codes, names = batch.type_codes
        rows = np.flatnonzero(type_numbers(names, component.types)[codes])
    mask[rows] = answers(query, batch, wanted.condition, wanted.variable, rows, errors)
    return mask


def answers(
    query: Runnable,
    batch: Batch,
    condition: ex.Expression,
    variable: str,
    rows: np.ndarray,
    errors: dict[int, CepheidError],
) -> np.ndarray:
    """The same for some events of a batch, by their places."""
    holds = Compiler(query).condition(condition)
    read = {node.name for node in walk(condition) if isinstance(node, ex.Attribute)}
    calls = any(isinstance(n, ex.Call) and n.function in query.functions for n in walk(condition))
    index, back = rows, None
    if len(read) == 1 and not calls and query.schema.roles.types is None:
        column = batch.column(next(iter(read)))
        if query.schema.columns[next(iter(read))].kind is Kind.STRING and len(rows) > 64:
            # A pure function of one string is computed once for each distinct string.
            codes = as_dictionary(column.take(from_numpy(rows)))
            _, first, back = np.unique(take_codes(np.arange(len(codes.dictionary)), codes.indices, -1), True, True)
            index = rows[first]
    same = batch.repeated(read) if back is None else None
    if same is not None:
        _, first, back = np.unique(same[rows], True, True)
        index = rows[first]
    schema = _only(query.schema, read)
    table = pa.table({name: batch.column(name) for name in schema.columns})
    events = read_rows(table.take(from_numpy(index)), schema)
    held = np.zeros(len(index), np.uint8)
    for k, event in enumerate(events):
        try:
            held[k] = holds(Bindings({variable: (event,)}, {variable: event}))
        except EvaluationError as error:
            held[k] = 2
            alike = index[k : k + 1] if back is None else rows[back == k]
            errors.update(dict.fromkeys(alike.tolist(), error))
    return held if back is None else held[back]


def _only(schema: Schema, read: set[str]) -> Schema:
    """The columns that a condition reads, and those that every event must have."""
    needed = {schema.roles.time, schema.roles.type, schema.start, *read}
    columns = {name: type_ for name, type_ in schema.columns.items() if name in needed}
    return replace(schema, columns=columns, parts={})
