"""What a kernel is called with: numbers, arrays of the events, arrays of its state, and its cells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import INT32, INT64, UINT8, UINT16, UINT32
from cepheid.kernel.runtime import NIL
from cepheid.pattern.expressions import nodes as ex

NOWHERE = n.Immediate(NIL, UINT32, "NIL")
"""No node, no run, no partition."""
CELLS = n.Array("cells", INT64)
"""Counts and places that outlast a call."""


# The events of a batch.


class EventFact(Enum):
    """What every query can ask of an event."""

    PARTITION = "partitions"
    TIME = "times"
    TYPE = "type_codes"
    TYPES = (
        "type_numbers"  # of each code: the number of the type in the query, from 1; 0 for those that it does not name
    )
    QUIET = "quiet"  # written by the scan: whether no run of the event's partition is under way after it
    PIECES = "pieces"  # the times at which what is a function of the time changes; the last one never comes
    SKIP = "skip"  # where the scan goes on after such an event; 0: at the next one
    START = "starts"  # when a composite event started; of others, their time
    SETTLES = "settles"  # 1: it is the last event of its partition at its time; 2: it is the only one; 0: neither


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The values of a column."""

    column: str


@dataclass(frozen=True, slots=True)
class ColumnNulls:
    """Which values of a column are NULL."""

    column: str


@dataclass(frozen=True, slots=True)
class PieceValues:
    """What a column has that is a function of the time, from each of the times on at which one of them changes."""

    column: str


@dataclass(frozen=True, slots=True)
class PieceBits:
    """The same of columns that are true or false: each is a bit of a word, by the number of the word."""

    word: int


@dataclass(frozen=True, slots=True)
class Mask:
    """A condition on one event that is computed for a whole batch beforehand: 1 where it holds, 2 where it failed."""

    condition: ex.Expression
    variable: str


@dataclass(frozen=True, slots=True)
class EventArray:
    """A parameter that is an array of the events of a batch."""

    array: n.Array
    holds: EventFact | ColumnValues | ColumnNulls | PieceValues | PieceBits | Mask

    @property
    def of_each(self) -> bool:
        """Whether it has an element for each event."""
        if isinstance(self.holds, (PieceValues, PieceBits)):
            return False
        return self.holds is not EventFact.TYPES and self.holds is not EventFact.PIECES


FACTS = {
    EventFact.PARTITION: n.Array("partitions", UINT32),
    EventFact.TIME: n.Array("times", INT64),
    EventFact.TYPE: n.Array("type_codes", INT32),
    EventFact.TYPES: n.Array("type_numbers", UINT16),
    EventFact.QUIET: n.Array("quiet", UINT8),
    EventFact.PIECES: n.Array("pieces", INT64),
    EventFact.SKIP: n.Array("skip", INT64),
    EventFact.START: n.Array("starts", INT64),
    EventFact.SETTLES: n.Array("settles", UINT8),
}
MASK = UINT8


# The state.


class Extent(Enum):
    """What decides how long an array of the state is."""

    PARTITIONS = "partitions"
    RUNS = "runs"  # of a pool
    TABLE = "table"  # of a pool: to find runs that are alike
    NODES = "nodes"
    MATCHES = "matches"
    ENTRIES = "entries"  # of a stack
    BLOCK = "block"  # of as many events as a scan looks for those that it asks for at once


@dataclass(frozen=True, slots=True)
class StateArray:
    """A parameter that is an array of the state. `owner`: the pool or the stack that it belongs to."""

    array: n.Array
    extent: Extent
    initial: int = 0
    owner: str = ""
    coded: bool = False  # it holds codes of strings
