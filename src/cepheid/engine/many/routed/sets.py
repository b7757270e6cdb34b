"""Parameters that are sets, as parameters for each of their values: rules whose sets are as long are one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import expressions, rewrite, rewrite_expressions, walk

FEW_SETS = 4
"""Different sets that are constants of queries of their own."""
LONGEST = 64
"""Values of a set that are parameters."""
Lengths = tuple[tuple[str, int], ...]
"""How many values the set of each parameter has."""


def set_parameters(program: Program, rules: pa.Table) -> tuple[str, ...]:
    """The columns of rules that are sets, and used as nothing else; of those, the ones with many different sets."""
    nodes = [node for query in program.queries for e in expressions(query) for node in walk(e)]
    named = {node.name for node in nodes if isinstance(node, ex.Name)}
    names = dict.fromkeys(node.set for node in nodes if isinstance(node, ex.InSet) and node.set not in named)
    return tuple(name for name in names if name in rules.column_names and _has_many(rules.column(name)))


def _has_many(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return False
    if pa.types.is_nested(column.type.value_type) or column.null_count:
        return False
    return len(column) > FEW_SETS and len({repr(value) for value in column.slice(0, 64).to_pylist()}) > FEW_SETS


def by_length(rules: pa.Table, names: Sequence[str]) -> Iterator[tuple[Lengths | None, np.ndarray]]:
    """Rules by the lengths of their sets; None: of those that are empty, or too long."""
    lengths = np.stack([pc.list_value_length(rules.column(name)).to_numpy().astype(np.int64) for name in names])
    odd = ((lengths == 0) | (lengths > LONGEST)).any(axis=0)
    if odd.any():
        yield None, np.flatnonzero(odd)
    kinds, codes = np.unique(lengths[:, ~odd], axis=1, return_inverse=True)
    for code, kind in enumerate(kinds.T.tolist()):
        yield tuple(zip(names, kind, strict=True)), np.flatnonzero(~odd)[codes.reshape(-1) == code]


def with_values(program: Program, lengths: Lengths) -> Program:
    """A program that asks for one of the values."""
    known = dict(lengths)

    def change(node: ex.Expression) -> ex.Expression:
        if not isinstance(node, ex.InSet) or node.set not in known:
            return node
        values = tuple(ex.Name(_value(node.set, at), span=node.span) for at in range(known[node.set]))
        return ex.In(node.operand, values, node.negated, span=node.span)

    return Program(tuple(rewrite_expressions(q, lambda e: rewrite(e, change)) for q in program.queries))


def values_of(rules: pa.Table, lengths: Mapping[str, int]) -> pa.Table:
    """Rules with a column for each value of their sets."""
    columns: dict[str, Any] = {}
    for name in rules.column_names:
        column = rules.column(name)
        if name not in lengths:
            columns[name] = column
            continue
        flat = pc.list_flatten(column.combine_chunks())
        flat = flat.combine_chunks() if isinstance(flat, pa.ChunkedArray) else flat
        for at in range(lengths[name]):
            columns[_value(name, at)] = flat.take(from_numpy(np.arange(at, len(flat), lengths[name])))
    return pa.table(columns)


def _value(name: str, at: int) -> str:
    return f"{name} {at + 1}"
