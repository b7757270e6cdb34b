"""Events of the CESAR algebra: attributes and an interval, equal where these are equal (S19)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.pattern.algebra.attributes import END, START
from cepheid.values.keys import group_key
from cepheid.values.rows import Event
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """Attributes in order, and the interval in ticks of the time column."""

    values: Mapping[str, Value]
    start: int
    end: int

    @property
    def scope(self) -> dict[str, Value]:
        """What an expression reads of it."""
        return {**self.values, START: self.start, END: self.end}

    @property
    def key(self) -> Hashable:
        """Equal for equal events."""
        return self.start, self.end, *((name, hashable(value)) for name, value in sorted(self.values.items()))


Stream: TypeAlias = "dict[Hashable, Fact]"
"""A set of events, by their keys."""


def stream_of(facts: Iterable[Fact]) -> Stream:
    """The set of some events."""
    return {fact.key: fact for fact in facts}


def fact_of(columns: Mapping[str, str], event: Event, tick: int) -> Fact:
    """A row as an event. columns: that of each attribute."""
    values = {name: plain_zero(event.values[column]) for name, column in columns.items()}
    return Fact(values, event.start // tick, event.time // tick)


def plain_zero(value: Value) -> Value:
    """A value without a negative zero: events that differ in nothing else are equal."""
    return value + 0.0 if isinstance(value, float) else value


def hashable(value: Value) -> Hashable:
    """A stand-in that is equal where a value is; lists and structs are no keys themselves."""
    if isinstance(value, list | tuple):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple((name, hashable(part)) for name, part in value.items())
    key: Hashable = group_key(value)
    return key
