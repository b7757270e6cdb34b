"""Events of one time and one partition, in the order of their content.

Where a run sees one partition only, the order of events of different partitions changes no match: to look for those
that share both takes a loop, and there are few.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.columns import type_codes
from cepheid.engine.encoding.content_order import TiedRows
from cepheid.engine.encoding.instants import by_partition
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.engine.encoding.reordered import Reordered
from cepheid.kernel.compile import library_function
from cepheid.kernel.runtime import NIL
from cepheid.pattern.binding.schema import Schema


def arrange_in_partitions(
    schema: Schema,
    table: pa.Table,
    times: np.ndarray,
    index: PartitionIndex,
    types: frozenset[str] | None,
    known: dict[str, pa.ChunkedArray],
) -> Reordered:
    """Put events that share time and partition into the order of S1, in the places that they have between them.

    The times are in order. types: events of other types stay where they are; None: there are none.
    known: columns of the table as codes.
    """
    places, groups = _tied(schema, table, times, index, types, known)
    ties = TiedRows(places.copy(), groups)
    equal = {schema.roles.time, *index.columns}
    for name in dict.fromkeys((*schema.roles.order_by, *schema.columns)):
        if not ties:
            break
        if name not in equal:
            ties.split(known[name] if name in known else table.column(name))
    rows = ties.rows
    moved = rows != places
    return Reordered(table, rows[moved], known, places[moved])


def _tied(
    schema: Schema,
    table: pa.Table,
    times: np.ndarray,
    index: PartitionIndex,
    types: frozenset[str] | None,
    known: Mapping[str, pa.ChunkedArray],
) -> tuple[np.ndarray, np.ndarray]:
    """The places of events that share time and partition with another one, and what they share by number."""
    kind = schema.roles.type
    if kind is None or types is None:
        codes, asked = np.zeros(len(times), np.int32), np.ones(1, np.uint8)
    else:
        codes, names = type_codes(known[kind] if kind in known else table.column(kind))
        asked = np.array([name in types for name in names], np.uint8)
    partitions = index.of(table)
    last, group = (np.full(len(index), NIL, np.uint32) for _ in range(2))
    events, groups = (np.empty(len(times), np.uint32) for _ in range(2))
    find = library_function("find_tied", native=True)
    arrays = np.ascontiguousarray(times), np.ascontiguousarray(partitions), np.ascontiguousarray(codes), asked
    count = find(len(times), *arrays, last, group, events, groups)
    order = by_partition(groups[:count])
    return events[:count][order].astype(np.int64), groups[:count][order].astype(np.int32)
