"""What holds of a whole run, above the picture of an automaton."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.front.analysed import Analysed
from cepheid.language import print_expression, print_window


def graph_title(query: Analysed, first: Iterable[str] = (), conditions: Iterable[str] = ()) -> tuple[str, ...]:
    """Keys, window and HAVING in a line, behind what comes first; conditions: what is tested before any event."""
    clauses = query.query
    keys = [print_expression(test) for test in query.same]
    keys += [f"PARTITION BY {'.'.join(column.path)}" for column in clauses.partition_by]
    window = [f"WITHIN {print_window(clauses.within)}"] if clauses.within is not None else []
    having = [f"HAVING {print_expression(clauses.having)}"] if clauses.having is not None else []
    text = " · ".join([*first, *keys, *conditions, *window, *having])
    return (text,) if text else ()
