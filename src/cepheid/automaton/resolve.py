"""References to variables become reads of the event at hand or of a register (SASE+ 5.2.1: the computation state)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.automaton.model import Held, NotNative, Now, Test
from cepheid.automaton.registers import FOLDED, NOTHING, ONE, ZERO, Registers
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import limits_above, swap
from cepheid.pattern.expressions.types import BOOL, Kind
from cepheid.pattern.tree.uses import ranges, uses
from cepheid.pattern.tree.walk import substitute, walk


@dataclass(frozen=True)
class KnownVariables:
    """What is known of the variables at some point of a run: bound, reached, and bound in the round at hand."""

    bound: frozenset[str]
    reached: frozenset[str]
    now: frozenset[str]


@dataclass(frozen=True)
class Sight:
    """What a test can see: what is settled, and the variable of the event at hand, if there is one.

    `again`: that variable had an event before.
    """

    query: Runnable
    registers: Registers
    settled: KnownVariables
    variable: str | None = None
    again: bool = False

    def test(self, condition: ex.Expression) -> Test | None:
        """A conjunct with its references resolved; None where it is not tested, since a variable of it is unbound."""
        all_uses = uses(condition)
        counted = {use.variable for use in all_uses if use.counts}
        if not all(self.sees(use.variable, use.index, counts=use.variable in counted) for use in all_uses):
            return None
        check_missing(self.query, condition)
        resolved = substitute(condition, self.reference)
        alone = not any(isinstance(node, Held) for node in walk(resolved))
        return Test(resolved, condition, self.variable or "", unary=alone and self.variable is not None)

    def whole(self, condition: ex.Expression) -> Test:
        """A condition on the complete match: what is unbound is NULL in it."""
        check_missing(self.query, condition)
        return Test(substitute(condition, self.reference), condition, "", unary=False)

    def sees(self, variable: str, index: ex.AnyIndex, *, counts: bool) -> bool:
        """Whether a variable is there, as S5 asks before it tests a conjunct."""
        if variable == self.variable:
            return True
        if index is ex.Index.ONE:
            return variable in self.settled.now
        return variable in self.settled.bound or (counts and variable in self.settled.reached)

    def reference(self, node: ex.Expression) -> ex.Expression | None:
        """What stands for a reference; None for a node that is none."""
        match node:
            case ex.Attribute(variable=variable, index=index, name=name):
                type_ = self.query.schema.columns[name]
                earlier = self.again and index in (ex.Index.FIRST, ex.Index.PREVIOUS)
                if variable == self.variable and not earlier and isinstance(index, ex.Index):
                    return Now(name, type_)
                if variable != self.variable and variable not in self.settled.bound:
                    return NOTHING
                if isinstance(index, ex.Nth | ex.Back):
                    return self.counted(variable, index, name)
                if index is ex.Index.FIRST:
                    return self.registers.first(variable, name, type_)
                return self.registers.last(variable, name, type_)
            case ex.Length(variable=variable):
                return self.length(variable)
            case ex.Rows():
                return ONE  # in count(a[]) FILTER (…): each event counts
            case ex.AggregateCall():
                return self.aggregate(node)
            case ex.Quantified():
                return self.quantified(node)
        return None

    def counted(self, variable: str, index: ex.Nth | ex.Back, name: str) -> ex.Expression:
        """`a[2].x`, `a[i-2].x`: NULL where there is no such event."""
        type_ = self.query.schema.columns[name]
        if variable == self.variable and not self.again:
            return NOTHING
        if isinstance(index, ex.Back):
            return self.registers.back(variable, index.steps - 1, name, type_)
        return self.registers.nth(variable, index.number, name, type_, at_hand=variable == self.variable)

    def length(self, variable: str) -> ex.Expression:
        """How many events a variable has."""
        if variable in self.settled.bound:
            return self.registers.length(variable)
        return ZERO if variable in self.settled.reached else NOTHING

    def aggregate(self, node: ex.AggregateCall) -> ex.Expression:
        """A running aggregate; over nothing `count` is 0 and the others are NULL."""
        variable = uses(node.argument)[0].variable
        if node.distinct or node.function not in FOLDED:
            raise NotNative(f"the aggregate {node.function}{'(DISTINCT …)' * node.distinct}")
        if variable not in self.settled.bound:
            return ZERO if node.function == "count" else NOTHING
        if isinstance(node.argument, ex.Rows) and node.function == "count":
            return self.registers.length(variable)
        if isinstance(node.argument, ex.Rows):
            raise NotNative(f"{node.function} of whole events")
        argument = substitute(node.argument, replace(self, variable=variable, again=False).reference)
        of, type_ = self.query.typer.check(node.argument)[1], self.query.typer.check(node)[1]
        _check_aggregate(node.function, argument, of.kind)
        return self.registers.aggregate(node.function, variable, argument, type_, of)

    def quantified(self, node: ex.Quantified) -> ex.Expression:
        """A condition on all events of a variable so far; over nothing ALL is TRUE and ANY is FALSE."""
        variable = ranges(node.condition)[0].variable
        if variable not in self.settled.bound:
            return ex.Literal(node.quantifier == "ALL", BOOL)
        try:
            self.check_quantified(node, variable)
        except NotNative:
            bounded = self.bounded(node, variable)
            if bounded is None:
                raise
            return bounded
        first, later = (
            substitute(node.condition, replace(self, variable=variable, again=again).reference)
            for again in (False, True)
        )
        return self.registers.quantified(node.quantifier, variable, first, later)

    def bounded(self, node: ex.Quantified, variable: str) -> ex.Expression | None:
        """`ALL(a[].x < b.x)`: what holds for the greatest value holds for all; so `b` may come later.

        None for other conditions.
        """
        test = _by_own_value(node.condition)
        if test is None:
            return None
        operator, held, other = test
        every = node.quantifier == "ALL"
        if operator == ("!=" if every else "="):
            return None
        extremes = ["min", "max"] if operator in ("=", "!=") else ["max" if limits_above(operator) is every else "min"]
        limit = substitute(other, self.reference)
        tests = [ex.Compare(operator, self.aggregate(ex.AggregateCall(name, held)), limit) for name in extremes]
        # A value that is NULL makes the whole NULL, unless the others decide.
        complete = ex.Compare("=", self.aggregate(ex.AggregateCall("count", held)), self.registers.length(variable))
        rest = ex.CaseWhen(None, (ex.When(complete, ex.Literal(every, BOOL)),), None)
        return (ex.And if every else ex.Or)((*tests, rest))

    def check_quantified(self, node: ex.Quantified, variable: str) -> None:
        """Whether all that the condition reads is known when each event of the variable is bound."""
        places = [place for place in self.query.layout.places if place.variable == variable]
        for use in uses(node.condition, node.quantifier):
            if use.variable == variable:
                known = use.index is ex.Index.FIRST or any(use.node is read for read in ranges(node.condition))
            else:
                known = not use.counts and not any(use.variable in place.later for place in places)
            if not known:
                what = f"what is not known yet when {variable} is bound"
                raise NotNative(f"{node.quantifier}(…) over {variable}[], compared with {what}")


def _by_own_value(condition: ex.Expression) -> tuple[str, ex.Expression, ex.Expression] | None:
    """A comparison of a value of each event with one that is the same for all: the operator, the former, the latter."""
    if not isinstance(condition, ex.Compare):
        return None
    for operator, held, other in (
        (condition.operator, condition.left, condition.right),
        (swap(condition.operator), condition.right, condition.left),
    ):
        read = ranges(held)
        if read and not ranges(other) and len(uses(held)) == len(read):
            return operator, held, other
    return None


def _check_aggregate(function: str, argument: ex.Expression, kind: Kind) -> None:
    numeric = kind in (Kind.INT, Kind.FLOAT)
    if (
        function not in ("count", "first", "last")
        and not numeric
        and kind not in (Kind.TIMESTAMP, Kind.DURATION, Kind.DATE)
    ):
        raise NotNative(f"{function} of strings")
    if kind in (Kind.TIMESTAMP, Kind.DURATION) and function not in ("min", "max", "first", "last", "count"):
        raise NotNative(f"{function} of times")
    if kind is Kind.STRING and any(not isinstance(node, Now) for node in walk(argument)):
        raise NotNative("an aggregate of computed strings")


def check_missing(query: Runnable, condition: ex.Expression) -> None:
    """Missing is not NULL (S3): an attribute that some type of its component lacks can't be read as it is."""
    for node in walk(condition):
        if isinstance(node, ex.Attribute) and not all(
            query.schema.has(name, node.name)
            for name in query.components[node.variable].types or query.schema.roles.types or ()
        ):
            raise NotNative(f"{node.variable}.{node.name} is missing in some of its types")
