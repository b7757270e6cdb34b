"""The parameters of a template, as it is written: which columns of the rules it names, and which of these shape it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from cepheid.pattern.algebra.tree import algebra_of
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.calls import MATCHING
from cepheid.pattern.expressions.functions import UNITS_OF
from cepheid.pattern.tree.nodes import Fires, Language, Negation, Program, QueryTree, Window
from cepheid.pattern.tree.walk import automaton_of, expressions, walk


def parameters(program: Program, columns: Collection[str]) -> tuple[str, ...]:
    """Those of the columns of a table of rules that a program names, in the order of the text."""
    named = (name for query in program.queries for name in (*_names(query), *_windows(query)))
    return tuple(name for name in dict.fromkeys(named) if name in columns)


def shapes(program: Program, columns: Collection[str]) -> tuple[str, ...]:
    """The parameters that shape a query, so that they must be constants of it; WITHIN is not among these."""
    named = (name for query in program.queries for name in (*_shaping(query), *_other_windows(query)))
    return tuple(name for name in dict.fromkeys(named) if name in columns)


def window_parameter(program: Program, columns: Collection[str]) -> str | None:
    """The parameter that is the window of the only query, and nothing else."""
    if len(program.queries) != 1:
        return None
    query = program.queries[0]
    name = next(_named(query.within), None)
    elsewhere = (*_names(query), *_other_windows(query))
    return name if name in columns and name not in elsewhere else None


def _names(query: QueryTree) -> Iterator[str]:
    for expression in expressions(query):
        for node in walk(expression):
            if isinstance(node, ex.Name):
                yield node.name
            elif isinstance(node, ex.InSet):
                yield node.set


def _windows(query: QueryTree) -> Iterator[str]:
    yield from _named(query.within)
    yield from _other_windows(query)


def _other_windows(query: QueryTree) -> Iterator[str]:
    yield from _named(query.cooldown)
    for node in walk(query.pattern):
        if isinstance(node, Negation):
            yield from _named(node.period)


def _named(window: Window | None) -> Iterator[str]:
    if window is not None and isinstance(window.amount, ex.Name):
        yield window.amount.name


def _shaping(query: QueryTree) -> Iterator[str]:
    """What a checked expression has as a part of itself, and not as a value."""
    for expression in expressions(query):
        for node in walk(expression):
            match node:
                case ex.InSet(set=name):
                    yield name
                case ex.Like(pattern=pattern) | ex.RLike(pattern=pattern):
                    yield from _names_in(pattern)
                case ex.AggregateCall(share=ex.Expression() as share):
                    yield from _names_in(share)
                case ex.Element(index=index):
                    yield from _names_in(index)
                case ex.Call(function=name, arguments=arguments) if name.lower() in (*UNITS_OF, *MATCHING):
                    places = (UNITS_OF[name.lower()][0],) if name.lower() in UNITS_OF else (1,)
                    yield from (word for k in places for part in arguments[k : k + 1] for word in _names_in(part))
    yield from _SHAPING[query.language](query)


def _shaping_automaton(query: QueryTree) -> Iterator[str]:
    """The register at the start, and arcs that have no event at hand."""
    automaton = automaton_of(query)
    yield from (name for slot in automaton.register for name in _names_in(slot.initial))
    for arc in automaton.arcs:
        if arc.fires in (Fires.NOTHING, Fires.END):
            for expression in (arc.condition, *(assign.value for assign in arc.assigns)):
                yield from _names_in(expression) if expression is not None else ()


def _shaping_algebra(query: QueryTree) -> Iterator[str]:
    """What may be compared with DUR, and names for values, which may stand where a constant is wanted."""
    for expression in expressions(query):
        for node in walk(expression):
            if isinstance(node, ex.Minus):
                yield from _names_in(node.operand)
    for let in algebra_of(query).lets:
        if isinstance(let.value, ex.Expression):
            yield from _names_in(let.value)


_SHAPING: Mapping[Language, Callable[[QueryTree], Iterator[str]]] = {
    Language.PATTERN: lambda _: iter(()),
    Language.AUTOMATON: _shaping_automaton,
    Language.CESAR: _shaping_algebra,
}


def _names_in(node: ex.Expression) -> Iterator[str]:
    return (part.name for part in walk(node) if isinstance(part, ex.Name))
