"""Matches of rules in the order of S23: by end, then by the number of the rule, then as the query alone emits them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.protocol import RuleMatches
from cepheid.engine.matches.made_matches import one_each
from cepheid.engine.matches.match_table import MatchTable, concatenate, in_order
from cepheid.engine.matches.matches import Matches
from cepheid.front.cesar.result import column_of
from cepheid.front.templates.template import Joined
from cepheid.pattern.tree.nodes import Ties

Part = tuple[np.ndarray, MatchTable | pa.Table]
"""Matches, whose rows are ids of events, and the numbers of their rules; results of CESAR are rows of a table."""


def found_of(template: int, joined: Joined, parts: Sequence[Part], rows: KeptRows) -> list[RuleMatches]:
    """Return the matches of one template in the order of S23, with the ids of their events as rows."""
    parts = [(numbers, table) for numbers, table in parts if len(numbers)]
    if not parts:
        return []
    if joined.bound.results is not None:
        return [_made(template, joined, parts)]
    numbers, table = _ordered(joined, parts, rows)
    return [RuleMatches(template, numbers, Matches(joined.plain, rows.kept, table))]


def rows_of(results: Matches) -> Part:
    """Results of CESAR on a joined stream: their last attribute is the rule."""
    place = results.table.num_columns - 1
    return results.table.column(place).to_numpy(), results.table.remove_column(place)


def _made(template: int, joined: Joined, parts: Sequence[Part]) -> RuleMatches:
    numbers = np.concatenate([part_numbers for part_numbers, _ in parts])
    table = pa.concat_tables(part_numbers for _, part_numbers in parts if isinstance(part_numbers, pa.Table))
    query = joined.plain.result
    order = np.lexsort((numbers, ticks(query.schema, table)))
    table = table.take(from_numpy(order))
    values = tuple(table.column(column_of(k)) for k in range(len(query.returns)))
    return RuleMatches(template, numbers[order], Matches(query, table, one_each(len(order), values or None)))


def _ordered(joined: Joined, parts: Sequence[Part], rows: KeptRows) -> tuple[np.ndarray, MatchTable]:
    numbers = np.concatenate([part_numbers for part_numbers, _ in parts])
    table = concatenate([part_numbers for _, part_numbers in parts if isinstance(part_numbers, MatchTable)]).moved(
        -rows.base
    )
    times = ticks(joined.plain.schema, rows.kept)[table.rows] if joined.bound.ties is Ties.SIMULTANEOUS else None
    at = table.rows if times is None else times
    ends = at[table.offsets[1:] - 1]
    order = np.lexsort((numbers, ends))
    tied = np.zeros(len(order), bool)
    tied[1:] = (np.diff(numbers[order]) == 0) & (np.diff(ends[order]) == 0)
    if tied.any():  # only matches of one rule with one end are told apart by the order of S9
        tied[:-1] |= tied[1:]
        places = np.flatnonzero(tied)
        some = order[places]
        mine = table.take(some)
        part_numbers = in_order(
            mine, mine.rows, None if times is None else ticks(joined.plain.schema, rows.kept)[mine.rows]
        )
        some = some[part_numbers]
        order[places] = some[np.lexsort((numbers[some], ends[some]))]
    return numbers[order], table.take(order)
