"""All trees that the grammar can express, valid or not: for tests of parsers, printers and tree walkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from cepheid.language.elements import as_elements, with_elements
from cepheid.language.printer import quote_name
from cepheid.pattern.algebra import tree as algebra
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions import types
from cepheid.pattern.expressions.comparisons import SIGNS
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.components import name_events
from cepheid.pattern.tree.walk import rewrite, rewrite_expressions, walk
from cepheid.testing.strategies.literals import any_literals
from cepheid.testing.strategies.names import names, type_names

Expressions = st.SearchStrategy[ex.Expression]
Patterns = st.SearchStrategy[tree.PatternTree]
Terms = st.SearchStrategy[algebra.Term]

_INDEXES = (
    st.sampled_from([index for index in ex.Index if index is not ex.Index.ONE])
    | st.builds(ex.Nth, st.integers(2, 20))
    | st.builds(ex.Back, st.integers(2, 20))
)


Item = TypeVar("Item")


def _some(items: st.SearchStrategy[Item], least: int = 1, most: int = 3) -> st.SearchStrategy[tuple[Item, ...]]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def _is_number(node: ex.Expression) -> bool:
    return isinstance(node, ex.Literal) and node.type in (types.INT, types.FLOAT)


LEAVES: Mapping[type[ex.Expression], Expressions] = {
    ex.Literal: any_literals(),
    ex.Name: st.builds(ex.Name, names()),
    ex.Attribute: st.builds(ex.Attribute, names(), st.just(ex.Index.ONE) | _INDEXES, names()),
    ex.Rows: st.builds(ex.Rows, names(), _INDEXES),
    ex.MatchId: st.builds(ex.MatchId),
    ex.Length: st.builds(ex.Length, names()),
}
"""Strategies for the expressions without parts."""

BRANCHES: Mapping[type[ex.Expression], Callable[[Expressions], Expressions]] = {
    ex.AggregateCall: lambda inner: st.builds(
        _aggregate, st.sampled_from(ex.AGGREGATES), inner, st.booleans(), st.none() | inner, inner
    ),
    ex.Quantified: lambda inner: st.builds(ex.Quantified, st.sampled_from(ex.QUANTIFIERS), inner),
    ex.Call: lambda inner: st.builds(
        ex.Call, names().filter(lambda name: name.lower() not in ex.AGGREGATES), _some(inner, 0)
    ),
    # The minus of a constant number is a part of the constant.
    ex.Minus: lambda inner: st.builds(ex.Minus, inner.filter(lambda node: not _is_number(node))),
    ex.Arithmetic: lambda inner: st.builds(ex.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
    ex.Compare: lambda inner: st.builds(ex.Compare, st.sampled_from(list(SIGNS)), inner, inner),
    ex.And: lambda inner: st.builds(ex.And, _some(inner, 2)),
    ex.Or: lambda inner: st.builds(ex.Or, _some(inner, 2)),
    ex.Not: lambda inner: st.builds(ex.Not, inner),
    ex.IsNull: lambda inner: st.builds(ex.IsNull, inner, st.booleans()),
    ex.In: lambda inner: st.builds(ex.In, inner, _some(inner), st.booleans()),
    ex.InSet: lambda inner: st.builds(ex.InSet, inner, type_names(), st.booleans()),
    ex.Between: lambda inner: st.builds(ex.Between, inner, inner, inner, st.booleans()),
    ex.Like: lambda inner: st.builds(ex.Like, inner, inner, st.booleans()),
    ex.RLike: lambda inner: st.builds(ex.RLike, inner, inner, st.booleans()),
    ex.Cast: lambda inner: st.builds(ex.Cast, inner, st.sampled_from(["INT", "STRING", "DECIMAL(10, 2)", "TIMESTAMP"])),
    ex.Field: lambda inner: st.builds(ex.Field, _paths(), names()),
    ex.Element: lambda inner: st.builds(ex.Element, _paths(), inner),
    ex.CaseWhen: lambda inner: st.builds(ex.CaseWhen, st.none() | inner, _some(_arms(inner)), st.none() | inner),
    ex.SameValue: lambda inner: st.builds(ex.SameValue, names(), st.none() | inner, _some(names(), 0, 2)),
    ex.When: lambda inner: _arms(inner),
}
"""Strategies for the expressions with parts, given one for the parts."""


def _aggregate(
    function: str, argument: ex.Expression, distinct: bool, condition: ex.Expression | None, share: ex.Expression
) -> ex.AggregateCall:
    return ex.AggregateCall(function, argument, distinct, condition, share if function == "percentile" else None)


def _paths() -> Expressions:
    """What a field or an element is read from: an attribute, or a field of one."""
    attribute = st.builds(ex.Attribute, names(), st.sampled_from(ex.Index), names())
    return attribute | st.builds(ex.Field, attribute, names())


def _arms(inner: Expressions) -> st.SearchStrategy[ex.When]:
    return st.builds(ex.When, inner, inner)


@cache
def any_expressions() -> Expressions:
    """Expressions of every node. The arm of a CASE stands only there."""
    return st.recursive(
        st.one_of(*LEAVES.values()),
        lambda inner: st.one_of(*(branch(inner) for node, branch in BRANCHES.items() if node is not ex.When)),
        max_leaves=5,
    )


def any_events() -> st.SearchStrategy[tree.EventPattern]:
    """Events of one type or of ANY of some, with a variable or without."""
    return st.builds(tree.EventPattern, _some(type_names(), 0), st.none() | names())


@st.composite
def _repeats(draw: st.DrawFn, inner: Patterns) -> tree.Repeat:
    low = draw(st.integers(0, 3))
    return tree.Repeat(draw(inner), low, draw(st.none() | st.integers(max(low, 1), 5)))


COMPOUNDS: Mapping[type[tree.PatternTree], Callable[[Patterns], Patterns]] = {
    tree.Negation: lambda inner: st.builds(tree.Negation, any_events(), st.none() | _windows()),
    tree.Repeat: _repeats,
    tree.Maybe: lambda inner: st.builds(tree.Maybe, inner),
    tree.Seq: lambda inner: st.builds(tree.Seq, _some(inner)),
    tree.Either: lambda inner: st.builds(tree.Either, _some(inner)),
    tree.AnyOrder: lambda inner: st.builds(tree.AnyOrder, _some(inner)),
}
"""Strategies for the patterns other than an event, given one for the parts."""


@cache
def any_patterns() -> Patterns:
    """Pattern trees that the grammar can express, valid or not."""
    return st.recursive(
        any_events(),
        lambda inner: st.one_of(*(compound(inner) for compound in COMPOUNDS.values())),
        max_leaves=5,
    )


def any_automata() -> st.SearchStrategy[tree.AutomatonPattern]:
    """Automata with any states, registers and arcs. An automaton is a whole query: it is no part of a pattern."""
    inner, fields = any_expressions(), st.sampled_from(["INT", "DOUBLE", "STRING", "DECIMAL(10, 2)", "INTERVAL"])
    return st.builds(
        tree.AutomatonPattern,
        names(),
        _some(names()),
        _some(st.builds(tree.RegisterSlot, names(), fields, inner), 0, 2),
        _some(_arcs(inner), 0),
    )


@st.composite
def _arcs(draw: st.DrawFn, inner: Expressions) -> tree.ArcClause:
    fires = draw(st.sampled_from(tree.Fires))
    arc = tree.ArcClause(
        draw(names()), draw(names()), fires, draw(st.none() | names()), condition=draw(st.none() | inner)
    )
    if fires is tree.Fires.EVENT:
        arc = replace(arc, types=draw(_some(type_names(), 0, 2)))
    if fires is tree.Fires.EVENT and draw(st.booleans()):
        return replace(arc, target=arc.source, ignores=True)
    return replace(arc, assigns=draw(_some(st.builds(tree.Assignment, names(), inner), 0, 2)))


def _values() -> Expressions:
    """Expressions where there are no patterns: `a.LEN` is an attribute, `a[1]` an element of a column."""
    plain = any_expressions().filter(lambda expression: not any(map(_has_no_spelling, walk(expression))))

    def change(node: ex.Expression) -> ex.Expression:
        return ex.Attribute(node.variable, ex.Index.ONE, "LEN") if isinstance(node, ex.Length) else node

    return plain.map(lambda expression: as_elements(rewrite(expression, change)))


def _has_no_spelling(node: ex.Expression) -> bool:
    """What belongs to a pattern is read too, and refused later; but DISTINCT (…) and [θ_3] are not read back."""
    if isinstance(node, ex.SameValue):
        return quote_name(node.attribute) != node.attribute
    return isinstance(node, ex.AggregateCall) and node.distinct


def _attributes() -> Expressions:
    of_stream = st.builds(ex.Attribute, names(), st.just(ex.Index.ONE), names())
    return LEAVES[ex.Name] | of_stream | st.builds(ex.Field, of_stream, names())


def _changes() -> st.SearchStrategy[tuple[algebra.Renaming, ...]]:
    return _some(st.builds(algebra.Renaming, _attributes(), names()), 1, 2)


def _items() -> st.SearchStrategy[tuple[algebra.Item, ...]]:
    return _some(st.builds(algebra.Item, names(), _values()), 1, 2)


OPERATORS: Mapping[type[algebra.Operator], Callable[[], st.SearchStrategy[algebra.Operator]]] = {
    algebra.Select: lambda: st.builds(algebra.Select, _values()),
    algebra.Project: lambda: st.builds(algebra.Project, _some(_attributes(), 0)),
    algebra.Rename: lambda: st.builds(algebra.Rename, _changes()),
    algebra.Add: lambda: st.builds(algebra.Add, _items()),
}
"""Strategies for the operators of CESAR."""


@cache
def any_operators() -> st.SearchStrategy[algebra.Operator]:
    """Operators of CESAR that the grammar can express, valid or not."""
    return st.one_of(*(operator() for operator in OPERATORS.values()))


TERMS: Mapping[type[algebra.Term], Callable[[Terms], Terms]] = {
    algebra.Named: lambda inner: st.builds(algebra.Named, names()),
    algebra.Apply: lambda inner: st.builds(algebra.Apply, any_operators(), inner),
    algebra.Union: lambda inner: st.builds(algebra.Union, inner, inner),
    algebra.Then: lambda inner: st.builds(
        algebra.Then, inner, inner, st.just(ex.Literal(True, types.BOOL)) | _values()
    ),
    algebra.Iterate: lambda inner: st.builds(algebra.Iterate, inner, inner, _values(), _some(any_operators(), 0, 2)),
}
"""Strategies for the streams of CESAR, given one for their operands."""


@cache
def any_terms() -> Terms:
    """Terms of CESAR that the grammar can express, valid or not."""
    return st.recursive(
        st.builds(algebra.Named, names()),
        lambda inner: st.one_of(*(term(inner) for term in TERMS.values())),
        max_leaves=4,
    )


@cache
def any_algebra() -> st.SearchStrategy[algebra.Algebra]:
    """CESAR expressions. A name alone on the right of LET is a stream."""
    values = _values().filter(lambda value: not isinstance(value, ex.Name))
    lets = st.builds(algebra.Let, _some(names(), 1, 2), any_terms() | values | _changes() | _items())
    return st.builds(algebra.Algebra, _some(lets, 0, 3), any_terms())


def _windows() -> st.SearchStrategy[tree.Window]:
    number = st.integers(0, 2**63 - 1) | st.floats(0, allow_nan=False)
    amount = number.map(lambda n: ex.Literal(n, types.INT if isinstance(n, int) else types.FLOAT))
    units = st.none() | st.sampled_from([*NANOSECONDS, "events"])
    return st.builds(tree.Window, amount | st.builds(ex.Name, names()), units)


def _queries() -> st.SearchStrategy[tree.QueryTree]:
    inner = any_expressions()
    # WHERE holds conjuncts, so that none of them is a conjunction.
    conjuncts = inner.filter(lambda node: not isinstance(node, ex.And))
    return st.builds(
        tree.QueryTree,
        any_patterns() | any_automata(),
        streams=_some(st.builds(tree.FromStream, names(), _some(type_names(), 0, 2)), 0, 2),
        sees=st.none() | _on_one_event(),
        strategies=_some(st.builds(tree.Selection, st.sampled_from(tree.Strategy), _some(names(), 0)), 0, 2),
        where=_some(conjuncts, 0),
        partition_by=_some(st.builds(tree.KeyColumn, names(), _some(names(), 0, 2)), 0, 2),
        within=st.none() | _windows(),
        having=st.none() | inner,
        returns=_some(st.builds(tree.ReturnItem, inner, names()), 0, 2),
        into=st.none() | names(),
        output=st.sampled_from(tree.Output),
        cooldown=st.none() | _windows(),
        ties=st.sampled_from(tree.Ties),
    )


def _on_one_event() -> Expressions:
    return st.builds(ex.Compare, st.sampled_from(["=", "<"]), LEAVES[ex.Name], LEAVES[ex.Literal])


def _settled(query: tree.QueryTree) -> tree.QueryTree:
    """INTO needs RETURN; a.LEN is a length where `a` is an array, a[1] an element where there is no variable `a`."""
    repeats = [node for node in walk(name_events(query.pattern)) if isinstance(node, tree.Repeat)]
    events = [event for repeat in repeats for event in walk(repeat.body) if isinstance(event, tree.EventPattern)]
    arrays = sorted({str(event.variable) for event in events})

    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Length):
            if not arrays:
                return ex.Attribute(node.variable, ex.Index.ONE, "LEN")
            return ex.Length(arrays[len(node.variable) % len(arrays)])
        if isinstance(node, ex.Attribute) and node.index is ex.Index.ONE and node.name.upper() == "LEN":
            return ex.Length(node.variable) if node.variable in arrays else node
        return node

    settled = replace(
        query,
        sees=query.sees if query.streams else None,
        into=query.into if query.returns else None,
    )
    return with_elements(rewrite_expressions(settled, lambda expression: rewrite(expression, change)))


@cache
def any_queries() -> st.SearchStrategy[tree.QueryTree]:
    """Queries with every clause, valid or not; also CESAR expressions, which have none."""
    return _queries().map(_settled) | st.builds(tree.QueryTree, any_algebra(), into=st.none() | names())


@cache
def any_programs() -> st.SearchStrategy[tree.Program]:
    """One or more queries that the grammar can express."""
    return _some(any_queries(), 1, 2).map(tree.Program)
