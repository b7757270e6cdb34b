"""Conditions that a match may get past untested: on attributes, or on events, that may be missing."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.components import components
from cepheid.pattern.tree.nodes import Either, EventPattern, Maybe, Negation, PatternTree, Repeat
from cepheid.pattern.tree.walk import walk

_LATER = (ex.Index.CURRENT, ex.Index.PREVIOUS)  # tested on each i >= 2


def may_be_missing(pattern: PatternTree, condition: ex.Expression, roles: Roles) -> bool:
    """Whether a condition reads an attribute that an event may be without: then it is TRUE (S3)."""
    if roles.types is None:
        return False
    types_of = {component.variable: component.types for component in components(pattern)}
    for node in walk(condition):
        match node:
            case ex.Attribute(variable, _, name):
                kinds = types_of.get(variable) or tuple(roles.types)
            case ex.SameValue(name):
                kinds = tuple(roles.types)
            case _:
                continue
        declared = [roles.types[kind] for kind in kinds if kind in roles.types]
        if name not in (roles.time, roles.type) and any(name not in names for names in declared):
            return True
    return False


def what_is_left_out(pattern: PatternTree, conditions: Iterable[ex.Expression]) -> str:
    """What follows for a match where conditions are never TRUE together; nothing if there is none then."""
    read = [node for condition in conditions for node in walk(condition) if isinstance(node, ex.Attribute)]
    for node in walk(pattern):
        for attribute in read:
            if isinstance(node, Negation) and node.event.variable == attribute.variable:
                return f", so that !{attribute.variable} always holds"
            optional = isinstance(node, Either | Maybe) or (isinstance(node, Repeat) and node.low == 0)
            each = attribute.index in (ex.Index.ONE, ex.Index.EACH)
            if optional and each and attribute.variable in names_of(node):
                return f", so that {attribute.variable} is never there"
    later = next((attribute.variable for attribute in read if attribute.index in _LATER), None)
    return "" if later is None else f", so {later}[] never gets a second event"


def names_of(pattern: PatternTree) -> set[str]:
    """The variables of a part of a pattern."""
    return {node.variable for node in walk(pattern) if isinstance(node, EventPattern) and node.variable is not None}
