"""Conjuncts of WHERE, each in a form that can be tested at some place (S5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.testing.strategies.expressions import conditions, quantifications
from cepheid.testing.strategies.literals import literals
from cepheid.testing.strategies.scope import Reference, Scope, earlier, settled
from cepheid.testing.strategies.variables import DrawnVariable


def conjuncts(variables: Sequence[DrawnVariable], scope: Scope) -> st.SearchStrategy[ex.Expression]:
    """Conditions on a match, on each event of an array, or on an absent event."""
    forms = [_on_match(variables, scope)]
    for variable in variables:
        if variable.negated:
            forms.append(_on_absent(variable, variables, scope))
        elif variable.array:
            forms += [_on_each(variable, variables, scope), _on_later(variable, variables, scope)]
            forms.append(_on_all(variable, variables, scope))
    # A conjunction is several conjuncts, not one.
    return st.one_of(forms).filter(lambda condition: not isinstance(condition, ex.And))


@st.composite
def _wholes(draw: st.DrawFn, variables: Sequence[DrawnVariable]) -> dict[int, DrawnVariable]:
    """For some outermost repetitions, the variable that is used as a whole."""
    chosen: dict[int, DrawnVariable] = {}
    for variable in variables:
        if variable.array and draw(st.booleans()):
            chosen.setdefault(variable.loops[0], variable)
    return chosen


@st.composite
def _on_match(draw: st.DrawFn, variables: Sequence[DrawnVariable], scope: Scope) -> ex.Expression:
    return draw(conditions(settled(variables, scope, draw(_wholes(variables)))))


@st.composite
def _on_absent(
    draw: st.DrawFn, variable: DrawnVariable, variables: Sequence[DrawnVariable], scope: Scope
) -> ex.Expression:
    """At most one absent event in a conjunct (SASE 2.2.2)."""
    references = [(variable.name, ex.Index.ONE)] * 3
    return draw(conditions(settled(variables, scope, draw(_wholes(variables))).and_(references)))


def _on_each(
    variable: DrawnVariable, variables: Sequence[DrawnVariable], scope: Scope
) -> st.SearchStrategy[ex.Expression]:
    """`a[].x` of a repeated event, `a.x` in a repeated group."""
    index = ex.Index.EACH if variable.indexed else ex.Index.ONE
    references = [(variable.name, index)] * 3 + [(variable.name, ex.Index.FIRST)]
    return conditions(replace(scope, attributes=(*references, *earlier(variable, variables))))


def _on_later(
    variable: DrawnVariable, variables: Sequence[DrawnVariable], scope: Scope
) -> st.SearchStrategy[ex.Expression]:
    """`a[i].x > a[i-1].x`, `a[i].x > avg(a[..i-1].x)`; an aggregate over `a[i-1]` is over all before."""
    a = variable.name
    references: list[Reference] = [
        (a, ex.Index.CURRENT),
        (a, ex.Index.PREVIOUS),
        (a, ex.Index.CURRENT),
        (a, ex.Index.FIRST),
    ]
    others, arrays = earlier(variable, variables), {other.name for other in variables if other.array}
    # Alone with an event of the same turn of a group, `a[2]` would be tested when there is no such event any more.
    of_turn = any(name in arrays and index is ex.Index.ONE for name, index in others)
    references += [(a, ex.Back(2))] if of_turn else [(a, ex.Nth(2)), (a, ex.Back(2))]
    ranges = ((a, ex.Index.BEFORE), (a, ex.Index.PREVIOUS))
    return conditions(replace(scope, attributes=(*references, *others), ranges=ranges))


@st.composite
def _on_all(
    draw: st.DrawFn, variable: DrawnVariable, variables: Sequence[DrawnVariable], scope: Scope
) -> ex.Expression:
    """A condition on all events of a repeated one: `ALL(a[].x > b.x)`."""
    return draw(quantifications(settled(variables, scope, {variable.loops[0]: variable})))


@st.composite
def same_values(draw: st.DrawFn, scope: Scope, attribute: str | None = None) -> ex.SameValue:
    """`[attr]`, `[attr = value]`, `[payload.user]`."""
    if attribute is not None:
        return ex.SameValue(attribute)
    sorts = scope.keys()
    path = draw(st.sampled_from(sorted(sorts)))
    value = draw(literals(sorts[path])) if draw(st.integers(0, 3)) == 3 else None
    return ex.SameValue(path[0], value, path[1:])
