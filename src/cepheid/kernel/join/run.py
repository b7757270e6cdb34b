"""The functions of a join as they are called on its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cepheid.kernel.arguments import EventFact
from cepheid.kernel.arrays import Array
from cepheid.kernel.compile import Compilable, Run
from cepheid.kernel.constants import Constant
from cepheid.kernel.join.kernel import (
    BASE,
    CUT,
    END,
    FIRST,
    FOUND,
    LEAD,
    ORIGIN,
    PARTITION,
    PARTITIONS,
    PIVOT,
    ROOM,
    SPAN,
    TYPES,
    UNTIL,
    JoinFunction,
)
from cepheid.kernel.join.output import MatchBuffers
from cepheid.kernel.join.state import StackState
from cepheid.kernel.reads import I

STRETCH = 4
"""A tree chooses its lead anew after so many windows."""
Load = Callable[[Compilable], Run]
"""A kernel as it runs now."""
Arguments = Callable[[Sequence[Constant]], Sequence[int | float]]
"""The constants of the query."""


def select(
    state: StackState, load: Load, constants: Arguments, events: Sequence[Array], begin: int, end: int, base: int
) -> None:
    """Store events: those from `begin` to `end` of some arrays, of which the first has the position `base`.

    There is room for them; afterwards `state.failed` says whether a condition could not be computed.
    """
    function = state.kernel.select
    types = 0
    for wanted, array in zip(function.events, events, strict=True):
        if wanted.holds is EventFact.TYPES:
            types = len(array)
    numbers = {I.name: begin, END.name: end, BASE.name: base, TYPES.name: types}
    _call(function, state, load, constants, numbers, events)


def construct(
    state: StackState, output: MatchBuffers, load: Load, constants: Arguments, *, first: int, until: int, clock: int
) -> None:
    """Make the matches that are new: those with an event from the position `first` on.

    until: where matches wait for an absence, those are made that begin until then; `first` is then -1.
    clock: the time of the last event.
    """
    if not state.complete:
        return
    partitions = group(state, load, constants, first)
    stretch = min(STRETCH * (state.window or 0), 2**63 - 1 - max(clock, 0))  # a time and a stretch are in 64 bits
    if not state.once:  # where all comes at once, positions fit as they are
        output.origin = state.oldest_event() or 0
    function, cells = state.kernel.construct, state.cells
    state.reserve_work(function)
    cells[PIVOT] = cells[CUT] = cells[LEAD] = 0
    partition = 0
    while partition < partitions:
        arrays = output.prepare()
        cells[ROOM] = output.room
        numbers = {
            PARTITION.name: partition,
            PARTITIONS.name: partitions,
            FIRST.name: first,
            UNTIL.name: until,
            ORIGIN.name: output.origin,
            SPAN.name: stretch,
        }
        partition = _call(function, state, load, constants, numbers, (), arrays)
        if partition < partitions:
            output.make_room(int(cells[FOUND]))
            cells[FOUND] = 0
    if not state.once:  # the next ones may count from elsewhere
        put_aside(state, output)


def put_aside(state: StackState, output: MatchBuffers) -> None:
    """The matches that were written last are part of the output."""
    matches = int(state.cells[FOUND])
    if matches:
        output.put_aside(matches)
        state.cells[FOUND] = 0


def group(state: StackState, load: Load, constants: Arguments, first: int) -> int:
    """Copy the partitions that could have a new match out of the stacks; how many these are."""
    function = state.kernel.group
    if function is None:
        return 1
    state.reserve_work(function)
    return _call(function, state, load, constants, {FIRST.name: first})


def _call(
    function: JoinFunction,
    state: StackState,
    load: Load,
    constants: Arguments,
    numbers: Mapping[str, int],
    events: Sequence[Array] = (),
    output: Sequence[Array] = (),
) -> int:
    arguments = []
    for number in function.numbers:
        arguments.append(numbers[number.name])
    return int(
        load(function.code)(
            *arguments, *constants(function.constants), *events, *state.arguments(function), *output, state.cells
        )
    )
