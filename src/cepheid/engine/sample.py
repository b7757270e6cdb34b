"""Statistics of a stream from a sample of its events."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.columns import Strings, kinds
from cepheid.engine.inputs import as_arguments, read_events
from cepheid.errors import CepheidError
from cepheid.kernel.load import as_python
from cepheid.kernel.stacks import COUNTS
from cepheid.plan.join import Join, Stack
from cepheid.plan.statistics import Statistics

LOOKED_AT = 8_192
"""Events whose types are counted."""
TRIED, PAIRED, PARTS = 40, 16, 8
"""Events of a component on which its conditions are tried, those that are compared with others, parts of a stream."""


def sample(blueprint: Blueprint, join: Join, table: pa.Table, times: Any) -> Statistics:
    """What a table tells of the stream that it is of."""
    n = table.num_rows
    step = max(1, n // LOOKED_AT)
    rows = np.arange(0, n, step)
    types = _types(join, table, rows)
    shares, chosen = [], []
    for stack in join.stacks:
        own = rows if types is None else rows[_flags(join, stack)[types]]
        shares.append(len(own) / len(rows))
        chosen.append(own[:: max(1, len(own) // TRIED)][:TRIED])
    found = _stacks(blueprint, join, table, times, chosen)
    for x, (tried, passed) in enumerate(found.passed):
        shares[x] *= (passed + 0.1) / (tried + 0.1) if tried else 1.0
    return Statistics(
        events=n,
        window=_window(blueprint, times),
        shares=tuple(shares),
        selectivity=tuple(found.selectivity),
        keys={name: _keys(table, name, rows) for name in _key_columns(join)},
        varies=_varies(join, types),
    )


def type_shares(join: Join, table: pa.Table, most: int = 2048) -> tuple[float, ...]:
    """Which part of the last events is of the types of each stack: quick to tell."""
    n = table.num_rows
    types = _types(join, table, np.arange(max(0, n - most), n))
    if types is None or not len(types):
        return (1.0,) * len(join.stacks)
    counts = np.bincount(types, minlength=1 + len(_all_types(join)))
    return tuple(sum(int(counts[_number(join, t)]) for t in set(s.types)) / len(types) for s in join.stacks)


def _all_types(join: Join) -> list[str]:
    return list(dict.fromkeys(name for stack in join.stacks for name in stack.types))


def _number(join: Join, name: str) -> int:
    return _all_types(join).index(name) + 1


def _flags(join: Join, stack: Stack) -> Any:
    """By the number of a type: whether a stack has it."""
    flags: Any = np.zeros(1 + len(_all_types(join)), bool)
    flags[[_number(join, name) for name in stack.types]] = True
    return flags


def _types(join: Join, table: pa.Table, rows: Any) -> Any:
    """The types of some events by number; None where there is one only."""
    role = join.query.schema.roles.type
    if role is None:
        return None
    column = table.column(role)
    if len(rows) < table.num_rows:
        step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
        first = int(rows[0]) if len(rows) else 0
        column = column.slice(first) if step == 1 else column.take(pa.array(rows))
    codes, numbers = kinds(column, _all_types(join))
    return numbers[codes].astype(np.int64)


def _window(blueprint: Blueprint, times: Any) -> float:
    """How many events a window has."""
    n = len(times)
    if blueprint.window is None:
        return n / 2
    within = blueprint.query.within
    if within is not None and within.events is not None:
        return float(min(n, blueprint.window))
    span = int(times[-1]) - int(times[0]) + 1
    return min(float(n), blueprint.window * n / span)


def _key_columns(join: Join) -> tuple[str, ...]:
    agreed = tuple(test.attribute for test in join.query.same)
    return tuple(dict.fromkeys(join.lanes.columns + join.lanes.agreed + agreed))


def _keys(table: pa.Table, name: str, rows: Any, most: int = 2048) -> float:
    """How many values a column has: where nearly all of a sample differ, from how many are still the same."""
    some = rows[:: max(1, len(rows) // most)][:most]
    distinct = max(1, len(table.column(name).take(pa.array(some)).unique()))
    if distinct < 0.8 * len(some):
        return float(distinct)
    return len(some) ** 2 / (2 * max(1, len(some) - distinct))


def _varies(join: Join, types: Any) -> bool:
    """Whether another component is the rarest, by far, in another part of the stream."""
    if types is None or len(types) < 64 * PARTS:
        return False
    flags = [_flags(join, join.stacks[x]) for x in join.positive]
    parts = [np.bincount(part, minlength=len(flags[0])) for part in np.array_split(types, PARTS)]
    counts = [[int(part[mine].sum()) + 1 for mine in flags] for part in parts]
    rarest = [row.index(min(row)) for row in counts]
    return any(row[first] > 8 * min(row) for row in counts for first in set(rarest) if first != row.index(min(row)))


class _Found:
    """What the sampled events have shown: of each stack how many were tried and how many passed, and of each joint."""

    def __init__(self) -> None:
        self.passed: list[tuple[int, int]] = []
        self.selectivity: list[float] = []


def _stacks(blueprint: Blueprint, join: Join, table: pa.Table, times: Any, chosen: list[Any]) -> _Found:
    """Try the conditions of each component on some of its events, and those of several on pairs of them.

    Plain Python is quick enough for a few hundred.
    """
    found = _Found()
    index = np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)
    some = table.take(pa.array(index))
    nullable = frozenset(name for name in table.column_names if some.column(name).null_count)
    trial = blueprint.trial(join, nullable)
    strings, errors = Strings(blueprint.strings.codes), dict[int, CepheidError]()
    arrays: dict[str, Any] = {"lanes": np.zeros(len(index), np.uint32), "times": times[index]}
    arrays |= read_events(join.query, trial, trial.select.parameters, some, strings, errors)
    owned = as_arguments(arrays, native=False)
    for parameter in trial.select.parameters:
        if parameter.name not in owned:
            owned[parameter.name] = [0] * (len(index) + COUNTS + len(join.stacks) + 1)
    as_python(trial.select.text, "select")(0, len(index), 0, *[owned[p.name] for p in trial.select.parameters])
    counts = [owned["meta"][COUNTS + x] for x in range(len(join.stacks))]
    for own, count in zip(chosen, counts, strict=True):
        # Events that were taken for another component were tried too.
        found.passed.append((max(len(own), count), count))
    for judge in trial.judges:
        most = round((PAIRED * PAIRED) ** (1 / len(judge.stacks)))
        entries = [
            list(zip(*(owned[name][: min(counts[x], most)] for name in judge.arrays[x]), strict=True))
            for x in judge.stacks
        ]
        held = [judge.function(*(value for entry in chosen_ for value in entry)) for chosen_ in product(*entries)]
        found.selectivity.append((sum(map(bool, held)) + 0.5) / (len(held) + 1))
    return found
