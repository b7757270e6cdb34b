"""Which parts of the language the generated queries use."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.pattern.tree.nodes import Output, Strategy, Ties


@dataclass(frozen=True, slots=True)
class Features:
    """The whole language by default. A property that does not hold for a part of it turns that part off.

    `windows` and `partitions` list the choices: None is a query without one.
    """

    negation: bool = True
    negations: int = 7  # where one can be, there is one in so many places
    any_type: bool = True  # * as a type
    repetition: bool = True  # + * {n,m}
    composition: bool = True  # OR, AND, ?, groups
    strategies: tuple[Strategy | None, ...] = (None, Strategy.ANY, Strategy.NEXT, Strategy.PARTITION, Strategy.STRICT)
    per_component: bool = True  # a strategy for some variables only
    conditions: bool = True
    windows: tuple[str | None, ...] = (None, "time", "events")
    partitions: tuple[str | None, ...] = (None, None, "[attr]", "PARTITION BY")
    scopes: bool = True  # FROM with types or a condition
    having: bool = True
    returns: bool = True
    outputs: tuple[Output, ...] = tuple(Output)
    cooldown: bool = True
    ties: tuple[Ties, ...] = tuple(Ties)
    parameters: bool = True  # bare names, sets, user functions
    reads_time: bool = True  # conditions and RETURN may use the time column
    declared_types: bool = True  # types= may say which attributes a type has
    order_by: bool = True


EVERYTHING = Features()
