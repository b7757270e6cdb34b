"""Warnings about type names that no event has: such a type never matches, and its negation always holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pyarrow as pa

from cepheid.errors import nearest
from cepheid.pattern.analysis import Analysed

_DIGITS = re.compile(r"\d+")


def misspelt_types(queries: Iterable[Analysed], events: pa.Table) -> Iterator[str]:
    """A warning for each type that does not occur, if a similar one does that no query names.

    `queries` are those that read the events themselves, not composite events.
    """
    named: dict[str, None] = {}
    column = None
    for query in queries:
        column = query.roles.type
        named |= dict.fromkeys(name for c in query.components.values() for name in c.types)
    if column is None or column not in events.column_names or not events.num_rows:
        return
    types = events.column(column)
    if isinstance(types.type, pa.DictionaryType):
        # The values of a dictionary are known without reading the rows.
        listed = {value for chunk in types.chunks for value in chunk.dictionary.to_pylist()}
        if named.keys() <= listed:
            return
    present = {value for value in types.unique().to_pylist() if value is not None}
    others = sorted(present - named.keys())
    for name in named:
        close = nearest(name, others) if name not in present else None
        # Shelf1 is not a misspelling of Shelf2.
        if close is not None and _DIGITS.sub("", close) != _DIGITS.sub("", name):
            yield f"no event has the type '{name}'; did you mean '{close}'?"
