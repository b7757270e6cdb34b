"""What many queries ask of an event, condition by condition, and what they hold of it. Compiled likewise.

Where tables have tests and transfers, generated functions take the place of the two that are here.
"""

from __future__ import annotations

from cepheid.kernel.code.reader import Bool, Int32s, Int64, Int64s, Real64s, UInt8s

# Lists of arrays side by side: one line for each would hide the code.
# fmt: off


def shared_test(
    test: Int64, i: Int64, run: Int64, at: Int64, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, constants: Int64s, real_constants: Real64s, cells: Int64s,
) -> Bool:
    """A condition that is more than bounds; where there are some, a generated function takes the place of this one."""
    return test == 0


def shared_transfer(
    transfer: Int64, i: Int64, run: Int64, row: Int64, numbers: Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s,
    held: Real64s, into: Int64s, real_into: Real64s, cells: Int64s,
) -> Int64:
    """What a run holds of an event; likewise."""
    return transfer


def rules_hold(
    begin: Int64, end: Int64, i: Int64, row: Int64, run: Int64, keys: Int64s, lists: Int32s, rules: Int64s, numbers:
    Int64s, reals: Real64s, nulls: UInt8s, runs: Int64s, held: Real64s, constants: Int64s, real_constants: Real64s,
    cells: Int64s,
) -> Bool:
    """Whether all conditions of a part of a list hold."""
    k = begin
    while k < end:
        rule = 3 * int(lists[k])
        column = rules[rule]
        if column >= 0:
            value = keys[row + column]
            if value < rules[rule + 1] or value > rules[rule + 2]:
                return False
        elif not shared_test(
            rules[rule + 1], i, run, rules[rule + 2], numbers, reals, nulls, runs, held, constants, real_constants,
            cells,
        ):
            return False
        k += 1
    return True
