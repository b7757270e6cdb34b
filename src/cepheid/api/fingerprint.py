"""What identifies a query: a snapshot can only be restored by the same query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from cepheid.api.options import stable
from cepheid.language import print_program
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.tree.nodes import Program
from cepheid.pattern.tree.walk import arcs_in


def fingerprint_of(program: Program, params: Mapping[str, object], roles: Roles, functions: Iterable[str]) -> str:
    """The fingerprint of a program with its parameters, the roles of columns, and the names of its functions."""
    values = sorted((name, repr(stable(value))) for name, value in params.items())
    facts: list[object] = [print_program(program), values, sorted(functions), repr(roles).replace(", start=None", "")]
    arcs = (arc for query in program.queries for arc in arcs_in(query))
    lifetimes = [(arc.since, arc.until) for arc in arcs]  # which the text does not have
    if any(since is not None or until is not None for since, until in lifetimes):
        facts.append(lifetimes)
    return sha256(repr(facts).encode()).hexdigest()
