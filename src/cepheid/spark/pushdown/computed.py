"""Values that Spark computes of a row: exactly ours, or it is said for which rows they may not be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import Column

from cepheid.pattern.expressions.types import Type

MakeColumn = Callable[[], Column]
"""Columns of Spark are made late: without a session there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """Rows for which Spark's value may not be ours. They are sent, so that the engine decides."""

    rows: str  # in words
    column: MakeColumn


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that is computed of the columns of a row; its text is its identity."""

    text: str
    type: Type
    column: MakeColumn = field(compare=False, repr=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False, repr=False)


Operand = str | Computed
"""What a predicate tests: a column by its name, or a computed value."""
