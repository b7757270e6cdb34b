"""Patterns: events and their combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from cepheid.builder.columns import Column
from cepheid.builder.drafts import Draft, read_length
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.builder.variables import Variable, variable_name
from cepheid.errors import PatternError
from cepheid.pattern.tree import nodes as tree


@dataclass(frozen=True, slots=True, repr=False)
class Pattern(Draft):
    """A pattern without clauses; it can be part of a larger pattern.

    >>> event("Shelf", "a").one_or_more() | event("Exit", "b")
    <PATTERN OR(Shelf+ a[], Exit b)>
    """

    def __invert__(self) -> Pattern:
        """`!Register b`: no such event between the neighbours in a SEQ; only of a single event."""
        event = self.query.pattern
        if not isinstance(event, tree.EventPattern):
            remedy = "negate one event: ~cep.event('Register', 'b')"
            raise PatternError("CEP209", f"only a single event can be negated, not {shown(self)}", remedy)
        return _pattern(tree.Negation(event))

    def for_(self, period: str | timedelta | Column) -> Pattern:
        """How long a negated event must be absent, at the start or end of a pattern: `!(Register b) FOR 10 minutes`.

        >>> print(seq(event("Shelf", "a"), (~event("Register", "b")).for_("10 minutes")))
        PATTERN SEQ(Shelf a, !(Register b) FOR 10 minutes)
        """
        negation = self.query.pattern
        if not isinstance(negation, tree.Negation):
            remedy = "write (~cep.event('Register', 'b')).for_('10 minutes')"
            raise misuse(f"for_ says how long a negated event is absent; {shown(self)} is not negated", remedy)
        return _pattern(tree.Negation(negation.event, read_length(period, "for_({})", "10 minutes")))

    def __or__(self, other: Pattern) -> Pattern:
        """One or the other; `p | q | r` is one OR of three, as it is in the text."""
        parts: list[tree.PatternTree] = []
        for node in _nodes("|", self, other):
            parts += node.parts if isinstance(node, tree.Either) else (node,)
        return _pattern(tree.Either(tuple(parts)))

    def one_or_more(self) -> Pattern:
        """Kleene plus: one event or more, `Shelf+ a[]`."""
        return self.at_least(1)

    def zero_or_more(self) -> Pattern:
        """Kleene star: any number of events, also none, `Shelf* a[]`."""
        return self.at_least(0)

    def optional(self) -> Pattern:
        """Once or not at all: `Shelf? a`."""
        return _pattern(tree.Maybe(self.query.pattern))

    def times(self, low: int, high: int | None = None) -> Pattern:
        """Exactly `low` times, or from `low` to `high` times: `Shelf{2,4} a[]`.

        >>> print(event("Shelf", "a").times(2, 4))
        PATTERN Shelf{2,4} a[]
        """
        most = low if high is None else high
        if _number(most) < max(1, _number(low)):
            remedy = "write times(2), or times(2, 4) with the smaller number first"
            raise misuse(f"times({low}, {most}) is not a range of repetitions", remedy)
        return _pattern(tree.Repeat(self.query.pattern, low, most))

    def at_least(self, low: int) -> Pattern:
        """`low` times or more: `Shelf{2,} a[]`."""
        return _pattern(tree.Repeat(self.query.pattern, _number(low), None))


def event(types: str | Sequence[str], variable: str | Variable | None = None) -> Pattern:
    """An event of a type, of any of some types, or of any type ("*"), and the variable that it is bound to.

    >>> print(event(["Shelf", "Exit"], "a"))
    PATTERN ANY(Shelf, Exit) a
    >>> print(event("*", "a").one_or_more())
    PATTERN *+ a[]
    """
    return _pattern(tree.EventPattern(_types(types), None if variable is None else variable_name(variable)))


def _types(types: object) -> tuple[str, ...]:
    if types == "*":
        return ()
    remedy = "write event('Shelf', 'a') or event(['Shelf', 'Exit'], 'a')"
    if isinstance(types, str | bytes) or not isinstance(types, Sequence) or not types:
        return (check_name(types, "a type", remedy),)
    return tuple(check_name(name, "a type", remedy) for name in types)


def seq(*patterns: Pattern) -> Pattern:
    """One after the other.

    >>> print(seq(event("Shelf", "a"), ~event("Register", "b"), event("Exit", "c")).same("tag_id").within("12 hours"))
    PATTERN SEQ(Shelf a, !(Register b), Exit c)
    WHERE [tag_id]
    WITHIN 12 hours
    """
    return _pattern(tree.Seq(_nodes("seq", *patterns)))


def either(*patterns: Pattern) -> Pattern:
    """Any one of them: the union of their matches; `a | b` is the same of two.

    >>> print(either(event("Card", "a"), event("Cash", "b")))
    PATTERN OR(Card a, Cash b)
    """
    return _pattern(tree.Either(_nodes("either", *patterns)))


def any_order(*patterns: Pattern) -> Pattern:
    """All of them, in any order.

    >>> print(any_order(event("Card", "a"), event("Cash", "b")))
    PATTERN AND(Card a, Cash b)
    """
    return _pattern(tree.AnyOrder(_nodes("any_order", *patterns)))


def _pattern(node: tree.PatternTree) -> Pattern:
    return Pattern(tree.QueryTree(node))


_NO_PARTS: Mapping[tree.Language, tuple[str, str]] = {
    tree.Language.PATTERN: (
        "{} has clauses and",
        "add clauses such as where and within to the outermost pattern",
    ),
    tree.Language.AUTOMATON: (
        "an automaton",
        "write its matches into a stream, returns(…).into('Vee'), and read that: cep.event('Vee', 'a')",
    ),
    tree.Language.CESAR: (
        "a stream",
        "write its results into a stream, into('Rise'), and read that: cep.event('Rise', 'a')",
    ),
}
"""Why a query can't be a part of a pattern, and what to write."""


def _nodes(name: str, *patterns: object) -> tuple[tree.PatternTree, ...]:
    if not patterns:
        raise misuse(f"{name}() needs a pattern", f"write {name}(cep.event('Shelf', 'a'), cep.event('Exit', 'b'))")
    nodes = []
    for pattern in patterns:
        if isinstance(pattern, Pattern):
            nodes.append(pattern.query.pattern)
        elif isinstance(pattern, Draft):
            what, remedy = _NO_PARTS[pattern.query.language]
            raise misuse(f"{what.format(shown(pattern))} can't be a part of {name}", remedy)
        else:
            remedy = "write a pattern, such as cep.event('Shelf', 'a')"
            raise misuse(f"{shown(pattern)} is not a pattern", remedy)
    return tuple(nodes)


def _number(times: object) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise misuse(f"{shown(times)} is not a number of repetitions", "pass a whole number, 0 or more")
    return times
