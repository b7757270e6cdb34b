"""Variables of a pattern and the events that they bind, to read attributes from."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.builder.columns import Column
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.pattern.expressions.nodes import AnyIndex, Attribute, Back, Index, Nth


@dataclass(frozen=True, slots=True, repr=False)
class Events:
    """One or some of the events of a variable: `a.first`, `a.each`. Attributes are read as `.price` or `["price"]`."""

    _variable: str
    _index: AnyIndex

    def __repr__(self) -> str:
        return f"<{self._variable}{self._index.value.replace('a.', self._variable + '.')}>"

    def __getattr__(self, name: str) -> Column:
        # Python and notebooks ask every object for __deepcopy__, _repr_html_ and more.
        if name.startswith("_"):
            raise AttributeError(f"write [{name!r}] for an attribute whose name begins with an underscore")
        return self[name]

    def __getitem__(self, name: str) -> Column:
        remedy = "write a.price or a['price'], and a.first.price for a[1].price"
        return Column(Attribute(self._variable, self._index, check_name(name, "an attribute", remedy)))


@dataclass(frozen=True, slots=True, repr=False)
class Variable(Events):
    """A variable of the pattern. For a Kleene variable, properties select which of its events are meant.

    An attribute with the name of a property is read as `a["first"]`.
    """

    @property
    def first(self) -> Events:
        """The first event of a closure: `a[1]`."""
        return Events(self._variable, Index.FIRST)

    @property
    def current(self) -> Events:
        """`a[i]`: each event from the second on."""
        return Events(self._variable, Index.CURRENT)

    @property
    def previous(self) -> Events:
        """`a[i-1]`: the event before the current one."""
        return Events(self._variable, Index.PREVIOUS)

    @property
    def before(self) -> Events:
        """`a[..i-1]`: all events before the current one, for aggregates."""
        return Events(self._variable, Index.BEFORE)

    @property
    def last(self) -> Events:
        """The last event of a closure: `a[a.LEN]`."""
        return Events(self._variable, Index.LAST)

    @property
    def each(self) -> Events:
        """`a[]`: each event in a condition, all of them in an aggregate."""
        return Events(self._variable, Index.EACH)

    def nth(self, number: int) -> Events:
        """`a[2]`: the event with a number, counted from 1; its attributes are NULL if there is none."""
        _check_count(number, "nth")
        return Events(self._variable, Index.FIRST if number == 1 else Nth(number))

    def back(self, steps: int) -> Events:
        """`a[i-2]`: so many events before the current one; its attributes are NULL if there is none."""
        _check_count(steps, "back")
        return Events(self._variable, Index.PREVIOUS if steps == 1 else Back(steps))

    @property
    def len(self) -> Column:
        """`a.LEN`: how many events a Kleene variable has; of a single event, its attribute `len`."""
        return self["len"]


def var(name: str) -> Variable:
    """A variable, whose attributes make conditions and results.

    >>> a = var("a")
    >>> a.current.price > a.previous.price
    <Column a[i].price > a[i-1].price>
    >>> a["unit price"]
    <Column a.`unit price`>
    """
    return Variable(check_name(name, "a variable", "write cep.var('a')"), Index.ONE)


def _check_count(number: object, method: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise misuse(f"{method}({shown(number)}) means no event", f"pass 1 or more: cep.var('a').{method}(2)")


def variable_name(variable: str | Variable) -> str:
    """The name of a variable that is given by name or as `cep.var("a")`."""
    if isinstance(variable, Variable):
        return variable._variable
    return check_name(variable, "a variable", "write 'a' or cep.var('a')")


def source_of(events: Events) -> tuple[str, AnyIndex]:
    """The variable and the index that an aggregate over events runs over."""
    if isinstance(events, Variable):
        name = events._variable
        remedy = "say which events: .each for all of them, .before for those before the current one"
        raise misuse(f"an aggregate can't be applied to the variable {shown(name)} itself", remedy)
    return events._variable, events._index
