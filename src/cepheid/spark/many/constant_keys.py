"""Columns that must have a constant of the rule in every event that can matter to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from cepheid.automaton.model import Now
from cepheid.engine.many.protocol import RULE
from cepheid.engine.many.routed.concerns import concerns
from cepheid.engine.many.routed.variants import Share
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind

Equality = tuple[str, str | ex.Literal]
"""A column of the events, and the column of the rules or the constant equal to it."""

_JOINED = (Kind.INT, Kind.STRING)
"""Kinds that Spark compares as the engine does."""


def constant_keys(share: Share, key: Iterable[str]) -> Mapping[str, pa.Array]:
    """Columns of the events with the value that each rule asks for: events with another one cannot matter to it.

    key: columns on which all events of a match agree, and by which the query takes no notice of other events.
    """
    compiled = CompiledQuery(share.variant.joined.bound)
    if compiled.why_interpreted:
        return {}
    automaton = compiled.automaton
    begins = _common(compiled, [[t.condition for t in arc.fence] for arc in automaton.arcs if arc.source is None])
    keys = set(key)
    equalities = [equality for equality in begins if equality[0] in keys]
    every = concerns(compiled)
    if not isinstance(every, str):
        equalities += [
            equality_ for equality_ in _common(compiled, [c.conditions for c in every]) if equality_ not in equalities
        ]
    columns: dict[str, pa.Array] = {}
    for column, constant in equalities:
        columns.setdefault(column, _values(share, constant))
    return columns


def _common(compiled: CompiledQuery, fences: Sequence[Sequence[ex.Expression]]) -> list[Equality]:
    """The equalities that all lists of conditions have."""
    every = [list(_equalities(compiled, fence)) for fence in fences]
    return (
        [equality for equality in dict.fromkeys(every[0]) if all(equality in conditions for conditions in every)]
        if every
        else []
    )


def _equalities(compiled: CompiledQuery, fence: Sequence[ex.Expression]) -> Iterator[Equality]:
    known = compiled.query.schema.arrow.names
    for node in fence:
        if not isinstance(node, ex.Compare) or node.operator != "=":
            continue
        for column, constant in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(column, Now) or column.column not in known or column.type.kind not in _JOINED:
                continue
            if isinstance(constant, ex.Literal) and constant.type.kind is column.type.kind:
                yield column.column, ex.Literal(constant.value, constant.type)  # wherever it is in the text
            elif _is_of_rule(constant) and constant.type.kind is column.type.kind:
                yield column.column, constant.column


def _is_of_rule(node: ex.Expression) -> TypeGuard[Now]:
    return isinstance(node, Now) and node.column.startswith("$") and node.column != RULE


def _values(share: Share, constant: str | ex.Literal) -> pa.Array:
    count = len(share.rows)
    if isinstance(constant, ex.Literal):
        return pa.array(np.repeat(np.array([constant.value], object), count))
    column = share.constants.column(constant).combine_chunks()
    return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
