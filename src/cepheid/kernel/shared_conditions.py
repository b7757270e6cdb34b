"""What many queries ask of an event, condition by condition, and what they hold of it. Compiled likewise.

Where tables have tests and transfers, generated functions take the place of the two that are here.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int64, Int64s, Real64s
from cepheid.kernel.shared import EventRows, RuleTables, SharedRuns


def shared_test(
    test: Int64, i: Int64, run: Int64, at: Int64, events: EventRows, tables: RuleTables, state: SharedRuns
) -> Bool:
    """A condition that is more than bounds; where there are some, a generated function takes the place of this one."""
    return test == 0


def shared_transfer(
    transfer: Int64,
    i: Int64,
    run: Int64,
    row: Int64,
    events: EventRows,
    tables: RuleTables,
    state: SharedRuns,
    into: Int64s,
    real_into: Real64s,
) -> Int64:
    """What a run holds of an event; likewise."""
    return transfer


def rules_hold(
    begin: Int64, end: Int64, i: Int64, row: Int64, run: Int64, events: EventRows, tables: RuleTables, state: SharedRuns
) -> Bool:
    """Whether all conditions of a part of a list hold."""
    k = begin
    while k < end:
        rule = 3 * int(tables.lists[k])
        column = tables.rules[rule]
        if column >= 0:
            value = events.keys[row + column]
            if value < tables.rules[rule + 1] or value > tables.rules[rule + 2]:
                return False
        elif not shared_test(tables.rules[rule + 1], i, run, tables.rules[rule + 2], events, tables, state):
            return False
        k += 1
    return True
