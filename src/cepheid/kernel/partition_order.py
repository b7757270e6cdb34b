"""Events by partition and time: new ones are put in their places, some are looked up. Compiled like the match store.

An event is a number; `time` and `partition` have what is known of each.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Int32s, Int64, Int64s, Keys, UInt8s, UInt32s
from cepheid.kernel.runtime import NIL

DIGIT = 11
PLACES = 1 << DIGIT


def sort_events(
    events: UInt32s, count: Int64, time: Int64s, partition: UInt32s, spare: UInt32s, heads: UInt32s
) -> Int64:
    """Sort events by partition, and in each by time; those of one time stay as they are. `heads` has `PLACES`."""
    sort_by(events, count, time, spare, heads)
    sort_by(events, count, partition, spare, heads)
    return count


def sort_by(events: UInt32s, count: Int64, key: Keys, spare: UInt32s, heads: UInt32s) -> Int64:
    """Sort events by a key, digit by digit from the last one; those of one key stay as they are."""
    if count < 2:
        return count
    least, most = int(key[events[0]]), int(key[events[0]])
    sorted_ = True
    k = 1
    while k < count:
        value = int(key[events[k]])
        sorted_ = sorted_ and value >= int(key[events[k - 1]])
        least = value if value < least else least
        most = value if value > most else most
        k += 1
    if sorted_:
        return count
    shift = 0
    while shift < 64 and (most - least) >> shift != 0:  # a difference that is beyond 64 bits is negative
        k = 0
        while k < PLACES:
            heads[k] = 0
            k += 1
        k = 0
        while k < count:
            heads[((int(key[events[k]]) - least) >> shift) & (PLACES - 1)] += 1
            k += 1
        before = 0
        k = 0
        while k < PLACES:
            before += heads[k]
            heads[k] = before - heads[k]
            k += 1
        k = 0
        while k < count:
            digit = ((int(key[events[k]]) - least) >> shift) & (PLACES - 1)
            spare[heads[digit]] = events[k]
            heads[digit] += 1
            k += 1
        k = 0
        while k < count:
            events[k] = spare[k]
            k += 1
        shift += DIGIT
    return count


def merge_events(order: UInt32s, size: Int64, fresh: UInt32s, count: Int64, time: Int64s, partition: UInt32s) -> Int64:
    """Put sorted events in their places among others, after those of their time; how often two have the same time.

    `order` has room for all of them. What is before the first place stays untouched.
    """
    ties = 0
    hole = size + count
    k = size
    while count > 0:
        count -= 1
        event = fresh[count]
        group, when = int(partition[event]), time[event]
        low, high, step = 0, k, 1
        while step <= high:
            other = order[high - step]
            if partition[other] < group or (partition[other] == group and time[other] <= when):
                low = high - step + 1
                break
            high -= step
            step *= 2
        while low < high:
            middle = (low + high) >> 1
            other = order[middle]
            if partition[other] < group or (partition[other] == group and time[other] <= when):
                low = middle + 1
            else:
                high = middle
        while k > low:
            k -= 1
            hole -= 1
            order[hole] = order[k]
        hole -= 1
        order[hole] = event
        if low > 0:
            other = order[low - 1]
            ties += int(partition[other] == group and time[other] == when)
        if count > 0:
            other = fresh[count - 1]
            ties += int(partition[other] == group and time[other] == when)
    return ties


def first_event(
    order: UInt32s, low: Int64, size: Int64, time: Int64s, partition: UInt32s, group: Int64, when: Int64
) -> Int64:
    """The first place, from `low` on, of an event of a partition that is not before a time, or of a later partition."""
    high, step = size, 1
    while low + step <= high:  # it is often close
        other = order[low + step - 1]
        if partition[other] > group or (partition[other] == group and time[other] >= when):
            high = low + step - 1
            break
        low += step
        step *= 2
    while low < high:
        middle = (low + high) >> 1
        other = order[middle]
        if partition[other] > group or (partition[other] == group and time[other] >= when):
            high = middle
        else:
            low = middle + 1
    return low


def drop_events(order: UInt32s, size: Int64, there: UInt8s) -> Int64:
    """Close the gaps of events that are gone; how many are left."""
    kept = 0
    k = 0
    while k < size:
        event = order[k]
        order[kept] = event
        kept += int(there[event] != 0)
        k += 1
    return kept


def find_tied(
    count: Int64,
    times: Int64s,
    partitions: UInt32s,
    type_codes: Int32s,
    asked: UInt8s,
    last: UInt32s,
    group: UInt32s,
    events: UInt32s,
    groups: UInt32s,
) -> Int64:
    """Find the events that share time and partition with another, and the number of what they share; how many they are.

    The times are in order. Only events of types that are `asked` for count. `last` and `group` have a NIL for each
    partition.
    """
    tied, number = 0, 0
    k = 0
    while k < count:
        if asked[type_codes[k]] != 0 and partitions[k] != NIL:
            partition = int(partitions[k])
            before = int(last[partition])
            last[partition] = k
            if before != NIL and times[before] == times[k]:
                if group[partition] == NIL:
                    group[partition] = number
                    events[tied] = before
                    groups[tied] = number
                    tied += 1
                    number += 1
                events[tied] = k
                groups[tied] = group[partition]
                tied += 1
            else:
                group[partition] = NIL
        k += 1
    return tied


def mark_instants(
    count: Int64, times: Int64s, partitions: UInt32s, size: Int64, after: UInt32s, settles: UInt8s
) -> Int64:
    """Of each event: 1 if it is the last one of its partition at its time, 2 if the only one, else 0; how many are 0.

    The times are in order. `after` has a 0 for each of so many partitions; events of no partition are their own
    instants.
    """
    tied = 0
    k = count
    while k > 0:
        k -= 1
        settles[k] = 2
        partition = int(partitions[k])
        if partition < size:
            later = int(after[partition])  # the number of the event of the partition that comes after it, from 1 on
            if later > 0 and times[later - 1] == times[k]:
                settles[k] = 0
                tied += 1
                if settles[later - 1] == 2:
                    settles[later - 1] = 1
            after[partition] = k + 1
    return tied
