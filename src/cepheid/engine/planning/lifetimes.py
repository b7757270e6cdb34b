"""Arcs that come and go (S17), as columns: a kernel reads whether an arc is there, and with which constants.

Arcs that differ only in their constants and are never there at the same time are one *track*. So to replace an arc by
another one of its shape, or to remove it, changes data and no code.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_not
from typing import Any, overload

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy, to_numpy
from cepheid.engine.encoding.derived import EVENT as ROW
from cepheid.engine.encoding.derived import Derived, carried
from cepheid.engine.encoding.pieces import Pieces, merged
from cepheid.engine.encoding.times import ticks_of
from cepheid.front.automata.arc_forms import is_plain, literals_of, plain_numbers, with_values
from cepheid.front.automata.bound import BoundArc, BoundAutomaton
from cepheid.front.automata.registers import EVENT
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL, Kind, Type
from cepheid.pattern.tree.nodes import Fires
from cepheid.pattern.tree.walk import conjuncts, substitute
from cepheid.values.bindings import Bindings
from cepheid.values.value import Value

_BLANK = object()
_NUMBERS = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.bool_}
"""What kernels read by the time, and how they have it."""
_MOVABLE = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.DURATION)


@dataclass(frozen=True, slots=True)
class Member:
    """An arc by one that is like it, but for the constants that a column can hold and its lifetime."""

    like: BoundArc
    shape: int  # its number
    values: tuple[Value, ...]
    name: str | None
    since: int | None
    until: int | None

    @property
    def fires(self) -> Fires:
        """When it is taken."""
        return self.like.fires

    @property
    def lives(self) -> bool:
        """Whether it is there at any time."""
        return self.since is None or self.until is None or self.since < self.until

    @property
    def arc(self) -> BoundArc:
        """The arc itself."""
        literals = literals_in(self.like)
        differs = any(literal.value != value for literal, value in zip(literals, self.values, strict=True))
        arc = with_values(self.like, literals, self.values) if differs else self.like
        return replace(arc, name=self.name, since=self.since, until=self.until)


class TimedArcs(Sequence[BoundArc]):
    """So many arcs that they are made when somebody asks for one of them."""

    def __init__(self, members: Sequence[Member], shapes: Mapping[Hashable, int]) -> None:
        self.members = tuple(members)
        self.shapes = shapes

    @cached_property
    def _arcs(self) -> tuple[BoundArc, ...]:
        return tuple(member.arc for member in self.members)

    @overload
    def __getitem__(self, place: int) -> BoundArc: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[BoundArc]: ...

    def __getitem__(self, place: int | slice) -> BoundArc | Sequence[BoundArc]:
        return self._arcs[place]

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True)
class Track:
    """Arcs that differ only in their constants, one after the other, and the columns that the code of them reads.

    there: the column that says when there is one, if it is asked; moved: those of constants, by their places; values:
    what the others are.
    """

    shape: int
    values: tuple[Value, ...]
    members: tuple[Member, ...]
    there: str | None
    moved: Mapping[int, str]


@dataclass(frozen=True)
class TrackedAutomaton:
    """An automaton with one arc for each track, which reads columns that are a function of the time of an event."""

    automaton: BoundAutomaton
    members: tuple[Member, ...]  # in the order of their arcs
    shapes: Mapping[Hashable, int]
    tracks: tuple[Track, ...]
    columns: Mapping[str, Derived]
    pieces: Pieces  # what kernels read by the time: numbers, and whether an arc is there

    def member(self, arc: BoundArc) -> Member | None:
        """An arc as a member of its track; None if it has a shape of its own."""
        shape = self.shapes.get(shape_of(arc))
        return None if shape is None else member_of(arc, shape)

    def retimed(self, members: Sequence[Member], schema: Schema, since: int | None) -> TrackedAutomaton | None:
        """The same arcs of tracks that have other members; None if that needs other code. since: of the next events."""
        found: dict[int, list[list[Member]]] = {}
        for one in _in_tracks(members):
            found.setdefault(one[0].shape, []).append(one)
        columns, tracks = dict(self.columns), []
        for track in self.tracks:
            own = tuple(found[track.shape].pop(0)) if found.get(track.shape) else ()
            if len(own) != len(track.members) or any(map(is_not, own, track.members)):
                if not _hold(track, own, since):
                    return None
                columns |= _columns_of(track, own, schema, self.columns)
                track = replace(track, members=own)
            tracks.append(track)
        if any(found.values()):
            return None  # more arcs of a shape at one time than ever before
        return replace(self, members=tuple(members), tracks=tuple(tracks), columns=columns, pieces=_pieces_of(columns))


def settle_lifetimes(automaton: BoundAutomaton, schema: Schema, *, lasts: bool = False) -> TrackedAutomaton | None:
    """The automaton with one arc for each track; None if all arcs are always there.

    lasts: it is for a stream, in which arcs that have a name may be removed, or replaced by others with other numbers.
    """
    if isinstance(automaton.arcs, TimedArcs):
        members, shapes = automaton.arcs.members, automaton.arcs.shapes
    elif any(arc.changes or (lasts and _may_change(arc)) for arc in automaton.arcs):
        shapes = dict[Hashable, int]()
        members = tuple(member_of(arc, shapes.setdefault(shape_of(arc), len(shapes))) for arc in automaton.arcs)
    else:
        return None
    columns: dict[str, Derived] = {}
    arcs, tracks = [], []
    for number, own in enumerate(_in_tracks(members)):
        track, arc = _track(number, own, lasts=lasts)
        columns |= _columns_of(track, own, schema, {})
        tracks.append(track)
        arcs.append(arc)
    settled = replace(automaton, arcs=tuple(_joined(arcs)))
    return TrackedAutomaton(settled, members, shapes, tuple(tracks), columns, _pieces_of(columns))


def _pieces_of(columns: Mapping[str, Derived]) -> Pieces:
    timelines = [(name, column) for name, column in columns.items() if isinstance(column, TimeColumn)]
    return merged({name: (column.starts, column.numbers) for name, column in timelines if column.numbers is not None})


def member_of(arc: BoundArc, shape: int) -> Member:
    """An arc of a shape."""
    return Member(arc, shape, _values(arc), arc.name, arc.since, arc.until)


def _joined(arcs: Sequence[BoundArc]) -> list[BoundArc]:
    """Arcs that do the same are one, where that asks for nothing else than what each of them does."""
    found: list[BoundArc] = []
    for arc in arcs:
        place = next((k for k, other in enumerate(found) if _does_the_same(arc, other)), None)
        if place is None:
            found.append(arc)
            continue
        other = found[place].condition
        assert arc.condition is not None
        assert other is not None
        ways = other.operands if isinstance(other, ex.Or) else (other,)
        found[place] = replace(found[place], condition=ex.Or((*ways, arc.condition)))
    return found


def _does_the_same(arc: BoundArc, other: BoundArc) -> bool:
    if (arc.source, arc.target, arc.fires, arc.types) != (other.source, other.target, other.fires, other.types):
        return False
    return arc.assigns == other.assigns and is_plain(arc.condition) and is_plain(other.condition)


def _in_tracks(members: Sequence[Member]) -> list[list[Member]]:
    """The members of each track."""
    tracks: dict[int, list[list[Member]]] = {}
    order: list[list[Member]] = []
    for member in members:
        found = tracks.setdefault(member.shape, [])
        track = next((one for one in found if _follows(member, one)), None)
        if track is None:
            track = []
            found.append(track)
            order.append(track)
        track.append(member)
    return order


def _follows(member: Member, track: Sequence[Member]) -> bool:
    before = next((one for one in reversed(track) if one.lives), None)
    if before is None or not member.lives:
        return True
    return before.until is not None and member.since is not None and before.until <= member.since


def _values(arc: BoundArc) -> tuple[Value, ...]:
    return tuple(literal.value for literal in literals_in(arc))


def literals_in(arc: BoundArc) -> list[ex.Literal]:
    """The constants that a column can hold, in the order of the text."""
    return literals_of(arc, movable)


def movable(node: ex.Literal) -> bool:
    """Whether a column can hold a constant."""
    return node.value is not None and node.type.kind in _MOVABLE


def shape_of(arc: BoundArc) -> Hashable:
    """What two arcs of one track have in common: all but their constants and lifetimes."""

    def blank(node: ex.Expression) -> ex.Expression | None:
        if isinstance(node, ex.Literal) and movable(node):
            return ex.Literal(_BLANK, carried(node.type))
        return None

    condition = arc.condition and substitute(arc.condition, blank)
    assigns = tuple((name, substitute(value, blank)) for name, value in sorted(arc.assigns.items()))
    return arc.source, arc.target, arc.fires, arc.types, condition, assigns


def _may_change(arc: BoundArc) -> bool:
    """Whether an arc is ready to change from the beginning, since that costs next to nothing."""
    return arc.name is not None and arc.fires is Fires.EVENT


def _track(number: int, members: Sequence[Member], *, lasts: bool) -> tuple[Track, BoundArc]:
    """What is asked of columns, and the arc that asks it."""
    arc, shape, first = members[0].arc, members[0].shape, members[0].values
    ready = lasts and any(_may_change(member.like) for member in members)
    if len(members) == 1 and not arc.changes and not ready:
        return Track(shape, first, tuple(members), None, {}), arc
    there = f"arc {number} is there" if ready or None in _pieces(members)[1] else None
    literals = literals_in(arc)
    own = {id(literal) for literal in plain_numbers(arc)} if ready else set()
    varied = [
        k
        for k, value in enumerate(first)
        if id(literals[k]) in own or any(member.values[k] != value for member in members)
    ]
    moved = {k: f"constant {k} of arc {number}" for k in varied}
    values = {id(literals[k]): ex.Attribute(EVENT, ex.Index.ONE, name) for k, name in moved.items()}

    def read(node: ex.Expression) -> ex.Expression | None:
        return values.get(id(node))

    asked = () if arc.condition is None else conjuncts(arc.condition)
    if there is not None:
        asked = (ex.Attribute(EVENT, ex.Index.ONE, there), *asked)
    tests = tuple(substitute(test, read) for test in asked)
    condition = None if not tests else tests[0] if len(tests) == 1 else ex.And(tests)
    assigns = {field: substitute(value, read) for field, value in arc.assigns.items()}
    settled = replace(arc, condition=condition, assigns=assigns, since=None, until=None)
    return Track(shape, first, tuple(members), there, moved), settled


def _hold(track: Track, members: Sequence[Member], since: int | None) -> bool:
    """Whether the columns of a track can say what other members are, at times from one on."""
    if track.there is None:
        starts, pieces = _pieces(members)
        ends = [since is not None and start <= since for start in starts]
        if any(piece is None and not over for piece, over in zip(pieces, [*ends, False], strict=True)):
            return False
    fixed = [(k, value) for k, value in enumerate(track.values) if k not in track.moved]
    return all(member.values[k] == value for member in members for k, value in fixed)


def _columns_of(
    track: Track, members: Sequence[Member], schema: Schema, known: Mapping[str, Derived]
) -> dict[str, Derived]:
    """The columns of a track with some members. known: those that it had, which tell the types."""
    starts, pieces = _pieces(members)
    columns: dict[str, Derived] = {}
    if track.there is not None:
        columns[track.there] = TimeColumn.of(schema, BOOL, starts, [piece is not None for piece in pieces])
    for k, name in track.moved.items():
        if members:
            type_ = known[name].type if name in known else carried(literals_in(members[0].like)[k].type)
            values = [members[0 if piece is None else piece].values[k] for piece in pieces]
            columns[name] = TimeColumn.of(schema, type_, starts, values)
    return columns


def _pieces(track: Sequence[Member]) -> tuple[list[int], list[int | None]]:
    """When a track changes, and which of its arcs is there from then on; the first piece has no beginning."""
    starts: list[int] = []
    alive = [(number, member) for number, member in enumerate(track) if member.lives]
    members: list[int | None] = [alive[0][0] if alive and alive[0][1].since is None else None]
    for number, member in alive:
        if member.since is not None:
            if starts and starts[-1] == member.since + 1:
                members[-1] = number
            else:
                starts.append(member.since + 1)
                members.append(number)
        if member.until is not None:
            starts.append(member.until + 1)
            members.append(None)
    return starts, members


@dataclass(frozen=True, slots=True, eq=False)
class TimeColumn(Derived):
    """A column that is a function of the time of an event."""

    starts: Any = None  # the times, in ticks, from which on there is another value
    pieces: pa.Array = None  # one more than these
    numbers: Any = None  # the same as a kernel has them, if it reads them by the time

    @classmethod
    def of(cls, schema: Schema, type_: Type, starts: Sequence[int], values: Sequence[Value]) -> TimeColumn:
        """One value before the first time, and one from each time on."""
        times = np.array(starts, np.int64)
        time, tick = schema.roles.time, schema.tick
        fine = schema.columns[time].kind is Kind.TIMESTAMP

        def evaluate(bindings: Bindings) -> Value:
            value = bindings.now[ROW].values[time]
            at = value // tick if fine else value
            return values[int(np.searchsorted(times, at, side="right"))]

        numbers: Any = np.array(values, _NUMBERS[type_.kind]) if type_.kind in _NUMBERS else None
        return cls(type_, (time,), evaluate, (), times, _held(type_, values), numbers)

    def column(self, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
        """The values of a batch."""
        times = ticks_of(columns[0])
        if (times[1:] < times[:-1]).any():
            place = np.searchsorted(self.starts, times, side="right")
            return pa.chunked_array([self.pieces.take(from_numpy(place))])
        # In order, as batches are: it is asked where each piece begins, and not for each event in which piece it is.
        lengths = np.diff(np.searchsorted(times, self.starts), prepend=0, append=len(times))
        if self.type.kind in (Kind.INT, Kind.FLOAT):
            return pa.chunked_array([from_numpy(np.repeat(to_numpy(self.pieces), lengths))])
        return pa.chunked_array([self.pieces.take(from_numpy(np.repeat(np.arange(len(lengths)), lengths)))])


def _held(type_: Type, values: Sequence[Value]) -> pa.Array:
    if type_.kind in (Kind.TIMESTAMP, Kind.DURATION):
        return pa.array(values, pa.int64()).view(type_.arrow)
    if type_.kind is Kind.DATE:
        return pa.array(values, pa.int32()).cast(pa.date32())
    return pa.array(values, type_.arrow)
