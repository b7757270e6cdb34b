"""CESAR expressions (S19-S22) from Python: streams, and the operators that make a stream of one or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from cepheid.builder.columns import Column, joined, operand
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.builder.placing import BuiltQuery, check_depth, placed
from cepheid.errors import CepheidError, did_you_mean
from cepheid.language import parse_expression, print_program
from cepheid.language.algebra.printer import print_operator
from cepheid.pattern.algebra.tree import (
    Add,
    Algebra,
    Apply,
    Item,
    Iterate,
    Let,
    Named,
    Operator,
    Project,
    Rename,
    Renaming,
    Select,
    Term,
    Then,
    Union,
    algebra_of,
)
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL, Kind
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.walk import rewrite

_TRUE = ex.Literal(True, BOOL)
_QUERY = ("match", "session", "explain", "schema", "restore")
_CLAUSES = {
    "within": "write where(cep.duration <= '10 minutes')",
    "having": "write where(…)",
    "partition_by": "write the equality as a condition: a.then(b, a.name == b.name)",
    "same": "write the equality as a condition: a.then(b, a.name == b.name)",
    "returns": "choose attributes by project('name', 'price')",
    "from_": "name the stream: cep.stream('Stock')",
    "strategy": "a stream has none",
    "longest": "a stream has all results",
    "non_overlapping": "a stream has all results",
}


class Stream(BuiltQuery):
    """A stream of events that last. Every method returns a new one; `cep.Query(stream)` runs it, `str` shows its text.

    `a.price` is an attribute; one that has the name of a method is `a["where"]`.

    >>> from cepheid import builder as cep
    >>> S = cep.stream("Stock")
    >>> a, b = S.named("S1"), S.named("S2")
    >>> print(a.then(b, a.name == b.name, b.price > a.price).where(cep.duration >= "30 minutes"))
    CESAR
      LET S1, S2 := Stock
      SELECT[DUR >= 30 minutes](S1 ;[S1.name = S2.name AND S2.price > S1.price] S2)
    """

    __slots__ = ("_query",)

    def __init__(self, term: Term, lets: tuple[Let, ...] = (), into: str | None = None) -> None:
        self._query = tree.QueryTree(Algebra(lets, term), into=into)

    @property
    def program(self) -> tree.Program:
        """The tree that `cep.Query` runs: this stream, with a LET for each that has a name."""
        check_depth(self._query)
        return placed(tree.Program((self._query,)))

    def _checked(self) -> tree.QueryTree:
        check_depth(self._query)
        return self._query

    def _stream_name(self) -> str | None:
        term, lets = _tree(self)
        return term.name if isinstance(term, Named) and not lets else None

    def __str__(self) -> str:
        check_depth(self._query)
        return print_program(tree.Program((self._query,)))

    def __repr__(self) -> str:
        return f"<{' '.join(str(self).split())}>"

    def __bool__(self) -> NoReturn:
        raise misuse("a stream has no truth value in Python", "use | for the union of two streams, and a.then(b)")

    def __iter__(self) -> NoReturn:
        raise misuse("a stream can't be iterated over", "make a query of it: cep.Query(stream).match(events)")

    def __getattr__(self, name: str) -> Column:
        # Python and notebooks ask every object for __deepcopy__, _repr_html_ and more.
        if name.startswith("_"):
            raise AttributeError(f"write [{name!r}] for an attribute whose name begins with an underscore")
        if name in _QUERY:
            message = f"a stream has no method '{name}': make a query of it, cep.Query(stream).{name}(…)"
            raise AttributeError(message, name=name, obj=self)
        if name in _CLAUSES:
            message = f"a stream has no clause '{name}': {_CLAUSES[name]}; its attribute is stream[{name!r}]"
            raise AttributeError(message, name=name, obj=self)
        return self[name]

    def __getitem__(self, name: str) -> Column:
        check_name(name, "an attribute", "write a.price or a['price']")
        stream_name = self._own_name()
        return Column(ex.Name(name) if stream_name is None else ex.Attribute(stream_name, ex.Index.ONE, name))

    def named(self, name: str) -> Stream:
        """The stream by a name of its own, which its attributes have before theirs: `LET S1 := Stock`, `S1.price`."""
        check_name(name, "a stream", "write S.named('S1')")
        term, lets = _parts(self)
        if isinstance(term, Named) and term.name == name:
            raise misuse(f"a stream '{name}' is already called so", "choose another name: S.named('S1')")
        if not isinstance(term, Named):  # only a name for a stream that has one is before its attributes
            lets, term = _merged(lets, (Let((f"{name}_",), term),)), Named(f"{name}_")
        return Stream(Named(name), _merged(lets, (Let((name,), term),)))

    def where(self, *conditions: Column) -> Stream:
        """SELECT: the events for which all conditions are TRUE.

        >>> from cepheid import builder as cep
        >>> S = cep.stream("Stock")
        >>> S.where(S.price > 10, S.name == "IBM")
        <CESAR SELECT[price > 10 AND name = 'IBM'](Stock)>
        """
        return self._applied(Select(_condition(conditions, "where")))

    def project(self, *attributes: str | Column) -> Stream:
        """PROJECT: only these attributes, and the times.

        >>> from cepheid import builder as cep
        >>> a = cep.stream("Stock").named("S1")
        >>> a.project("name", a.price)
        <CESAR LET S1 := Stock PROJECT[name, S1.price](S1)>
        """
        return self._applied(Project(tuple(_attribute(attribute) for attribute in attributes)))

    def rename(self, *pairs: tuple[str | Column, str], **changes: str) -> Stream:
        """RENAME: old names and new ones, all at once.

        >>> from cepheid import builder as cep
        >>> a = cep.stream("Stock").named("S1")
        >>> a.rename((a.price, "maxP"), name="company")
        <CESAR LET S1 := Stock RENAME[S1.price -> maxP, name -> company](S1)>
        """
        return self._applied(rename(*pairs, **changes).operator)

    def add(self, *pairs: tuple[str, object], **values: object) -> Stream:
        """ADD: new attributes, or others in the place of old ones.

        >>> from cepheid import builder as cep
        >>> S = cep.stream("Stock")
        >>> S.add(n=1, total=S.price * S.vol)
        <CESAR ADD[n := 1, total := price * vol](Stock)>
        """
        return self._applied(add(*pairs, **values).operator)

    def then(self, other: Stream, *conditions: Column) -> Stream:
        """`;`: each event with the next one of another stream for which all conditions are TRUE."""
        (left, right), lets = _operands("then", self, other)
        return Stream(Then(left, right, _condition(conditions, "then") if conditions else _TRUE), lets)

    def __or__(self, other: Stream) -> Stream:
        """UNION: the events of both."""
        (left, right), lets = _operands("|", self, other)
        return Stream(Union(left, right), lets)

    def into(self, name: str) -> Stream:
        """The name by which later queries of a program read the result.

        >>> from cepheid import builder as cep
        >>> high = cep.stream("Stock").where(cep.col("price") > 10).into("High")
        >>> high
        <CESAR SELECT[price > 10](Stock) INTO High>
        >>> len(cep.program(high, cep.event("High", "h").from_(cep.stream("High"))).queries)
        2
        """
        term, lets = _parts(self)
        return Stream(term, lets, into=check_name(name, "a stream", "write into('Rise')"))

    def _applied(self, operator: Operator) -> Stream:
        term, lets = _parts(self)
        return Stream(Apply(operator, term), lets)

    def _own_name(self) -> str | None:
        """The name of this stream in its LET."""
        term, lets = _tree(self)
        names = {name for let in lets for name in let.names}
        return term.name if isinstance(term, Named) and term.name in names else None


def stream(name: str) -> Stream:
    """The events of a type, or those that another query of the program makes.

    >>> stream("Stock")
    <CESAR Stock>
    """
    return Stream(Named(check_name(name, "a stream", "write cep.stream('Stock')")))


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """What `iterate` does to each step: `cep.add(…)` or `cep.rename(…)`."""

    operator: Operator

    def __repr__(self) -> str:
        return f"<{print_operator(self.operator)}>"

    if not TYPE_CHECKING:  # which finds such calls itself

        def __call__(self, *streams: object) -> NoReturn:
            name = "add" if isinstance(self.operator, Add) else "rename"
            raise misuse(f"cep.{name}(…) is a step of iterate", f"write the stream first: stream.{name}(…)")


def add(*pairs: tuple[str, object], **values: object) -> Step:
    """New attributes as a step of `iterate`: `keep=[cep.add(n=b.n.last + 1)]`; those of a stream are `stream.add(n=1)`.

    >>> add(n=1)
    <ADD[n := 1]>
    """
    items = [_pair(pair, "add(('unit price', a.price))") for pair in pairs] + list(values.items())
    if not items:
        raise misuse("add() needs an attribute", "pass at least one: add(n=1)")
    names = [check_name(name, "an attribute", "write add(n=1)") for name, _ in items]
    return Step(Add(tuple(Item(n, _as_read(operand(value))) for n, (_, value) in zip(names, items, strict=True))))


def rename(*pairs: tuple[str | Column, str], **changes: str) -> Step:
    """New names as a step of `iterate`; those of a stream are `stream.rename(price="maxP")`.

    >>> rename(price="maxP")
    <RENAME[price -> maxP]>
    """
    items = [_pair(pair, "rename((a.price, 'maxP'))") for pair in pairs] + list(changes.items())
    if not items:
        raise misuse("rename() needs an attribute", "pass at least one: rename(price='maxP')")
    remedy = "write the old name and the new one: rename(price='maxP')"
    return Step(Rename(tuple(Renaming(_attribute(old), check_name(new, "an attribute", remedy)) for old, new in items)))


def iterate(
    left: Stream,
    right: Stream,
    *,
    next: Column | None = None,
    keep: Column | Step | Sequence[Column | Step] | None = None,
    **unknown: object,
) -> Stream:
    """ITERATE: `left.then(right, next)` again and again, `keep` after each step; the results of all steps.

    next: which event of `right` comes next, and which ones are skipped; by default the very next one.
    keep: a condition without which a run ends, or a list of conditions, `cep.add(…)` and `cep.rename(…)`, the first
    one done first. `b.price.last` is the price of the step before.

    >>> from cepheid import builder as cep
    >>> S = cep.stream("Stock")
    >>> a, b = S.named("S1"), S.named("S2")
    >>> print(cep.iterate(a, b, next=a.name == b.name, keep=b.price > b.price.last))
    CESAR
      LET S1, S2 := Stock
      ITERATE[SELECT[S2.price > S2.price.last], S1.name = S2.name](S1, S2)
    >>> n = cep.col("n")
    >>> cep.iterate(a.add(n=1), b, keep=[cep.add(n=n.last + 1), n < 5])
    <CESAR LET S1, S2 := Stock ITERATE[SELECT[n < 5] . ADD[n := n.last + 1], TRUE](ADD[n := 1](S1), S2)>
    """
    if unknown:
        name = min(unknown)
        raise misuse(f"iterate has no argument '{name}'", did_you_mean(name, ["next", "keep"], "arguments"))
    (first, second), lets = _operands("iterate", left, right)
    condition = _TRUE if next is None else _condition((next,), "iterate")
    return Stream(Iterate(first, second, condition, _steps(keep)), lets)


def _steps(keep: object) -> tuple[Operator, ...]:
    if keep is None:
        return ()
    listed = keep if isinstance(keep, list | tuple) else [keep]
    return tuple(step.operator if isinstance(step, Step) else Select(_condition((step,), "keep")) for step in listed)


class _Duration(Column):
    """DUR, which compares with texts such as '30 minutes'."""

    __slots__ = ()

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return Column.__eq__(self, _length(other))

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return Column.__ne__(self, _length(other))

    def __lt__(self, other: object) -> Column:
        return Column.__lt__(self, _length(other))

    def __le__(self, other: object) -> Column:
        return Column.__le__(self, _length(other))

    def __gt__(self, other: object) -> Column:
        return Column.__gt__(self, _length(other))

    def __ge__(self, other: object) -> Column:
        return Column.__ge__(self, _length(other))

    def between(self, low: object, high: object) -> Column:
        return Column.between(self, _length(low), _length(high))


def _length(value: object) -> object:
    """A text as a length of time; a number counts ticks."""
    if not isinstance(value, str):
        return value
    try:
        parsed = parse_expression(value)
    except CepheidError:
        parsed = None
    if isinstance(parsed, ex.Literal) and parsed.type.kind is Kind.DURATION:
        return Column(parsed)
    raise misuse(f"{shown(value)} is not a length of time", "write cep.duration >= '30 minutes', or a timedelta")


duration: Column = _Duration(ex.Name("DUR"))
"""DUR, how long an event lasts: `cep.duration >= "30 minutes"`, or a number of ticks."""


def _tree(stream_: Stream) -> tuple[Term, tuple[Let, ...]]:
    algebra = algebra_of(stream_._query)
    return algebra.term, algebra.lets


def _parts(stream_: Stream) -> tuple[Term, tuple[Let, ...]]:
    """The tree of an operand: no stream that is a query already."""
    if stream_._query.into is not None:
        name = stream_._query.into
        remedy = f"read it by its name: cep.stream({name!r}), and put both queries into cep.program(…)"
        raise misuse(f"a stream with into({name!r}) can't be a part of another one", remedy)
    return _tree(stream_)


def _operands(method: str, *streams_: object) -> tuple[list[Term], tuple[Let, ...]]:
    terms: list[Term] = []
    lets: tuple[Let, ...] = ()
    for operand_ in streams_:
        if not isinstance(operand_, Stream):
            remedy = "write a stream, such as cep.stream('Stock')"
            if isinstance(operand_, str) and operand_:
                remedy = f"write cep.stream({operand_!r})"
            elif hasattr(operand_, "program"):
                remedy = "write its matches into a stream, returns(…).into('Rise'), and read that: cep.stream('Rise')"
            raise misuse(f"{shown(operand_)} is not a stream: {method} takes two", remedy)
        term, defined = _parts(operand_)
        terms.append(term)
        lets = _merged(lets, defined)
    return terms, lets


def _merged(lets: tuple[Let, ...], more: tuple[Let, ...]) -> tuple[Let, ...]:
    """Definitions of both, each name once; names of the same stream share a LET, as in `LET S1, S2 := Stock`."""
    definitions = list(lets)
    for let in more:
        for name in let.names:
            before = next((definition for definition in definitions if name in definition.names), None)
            if before is not None and before.value != let.value:
                raise misuse(f"two streams are called '{name}'", "rename one of them by named('…')")
            if before is not None:
                continue
            place = next((place for place, definition in enumerate(definitions) if definition.value == let.value), None)
            if place is None:
                definitions.append(Let((name,), let.value))
            else:
                definitions[place] = replace(definitions[place], names=(*definitions[place].names, name))
    return tuple(definitions)


def _condition(conditions: tuple[object, ...], method: str) -> ex.Expression:
    if not conditions:
        raise misuse(f"{method}() needs an argument", f"pass at least one: {method}(a.price > 1)")
    return _as_read(joined(ex.And, *conditions))


def _as_read(value: ex.Expression) -> ex.Expression:
    """`n.last` as the text of it is read: an attribute of what is called n."""

    def change(node: ex.Expression) -> ex.Expression:
        if isinstance(node, ex.Field) and isinstance(node.operand, ex.Name):
            return ex.Attribute(node.operand.name, ex.Index.ONE, node.name)
        return node

    return rewrite(value, change)


def _pair(pair: object, example: str) -> tuple[object, object]:
    if isinstance(pair, tuple) and len(pair) == 2:
        return pair
    if isinstance(pair, Mapping):
        raise misuse("a dict is not a pair", f"write {example}, or pass it as keyword arguments: **{{…}}")
    raise misuse(f"{shown(pair)} is not a pair", f"write {example}")


def _attribute(named: object) -> ex.Expression:
    """An attribute by its name or as a column: `"price"`, `"S1.price"`, `a.price`."""
    if isinstance(named, Column):
        node = named.expression
        while isinstance(node, ex.Field):
            node = node.operand
        if isinstance(node, ex.Name) or (isinstance(node, ex.Attribute) and node.index is ex.Index.ONE):
            return _as_read(named.expression)
        raise misuse(f"{shown(named)} is no attribute", "add it first: stream.add(total=…).project('total')")
    name = check_name(named, "an attribute", "write project('name', 'price')")
    first, *rest = name.split(".")
    if not rest:
        return ex.Name(name)
    attribute: ex.Expression = ex.Attribute(first, ex.Index.ONE, rest[0])
    for field in rest[1:]:
        attribute = ex.Field(attribute, field)
    return attribute
