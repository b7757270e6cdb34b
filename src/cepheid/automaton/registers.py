"""Which registers a reference to earlier events needs, and what each event does to them (SASE+ 5.2.1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from cepheid.automaton.model import Ended, Fixed, Held, NotNative, Now, Ratio, Register, Root, Time, Witnessed
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL, FLOAT, INT, NULL, Type
from cepheid.pattern.tree.walk import walk

ZERO, ONE = Fixed(0, INT), Fixed(1, INT)
ZERO_REAL = Fixed(0.0, FLOAT)
NOTHING = ex.Literal(None, NULL)
FOREVER = Fixed(2**63 - 1, INT)
"""Later than all times."""
FOLDED = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")
"""The aggregates that a few registers hold."""
MAX_STEPS = 16
"""How far back a register for each event is kept."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What the events of a variable do to a register: the first one, and each later one (None: it keeps its value).

    Without a variable, the events are those of all variables.
    """

    register: Register
    variable: str | None
    first: ex.Expression
    later: ex.Expression | None

    def change(self, variable: str, *, again: bool, begin: bool) -> ex.Expression | None:
        """What an event that is bound to a variable assigns. `begin`: it is the first event of the run."""
        if self.variable is None:
            return self.first if begin else self.later
        if self.variable != variable:
            return None
        return self.later if again else self.first


class Registers:
    """The registers of an automaton, each made when it is first referred to."""

    def __init__(self, time: Type) -> None:
        self._time = time
        self._rules: dict[Hashable, Rule] = {}

    def __iter__(self) -> Iterator[Rule]:
        yield from self._rules.values()

    def first(self, variable: str, column: str, type_: Type) -> Held:
        """An attribute of the first event of a variable."""
        attribute = Now(column, type_)
        return self._rule((variable, "first", column), f"{variable}_first_{column}", type_, variable, attribute, None)

    def last(self, variable: str, column: str, type_: Type) -> Held:
        """An attribute of the last event of a variable, or of its only one."""
        attribute = Now(column, type_)
        return self._rule((variable, "last", column), f"{variable}_{column}", type_, variable, attribute, attribute)

    def back(self, variable: str, steps: int, column: str, type_: Type) -> Held:
        """An attribute so many events before the last one of a variable."""
        if steps > MAX_STEPS:
            raise NotNative(f"more than {MAX_STEPS} events back")
        if steps == 0:
            return self.last(variable, column, type_)
        later = self.back(variable, steps - 1, column, type_)
        name = f"{variable}_back_{steps}_{column}"
        return self._rule((variable, "back", steps, column), name, type_, variable, NOTHING, later)

    def nth(self, variable: str, number: int, column: str, type_: Type, *, at_hand: bool) -> ex.Expression:
        """An attribute of the event of a variable with a number, 2 or greater. `at_hand`: it may be the one at hand."""
        attribute = Now(column, type_)
        is_it = ex.Compare("=", self.length(variable), Fixed(number - 1, INT))
        held = self._fold(
            (variable, "nth", number, column), f"{variable}_{number}_{column}", type_, variable,
            lambda _: NOTHING, lambda old: _case(is_it, attribute, old),
        )  # fmt: skip
        return _case(is_it, attribute, held) if at_hand else held

    def length(self, variable: str) -> Held:
        """How many events a variable has."""
        return self._counting((variable, "length"), f"{variable}_len", variable, n_is=ONE)

    def key(self, number: int, column: str, type_: Type) -> Held:
        """The value of an `[attr]` test."""
        return self._rule(("key", number), f"key_{column}", type_, None, Now(column, type_), None)

    def start(self) -> Held:
        """When the first event was: matches that wait for an absence wait each for its own."""
        return self._rule("start", "start", self._time, None, Time(), None)

    def witness(self, negation: int) -> Held:
        """When the last event was seen that must be absent before the first one."""
        return self._rule(("seen", negation), f"seen_{negation}", self._time, None, Witnessed(negation), None)

    def end(self) -> Held:
        """When the last event was."""
        return self._rule("end", "end", INT, None, Ended(), Ended())

    def closed(self, negation: int) -> Held:
        """When the first event was seen that must be absent after the last one."""
        return self._rule(("closed", negation), f"closed_{negation}", INT, None, FOREVER, FOREVER)

    def aggregate(self, function: str, variable: str, argument: ex.Expression, type_: Type, of: Type) -> ex.Expression:
        """A running aggregate over the events of a variable; `argument` reads the event at hand. NULLs do not count."""
        key = variable, argument
        x, name = argument, f"{variable}_{{}}_{'_'.join(_columns(argument))}".rstrip("_")
        null = ex.IsNull(x)
        count: Callable[[], Held] = lambda: self._counting(  # noqa: E731
            (key, "count"), name.format("count"), variable, n_is=_case(null, ZERO, ONE)
        )
        match function:
            case "count":
                return count()
            case "avg":
                total = self._fold(
                    (key, "total"), name.format("total"), FLOAT, variable,
                    lambda _: _case(null, ZERO_REAL, ex.Arithmetic("+", ZERO_REAL, x)),
                    lambda old: _case(null, old, ex.Arithmetic("+", old, x)),
                )  # fmt: skip
                return ex.Arithmetic("/", total, count())
            case "stddev":
                return self._deviation(key, name, variable, x, null, count())
        updates: dict[str, Callable[[ex.Expression], ex.Expression]] = {
            "first": lambda old: _case(ex.IsNull(old), x, old),
            "last": lambda old: _case(null, old, x),
            "sum": lambda old: _case(null, old, _case(ex.IsNull(old), x, ex.Arithmetic("+", old, x))),
            "min": lambda old: _case(null, old, _case(_or(ex.IsNull(old), ex.Compare("<", x, old)), x, old)),
            "max": lambda old: _case(null, old, _case(_or(ex.IsNull(old), ex.Compare(">", x, old)), x, old)),
        }
        kind = of if function in ("first", "last", "min", "max") else type_
        return self._fold((key, function), name.format(function), kind, variable, lambda _: x, updates[function])

    def quantified(self, quantifier: str, variable: str, first: ex.Expression, later: ex.Expression) -> Held:
        """Whether a condition holds for all, or for some, events of a variable; it reads the event at hand."""
        join = ex.And if quantifier == "ALL" else ex.Or
        name = f"{variable}_{quantifier}_{'_'.join(_columns(first))}".rstrip("_")
        key = variable, quantifier, first, later
        return self._fold(key, name, BOOL, variable, lambda _: first, lambda old: join((old, later)))

    def _deviation(
        self, key: Hashable, name: str, variable: str, x: ex.Expression, null: ex.Expression, count: Held
    ) -> ex.Expression:
        """Welford's way: the mean, and the sum of the squared distances from it."""

        def moved(mean: ex.Expression) -> ex.Expression:
            step = Ratio(ex.Arithmetic("-", x, mean), ex.Arithmetic("+", count, ONE))
            return ex.Arithmetic("+", mean, step)

        mean = self._fold(
            (key, "mean"), name.format("mean"), FLOAT, variable,
            lambda _: _case(null, ZERO_REAL, ex.Arithmetic("+", ZERO_REAL, x)),
            lambda old: _case(null, old, moved(old)),
        )  # fmt: skip
        product = ex.Arithmetic("*", ex.Arithmetic("-", x, mean), ex.Arithmetic("-", x, moved(mean)))
        spread = self._fold(
            (key, "spread"), name.format("spread"), FLOAT, variable,
            lambda _: ZERO_REAL,
            lambda old: _case(null, old, ex.Arithmetic("+", old, product)),
        )  # fmt: skip
        enough = ex.Compare(">", count, ONE)
        return _case(enough, Root(Ratio(spread, ex.Arithmetic("-", count, ONE))), NOTHING)

    def _counting(self, key: Hashable, name: str, variable: str, n_is: ex.Expression) -> Held:
        return self._fold(key, name, INT, variable, lambda _: n_is, lambda old: ex.Arithmetic("+", old, n_is))

    def _fold(
        self,
        key: Hashable,
        name: str,
        type_: Type,
        variable: str,
        first: Callable[[ex.Expression], ex.Expression],
        later: Callable[[ex.Expression], ex.Expression],
    ) -> Held:
        if key in self._rules:
            return Held(self._rules[key].register)
        held = Held(Register(self._name(name), type_))
        self._rules[key] = Rule(held.register, variable, first(held), later(held))
        return held

    def _rule(
        self,
        key: Hashable,
        name: str,
        type_: Type,
        variable: str | None,
        first: ex.Expression,
        later: ex.Expression | None,
    ) -> Held:
        if key not in self._rules:
            self._rules[key] = Rule(Register(self._name(name), type_), variable, first, later)
        return Held(self._rules[key].register)

    def _name(self, wanted: str) -> str:
        """An identifier that no other register has."""
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in wanted)
        taken = {rule.register.name for rule in self._rules.values()}
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name


def _case(condition: ex.Expression, then: ex.Expression, otherwise: ex.Expression) -> ex.Expression:
    return ex.CaseWhen(None, (ex.When(condition, then),), otherwise)


def _or(left: ex.Expression, right: ex.Expression) -> ex.Expression:
    return ex.Or((left, right))


def _columns(argument: ex.Expression) -> Iterator[str]:
    yield from dict.fromkeys(node.column for node in walk(argument) if isinstance(node, Now))
