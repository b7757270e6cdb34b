"""The value of an expression on the events that a run has bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatchmethod

from cepheid.errors import EvaluationError
from cepheid.front.runnable import Runnable
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.nested import key_type
from cepheid.pattern.expressions.types import DURATION, Kind
from cepheid.pattern.tree.uses import RANGES, ranges, uses
from cepheid.pattern.tree.walk import substitute
from cepheid.values import functions, nested
from cepheid.values.arithmetic import ARITHMETIC, TIME_ARITHMETIC, negate
from cepheid.values.bindings import Bindings, Evaluator
from cepheid.values.calls import aggregation, call
from cepheid.values.casting import caster
from cepheid.values.comparison import compare
from cepheid.values.logic import conjunction, disjunction, negation
from cepheid.values.match_id import event_digest, match_digest
from cepheid.values.rows import Event
from cepheid.values.user_functions import UserTime, unusable
from cepheid.values.value import Value


class Missing(Exception):  # noqa: N818  a signal, not an error
    """The event's declared type has no such attribute: the atom around it is TRUE (S3)."""


class Compiler:
    """Turns the expressions of a bound query into functions of the bindings.

    The event that is being bound is already the last one of its variable. With `output`, they are those of RETURN,
    where an attribute that the type of its event lacks is NULL.
    """

    def __init__(self, query: Runnable, *, output: bool = False) -> None:
        self.query = query
        self.output = output
        self.declared = query.schema.roles.types is not None

    def condition(self, node: ex.Expression) -> Callable[[Bindings], bool]:
        """Whether a predicate is TRUE: what is not TRUE does not hold (S3)."""
        evaluate = self.logical(node)
        return lambda bindings: evaluate(bindings) is True

    def conjunct(self, node: ex.Expression) -> Callable[[Bindings], bool]:
        """A conjunct of WHERE, which is not tested where a variable of it bound nothing.

        By S5 it waits for its last identifier. But a.LEN and count of a repetition that was passed are 0.
        """
        holds = self.condition(node)
        reads = uses(node)
        current = {use.variable for use in reads if use.index is ex.Index.ONE}
        counted = {use.variable for use in reads if use.counts}
        bound = {use.variable for use in reads} - current - counted

        def test(bindings: Bindings) -> bool:
            there = (
                current <= bindings.now.keys()
                and counted <= bindings.all.keys()
                and all(bindings.all.get(variable) for variable in bound)
            )
            return not there or holds(bindings)

        return test

    def logical(self, node: ex.Expression) -> Evaluator:
        """An expression where a truth value stands: there a boolean attribute or call is an atom."""
        evaluate = self.atom(self.compile(node))
        if not self.query.functions:
            return evaluate

        def checked(bindings: Bindings) -> Value:
            value = evaluate(bindings)
            if value is not None and not isinstance(value, bool):
                raise unusable(f"{value!r} is neither true nor false", node)
            return value

        return checked

    def result(self, node: ex.Expression) -> Evaluator:
        """A value for the output."""
        evaluate = self.compile(node)

        def safe(bindings: Bindings) -> Value:
            value = evaluate(bindings)
            return value.original if isinstance(value, UserTime) else value

        return safe

    def atom(self, evaluate: Evaluator) -> Evaluator:
        """An atom is TRUE where an attribute is missing."""
        if not self.declared:
            return evaluate

        def tolerant(bindings: Bindings) -> Value:
            try:
                return evaluate(bindings)
            except Missing:
                return True

        return tolerant

    def compile(self, node: ex.Expression) -> Evaluator:
        """The function of a node. What a user function returns is checked only now, so errors get their place here."""
        evaluate = self.function(node)
        if not self.query.functions:
            return evaluate

        def located(bindings: Bindings) -> Value:
            try:
                return evaluate(bindings)
            except EvaluationError as error:
                if error.span is not None:
                    raise
                raise EvaluationError(error.code, error.message, error.remedy, node.span) from error
            except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
                raise unusable(str(error), node) from error

        return located

    @singledispatchmethod
    def function(self, node: ex.Expression) -> Evaluator:
        """The function of each kind of node."""
        raise TypeError(f"no meaning for {type(node).__name__}")

    @function.register
    def _(self, node: ex.Literal) -> Evaluator:
        value = node.value
        return lambda _: value

    @function.register
    def _(self, node: ex.Attribute) -> Evaluator:
        variable, name = node.variable, node.name
        read = self.reader(name)
        if node.index is ex.Index.ONE:
            return lambda bindings: read(bindings.now[variable]) if variable in bindings.now else None
        at = _position(node.index)
        least = at + 1 if at >= 0 else -at

        def evaluate(bindings: Bindings) -> Value:
            events = bindings.all.get(variable, ())
            return read(events[at]) if len(events) >= least else None

        return evaluate

    @function.register
    def _(self, node: ex.RegisterField) -> Evaluator:
        name = node.name
        return lambda bindings: bindings.register[name]

    def reader(self, name: str) -> Callable[[Event], Value]:
        """How an attribute is read from an event."""
        schema = self.query.schema
        if not self.declared:
            return lambda event: event.values[name]

        def read(event: Event) -> Value:
            if schema.has(event.type, name):
                return event.values[name]
            if self.output:
                return None
            raise Missing

        return read

    @function.register
    def _(self, node: ex.Field) -> Evaluator:
        operand, name = self.compile(node.operand), node.name
        return self.part(node, lambda bindings: None if (struct := operand(bindings)) is None else struct[name])

    @function.register
    def _(self, node: ex.Element) -> Evaluator:
        operand, index = self.compile(node.operand), self.compile(node.index)
        read = nested.at if key_type(self.query.typer.check(node.operand)[1]) is None else nested.of_key

        def evaluate(bindings: Bindings) -> Value:
            container, wanted = operand(bindings), index(bindings)
            return None if container is None or wanted is None else read(container, wanted)

        return self.part(node, evaluate)

    def part(self, node: ex.Expression, read: Evaluator) -> Evaluator:
        """A part of a nested value, as a value of its own."""
        convert = nested.to_value(self.query.typer.check(node)[1])
        return lambda bindings: None if (value := read(bindings)) is None else convert(value)

    @function.register
    def _(self, node: ex.Length) -> Evaluator:
        variable = node.variable
        return lambda bindings: len(bindings.all[variable]) if variable in bindings.all else None

    @function.register
    def _(self, node: ex.AggregateCall) -> Evaluator:
        use = uses(node.argument)[0]  # all of them run over the same events
        variable, index = use.variable, use.index
        aggregate = aggregation(node, self.query)
        item = self.compile(node.argument)

        def value_of(event: Event) -> Value:
            try:
                return item(Bindings({variable: (event,)}, {}))
            except Missing:
                return None

        def evaluate(bindings: Bindings) -> Value:
            events = bindings.all.get(variable, ())
            values = map(value_of, events[:-1] if index is ex.Index.BEFORE else events)
            return aggregate([value for value in values if value is not None])

        return evaluate

    @function.register
    def _(self, node: ex.Quantified) -> Evaluator:
        """Conjunction and disjunction over the events by three-valued logic (S27)."""
        read = ranges(node.condition)[0]  # all of them go through the same events
        variable, index, fold = read.variable, read.index, conjunction if node.quantifier == "ALL" else disjunction
        each = f"{variable}[]"  # which no variable is named

        def one(inner: ex.Expression) -> ex.Expression | None:
            if isinstance(inner, ex.Attribute) and inner.index in RANGES:
                return replace(inner, variable=each, index=ex.Index.ONE)
            return inner if isinstance(inner, ex.AggregateCall) else None

        holds = self.logical(substitute(node.condition, one))

        def evaluate(bindings: Bindings) -> Value:
            events = bindings.all.get(variable, ())
            some = events[:-1] if index is ex.Index.BEFORE else events
            here = (replace(bindings, now={**bindings.now, each: event}) for event in some)
            return fold([holds(event) for event in here])

        return evaluate

    @function.register
    def _(self, node: ex.MatchId) -> Evaluator:
        names = [component.variable for component in self.query.positive]
        digests: dict[Event, bytes] = {}  # matches share many events
        columns = [name for name in self.query.schema.columns if name not in self.query.schema.constants]

        def digest(event: Event) -> bytes:
            if event not in digests:
                digests[event] = event_digest(event.values, columns)
            return digests[event]

        return lambda bindings: match_digest((name, map(digest, bindings.all.get(name, ()))) for name in names)

    @function.register
    def _(self, node: ex.Rows) -> Evaluator:
        return lambda _: True  # each event counts

    @function.register
    def _(self, node: ex.Call) -> Evaluator:
        return call(node, [self.compile(argument) for argument in node.arguments], self.query)

    @function.register
    def _(self, node: ex.Minus) -> Evaluator:
        if self.query.typer.check(node)[1].kind is Kind.DURATION:
            return self.compile(ex.Arithmetic("-", ex.Literal(0, DURATION), node.operand, span=node.span))
        operand = self.compile(node.operand)
        return lambda bindings: negate(operand(bindings))

    @function.register
    def _(self, node: ex.Arithmetic) -> Evaluator:
        left, right = self.compile(node.left), self.compile(node.right)
        timed = self.query.typer.check(node)[1].kind in (Kind.TIMESTAMP, Kind.DURATION)
        operation = (TIME_ARITHMETIC if timed else ARITHMETIC)[node.operator]
        return lambda bindings: operation(left(bindings), right(bindings))

    @function.register
    def _(self, node: ex.Compare) -> Evaluator:
        left, right, operator = self.compile(node.left), self.compile(node.right), node.operator
        return self.atom(lambda bindings: compare(operator, left(bindings), right(bindings)))

    @function.register
    def _(self, node: ex.And) -> Evaluator:
        operands = [self.logical(operand) for operand in node.operands]
        return lambda bindings: conjunction([operand(bindings) for operand in operands])

    @function.register
    def _(self, node: ex.Or) -> Evaluator:
        operands = [self.logical(operand) for operand in node.operands]
        return lambda bindings: disjunction([operand(bindings) for operand in operands])

    @function.register
    def _(self, node: ex.Not) -> Evaluator:
        operand = self.logical(node.operand)
        return lambda bindings: negation(operand(bindings))

    @function.register
    def _(self, node: ex.IsNull) -> Evaluator:
        operand, negated = self.compile(node.operand), node.negated
        return self.atom(lambda bindings: (operand(bindings) is None) is not negated)

    @function.register
    def _(self, node: ex.In) -> Evaluator:
        operand = self.compile(node.operand)
        choices = [self.compile(choice) for choice in node.choices]

        def evaluate(bindings: Bindings) -> Value:
            value = operand(bindings)
            is_in = disjunction([compare("=", value, choice(bindings)) for choice in choices])
            return negation(is_in) if node.negated else is_in

        return self.atom(evaluate)

    @function.register
    def _(self, node: ex.Between) -> Evaluator:
        operand, low, high = self.compile(node.operand), self.compile(node.low), self.compile(node.high)

        def evaluate(bindings: Bindings) -> Value:
            value = operand(bindings)
            inside = conjunction([compare(">=", value, low(bindings)), compare("<=", value, high(bindings))])
            return negation(inside) if node.negated else inside

        return self.atom(evaluate)

    @function.register
    def _(self, node: ex.Like) -> Evaluator:
        return self.matched(node, functions.like)

    @function.register
    def _(self, node: ex.RLike) -> Evaluator:
        return self.matched(node, functions.rlike)

    def matched(self, node: ex.Like | ex.RLike, test: Callable[[str, str], bool]) -> Evaluator:
        """A text against a pattern."""
        operand, pattern = self.compile(node.operand), self.compile(node.pattern)

        def evaluate(bindings: Bindings) -> Value:
            text, wanted = operand(bindings), pattern(bindings)
            return None if text is None or wanted is None else test(text, wanted) is not node.negated

        return self.atom(evaluate)

    @function.register
    def _(self, node: ex.Cast) -> Evaluator:
        operand = self.compile(node.operand)
        typer = self.query.typer
        cast = caster(typer.check(node.operand)[1], typer.check(node)[1])

        def evaluate(bindings: Bindings) -> Value:
            value = operand(bindings)
            return None if value is None else cast(value)

        return evaluate

    @function.register
    def _(self, node: ex.CaseWhen) -> Evaluator:
        arms = [(self.condition(arm.condition), self.compile(arm.result)) for arm in node.arms]
        otherwise = self.compile(node.otherwise) if node.otherwise is not None else None

        def evaluate(bindings: Bindings) -> Value:
            for holds, result in arms:
                if holds(bindings):
                    return result(bindings)
            return otherwise(bindings) if otherwise is not None else None

        return evaluate


def _position(index: ex.AnyIndex) -> int:
    """Which of the events that are bound so far an index means; the last one is at hand."""
    match index:
        case ex.Nth(number=number):
            return number - 1
        case ex.Back(steps=steps):
            return -1 - steps
    return {ex.Index.FIRST: 0, ex.Index.PREVIOUS: -2}.get(index, -1)
