"""A time line as plain values: lanes with events, matches as bands over them, and what was absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Scale:
    """What a whole number on the axis is: so many nanoseconds since 1970, or a bare number if `tick` is None."""

    tick: int | None = None
    zone: str | None = None  # the name of a time zone


@dataclass(frozen=True, slots=True)
class Point:
    """An event: when it was, what it is called, the number that is drawn of it, and all of it for a tooltip."""

    at: int
    label: str = ""
    value: float | None = None
    tooltip: str = ""
    each: bool = False  # one of many of its variable: a dot
    aside: bool = False  # no event of its type has the number: the line goes past it


@dataclass(frozen=True, slots=True)
class Stretch:
    """A while in which something was absent; `clipped`: it goes on beyond the picture."""

    start: int
    end: int
    label: str = ""
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """A match: its number, from when to when, its events, and what it has no event of."""

    number: int
    start: int
    end: int
    points: tuple[Point, ...] = ()
    absences: tuple[Stretch, ...] = ()
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of one key, and the matches among them."""

    label: str
    events: tuple[Point, ...] = ()
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes on one axis. `value`: what is drawn as a line; `notes`: what is left out."""

    title: str
    scale: Scale
    lanes: tuple[Lane, ...] = ()
    value: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last time that is drawn."""
        times = [
            time
            for lane in self.lanes
            for time in (
                *(point.at for point in lane.events),
                *(time for band in lane.bands for time in (band.start, band.end)),
                *(time for band in lane.bands for gap in band.absences for time in (gap.start, gap.end)),
            )
        ]
        return (min(times), max(times)) if times else (0, 0)


def side_by_side(title: str, parts: Sequence[tuple[object, Timeline]]) -> Timeline:
    """Several time lines in one, the label of each lane behind the name of its part; there is at least one."""
    lanes, number = [], 0
    for name, part in parts:
        for lane in part.lanes:
            bands = tuple(replace(band, number=number + band.number) for band in lane.bands)
            lanes.append(replace(lane, label=f"{name}: {lane.label}", bands=bands))
        number += sum(len(lane.bands) for lane in part.lanes)
    values = dict.fromkeys(part.value for _, part in parts)
    notes = tuple(note for _, part in parts for note in part.notes)
    value = next(iter(values)) if len(values) == 1 else None
    return Timeline(title, parts[0][1].scale, tuple(lanes), value, notes)
