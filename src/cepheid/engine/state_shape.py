"""What the state of a stream looks like: two queries of the same shape can read each other's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from hashlib import sha256

from cepheid.engine.program import CompiledProgram
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import INT, Kind
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.walk import substitute, walk

# Below these, constants are only compared with. What aggregates and functions make of events may be in the state.
_COMPARING = (ex.And, ex.Or, ex.Not, ex.Compare, ex.Between, ex.IsNull)
_COMPUTED_AGAIN = (ex.Arithmetic, ex.Minus, ex.Attribute, ex.Literal)  # from attributes, for each event that arrives


def state_shape(compiled: CompiledProgram) -> dict[str, str]:
    """Return a digest of each clause that the state depends on, by its name.

    Runs hold attributes of events, and compare them with constants when an event arrives: constants of conditions are
    not in the state. RETURN reads the events of a match, unless it makes events for another query. Functions are known
    by their names, which are in the clauses that call them.

    >>> from cepheid import Query
    >>> new, old = (
    ...     state_shape(Query(f"PATTERN SEQ(A a, B b) WHERE a.x > {k} WITHIN 1 hour RETURN a.x + {k} AS x").compiled)
    ...     for k in (1, 2)
    ... )
    >>> new == old
    True
    """
    shape = {"columns and their roles": repr(compiled.roles)}
    for number, (analysed, _) in enumerate(compiled.flow, start=1):
        of = f" of query {number}" if len(compiled.flow) > 1 else ""
        for name, value in clauses(analysed.query).items():
            shape[f"{name}{of}"] = repr(value)
    return {name: sha256(text.encode()).hexdigest()[:8] for name, text in shape.items()}


def clauses(query: tree.QueryTree) -> dict[str, object]:
    """The clauses of a query that its state depends on, without their constants."""
    found: dict[str, object] = {field.name: getattr(query, field.name) for field in fields(query) if field.repr}
    found["where"] = tuple(map(_without_constants, query.where))
    found["having"] = query.having and _without_constants(query.having)
    if query.into is None:
        del found["returns"]
    return {_NAMES.get(name, name.upper().replace("_", " ")): value for name, value in found.items()}


_NAMES = {"streams": "FROM", "sees": "the condition of FROM", "returns": "RETURN", "strategies": "the strategies"}


def _without_constants(expression: ex.Expression) -> ex.Expression:
    """Replace constants by their types."""

    def change(node: ex.Expression) -> ex.Expression | None:
        if isinstance(node, ex.Literal) and node.value is not None and not isinstance(node.value, bool):
            return ex.Literal(0, INT if node.type.kind in (Kind.INT, Kind.FLOAT) else node.type)
        if isinstance(node, ex.In) and all(isinstance(choice, ex.Literal) for choice in node.choices):
            return replace(node, choices=(ex.Literal(0, INT),))
        deeper = isinstance(node, _COMPARING) or all(isinstance(part, _COMPUTED_AGAIN) for part in walk(node))
        return None if deeper else node

    return substitute(expression, change)


def differences(shape: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the clauses in which two shapes differ."""
    return [name for name in {**shape, **other} if shape.get(name) != other.get(name)]
