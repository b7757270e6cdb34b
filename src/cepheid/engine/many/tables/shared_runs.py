"""The runs of shared tables, written down with their rules: nodes have other numbers where they are restored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cepheid.engine.encoding.batch import StreamCodes
from cepheid.engine.machines.protocol import KeptRows
from cepheid.engine.many.tables.tables import SharedTables
from cepheid.kernel import shared as k
from cepheid.values.json import Json

COUNTED = [k.TOUCHED, k.CANDIDATES, k.MADE]
Places = Sequence[tuple[np.ndarray, np.ndarray]]
"""Rules, and the nodes of each, step by step; 0 where it has none."""


def dump_runs(tables: SharedTables, places: Places) -> tuple[Json, list[np.ndarray]]:
    """The runs, their nodes, and the rules of these."""
    live = tables.live()
    stride, reals = tables.stride, int(tables.cells[k.REALS])
    rows, held = np.zeros((0, stride), np.int64), np.zeros((0, reals))
    if len(live):
        rows, held = tables.runs.reshape(-1, stride)[live], tables.held.reshape(-1, reals)[live]
    nodes, codes = np.unique(rows[:, 0] & k.LOW, return_inverse=True)
    depths = tables.flags(nodes) & k.DEPTH
    at: list[np.ndarray] = [np.zeros(0, np.int64)]
    rules: list[np.ndarray] = [np.zeros(0, np.int64)]
    for numbers, paths in places:
        for step in range(paths.shape[1]):
            there = np.flatnonzero(np.isin(paths[:, step], nodes) & (paths[:, step] > 0))
            at.append(np.searchsorted(nodes, paths[there, step]))
            rules.append(numbers[there])
    facts = {
        "stride": stride,
        "reals": reals,
        "slots_at": int(tables.cells[k.SLOTS_AT]),
        "last": tables.last,
        "counts": tables.cells[COUNTED].tolist(),
    }
    return facts, [codes, depths, np.concatenate(at), np.concatenate(rules), rows.reshape(-1), held.reshape(-1)]


def load_runs(
    tables: SharedTables,
    places: Places,
    facts: Json,
    arrays: list[np.ndarray],
    codes: StreamCodes,
    rows: KeptRows,
) -> None:
    """Put runs where their rules are now; of those that are at one node with the same events, one is enough."""
    code, depths, at, rules, flat, reals = arrays
    runs, held = flat.reshape(-1, facts["stride"]), reals.reshape(-1, facts["reals"])
    tables.last = facts["last"]
    tables.cells[COUNTED] = facts["counts"]
    run, node = _nodes(places, code, depths, at, rules)
    new = np.zeros((len(run), tables.stride), np.int64)
    before, after = facts["slots_at"], int(tables.cells[k.SLOTS_AT])
    ending = int(tables.simultaneous)
    positions = min(before, after)
    slots = min(facts["stride"] - before, tables.stride - after) - ending
    new[:, :positions] = runs[run, :positions]
    new[:, after : after + slots] = runs[run, before : before + slots]
    if ending:
        new[:, -1] = runs[run, -1]
    new[:, 0] = node
    new[:, [k.EXPIRES, k.BELOW, k.WAITS]] = 0  # what a run knows of its node, which is another now
    width = min(facts["reals"], int(tables.cells[k.REALS]))
    real = np.zeros((len(run), int(tables.cells[k.REALS])))
    real[:, :width] = held[run, :width]
    flags = tables.flags(node)
    tables.clean(new, real, flags & k.DEPTH, flags >> k.TRANSFER_AT & 65535)
    _, first = np.unique(np.concatenate([new, real.view(np.int64)], axis=1), axis=0, return_index=True)
    new, real = new[first], real[first]
    tables.install(new, real, _listened(tables, new, codes, rows))


def _nodes(
    places: Places, code: np.ndarray, depths: np.ndarray, at: np.ndarray, rules: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The runs, each as often as its rules are at different nodes now, and these nodes."""
    pairs_: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
    for numbers, paths in places:
        if not len(numbers) or not len(rules):
            continue
        order = np.argsort(numbers, kind="stable")
        where = np.minimum(np.searchsorted(numbers[order], rules), len(numbers) - 1)
        known = numbers[order][where] == rules
        step = np.minimum(depths[at], paths.shape[1] - 1)
        node = paths[order[where], step].astype(np.int64)
        known &= (node > 0) & (depths[at] < paths.shape[1])
        pairs_.append(np.stack([at[known], node[known]], axis=1))
    pairs = np.unique(np.concatenate(pairs_), axis=0)
    begin, end = np.searchsorted(pairs[:, 0], code, "left"), np.searchsorted(pairs[:, 0], code, "right")
    counts = end - begin
    run = np.repeat(np.arange(len(code)), counts)
    index = np.repeat(begin - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(len(run))
    return run, pairs[index.astype(np.int64), 1]


def _listened(tables: SharedTables, runs: np.ndarray, codes: StreamCodes, rows: KeptRows) -> Any:
    """What each run listens to: what its node says, or the partition of its first event."""
    listened = tables.nodes.array[runs[:, 0] * k.NODE + k.LISTENS]
    flags = tables.flags(runs[:, 0])
    dynamic = (flags & k.DYNAMIC) != 0
    for column in np.unique(flags[dynamic] >> k.LISTEN_AT & 65535):
        mine = dynamic & ((flags >> k.LISTEN_AT & 65535) == column)
        key = tables.keys.keys[column]
        assert key is not None
        assert key.partitions is not None
        partitions = codes.partitions(key.partitions).of(rows.kept).astype(np.int64)
        listened[mine] = partitions[runs[mine, k.HELD] - rows.base]
    return listened
