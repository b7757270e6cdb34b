"""Queries under construction: a pattern and its clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from cepheid.builder.columns import Column, condition, joined, operand
from cepheid.builder.keys import read_key
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.builder.placing import BuiltQuery, check_depth, placed
from cepheid.builder.streams import read_streams
from cepheid.builder.variables import Events, Variable, source_of, variable_name
from cepheid.errors import BindError, did_you_mean
from cepheid.language import print_program
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import spell
from cepheid.pattern.expressions.parameters import read_window
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.lengths import with_lengths
from cepheid.pattern.tree.walk import conjuncts


@dataclass(frozen=True, slots=True, repr=False)
class Draft(BuiltQuery):
    """A pattern with clauses. Every method returns a new draft; `cep.Query(draft)` runs it, `str` shows its text.

    Conditions, strategies, partitions and results are added to the existing ones; `within`, `into` and `from_` replace.
    """

    query: tree.QueryTree

    @property
    def program(self) -> tree.Program:
        """The tree that `cep.Query` runs."""
        return program(self)

    def _checked(self) -> tree.QueryTree:
        check_depth(self.query)
        return with_lengths(self.query)

    def __str__(self) -> str:
        return print_program(checked(self))

    def __repr__(self) -> str:
        return f"<{' '.join(str(self).split())}>"

    def __bool__(self) -> NoReturn:
        raise misuse(
            "a pattern has no truth value in Python",
            "use | or cep.either(…) instead of or, cep.any_order(…) instead of and, ~ instead of not",
        )

    if not TYPE_CHECKING:  # which finds such attributes itself

        def __getattr__(self, name: str) -> NoReturn:
            message = f"a pattern has no attribute '{name}'"
            if name in ("match", "session", "explain", "schema", "restore"):
                message += f": make a query of it, cep.Query(pattern).{name}(…)"
            elif name in ("arc", "ignore", "epsilon"):
                message += ": add arcs to cep.automaton(…), before clauses such as within"
            raise AttributeError(message, name=name, obj=self)

    def where(self, *conditions: Column) -> Draft:
        """Add conditions; all must hold.

        >>> from cepheid import builder as cep
        >>> a, b = cep.var("a"), cep.var("b")
        >>> print(cep.seq(cep.event("Buy", a), cep.event("Sell", b)).where(a.price < b.price, b.volume > 10))
        PATTERN SEQ(Buy a, Sell b)
        WHERE a.price < b.price
          AND b.volume > 10
        """
        _require(conditions, "where", "a.price > 1")
        more = tuple(c for test in conditions for c in conjuncts(condition(test)))
        return self._with(where=(*self.query.where, *more))

    def same(self, *attributes: str, **values: object) -> Draft:
        """All events of a match, negated ones too, have the same value of each attribute, or the given value.

        An attribute may be a field of a struct: `same("payload.user")`.

        >>> from cepheid import builder as cep
        >>> print(cep.event("Shelf", "a").same("tag_id", site="north"))
        PATTERN Shelf a
        WHERE [tag_id]
          AND [site = 'north']
        """
        _require((*attributes, *values), "same", "'tag_id'")
        attributes_ = [
            *((name, None) for name in attributes),
            *((name, operand(value)) for name, value in values.items()),
        ]
        keys = [(read_key(name, "an attribute", "write same('tag_id')"), value) for name, value in attributes_]
        more = (ex.SameValue(key.name, value, key.fields) for key, value in keys)
        return self._with(where=(*self.query.where, *more))

    def strategy(self, name: str, *variables: str | Variable) -> Draft:
        """Which events a run may ignore, for some variables or for all.

        >>> from cepheid import builder as cep
        >>> print(cep.event("Shelf", "a").strategy("skip_till_next_match", "a"))
        PATTERN Shelf a
        WHERE skip_till_next_match(a) { }
        """
        names = [s.value for s in tree.Strategy]
        if name not in names:
            raise misuse(f"unknown strategy {shown(name)}", did_you_mean(str(name), names, "strategies"))
        chosen = tree.Selection(tree.Strategy(name), tuple(map(variable_name, variables)))
        return self._with(strategies=(*self.query.strategies, chosen))

    def partition_by(self, *columns: str) -> Draft:
        """Match separately within each group of events that have the same values in some columns.

        A column may be a field of a struct: `partition_by("payload.user")`.
        """
        _require(columns, "partition_by", "'site'")
        more = (read_key(c, "a column", "write partition_by('site')") for c in columns)
        return self._with(partition_by=(*self.query.partition_by, *more))

    def within(self, window: str | timedelta | Column) -> Draft:
        """The window: `"12 hours"`, `"500 events"`, a timedelta, or a parameter.

        >>> from cepheid import builder as cep
        >>> print(cep.event("Shelf", "a").within(timedelta(hours=12)))
        PATTERN Shelf a
        WITHIN 12 hours
        """
        return self._with(within=read_length(window))

    def having(self, *conditions: Column) -> Draft:
        """Conditions on the complete match."""
        _require(conditions, "having", "a.len > 3")
        before = () if self.query.having is None else (Column(self.query.having),)
        return self._with(having=joined(ex.And, *before, *conditions))

    def returns(self, **columns: object) -> Draft:
        """The columns of a match, by name: values, and events such as `a` or `b.each`.

        >>> from cepheid import builder as cep
        >>> a = cep.var("a")
        >>> print(cep.event("Shelf", a).returns(tag=a.tag_id, place=cep.call("upper", a.site)).into("Seen"))
        PATTERN Shelf a
        RETURN a.tag_id AS tag, upper(a.site) AS place INTO Seen
        """
        _require(tuple(columns), "returns", "price=a.price")
        more = (tree.ReturnItem(_result(value), name) for name, value in columns.items())
        return self._with(returns=(*self.query.returns, *more))

    def into(self, name: str) -> Draft:
        """The type of the composite events that `returns` makes, for a later query to read."""
        check_name(name, "a stream", "write into('Alert')")
        if not self.query.returns:
            remedy = "call returns first: returns(price=a.price).into('Alert')"
            raise misuse(f"into({name!r}) needs returns", remedy)
        return self._with(into=name)

    def from_(
        self,
        stream: str | BuiltQuery | Sequence[str] | Mapping[str, Sequence[str] | None],
        *types: str,
        where: Column | None = None,
    ) -> Draft:
        """The stream to read: the events, or the composite events that another query of the program writes with `into`.

        Several streams are a list of names, or a dict of names with the types that are seen of each; None: all types.

        types, where: which of its events the query sees; all others are not there for it.

        >>> from cepheid import builder as cep
        >>> print(cep.event("Shelf", "a").from_("readings", "Shelf", "Exit", where=cep.col("price") > 10))
        FROM readings(Shelf, Exit) WHERE price > 10
        PATTERN Shelf a
        >>> print(cep.event("Seen", "a").from_({"readings": ["Exit"], "Seen": None}))
        FROM readings(Exit), Seen
        PATTERN Seen a
        """
        return self._with(streams=read_streams(stream, types), sees=None if where is None else joined(ex.And, where))

    def non_overlapping(self, cooldown: str | timedelta | Column | None = None) -> Draft:
        """Emit only matches that do not overlap in time, per partition; those that end first.

        cooldown: how long after the end of a match the next one may start.
        """
        return self._with(output=tree.Output.NON_OVERLAP, cooldown=_cooldown(cooldown))

    def longest(self, cooldown: str | timedelta | Column | None = None) -> Draft:
        """Emit one match per incident, per partition: the earliest start, then the latest end.

        cooldown: how long after the end of a match the next one may start.

        >>> from cepheid import builder as cep
        >>> print(cep.event("Alarm", "a").longest(cooldown="5 minutes"))
        PATTERN Alarm a
        OUTPUT LONGEST COOLDOWN 5 minutes
        """
        return self._with(output=tree.Output.LONGEST, cooldown=_cooldown(cooldown))

    def simultaneous(self) -> Draft:
        """Events of equal time have no order: a later component needs a greater time."""
        return self._with(ties=tree.Ties.SIMULTANEOUS)

    def _with(self, **changes: Any) -> Draft:
        return Draft(replace(self.query, **changes))


def program(*drafts: BuiltQuery) -> tree.Program:
    """Queries that feed each other: `into` names what a later `from_` reads. `cep.Query` runs it.

    >>> from cepheid import builder as cep
    >>> rises = cep.event("Stock", "a").returns(price=cep.var("a").price).into("Rise")
    >>> len(cep.program(rises, cep.event("Rise", "r").from_("Rise")).queries)
    2
    """
    return placed(checked(*drafts))


def checked(*drafts: BuiltQuery) -> tree.Program:
    """The tree of some queries, with the places that their nodes have."""
    _require(drafts, "program", "cep.event('Shelf', 'a')")
    queries: list[tree.QueryTree] = []
    for draft in drafts:
        if not isinstance(draft, BuiltQuery):
            raise misuse(f"{shown(draft)} is not a query", "pass patterns such as cep.event('Shelf', 'a')")
        queries.append(draft._checked())
    return tree.Program(tuple(queries))


def _cooldown(cooldown: object) -> tree.Window | None:
    if cooldown is None:
        return None
    length = read_length(cooldown, "longest(cooldown={})", "5 minutes")
    if length.unit == "events":
        raise misuse("a cooldown is a time, not a number of events", "write longest(cooldown='5 minutes')")
    return length


def read_length(window: object, call: str = "within({})", example: str = "12 hours") -> tree.Window:
    """A window of time or of events; `call` is how it was passed, `example` another one."""
    match window:
        case Column(expression=ex.Name() as name):
            return tree.Window(name)
        case str():
            text = window
        case timedelta() if window > timedelta(0):
            text = spell(window // timedelta(microseconds=1) * 1000)
        case int() | float() if not isinstance(window, bool):
            amount, unit = shown(window), example.split()[1]
            raise misuse(f"{call.format(amount)} has no unit", "write " + call.format(f"'{amount} {unit}'"))
        case _:
            text = ""
    try:
        return read_window(text, "window", None)
    except BindError:
        examples = [call.format(f"'{length}'") for length in (example, *(["500 events"] if "within" in call else []))]
        remedy = f"write a number and a unit: {', '.join(examples)}"
        raise misuse(f"{shown(window)} is not a window", remedy) from None


def _require(arguments: tuple[object, ...], method: str, example: str) -> None:
    if not arguments:
        raise misuse(f"{method}() needs an argument", f"pass at least one: {method}({example})")


def _result(value: object) -> ex.Expression:
    """A column of RETURN: a value, an event or a list of events."""
    if isinstance(value, Variable):
        return ex.Name(variable_name(value))
    return ex.Rows(*source_of(value)) if isinstance(value, Events) else operand(value)
