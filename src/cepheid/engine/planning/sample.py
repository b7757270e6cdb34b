"""Statistics of a stream from a sample of its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.event_arrays import reader
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.errors import CepheidError
from cepheid.front.runnable import Runnable
from cepheid.plan.join import Join, Stack
from cepheid.plan.statistics import Statistics

ENOUGH = 256
"""Events from which on a sample says something."""
LOOKED_AT = 8_192
"""Events whose types are counted."""
TRIED, PAIRED, PARTS = 40, 16, 8
"""Events of a component on which its conditions are tried, those that are compared with others, parts of a stream."""


@dataclass(frozen=True)
class StreamSample:
    """The statistics of a stream, by the join of a query that has most conditions over several events."""

    join: Join
    statistics: Statistics

    def of(self, join: Join) -> Statistics:
        """Return the statistics for another join of the query, whose partitions may imply some conditions."""
        pairs = zip(self.join.joints, self.statistics.selectivity, strict=True)
        known = {(joint.test.condition, joint.stacks): share for joint, share in pairs}
        return replace(
            self.statistics,
            selectivity=tuple(known.get((joint.test.condition, joint.stacks), 0.5) for joint in join.joints),
        )


def take_sample(compiled: CompiledQuery, batch: Batch) -> StreamSample | None:
    """What a batch shows of its stream; nothing if it is small, or if there are no plans to choose from."""
    if compiled.why_not_joined or len(batch) < ENOUGH:
        return None
    batch.codes.derive(compiled.derived)
    several = len(compiled.query.same) > 1 and not compiled.query.counted
    widest = compiled.split(()) if several else compiled.join
    join = compiled.join if isinstance(widest, str) else widest
    n = len(batch)
    rows = np.arange(0, n, max(1, n // LOOKED_AT))
    types = _types(join, batch, rows)
    numbers = _type_numbers(join)
    shares, chosen = [], []
    for stack in join.stacks:
        rows_of_stack = rows if types is None else rows[_flags(numbers, stack)[types]]
        shares.append(len(rows_of_stack) / len(rows))
        chosen.append(rows_of_stack[:: max(1, len(rows_of_stack) // TRIED)][:TRIED])
    trials = _tried(compiled, join, batch, chosen)
    for x, (tried, passed) in enumerate(trials.passed):
        shares[x] *= (passed + 0.1) / (tried + 0.1) if tried else 1.0
    statistics = Statistics(
        events=n,
        window=_window(compiled.query, batch.times),
        shares=tuple(shares),
        selectivity=tuple(trials.selectivity),
        keys={name: _keys(batch.column(name), rows) for name in _key_columns(join)},
        varies=_varies(join, types),
    )
    return StreamSample(join, statistics)


def type_shares(join: Join, batch: Batch, most: int = 2048) -> tuple[float, ...]:
    """Return which share of the last events has a type of each stack. This is cheaper than a sample."""
    types = _types(join, batch, np.arange(max(0, len(batch) - most), len(batch)))
    if types is None or not len(types):
        return (1.0,) * len(join.stacks)
    numbers = _type_numbers(join)
    counts = np.bincount(types, minlength=1 + len(numbers)).tolist()
    return tuple([sum([counts[numbers[name]] for name in {*stack.types}]) / len(types) for stack in join.stacks])


def _type_numbers(join: Join) -> dict[str, int]:
    """The number of each type that a stack has, from 1 on: 0 is any other."""
    types = dict.fromkeys([name for stack in join.stacks for name in stack.types])
    return {name: number for number, name in enumerate(types, start=1)}


def _flags(numbers: Mapping[str, int], stack: Stack) -> np.ndarray:
    """For each type number: whether a stack has that type."""
    flags: np.ndarray = np.zeros(1 + len(numbers), bool)
    flags[[numbers[name] for name in stack.types]] = True
    return flags


def _types(join: Join, batch: Batch, rows: np.ndarray) -> np.ndarray | None:
    """The types of some events by number; None where there is one only."""
    if batch.schema.roles.type is None:
        return None
    codes, _ = batch.type_codes
    types: np.ndarray = batch.type_numbers(list(_type_numbers(join)))[codes[rows]].astype(np.int64)
    return types


def _window(query: Runnable, times: np.ndarray) -> float:
    """How many events a window has."""
    n = len(times)
    if query.window is None:
        return n / 2
    if query.counted:
        return float(min(n, query.window))
    span = int(times[-1]) - int(times[0]) + 1
    return min(float(n), query.window * n / span)


def _key_columns(join: Join) -> tuple[str, ...]:
    agreed = tuple(test.attribute for test in join.query.same)
    return tuple(dict.fromkeys(join.partitions.all + agreed))


def _keys(column: pa.ChunkedArray, rows: np.ndarray, most: int = 2048) -> float:
    """Estimate how many values a column has; if nearly all of the sample differ, from the few that are equal."""
    some = rows[:: max(1, len(rows) // most)][:most]
    distinct = max(1, len(column.take(from_numpy(some)).unique()))
    if distinct < 0.8 * len(some):
        return float(distinct)
    return len(some) ** 2 / (2 * max(1, len(some) - distinct))


def _varies(join: Join, types: np.ndarray | None) -> bool:
    """Whether another component is the rarest, by far, in another part of the stream."""
    if types is None or len(types) < 64 * PARTS:
        return False
    numbers = _type_numbers(join)
    flags = [_flags(numbers, join.stacks[x]) for x in join.positive]
    parts = [np.bincount(part, minlength=len(flags[0])) for part in np.array_split(types, PARTS)]
    counts = [[int(part[mine].sum()) + 1 for mine in flags] for part in parts]
    rarest = [row.index(min(row)) for row in counts]
    return any(row[first] > 8 * min(row) for row in counts for first in set(rarest) if first != row.index(min(row)))


@dataclass(frozen=True)
class _Tried:
    """What the sampled events have shown: of each stack how many were tried and passed, and how often a joint holds."""

    passed: list[tuple[int, int]]
    selectivity: list[float]


def _tried(compiled: CompiledQuery, join: Join, batch: Batch, chosen: list[np.ndarray]) -> _Tried:
    """Try the conditions of each component on some of its events, and those of several on pairs of them.

    Plain Python is quick enough for a few hundred.
    """
    index = np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)
    codes = StreamCodes(batch.schema)
    codes.derive(compiled.derived)
    some = Batch(codes, batch.take(index), batch.times[index], 0)
    nullable = frozenset(name for name in (*some.table.column_names, *compiled.derived) if some.has_nulls(name))
    trial = compiled.trial(join, nullable)
    errors: dict[int, CepheidError] = {}
    partitions = some.codes.partitions(join.partitions)
    events = [
        reader(event_array, compiled.flat, partitions, trial.types)(some, errors).tolist()
        for event_array in trial.select.events
    ]
    stored, held = trial.run(
        events, len(index), PAIRED * PAIRED, lambda constants: [c.argument(some.codes.strings.code) for c in constants]
    )
    # Events that were taken for another component were tried too.
    passed = [(max(len(tried_rows), count), count) for tried_rows, count in zip(chosen, stored, strict=True)]
    return _Tried(passed, [(holding + 0.5) / (tried + 1) for holding, tried in held])
