"""A program with CESAR expressions as queries that read streams: LETs that others read, derived streams (S22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from cepheid.errors import PatternError
from cepheid.pattern.algebra.attributes import LAST, LENGTH, path_of
from cepheid.pattern.algebra.names import definitions, is_stream, resolve, resolve_let
from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Iterate,
    Named,
    Prefix,
    Rename,
    SourceTerm,
    Term,
    Then,
    Union,
    algebra_of,
)
from cepheid.pattern.algebra.walk import algebra_expressions, terms, walk_terms
from cepheid.pattern.expressions.parameters import Params
from cepheid.pattern.tree.nodes import Language, Program, QueryTree, Ties
from cepheid.pattern.tree.walk import walk

HIDDEN = "#"
"""What the names of streams begin with that only the engine knows."""
HIDDEN_START = "#start"
"""The start of the events of such streams: those of the input may have a column `match_start`."""
MERGED_TYPE, RAW = "#type", "#events"
"""Where events without types are merged with those that queries make: the column that tells them apart, and theirs."""


def is_hidden(name: str | None) -> bool:
    """Whether a stream is one that only the engine knows."""
    return name is not None and name.startswith(HIDDEN)


def expand(program: Program, params: Params, *, linear: bool = True) -> Program:
    """The program without LETs.

    linear: an operand that no automaton can have is a stream of its own, as the engine needs it.
    """
    return Program(tuple(_Expansion(program, params, linear).queries()))


class _Expansion:
    def __init__(self, program: Program, params: Params, linear: bool) -> None:
        self.program = program
        self.params = params
        self.linear = linear
        self.made: list[str] = []  # so far
        self.derived: dict[Term, str] = {}

    def queries(self) -> Iterator[QueryTree]:
        for number, query in enumerate(self.program.queries):
            yield from _EXPANDED[query.language](self, query, number)
            self.made += [query.into] if query.into is not None else []

    def unchanged(self, query: QueryTree, number: int) -> Iterator[QueryTree]:
        """A query without expressions."""
        yield query

    def algebra(self, query: QueryTree, number: int) -> Iterator[QueryTree]:
        """The streams of an expression, then the expression itself."""
        algebra = algebra_of(query)
        self.check_order(algebra, number)
        lets, wanted = definitions(algebra), self.read_later(number)
        for name in lets:
            if name in wanted and is_stream(name, lets):
                yield from self.piece(query, resolve_let(algebra, name, self.made, self.params), name)
                self.made.append(name)
        own = [name for name in self.made if name not in lets]
        yield from self.piece(query, resolve(algebra, own, self.params), query.into)

    def read_later(self, number: int) -> set[str]:
        """The names of streams that later queries read."""
        found: set[str] = set()
        for query in self.program.queries[number + 1 :]:
            found |= {stream.name for stream in query.streams}
            found |= _NAMED[query.language](query)
        return found

    def check_order(self, algebra: Algebra, number: int) -> None:
        """A stream is made before it is read."""
        later = {query.into for query in self.program.queries[number:]}
        for term in (t for root in terms(algebra) for t in walk_terms(root) if isinstance(t, Named)):
            if term.name in later and term.name not in self.made and term.name not in definitions(algebra):
                own = term.name == self.program.queries[number].into
                remedy = (
                    f"move the query with INTO {term.name} before this one" if not own else "give INTO another name"
                )
                raise PatternError(
                    "CEP214", f"'{term.name}' is read before the query that writes it", remedy, term.span
                )

    def piece(self, query: QueryTree, term: Term, into: str | None) -> Iterator[QueryTree]:
        """An expression, after the derived streams that it reads."""
        before: list[tuple[str, Term]] = []
        if self.linear:
            term = self.split(term, before)
        for name, own in before:
            yield QueryTree(
                Algebra((), own, span=query.pattern.span), into=name, ties=Ties.SIMULTANEOUS, span=query.span
            )
        pattern = Algebra((), term, span=query.pattern.span)
        yield replace(query, pattern=pattern, into=into, ties=Ties.SIMULTANEOUS)

    def split(self, term: Term, before: list[tuple[str, Term]]) -> Term:
        """An expression whose right operands are base streams; a derived stream is read wherever it is used."""
        match term:
            case Apply(of=of) | Prefix(of=of):
                term = replace(term, of=self.split(of, before))
            case Union(left=left, right=right):
                right = self.split(right, before)
                term = replace(term, left=self.split(left, before), right=right)
            case Then(left=left, right=right) | Iterate(left=left, right=right):
                right = self.operand(right, before)
                term = replace(term, left=self.split(left, before), right=right)
        name = self.derived.get(term)
        return term if name is None else SourceTerm(name, name, span=term.span)

    def operand(self, term: Term, before: list[tuple[str, Term]]) -> Term:
        """A right operand: what is not made of single events becomes a derived stream."""
        if is_simple(term):
            return term
        if isinstance(term, Prefix):
            return replace(term, of=self.operand(term.of, before))
        own = self.split(term, before)
        if is_simple(own):
            return own  # it is derived already
        if own not in self.derived:
            self.derived[own] = f"{HIDDEN}{len(self.derived) + 1}"
            before.append((self.derived[own], own))
        name = self.derived[own]
        return SourceTerm(name, name, span=term.span)


_EXPANDED: Mapping[Language, Callable[[_Expansion, QueryTree, int], Iterator[QueryTree]]] = {
    Language.PATTERN: _Expansion.unchanged,
    Language.AUTOMATON: _Expansion.unchanged,
    Language.CESAR: _Expansion.algebra,
}
_NAMED: Mapping[Language, Callable[[QueryTree], set[str]]] = {
    Language.PATTERN: lambda _: set(),
    Language.AUTOMATON: lambda _: set(),
    Language.CESAR: lambda query: set(streams_named(algebra_of(query))) - set(definitions(algebra_of(query))),
}
"""The streams that an expression names, but for those that it defines itself."""


def is_simple(term: Term) -> bool:
    """Whether each event of a stream is made of one event."""
    match term:
        case Apply(of=of) | Prefix(of=of):
            return is_simple(of)
        case Union(left=left, right=right):
            return is_simple(left) and is_simple(right)
    return isinstance(term, SourceTerm)


def streams_named(algebra: Algebra) -> Iterator[str]:
    """The names of streams in an expression as it was written."""
    for root in terms(algebra):
        yield from (term.name for term in walk_terms(root) if isinstance(term, Named))


def sources_of(algebra: Algebra) -> tuple[str | None, ...]:
    """The streams that an expression reads, once its names are resolved: None for the events."""
    return tuple(dict.fromkeys(term.stream for term in walk_terms(algebra.term) if isinstance(term, SourceTerm)))


def types_of(algebra: Algebra) -> tuple[str, ...]:
    """The types of events that an expression names, once its names are resolved."""
    sources = (term for term in walk_terms(algebra.term) if isinstance(term, SourceTerm) and term.stream is None)
    return tuple(dict.fromkeys(term.name for term in sources))


def attributes_named(algebra: Algebra) -> tuple[str, ...]:
    """The attributes that an expression names and does not make itself: what events without any column would have."""
    operators = [term.operator for term in walk_terms(algebra.term) if isinstance(term, Apply)]
    operators += [step for term in walk_terms(algebra.term) if isinstance(term, Iterate) for step in term.steps]
    made = {item.name for one in operators if isinstance(one, Add) for item in one.items}
    made |= {change.new for one in operators if isinstance(one, Rename) for change in one.changes}
    nodes = (node for e in algebra_expressions(algebra) for node in walk(e))
    paths = ([part for part in path_of(node) if part not in (LAST, LENGTH)] for node in nodes)
    names = (path[-1] for path in paths if path)
    return tuple(dict.fromkeys(name for name in names if name not in made))
