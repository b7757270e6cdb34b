"""What an expression may refer to at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa

from cepheid.pattern.expressions.aggregates import Aggregate
from cepheid.pattern.expressions.nodes import AnyIndex, Index, Nth
from cepheid.testing.strategies.schemas import TIME, TYPE
from cepheid.testing.strategies.sorts import Sort, sort_of
from cepheid.testing.strategies.values import DAY, MOMENT
from cepheid.testing.strategies.variables import DrawnVariable

Reference = tuple[str, AnyIndex]
SECOND = Nth(2)


class MapKey(str):
    """A key of a map, as opposed to a field of a struct."""

    __slots__ = ()


Part = tuple[str | int, ...]
"""A column and the way to a value inside of it."""


def same(value: object) -> object:
    """The user-defined function of the generated queries: returns its argument."""
    return value


PARAMETERS: Mapping[str, tuple[Sort, object]] = {
    "Limit": (Sort.INT, 2),
    "Ratio": (Sort.FLOAT, 0.5),
    "Price": (Sort.DECIMAL, Decimal("1.25")),
    "Word": (Sort.STRING, "a"),
    "Flag": (Sort.BOOL, True),
    "Day": (Sort.DATE, DAY),
    "Moment": (Sort.LOCAL, MOMENT),
    "Pause": (Sort.DURATION, timedelta(seconds=1)),
}
"""Values that the generated queries are made with, by name."""

SETS: Mapping[str, tuple[Sort, object]] = {
    "Few": (Sort.INT, [1, 2]),
    "Hi-Tech": (Sort.STRING, {"a", "ab"}),
    "Days": (Sort.DATE, (DAY,)),
}


def latest(state: object, value: object) -> object:
    """The step of the user-defined aggregate of the generated queries: keeps the value."""
    return value


FUNCTIONS: Mapping[str, Callable[..., object]] = {"Same": same, "Latest": Aggregate(None, latest)}


@dataclass(frozen=True, slots=True)
class Scope:
    """What can be read: columns by sort, single events, ranges for aggregates, lengths, parameters."""

    columns: Mapping[Sort, tuple[str, ...]]
    attributes: tuple[Reference, ...] = ()
    ranges: tuple[Reference, ...] = ()
    lengths: tuple[str, ...] = ()
    bare: bool = False  # attributes of the only event may stand without its variable
    parameters: bool = False
    parts: Mapping[Sort, tuple[Part, ...]] = field(default_factory=dict)  # of nested columns
    registers: Mapping[Sort, tuple[str, ...]] = field(default_factory=dict)  # fields of an automaton's register
    quantified: bool = False  # inside ALL or ANY, which can't be nested

    def keys(self) -> dict[tuple[str, ...], Sort]:
        """What `[attr]` and PARTITION BY may name: columns, and fields of structs."""
        sorts: dict[tuple[str, ...], Sort] = {
            (column,): sort for sort, columns in self.columns.items() for column in columns
        }
        for sort, parts in self.parts.items():
            for part in parts:
                names = tuple(step for step in part if isinstance(step, str) and not isinstance(step, MapKey))
                if len(names) == len(part):
                    sorts[names] = sort
        return sorts

    def within(self, reference: Reference) -> Scope:
        """Inside an aggregate: only the events that it runs over."""
        return replace(self, attributes=(reference,), ranges=(), lengths=(), bare=False, registers={})

    def for_each(self, reference: Reference) -> Scope:
        """Inside ALL or ANY: also the events that it goes through."""
        return replace(self, attributes=(*self.attributes, reference), bare=False, quantified=True)

    def and_(self, attributes: Sequence[Reference]) -> Scope:
        """This scope, and the events that `attributes` refer to."""
        return replace(self, attributes=(*self.attributes, *attributes))


def columns_of(schema: pa.Schema, *, reads_time: bool = True) -> Mapping[Sort, tuple[str, ...]]:
    """The columns that expressions compute with. Not the type: the pattern has said what it is."""
    columns: dict[Sort, tuple[str, ...]] = {}
    for column in schema:
        sort = sort_of(column.type)
        if sort is not None and column.name != TYPE and (reads_time or column.name != TIME):
            columns[sort] = (*columns.get(sort, ()), column.name)
    return columns


def parts_of(schema: pa.Schema) -> Mapping[Sort, tuple[Part, ...]]:
    """The simple values inside of nested columns; of a list, the first two elements and one that is never there."""
    parts: dict[Sort, tuple[Part, ...]] = {}
    for column in schema:
        for part, arrow in _parts((column.name,), column.type):
            sort = sort_of(arrow)
            if sort is not None and len(part) > 1:
                parts[sort] = (*parts.get(sort, ()), part)
    return parts


def _parts(part: Part, arrow: pa.DataType) -> Iterator[tuple[Part, pa.DataType]]:
    yield part, arrow
    if pa.types.is_struct(arrow):
        for inner in arrow:
            yield from _parts((*part, inner.name), inner.type)
    elif pa.types.is_list(arrow):
        for index in (0, 1, -1):
            yield from _parts((*part, index), arrow.value_type)
    elif pa.types.is_map(arrow):
        yield (*part, MapKey("k")), arrow.item_type


def complete(variables: Sequence[DrawnVariable], scope: Scope) -> Scope:
    """HAVING and RETURN, where all is bound: `a[1]`, `a[a.LEN]`, `a.LEN` and aggregates of the arrays."""
    positive = [v for v in variables if not v.negated]
    arrays = [v.name for v in positive if v.array]
    ones = [(v.name, Index.ONE) for v in positive if not v.array]
    return replace(
        scope,
        attributes=(*ones, *((name, index) for name in arrays for index in (Index.FIRST, Index.LAST, SECOND))),
        ranges=tuple((name, Index.EACH) for name in arrays),
        lengths=tuple(arrays),
    )


def settled(variables: Sequence[DrawnVariable], scope: Scope, whole: Mapping[int, DrawnVariable]) -> Scope:
    """A conjunct of WHERE without iteration: it is tested when the last of what it mentions is bound (S5).

    Of the variables of an outermost repetition either one is used as a whole (`whole` says which, by the
    repetition) or all by their first events: two wholes in a repeated group are never known together.
    """
    firsts = [v for v in variables if v.array and v.loops[0] not in whole]
    wholes = [v.name for v in whole.values()]
    return replace(
        scope,
        attributes=(
            *((v.name, Index.ONE) for v in variables if not v.array and not v.negated),
            *((v.name, index) for v in firsts for index in (Index.FIRST, SECOND)),
            *((name, index) for name in wholes for index in (Index.FIRST, Index.LAST, SECOND)),
        ),
        ranges=tuple((name, Index.EACH) for name in wholes),
        lengths=tuple(wholes),
    )


def earlier(variable: DrawnVariable, variables: Sequence[DrawnVariable]) -> list[Reference]:
    """The events that a condition on each event of an array may compare it with: bound before in every match."""
    references: list[Reference] = []
    for other in variables:
        if other.name not in variable.before:
            continue
        if not other.array:
            references.append((other.name, Index.ONE))
        elif other.loops[0] not in variable.loops[:1]:
            references += [(other.name, Index.FIRST), (other.name, Index.LAST)]
        elif not other.indexed and other.loops == variable.loops[: len(other.loops)]:
            references.append((other.name, Index.ONE))  # of the same turn of the group
    return references
