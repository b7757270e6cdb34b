"""What the names of a CESAR expression stand for: LETs are put in, streams are found."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from cepheid.errors import PatternError, Span
from cepheid.pattern.algebra.attributes import path_of
from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Iterate,
    Let,
    Named,
    Operator,
    Prefix,
    Project,
    Rename,
    Select,
    SourceTerm,
    Term,
    Then,
    Union,
)
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.parameters import Params, resolve_parameters
from cepheid.pattern.tree.walk import MAX_DEPTH, rewrite, substitute, walk

MOST_NODES, MOST_STREAMS = 10_000, 200
"""How large a condition, and how many named streams an expression may have once its definitions are put in."""
NOT_HERE = (ex.AggregateCall, ex.Rows, ex.Length, ex.SameValue, ex.MatchId, ex.Quantified)
"""What only a pattern has."""


def definitions(algebra: Algebra) -> dict[str, Let]:
    """The LETs by name."""
    found: dict[str, Let] = {}
    for let in algebra.lets:
        for name in let.names:
            if name in found:
                raise PatternError(
                    "CEP230", f"'{name}' is defined twice", "give one of the LETs another name", let.span
                )
            found[name] = let
    return found


def is_stream(name: str, lets: Mapping[str, Let]) -> bool:
    """Whether a name stands for a stream; one that no LET defines does."""
    seen: set[str] = set()
    while name in lets and name not in seen:
        seen.add(name)
        value = lets[name].value
        if not isinstance(value, Named):
            return isinstance(value, Term)
        name = value.name
    return True


def resolve(algebra: Algebra, made: Collection[str], params: Params) -> Term:
    """The expression without its LETs. made: the streams that other queries of the program make."""
    return _Resolver(definitions(algebra), made, params).term(algebra.term, ())


def resolve_let(algebra: Algebra, name: str, made: Collection[str], params: Params) -> Term:
    """The stream that a LET defines, without its name before its attributes."""
    found = _Resolver(definitions(algebra), made, params).term(Named(name), ())
    return found.of if isinstance(found, Prefix) and isinstance(definitions(algebra)[name].value, Named) else found


class _Resolver:
    """Puts definitions in. `path`: the names that are being defined, so that a cycle is found."""

    def __init__(self, lets: Mapping[str, Let], made: Collection[str], params: Params) -> None:
        self.lets = lets
        self.made = made
        self.params = params
        self.sizes: dict[str, int] = {}  # of values, by name
        self.used = 0  # streams that were put in

    def term(self, term: Term, path: tuple[str, ...]) -> Term:
        """A stream."""
        match term:
            case Named():
                return self.named(term, path)
            case Apply(operator=operator, of=of):
                return replace(term, operator=self.operator(operator), of=self.term(of, path))
            case Union(left=left, right=right):
                return replace(term, left=self.term(left, path), right=self.term(right, path))
            case Then(left=left, right=right, condition=condition):
                return replace(
                    term, left=self.term(left, path), right=self.term(right, path), condition=self.value(condition)
                )
            case Iterate(left=left, right=right, condition=condition, steps=steps):
                return replace(
                    term,
                    left=self.term(left, path),
                    right=self.term(right, path),
                    condition=self.value(condition),
                    steps=tuple(map(self.operator, steps)),
                )
        raise TypeError(f"no stream: {term!r}")

    def named(self, term: Named, path: tuple[str, ...]) -> Term:
        """A stream by its name, which is before its attributes unless it is a name for an expression."""
        name = term.name
        if name not in self.lets:
            return SourceTerm(name, name if name in self.made else None, span=term.span)
        check_cycle(name, path, term.span)
        self.used += 1
        if self.used > MOST_STREAMS or len(path) > MAX_DEPTH:
            raise too_large(term.span)
        value = self.lets[name].value
        if not is_stream(name, self.lets):
            remedy = "use it inside the brackets of an operator, such as SELECT[…](S)"
            raise PatternError("CEP230", f"'{name}' is a condition or a value, not a stream", remedy, term.span)
        assert isinstance(value, Term)
        found = self.term(value, (*path, name))
        if not isinstance(value, Named):
            return found
        return Prefix(name, found.of if isinstance(found, Prefix) else found, span=term.span)

    def weigh(self, node: ex.Expression, path: tuple[str, ...]) -> int:
        """How large an expression is once its names are put in, found before they are: it may double with each LET."""
        size = 0
        for part in walk(node):
            size += 1
            if isinstance(part, ex.Name) and part.name in self.lets:
                check_cycle(part.name, path, part.span)
                if part.name not in self.sizes:
                    value = self.lets[part.name].value
                    inner = ex.Name(value.name, span=value.span) if isinstance(value, Named) else value
                    own = (*path, part.name)
                    self.sizes[part.name] = self.weigh(inner, own) if isinstance(inner, ex.Expression) else 1
                size += self.sizes[part.name]
        if size > MOST_NODES or len(path) > MAX_DEPTH:
            raise too_large(node.span)
        return size

    def operator(self, operator: Operator) -> Operator:
        """The same with names put in."""
        match operator:
            case Select(condition=condition):
                return replace(operator, condition=self.value(condition))
            case Add(items=items):
                return replace(operator, items=tuple(replace(item, value=self.value(item.value)) for item in items))
            case Rename(changes=changes):
                return replace(operator, changes=tuple(replace(one, old=self.stripped(one.old)) for one in changes))
            case Project(attributes=attributes):
                return replace(operator, attributes=tuple(map(self.stripped, attributes)))
        raise TypeError(f"no operator: {operator!r}")

    def stripped(self, node: ex.Expression) -> ex.Expression:
        """`Rise.S1.price` as `S1.price`, where Rise is a name for an expression."""

        def change(part: ex.Expression) -> ex.Expression | None:
            path = list(path_of(part))
            value = self.lets[path[0]].value if len(path) > 1 and path[0] in self.lets else None
            if not isinstance(value, Term) or isinstance(value, Named):
                return None
            found: ex.Expression = ex.Name(path[1], span=part.span)
            if len(path) > 2:
                found = ex.Attribute(path[1], ex.Index.ONE, path[2], span=part.span)
            for name in path[3:]:
                found = ex.Field(found, name, span=part.span)
            return self.stripped(found)

        return substitute(node, change)

    def value(self, node: ex.Expression, path: tuple[str, ...] = ()) -> ex.Expression:
        """A condition or a value."""

        def change(part: ex.Expression) -> ex.Expression:
            if not isinstance(part, ex.Name) or part.name not in self.lets:
                return part
            check_cycle(part.name, path, part.span)
            value = self.lets[part.name].value
            if isinstance(value, Named):
                # `LET limit := threshold`: a name that nothing defines may be an attribute or a parameter.
                value = ex.Name(value.name, span=part.span)
            if not isinstance(value, ex.Expression):
                remedy = f"write an attribute of it, such as {part.name}.price"
                raise PatternError("CEP230", f"'{part.name}' is a stream, not a value", remedy, part.span)
            return self.value(value, (*path, part.name))

        self.weigh(node, path)
        found = resolve_parameters(rewrite(self.stripped(node), change), self.params)
        for part in walk(found):
            indexed = isinstance(part, ex.Attribute) and part.index is not ex.Index.ONE
            if isinstance(part, NOT_HERE) or indexed:
                remedy = "here an event has attributes only: write S1.price, or S2.price.last for the step before"
                raise PatternError("CEP230", "this belongs to a PATTERN, not to CESAR", remedy, part.span or node.span)
        return found


def too_large(span: Span | None) -> PatternError:
    """An expression that is too large once its definitions are put in."""
    remedy = "use definitions less often, or write the stream INTO a name and read it in an expression of its own"
    return PatternError("CEP104", "the expression is too large once its definitions are put in", remedy, span)


def check_cycle(name: str, path: tuple[str, ...], span: Span | None) -> None:
    """A definition must not be part of itself."""
    if name in path:
        cycle = " → ".join((*path[path.index(name) :], name))
        remedy = "a definition can't be made of itself: give one of the names another meaning"
        raise PatternError("CEP231", f"the definitions go in a circle: {cycle}", remedy, span)
