"""The variables and arrays that the code of a scan consists of, by name."""

from __future__ import annotations

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, INT64, UINT32
from cepheid.kernel.scan.program import Room

# The match store.
WORD, NEXT = n.Array("node_word", INT64), n.Array("node_next", UINT32)
OTHER, START = n.Array("node_other", UINT32), n.Array("node_start", INT64)
ROOT, LAST, LOW = n.Array("match_root", UINT32), n.Array("match_word", INT64), n.Array("match_low", INT64)
STORE = (
    *(StateArray(array, Extent.NODES) for array in (WORD, NEXT, OTHER, START)),
    *(StateArray(array, Extent.MATCHES) for array in (ROOT, LAST, LOW)),
)

END = n.Variable("end", INT64)
FIRST_ID = n.Variable("first_id", INT64)  # of the event 0: an id is what a node knows of an event, for good
PARTITION = n.Variable("partition", UINT32)
NOW, OLDEST = n.Variable("now", INT64), n.Variable("oldest", INT64)
OLDEST_END = n.Variable("oldest_end", INT64)  # of the matches after which something must be absent for a while
NODE_COUNT, MATCH_COUNT = n.Variable("nodes", INT64), n.Variable("matches", INT64)
NODE_LIMIT, MATCH_LIMIT = n.Variable("node_room", INT64), n.Variable("match_room", INT64)
MERGES, TRIED = n.Variable("merged", INT64), n.Variable("tests", INT64)
MATCHES_BEFORE = n.Variable("matches_before", INT64)

# The run at hand of a list, the one before it and the one after it; its history; and where a new one is put.
RUN, BEFORE, FOLLOWING = (n.Variable(name, UINT32) for name in ("run", "before", "following"))
HISTORY, FRESH = n.Variable("history", UINT32), n.Variable("fresh", UINT32)
STAYS = n.Variable("stays", BOOL)
SETTLES = n.Variable("settles_now", BOOL)  # no more events of the partition come at this time
REUSED = n.Variable("reused", BOOL)  # the entry of the run is that of the run which it has become


def run_of(room: Room) -> n.Variable:
    """The run of a slot, as the event finds it."""
    return n.Variable(f"run_{room.name}", UINT32)


def left_in(room: Room) -> n.Variable:
    """The history that the event leaves in a slot, or to a bundle."""
    return n.Variable(f"left_{room.name}", UINT32)


def goes(room: Room, arc: int) -> n.Variable:
    """Whether the run goes by an arc of its room."""
    return n.Variable(f"goes_{arc}_{room.name}", BOOL)


def chain_of(room: Room) -> n.Variable:
    """The first of the runs that the event adds to a list."""
    return n.Variable(f"new_{room.name}", UINT32)


def tail_of(room: Room) -> n.Variable:
    """The last of the runs that the event adds to a list."""
    return n.Variable(f"tail_{room.name}", UINT32)


def soon(name: str) -> str:
    """The name of what an instant adds to a slot, a list or what is known of a witness, until it is over (S2)."""
    return f"soon_{name}"


def over(name: str) -> str:
    """The name of whether an instant has ended the run of a slot, or some runs of a list."""
    return f"over_{name}"


OVER = "over"
"""The array of which runs an instant has ended."""
ENDED = "ended"
"""The array of when a match had its last event, which it waits from for an absence that lasts a while."""


def earlier_witness(negation: int) -> str:
    """The name of when the last one was seen before that time: an event of the time of the first one is none (S26)."""
    return f"earlier_witness_{negation}"


def witness(negation: int) -> str:
    """The name of what is kept of an event that must be absent before a first one: when it was seen."""
    return f"witness_{negation}"
