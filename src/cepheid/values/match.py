"""A match as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.values.value import Value


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the rows that it selected in the table as it was given, and the values of RETURN.

    A variable without a key is unbound; an array that was reached and bound nothing has no rows.
    """

    selected: tuple[int, ...]  # rows in the order of the stream
    variables: tuple[str, ...]  # which variable each is bound to
    rows: Mapping[str, tuple[int, ...]]
    values: tuple[Value, ...] = ()
