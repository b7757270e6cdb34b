"""What it costs to write matches down: in the order of S9, to Arrow, against a `take` of the same events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from bench import queries
from bench.cache import stream
from bench.harness import Figure, Options, Target, race
from cepheid import Matches, Query

CASES = {
    "W1 p2 s3": ("stock", queries.w1("p2", "s3")),
    "W2, 100 keys": ("typed_v100", queries.typed()),
    "W3, C last": ("rare_last", queries.W3["last"]),
    "W4": ("rfid", queries.W4),
}
TIMES = ("match_start", "match_end")
UNIT = "ns/value"
TARGET = Target("≥", 0.5)  # at most twice the time


def arrow(options: Options) -> Iterator[Figure]:
    """Matches to Arrow, a value, against `pyarrow.Table.take` of the same values."""
    for case, (name, text) in CASES.items():
        table = stream(name, scale=options.scale)
        query = Query(text)
        written = _matched(query, table).to_arrow()
        matches, values = written.num_rows, sum(map(_values, written.columns))
        rows = _rows(written)
        taken = len(rows) * table.num_columns
        del written
        # The order is made once and then kept by the matches, so each round has matches of its own. A take comes after
        # a match too: else it would find in the processor's cache what our own round has just read.
        matched = partial(_matched, query, table)
        runners = {"ours": Matches.to_arrow, "take": partial(_take, table, rows)}
        seconds = race(runners, options.times, {"ours": matched, "take": matched})
        own, other = seconds["ours"] / values * 1e9, seconds["take"] / taken * 1e9
        note = f"{matches:,} matches; {values:,} values in {seconds['ours'] * 1e3:.1f} ms, take: {taken:,} in "
        note += f"{seconds['take'] * 1e3:.1f} ms"
        yield Figure("arrow", case, "to_arrow", own, UNIT, "take", other, other / own, TARGET, note)


def _matched(query: Query, table: pa.Table) -> Matches:
    """Matches that are found, and not written yet."""
    matches: Matches = query.match(table, engine="compiled")
    len(matches)
    return matches


def _take(table: pa.Table, rows: pa.Array, matches: Matches) -> pa.Table:
    return table.take(rows)


def _values(column: pa.ChunkedArray | pa.Array) -> int:
    """How many values there are in the leaves."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_values, column.chunks))
    if pa.types.is_struct(column.type):
        return sum(map(_values, column.flatten()))
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _values(column.flatten())
    return len(column)


def _rows(written: pa.Table) -> pa.Array:
    """The rows of all events as they are written: variable by variable. In our streams the time is the row."""
    parts = []
    for name in written.column_names:
        if name not in TIMES:
            for chunk in written.column(name).chunks:
                events = chunk if pa.types.is_struct(chunk.type) else chunk.flatten()
                parts.append(events.field("ts").to_numpy())
    return pa.array(np.concatenate(parts))
