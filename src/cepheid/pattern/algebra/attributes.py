"""The names in a condition as attributes of the event at hand, and DUR (S19, S21)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor

from cepheid.errors import BindError, Span, did_you_mean
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.comparisons import swap
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.pattern.expressions.sampled import SampledLiteral, reread
from cepheid.pattern.expressions.types import BOOL, FLOAT, INT, NUMERIC, Kind, Type
from cepheid.pattern.tree.walk import substitute

START, END = "\0start", "\0end"
"""When an event starts and ends, in ticks of the time column; no attribute has such a name."""
LAST = "last"
LENGTH = "DUR"


def last_of(attribute: str) -> str:
    """The name of an attribute of the step before."""
    return f"{attribute}.{LAST}"


class Attributes:
    """What the names of a condition may mean where it stands: attributes, with their types.

    lasts: the attributes that have a value of the step before. unbegun: those that would have none at the first step.
    """

    def __init__(
        self, names: Mapping[str, Type], schema: Schema, lasts: Collection[str] = (), unbegun: Collection[str] = ()
    ) -> None:
        self.names = names
        self.schema = schema
        self.lasts = lasts
        self.unbegun = unbegun

    def resolved(self, node: ex.Expression) -> ex.Expression:
        """An expression whose attributes are registers."""
        return substitute(node, self._change)

    def name(self, node: ex.Expression) -> str:
        """The attribute that PROJECT or RENAME names."""
        found = self._attribute(list(path_of(node)), node)
        if not isinstance(found, ex.RegisterField) or found.name not in self.names:
            raise BindError("CEP317", "this is no attribute", self._remedy(str(node)), node.span)
        return found.name

    def _change(self, node: ex.Expression) -> ex.Expression | None:
        match node:
            case ex.Compare() if self._is_length(node.left) or self._is_length(node.right):
                return self._compared(node)
            case ex.Between(operand=operand, low=low, high=high) if self._is_length(operand):
                bounds = ex.And((ex.Compare(">=", operand, low), ex.Compare("<=", operand, high)), span=node.span)
                return self.resolved(ex.Not(bounds, span=node.span) if node.negated else bounds)
            case ex.In(operand=operand, choices=choices) if self._is_length(operand):
                some = ex.Or(tuple(ex.Compare("=", operand, item, span=node.span) for item in choices), span=node.span)
                return self.resolved(ex.Not(some, span=node.span) if node.negated else some)
            case ex.Name() if self._is_length(node):
                return self._length()
            case ex.Name() | ex.Attribute():
                return self._attribute(list(path_of(node)), node)
            case ex.Field():
                path = list(path_of(node))
                return self._attribute(path, node) if path else None
        return None

    # Names.

    def _attribute(self, path: list[str], node: ex.Expression) -> ex.Expression:
        """`price`, `S1.price`, `S1.price.last`, and the fields of a struct after one of these."""
        for find in (_exact, _ending):
            for size in range(len(path), 0, -1):
                name, rest = ".".join(path[:size]), path[size:]
                if rest[:1] == [LAST] and (found := find(name, [*self.lasts, *self.unbegun], node.span)) is not None:
                    if found in self.unbegun:
                        message = f"'{found}.{LAST}' has no value at the first step"
                        remedy = f"give the first stream '{found}' too, with ADD, or an attribute of the same column"
                        raise BindError("CEP319", message, remedy, node.span)
                    return _fields(ex.RegisterField(last_of(found), span=node.span), rest[1:], node.span)
                found = find(name, self.names, node.span)
                if found is not None and (rest[:1] != [LAST] or self.names[found].kind is Kind.OPAQUE):
                    return _fields(ex.RegisterField(found, span=node.span), rest, node.span)
        raise self._unknown(path, node.span)

    def _unknown(self, path: list[str], span: Span | None) -> BindError:
        name, roles = ".".join(path), self.schema.roles
        if path[-1] in (roles.time, self.schema.start):
            remedy = f"times are always there, and no condition reads them: compare {LENGTH}, how long an event lasts"
            return BindError("CEP317", f"'{name}' is a time, not an attribute", remedy, span)
        if path[-1] == LAST:
            remedy = "`.last` is the step before in ITERATE, where the second stream has the attribute"
            return BindError("CEP319", f"there is no '{name}' here", remedy, span)
        bare = "" if len(path) > 1 else f"; or, for a parameter, pass params={{'{name}': …}}"
        return BindError("CEP317", f"unknown attribute '{name}'", self._remedy(name) + bare, span)

    def _remedy(self, name: str) -> str:
        return did_you_mean(name, list(self.names), "attributes")

    # How long an event lasts.

    def _is_length(self, node: ex.Expression) -> bool:
        return isinstance(node, ex.Name) and node.name.upper() == LENGTH and node.name not in self.names

    def _length(self) -> ex.Expression:
        """DUR as a number: ticks are of one `unit=`, whatever the resolution of the column."""
        tick, unit = self.schema.tick, NANOSECONDS[self.schema.roles.unit]
        between = ex.Arithmetic("-", ex.RegisterField(END), ex.RegisterField(START))
        if tick % unit == 0:
            scaled = between if tick == unit else ex.Arithmetic("*", between, ex.Literal(tick // unit, INT))
            return ex.Arithmetic("+", scaled, ex.Literal(1, INT))
        scaled = ex.Arithmetic("/", between, ex.Literal(unit / tick, FLOAT))
        return ex.Arithmetic("+", scaled, ex.Literal(1.0, FLOAT))

    def _compared(self, node: ex.Compare) -> ex.Expression | None:
        """`DUR >= c` as a comparison of whole ticks, where c is a constant."""
        operator, constant = node.operator, node.right
        if not self._is_length(node.left):
            operator, constant = swap(operator), node.left
        if not isinstance(constant, SampledLiteral):
            found = self._ticks(operator, constant)
        elif (read := self._ticks(operator, constant)) is not None:

            def reading(other: ex.Literal) -> ex.Literal | None:
                """What is no number of ticks is longer than all of them."""
                whole = self._ticks(operator, other) or _BEYOND
                never = ex.Literal(-1, INT)  # no event is so long
                return other if other.value is None else never if whole.type is BOOL else whole

            # Whether the constant of another rule is a whole number of ticks or not, the condition is of one form.
            read = reading(constant) or read
            found = reread(constant, read, f"{LENGTH} {operator}", reading)
        else:
            found = None
        if found is None or found.type is BOOL:
            return found
        between = ex.Arithmetic("-", ex.RegisterField(END), ex.RegisterField(START))
        return ex.Compare(operator, between, found, span=node.span)

    def _ticks(self, operator: str, constant: ex.Expression) -> ex.Literal | None:
        """How many ticks there are from the start to the end of what is as long as a constant.

        A truth value where none is as long, but a number of ticks would be asked for.
        """
        amount = self._amount(constant)
        if amount is None:
            return None
        unit, tick = NANOSECONDS[self.schema.roles.unit], self.schema.tick
        bound = (amount - 1) * unit / tick
        whole = ceil(bound) if operator in (">=", "<") else floor(bound)
        if operator in ("=", "!=") and bound != whole:
            return ex.Literal(operator == "!=", BOOL, span=constant.span)
        return ex.Literal(min(max(whole, -(2**62)), 2**62), INT, span=constant.span)

    def _amount(self, constant: ex.Expression) -> Fraction | None:
        """A constant as a number of units."""
        if isinstance(constant, ex.Minus):
            found = self._amount(constant.operand)
            return None if found is None else -found
        if not isinstance(constant, ex.Literal) or constant.value is None:
            return None
        if constant.type.kind is Kind.DURATION:
            assert isinstance(constant.value, int)
            return Fraction(constant.value, NANOSECONDS[self.schema.roles.unit])
        if constant.type.kind in NUMERIC:
            text = str(constant.value)
            return None if text in ("nan", "inf", "-inf") else Fraction(text)
        return None


_BEYOND = ex.Literal(2**62, INT)


def _exact(name: str, names: Collection[str], span: Span | None) -> str | None:
    return name if name in names else None


def _ending(name: str, names: Collection[str], span: Span | None) -> str | None:
    """The only attribute that ends in a name."""
    found = [attribute for attribute in names if attribute.endswith(f".{name}")]
    if len(found) > 1:
        remedy = f"write one of {', '.join(found)}"
        raise BindError("CEP318", f"'{name}' could be any of {len(found)} attributes", remedy, span)
    return found[0] if found else None


def _fields(of: ex.Expression, names: list[str], span: Span | None) -> ex.Expression:
    for name in names:
        of = ex.Field(of, name, span=span)
    return of


def path_of(node: ex.Expression) -> Iterator[str]:
    """The names of a dotted path; none if it is not one."""
    match node:
        case ex.Name(name=name):
            yield name
        case ex.Attribute(variable=variable, name=name):
            yield from (variable, name)
        case ex.Field(operand=operand, name=name):
            before = list(path_of(operand))
            yield from (*before, name) if before else ()
