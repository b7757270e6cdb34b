"""An automaton with its clauses, bound to a schema."""

from __future__ import annotations

from dataclasses import replace

from cepheid.front.analysed import Analysed, Functions
from cepheid.front.automata.bound import bind_automaton, register_types, until
from cepheid.front.clauses import bind_clauses, within_of
from cepheid.front.runnable import Runnable
from cepheid.front.sase.keys import bind_keys
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.tree.walk import automaton_of


def bind_own_automaton(analysed: Analysed, schema: Schema, functions: Functions) -> Runnable:
    """Check an automaton and its clauses against a schema. Its first result is until when a match holds."""
    query = analysed.query
    automaton = automaton_of(query)
    registers = register_types(automaton, schema.columns[schema.roles.time])
    typer = Typer(schema, analysed.components, functions, registers)
    keys = bind_keys(analysed, typer)
    window = within_of(query.within, schema.roles.unit)
    first, *others = query.returns
    valid = replace(first, expression=until(typer, None if window is None else window.nanoseconds))
    body = bind_automaton(automaton, typer)
    return bind_clauses(analysed, typer, keys, body, returns=(valid, *others))
