"""Lets go of what no change to come can need: events, partitions, strings, nodes. What stays is numbered anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cepheid.engine.stream.event_arrays import NOWHERE
from cepheid.kernel.arguments import ColumnValues
from cepheid.pattern.expressions.types import Kind

if TYPE_CHECKING:
    from cepheid.engine.encoding.partition_times import PartitionTimes
    from cepheid.engine.stream.partition_replay import PartitionReplay


def forget(replay: PartitionReplay, watermark: int, few: int, ahead: PartitionTimes | None = None) -> None:
    """Forget what a watermark has made certain. few: how many events are not worth that runs are asked for them.

    ahead: partitions that are further than the watermark.
    """
    known = replay.events
    standing = replay.standing
    limits = _limits(replay, watermark, ahead)
    standing.keep(known.time.all[standing.all.last] >= limits[standing.all.last])
    keep = replay.past.needed(watermark, limits, standing.all.rows, replay.errors, few)
    replay.steps += replay.past.steps
    number = (np.cumsum(keep) - 1).astype(np.int32)  # as matches have them
    standing.renumber(number)
    replay.order.keep(keep, number)
    replay.log.keep(keep)
    known.keep(keep)
    replay.errors = {int(number[event]): error for event, error in replay.errors.items() if keep[event]}
    replay.waiting = number[replay.waiting[keep[replay.waiting]]]
    _forget_partitions(replay)
    replay.machine.forget(watermark)
    replay.machine.shorten(number)
    _forget_strings(replay)


def _limits(replay: PartitionReplay, watermark: int, ahead: PartitionTimes | None) -> np.ndarray:
    """Of each event the time that its partition has reached."""
    partitions = replay.events.partition.all
    if ahead is None:
        return np.full(len(partitions), watermark)
    reached = np.full(replay.events.partition_count + 1, watermark)
    for partition, time in ahead.numbered(replay.machine.scan.input.partition_index):
        if partition < len(reached) - 1:
            reached[partition] = max(watermark, min(time, ahead.latest))
    return reached[np.where(partitions == NOWHERE, len(reached) - 1, partitions)]


def _forget_partitions(replay: PartitionReplay) -> None:
    """Give up partitions that have no event left."""
    numbers, known = replay.machine.scan.input.partition_index, replay.events
    if not numbers.columns:
        return
    alive = np.zeros(len(replay.version), bool)
    alive[known.partition.all[known.partition.all != NOWHERE]] = True
    if alive[: len(numbers)].all():
        return
    versions = replay.version[~alive]
    replay.machine.clear(versions[versions >= 0])
    numbers.keep(alive[: len(numbers)])
    anew = np.append(np.cumsum(alive) - 1, NOWHERE)
    partitions = known.partition.all
    partitions[:] = anew[np.where(partitions == NOWHERE, len(alive), partitions)]
    replay.version = replay.version[alive]


def _forget_strings(replay: PartitionReplay) -> None:
    """Give up strings that no event has."""
    coded = [
        wanted.array.name
        for wanted in replay.machine.scan.kernel.events
        if isinstance(wanted.holds, ColumnValues) and replay.codes.kind(wanted.holds.column) is Kind.STRING
    ]
    columns = replay.events.columns  # which are not there before the first event
    held = [columns[name].all for name in coded if name in columns and columns[name].size]
    number = replay.codes.strings.keep([*held, *replay.machine.scan.state.held_strings()])
    for values in held:
        values[:] = number[np.clip(values, -1, len(number) - 1)]
    replay.machine.scan.state.renumber_strings(number)
