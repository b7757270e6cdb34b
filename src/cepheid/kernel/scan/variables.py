"""The variables and arrays that the code of a scan consists of, by name."""

from __future__ import annotations

from cepheid.kernel.arguments import Extent, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import BOOL, INT64, UINT8, UINT32
from cepheid.kernel.scan.program import Room

# The match store.
WORD, NEXT = n.Array("node_word", INT64), n.Array("node_next", UINT32)
OTHER, START = n.Array("node_other", UINT32), n.Array("node_start", INT64)
ROOT, LAST, LOW = n.Array("match_root", UINT32), n.Array("match_word", INT64), n.Array("match_low", INT64)
STORE = (
    *(StateArray(array, Extent.NODES) for array in (WORD, NEXT, OTHER, START)),
    *(StateArray(array, Extent.MATCHES) for array in (ROOT, LAST, LOW)),
)

# The events of a block that are of a type that the query names, by how far they are from its first one.
ASKED = n.Array("asked", UINT8)
BLOCK = 256
AT, ASKED_COUNT = n.Local("at", INT64), n.Local("asked_count", INT64)
BLOCK_BEGIN, SPARSE = n.Local("block", INT64), n.Local("sparse", BOOL)

END = n.Local("end", INT64)
FIRST_ID = n.Local("first_id", INT64)  # of the event 0: an id is what a node knows of an event, for good
PARTITION = n.Local("partition", UINT32)
NOW, OLDEST = n.Local("now", INT64), n.Local("oldest", INT64)
OLDEST_END = n.Local("oldest_end", INT64)  # of the matches after which something must be absent for a while
NODE_COUNT, MATCH_COUNT = n.Local("nodes", INT64), n.Local("matches", INT64)
NODE_LIMIT, MATCH_LIMIT = n.Local("node_room", INT64), n.Local("match_room", INT64)
MERGES, TRIED = n.Local("merged", INT64), n.Local("tests", INT64)
MATCHES_BEFORE = n.Local("matches_before", INT64)

# The run at hand of a list, the one before it and the one after it; its history; and where a new one is put.
RUN, BEFORE, FOLLOWING = (n.Local(name, UINT32) for name in ("run", "before", "following"))
HISTORY, FRESH = n.Local("history", UINT32), n.Local("fresh", UINT32)
STAYS = n.Local("stays", BOOL)
SETTLES = n.Local("settles_now", BOOL)  # no more events of the partition come at this time
REUSED = n.Local("reused", BOOL)  # the entry of the run is that of the run which it has become


def run_of(room: Room) -> n.Local:
    """The run of a slot, as the event finds it."""
    return n.Local(f"run_{room.name}", UINT32)


def left_in(room: Room) -> n.Local:
    """The history that the event leaves in a slot, or to a bundle."""
    return n.Local(f"left_{room.name}", UINT32)


def goes(room: Room, arc: int) -> n.Local:
    """Whether the run goes by an arc of its room."""
    return n.Local(f"goes_{arc}_{room.name}", BOOL)


def chain_of(room: Room) -> n.Local:
    """The first of the runs that the event adds to a list."""
    return n.Local(f"new_{room.name}", UINT32)


def tail_of(room: Room) -> n.Local:
    """The last of the runs that the event adds to a list."""
    return n.Local(f"tail_{room.name}", UINT32)


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
