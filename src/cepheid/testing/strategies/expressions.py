"""Expressions that bind without an error: of a sort, in a scope."""

from __future__ import annotations

from hypothesis import strategies as st

from cepheid.pattern.expressions import nodes as ex
from cepheid.testing.strategies.operators import VALUES
from cepheid.testing.strategies.predicates import PREDICATES, quantified
from cepheid.testing.strategies.scope import Scope
from cepheid.testing.strategies.sorts import Sort
from cepheid.testing.strategies.writer import ExpressionWriter

MAKERS = {**VALUES, Sort.BOOL: PREDICATES}


@st.composite
def expressions(draw: st.DrawFn, scope: Scope, sort: Sort, depth: int = 2) -> ex.Expression:
    """Expressions of a sort that `scope` can read, `depth` operators deep at most."""
    return ExpressionWriter(draw, scope, MAKERS, depth).value(sort)


@st.composite
def conditions(draw: st.DrawFn, scope: Scope, depth: int = 2) -> ex.Expression:
    """Conditions; most of them read an event."""
    writer = ExpressionWriter(draw, scope, MAKERS, depth - 1)
    return writer.one_of(PREDICATES)(writer, Sort.BOOL)


@st.composite
def quantifications(draw: st.DrawFn, scope: Scope) -> ex.Expression:
    """ALL and ANY over the events of an array in the scope."""
    return quantified(ExpressionWriter(draw, scope, MAKERS, 1), Sort.BOOL)
