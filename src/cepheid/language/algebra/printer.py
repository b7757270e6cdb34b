"""The tree of a CESAR expression to text, in words, which the reader reads back to the same tree."""

from __future__ import annotations

from functools import singledispatch

from cepheid.language.algebra.words import A_WORD, OPERATOR
from cepheid.language.printer import print_expression, print_pattern, quote_name, quote_type
from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Item,
    Iterate,
    Let,
    Named,
    Operator,
    Prefix,
    Project,
    Rename,
    Renaming,
    Select,
    SourceTerm,
    Term,
    Then,
    Union,
)
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Kind

_UNION, _THEN, _FACTOR = range(3)


@print_pattern.register
def _(node: Algebra) -> str:
    return "\n  ".join([*map(print_let, node.lets), print_term(node.term)])


def print_let(let: Let) -> str:
    """A definition as a line of text."""
    return f"LET {', '.join(map(quote_name, let.names))} := {_definition(let)}"


def _definition(let: Let) -> str:
    if isinstance(let.value, Term):
        return print_term(let.value)
    if isinstance(let.value, ex.Expression):
        text = print_expression(let.value)
        return f"({text})" if OPERATOR.match(text) else text
    return ", ".join(_change(entry) if isinstance(entry, Renaming) else _item(entry) for entry in let.value)


def print_term(term: Term) -> str:
    """A stream as text.

    >>> print_term(Then(Named("A"), Union(Named("B"), Named("C")), ex.Name("same")))
    'A ;[same] (B UNION C)'
    """
    return _print(term)[0]


def print_operator(operator: Operator) -> str:
    """An operator with its brackets."""
    match operator:
        case Select(condition=condition):
            return f"SELECT[{print_expression(condition)}]"
        case Project(attributes=attributes):
            return f"PROJECT[{', '.join(map(print_expression, attributes))}]"
        case Rename(changes=changes):
            return f"RENAME[{', '.join(map(_change, changes))}]"
        case Add(items=items):
            return f"ADD[{', '.join(map(_item, items))}]"
    raise TypeError(f"no printer for {type(operator).__name__}")


def _change(change: Renaming) -> str:
    return f"{print_expression(change.old)} -> {quote_name(change.new)}"


def _item(item: Item) -> str:
    return f"{quote_name(item.name)} := {print_expression(item.value)}"


def quote_stream(name: str) -> str:
    """A stream's name, in back quotes also where it is a word of the algebra."""
    quoted = quote_name(name) if "-" in name else quote_type(name)
    return f"`{name}`" if quoted == name and A_WORD.match(name) else quoted


@singledispatch
def _print(term: Term) -> tuple[str, int]:
    """A stream as text, and how tightly it binds."""
    raise TypeError(f"no printer for {type(term).__name__}")


def _wrap(term: Term, least: int) -> str:
    text, level = _print(term)
    return text if level >= least else f"({text})"


@_print.register
def _(term: Named) -> tuple[str, int]:
    return quote_stream(term.name), _FACTOR


@_print.register
def _(term: SourceTerm) -> tuple[str, int]:
    return quote_stream(term.name), _FACTOR


@_print.register
def _(term: Prefix) -> tuple[str, int]:
    # Resolved names have no spelling of their own: for those who read an explanation.
    return f"({print_term(term.of)} AS {quote_stream(term.name)})", _FACTOR


@_print.register
def _(term: Apply) -> tuple[str, int]:
    return f"{print_operator(term.operator)}({print_term(term.of)})", _FACTOR


@_print.register
def _(term: Union) -> tuple[str, int]:
    return f"{_wrap(term.left, _UNION)} UNION {_wrap(term.right, _THEN)}", _UNION


@_print.register
def _(term: Then) -> tuple[str, int]:
    left, level = _print(term.left)
    if level < _THEN:  # in words: a parenthesis at the start of a line could belong to the line before
        return f"THEN[{print_expression(term.condition)}]({left}, {print_term(term.right)})", _FACTOR
    always = isinstance(term.condition, ex.Literal) and term.condition.type.kind is Kind.BOOL and term.condition.value
    condition = "" if always else f"[{print_expression(term.condition)}]"
    return f"{left} ;{condition} {_wrap(term.right, _FACTOR)}", _THEN


@_print.register
def _(term: Iterate) -> tuple[str, int]:
    steps = " . ".join(map(print_operator, reversed(term.steps))) or "ID"
    operands = f"{print_term(term.left)}, {print_term(term.right)}"
    return f"ITERATE[{steps}, {print_expression(term.condition)}]({operands})", _FACTOR
