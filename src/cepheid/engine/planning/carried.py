"""Attributes that a CESAR expression only hands on, in a form that kernels can hold: decimals as texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheid.front.cesar.linear import EventAutomaton, LinearEdge
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import STRING, Kind, Type
from cepheid.pattern.tree.walk import substitute, walk


def carried_as_texts(automaton: EventAutomaton) -> EventAutomaton:
    """The same with texts in the place of decimals, if no edge compares or computes with one that an instance has."""
    every = [automaton.types, *(state.types for state in automaton.states)]
    if not any(type_.kind is Kind.DECIMAL for types in every for type_ in types.values()):
        return automaton
    if not all(_only_carries(automaton, edge) for edge in automaton.edges):
        return automaton
    return replace(
        automaton,
        states=tuple(replace(state, types=_as_texts(state.types)) for state in automaton.states),
        edges=tuple(replace(edge, values=_values(automaton, edge)) for edge in automaton.edges),
        types=_as_texts(automaton.types),
    )


def _after(automaton: EventAutomaton, edge: LinearEdge) -> Mapping[str, Type]:
    return automaton.types if edge.target is None else automaton.states[edge.target].types


def _only_carries(automaton: EventAutomaton, edge: LinearEdge) -> bool:
    """Whether an edge does no more with decimals than to copy them."""
    types = _after(automaton, edge)
    copied = [name for name, type_ in types.items() if type_.kind is Kind.DECIMAL]
    computed = [value for name, value in edge.values.items() if name not in copied]
    reads = (node for e in (*edge.fence, *computed) for node in walk(e))
    if any(
        isinstance(node, ex.RegisterField) and node.type is not None and node.type.kind is Kind.DECIMAL
        for node in reads
    ):
        return False
    return all(isinstance(edge.values[name], ex.Attribute | ex.RegisterField) for name in copied)


def _as_texts(types: Mapping[str, Type]) -> dict[str, Type]:
    return {name: STRING if type_.kind is Kind.DECIMAL else type_ for name, type_ in types.items()}


def _values(automaton: EventAutomaton, edge: LinearEdge) -> dict[str, ex.Expression]:
    types = _after(automaton, edge)

    def change(node: ex.Expression) -> ex.Expression | None:
        return replace(node, type=STRING) if isinstance(node, ex.RegisterField) else ex.Cast(node, "STRING")

    return {
        name: substitute(value, change) if types[name].kind is Kind.DECIMAL else value
        for name, value in edge.values.items()
    }
