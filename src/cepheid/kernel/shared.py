"""The tables that many queries share: what their rows hold, and where.

A *node* is a step that queries have in common, and the edge that leads to it has the same number; 0 is where all begin.
A *run* waits at a node. The rows of the tables are numbers side by side; see `engine/many` for how they are made.

    edges   3: the columns of two quick bounds and where the list of conditions is; both lows; both highs (32 bits)
    nodes   3: children, what runs listen for, and the kind, of which many nodes are
    kinds   4: flags, the window, the list of conditions that end a wait, the sets of the children
    lists   how many conditions, their numbers, and of an edge that is one of several the stamp of its node
    rules   3: a condition: a column and its bounds; or no column, a test and where its constants are
    runs    stride: node and next run, start, NULLs, what is often asked of the node, positions of events, held numbers
"""

from __future__ import annotations

from typing import NamedTuple

from cepheid.kernel.code.reader import Int32s, Int64s, Real64s, UInt8s, UInt32s

LOW = (1 << 32) - 1
HASH = (1 << 62) - 1
MIX = 0x1E3779B97F4A7C15
SPREAD = 0x2545F4914F6CDD1D
STIR = 0x1B873593CC9E2D51
NOBODY = -1
NULL = -(1 << 63)
"""What stands for NULL in a column: below every bound."""
POSITIVE = (1 << 63) - 1
NAN_KEY = POSITIVE - 1
HALF = 1 << 31

# Cells.
FREE, USED, ROOM, MATCHES, MATCH_ROOM, TOUCHED, CANDIDATES, MADE, ALIVE, LISTENERS, FRESH, STOPPED = range(12)
ACTION_ROOM, LISTENER_MASK, LEVELS, WIDTH, STRIDE, REALS, SIMULTANEOUS, COLUMNS, FULL, SLOTS_AT = range(12, 22)
SERIAL, CELL_COUNT = 22, 24
STAMP = 2
"""After the cells, of each node that can be reached in several ways: when it was last, as SERIAL says, by which run."""
# Of an edge.
EDGE, COLUMN_BITS = 3, 12
COLUMN = (1 << COLUMN_BITS) - 1
MORE, ROUGH = 1 << 24, 1 << 25
"""Besides the quick bounds it has other conditions; these are rough at their ends."""
AGAIN = 1 << 26
"""Other edges lead to the same node, which has a stamp."""
KEYED_AT, KEYED, LIST_AT = 27, 31, 32
"""How many conditions, which are the first ones of its list, are known to hold when it is found; where the list is."""
# Of a node.
NODE = 3
CHILDREN, LISTENS, KIND_OF = 0, 1, 2
# Of a kind of nodes.
NODE_KIND = 4
FLAGS, LASTS, ENDING, SETS = 0, 1, 2, 3
DEPTH, ENDS_ALWAYS, ENDS_NEVER, DYNAMIC, LEAF, EVERYTHING, LOOKS, ALIAS = (
    255, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14,
)  # fmt: skip
"""ALIAS: it is an edge alone, to the node that stands where others have their children."""
LISTEN_AT, TRANSFER_AT, LEVEL_AT = 16, 32, 48
MOST_LEVELS = 1 << 15
# Of a level.
LEVEL = 5
HASH_AT, HASH_MASK, SETS_AT, ROOT_SETS, LEVEL_AFTER = 0, 1, 2, 3, 4
SET = 8
SLOT = 4
"""Of the hash table: a node and a set of columns, two values, and the edges: the first one, and how many.

Of more than two columns the second value is a mixture, and what is found is compared."""
# Of a run.
NEXT_AT = 32
START, NULLS, EXPIRES, BELOW, WAITS, HELD = 1, 2, 3, 4, 5, 6


class EventRows(NamedTuple):
    """What the events of a batch hold, row by row: keys for the tables, and what tests and transfers read."""

    keys: Int64s
    quick: UInt32s
    numbers: Int64s
    reals: Real64s
    nulls: UInt8s


class RuleTables(NamedTuple):
    """What many queries ask: where edges are found, nodes and edges, conditions and their constants."""

    levels: Int64s
    sets: Int32s
    hashes: Int64s
    ranges: Int64s
    edges: Int64s
    nodes: Int64s
    kinds: Int64s
    lists: Int32s
    rules: Int64s
    constants: Int64s
    real_constants: Real64s


class SharedRuns(NamedTuple):
    """What outlasts a batch: runs, what they hold and listen for, matches, counts; and what is noted of an event."""

    listeners: Int64s
    runs: Int64s
    held: Real64s
    actions: Int64s
    fresh: Int64s
    matches: Int64s
    real_matches: Real64s
    cells: Int64s
