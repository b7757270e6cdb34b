"""A join as it is called: three functions, what each is given, and the cells that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cepheid.kernel.arguments import CELLS, ColumnValues, EventArray, Mask, StateArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import INT64
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constant
from cepheid.kernel.join.layout import StackLayout

# Places among the cells, beside those of `runtime`.
FOUND, ROOM = 0, 1
"""How many matches were written, and for how many there is room."""
PIVOT, CUT, LEAD = 4, 5, 6
"""Where a construction goes on that had no room: which pivot, which stretch, and which lead, from 1; 0: none."""
COUNTS = 7
"""How many entries each stack has, one after the other."""

# Numbers that a function is given.
END = n.Local("end", INT64)  # of the events
BASE = n.Local("base", INT64)  # the position of the event 0
TYPES = n.Local("types", INT64)  # how many codes of types there are
FIRST = n.Local("first", INT64)  # the position of the first event that is new
PARTITION, PARTITIONS = (
    n.Local("partition", INT64),
    n.Local("partitions", INT64),
)  # the first partition, and how many there are
UNTIL = n.Local("until", INT64)  # matches that wait for an absence are certain if they begin until then
ORIGIN = n.Local("origin", INT64)  # from where positions count in the output
SPAN = n.Local("span", INT64)  # how long a stretch is, in which a tree keeps its lead


class Size(Enum):
    """What decides how long an array is that is filled and read in one go."""

    BATCH = "batch"
    PARTITIONS = "partitions"
    BOUNDS = "bounds"  # where each partition begins, and two more
    ENTRIES = "entries"  # of a stack, and one more
    LEVELS = "levels"  # one for each component, and one more
    MATCHES = "matches"


@dataclass(frozen=True, slots=True)
class WorkArray:
    """A parameter that is an array of which nothing outlasts a batch. `kept_as`: its name, if not the parameter's."""

    array: n.Array
    size: Size
    owner: str = ""
    initial: int | None = None  # None: it is written before it is read
    kept_as: str = ""

    @property
    def name(self) -> str:
        """Under which it is kept."""
        return self.kept_as or self.array.name


@dataclass(frozen=True)
class JoinFunction:
    """A function and its arguments, in this order, after which come the cells."""

    code: Compilable
    numbers: tuple[n.Local, ...]
    constants: tuple[Constant, ...]
    events: tuple[EventArray, ...]
    state: tuple[StateArray, ...]
    work: tuple[WorkArray, ...]
    state_names: tuple[str, ...]  # of the arrays of the state, and of those of its work that it does not hand out
    work_names: tuple[str, ...]


@dataclass(frozen=True)
class JoinKernel:
    """A generated join. `group`: None where there is one partition only."""

    select: JoinFunction
    group: JoinFunction | None
    construct: JoinFunction
    types: tuple[str, ...]
    stacks: tuple[StackLayout, ...]
    variables: tuple[str, ...]  # of the stacks
    positive: int  # how many of them a match binds

    @property
    def functions(self) -> tuple[Compilable, ...]:
        """All of its code."""
        return tuple(f.code for f in (self.select, self.group, self.construct) if f is not None)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return COUNTS + len(self.variables)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads as values."""
        return tuple(e.holds.column for e in self.select.events if isinstance(e.holds, ColumnValues))

    @property
    def masks(self) -> tuple[Mask, ...]:
        """The conditions that are computed beforehand."""
        return tuple(e.holds for e in self.select.events if isinstance(e.holds, Mask))


def make_function(
    name: str,
    block: n.Block,
    numbers: Sequence[n.Local],
    constants: Sequence[Constant] = (),
    events: Sequence[EventArray] = (),
    state: Sequence[StateArray] = (),
    work: Sequence[WorkArray] = (),
) -> JoinFunction:
    """A function whose parameters are what it is given."""
    arrays = (*(e.array for e in events), *(s.array for s in state), *(w.array for w in work))
    parameters: tuple[n.Local | n.Array, ...] = (*numbers, *(c.parameter for c in constants), *arrays, CELLS)
    code = Compilable(n.Function(name, parameters, block))
    return JoinFunction(
        code,
        tuple(numbers),
        tuple(constants),
        tuple(events),
        tuple(state),
        tuple(work),
        tuple(array.array.name for array in state),
        tuple(array.name for array in work if array.size is not Size.MATCHES),
    )
