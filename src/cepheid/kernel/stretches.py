"""What has to be gone over again where partitions have changed. Compiled like the match store.

`order` has the events by partition, and in each by time, with those that are new (not `seen`) and those that are gone
(not `there`). A partition in which something changed becomes a part: the events that are gone over, one after the
other.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int64, Int64s, UInt8s, UInt32s
from cepheid.kernel.partition_order import first_event
from cepheid.kernel.runtime import NEVER

APPENDED, WHOLE, OPEN, CUT = 0, 1, 2, 3
"""A part: only new events, after the others; to the end of its partition; so if its last event is read; not so far."""
SKIPPED = 2
"""An event that was not gone over."""


def find_parts(
    order: UInt32s,
    size: Int64,
    time: Int64s,
    partition: UInt32s,
    there: UInt8s,
    seen: UInt8s,
    quiet: UInt8s,
    fresh: UInt32s,
    fresh_count: Int64,
    gone: UInt32s,
    gone_count: Int64,
    timed: Int64,
    reach: Int64,
    events: UInt32s,
    skip: Int64s,
    recent: UInt8s,
    partitions: Int64s,
    ends: Int64s,
    kinds: UInt8s,
) -> Int64:
    """Find the parts of all partitions that have new events, or events that are gone, both sorted; how many these are.

    An event matters for others that are less than `reach` ticks (`timed`) or events of its partition away. Where
    `reach` is negative it matters until its partition has no run under way, which is so after events that are `quiet`.

    Of each part `partitions` gets the partition, `ends` where its events end, and `kinds` what it is. Of each event of
    a part `recent` says whether a match that ends with it may be new or gone, and `skip` where to go on if it leaves
    its partition without runs, 0 for the next one.
    """
    parts, at, begin = 0, 0, 0
    f, g = 0, 0
    while f < fresh_count or g < gone_count:
        group = int(partition[fresh[f]] if f < fresh_count else partition[gone[g]])
        if g < gone_count and partition[gone[g]] < group:
            group = int(partition[gone[g]])
        first, last = 0, 0
        some, fewer = False, False
        if f < fresh_count and partition[fresh[f]] == group:
            some = True
            first = time[fresh[f]]
            while f < fresh_count and partition[fresh[f]] == group:
                f += 1
            last = time[fresh[f - 1]]
        if g < gone_count and partition[gone[g]] == group:
            fewer = True
            when = time[gone[g]]
            first = when if not some or when < first else first
            while g < gone_count and partition[gone[g]] == group:
                g += 1
            when = time[gone[g - 1]]
            last = when if not some or when > last else last
        begin = first_event(order, begin, size, time, partition, group, NEVER)
        place = first_event(order, begin, size, time, partition, group, first)
        end = first_event(order, place, size, time, partition, group + 1, NEVER)
        start, stop, kind = place, place, APPENDED
        if not fewer:
            while stop < end and seen[order[stop]] == 0:
                stop += 1
        if fewer or stop < end:
            if reach < 0:
                kind, stop = OPEN, end
                while start > begin and quiet[order[start - 1]] == 0:
                    start -= 1
            elif timed != 0:
                start = first_event(order, begin, place, time, partition, group, first - reach + 1)
                stop = first_event(order, place, end, time, partition, group, last + reach)
                kind = WHOLE if stop == end else CUT
            else:
                start = max(begin, place - reach)
                stop = first_event(order, place, end, time, partition, group, last)
                while stop < end and time[order[stop]] == last:
                    stop += 1
                stop = min(end, stop + reach)
                kind = WHOLE if stop == end else CUT
        k = start
        while k < stop:
            event = order[k]
            if there[event] != 0:
                events[at] = event
                skip[at] = 0
                recent[at] = int(k >= place)
                at += 1
            k += 1
        if kind == OPEN:
            # From the end on: after a quiet event, go on at the stretch of the next change. What follows an event that
            # is gone has changed as well.
            changed = False
            target = at
            k, x = stop, at
            while k > start:
                k -= 1
                event = order[k]
                if there[event] == 0:
                    changed = True
                    if x == at:
                        kind = WHOLE  # its last events are gone
                else:
                    x -= 1
                    follows = k > start and there[order[k - 1]] == 0
                    if seen[event] == 0 or follows:
                        changed = True
                    elif quiet[event] != 0:
                        if changed:
                            target = x + 1
                            changed = False
                        skip[x] = target
        partitions[parts] = group
        ends[parts] = at
        kinds[parts] = kind
        parts += 1
        begin = end
    k = 0
    while k < fresh_count:
        seen[fresh[k]] = 1
        k += 1
    return parts


def note_parts(
    events: UInt32s,
    left: UInt8s,
    count: Int64,
    recent: UInt8s,
    quiet: UInt8s,
    changed: UInt8s,
    ends: Int64s,
    kinds: UInt8s,
    parts: Int64,
) -> Int64:
    """Write down what going over parts has `left` behind each event; how many events were not skipped.

    `changed` gets the events at which other matches may end than before. A part that was open is whole or cut then.
    """
    met = 0
    k = 0
    while k < count:
        if left[k] != SKIPPED:
            event = events[k]
            quiet[event] = left[k]
            changed[event] |= recent[k]
            met += 1
        k += 1
    k = 0
    while k < parts:
        if kinds[k] == OPEN:
            kinds[k] = WHOLE if left[ends[k] - 1] != SKIPPED else CUT
        k += 1
    return met
