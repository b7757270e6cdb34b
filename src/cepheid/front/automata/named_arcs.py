"""The lifetimes of arcs by their names (S17): which one a removal is of, and whether a name is free at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field

from cepheid.errors import PatternError, did_you_mean

_EVER = -(2**63)
_NEVER = 2**63


@dataclass
class _Named:
    """The arcs of one name."""

    last: int  # the place of the one that was added last
    lives: list[tuple[int, int]] = field(default_factory=list)  # lifetimes, one after the other
    void: list[tuple[int, int]] = field(default_factory=list)  # those that end before they begin


class NamedArcs:
    """The arcs of an automaton, each with its lifetime, while changes are made one after the other."""

    def __init__(self) -> None:
        self.since: list[int | None] = []
        self.until: list[int | None] = []
        self._named: dict[str, _Named] = {}

    def put(self, name: str | None, since: int | None, until: int | None) -> None:
        """An arc that is there, whatever others are."""
        place = len(self.since)
        self.since.append(since)
        self.until.append(until)
        if name is None:
            return
        named = self._named.setdefault(name, _Named(place))
        named.last = place
        _hold(named, since, until)

    def add(self, name: str | None, at: int, until: int | None) -> None:
        """An arc comes; its name must be free at all times of its lifetime."""
        if until is not None and until <= at:
            raise PatternError("CEP228", "the arc would end before it begins", "pass an until= that is after at=")
        if name is not None and name in self._named and _meets(self._named[name], at, until):
            remedy = f"remove it first, remove_arc({name!r}), or give the new one another name"
            raise PatternError("CEP228", f"there is an arc '{name}' at that time", remedy)
        self.put(name, at, until)

    def remove(self, name: str, at: int) -> int:
        """The lifetime of an arc ends; the place of that arc."""
        named = self._named.get(name)
        if named is None:
            raise PatternError("CEP228", f"there is no arc '{name}'", did_you_mean(name, list(self._named), "arcs"))
        place = named.last
        since, until = self.since[place], self.until[place]
        if until is not None and until <= at:
            remedy = "remove it at an earlier time, or not at all"
            raise PatternError("CEP228", f"the arc '{name}' is over at that time", remedy)
        lifetime = _EVER if since is None else since, _NEVER if until is None else until
        if lifetime[0] < lifetime[1]:
            del named.lives[bisect_left(named.lives, lifetime)]
        else:
            named.void.remove(lifetime)
        self.until[place] = at
        _hold(named, since, at)
        return place


def _hold(named: _Named, since: int | None, until: int | None) -> None:
    lifetime = _EVER if since is None else since, _NEVER if until is None else until
    if lifetime[0] < lifetime[1]:
        insort(named.lives, lifetime)
    else:
        named.void.append(lifetime)


def _meets(named: _Named, at: int, until: int | None) -> bool:
    end = _NEVER if until is None else until
    place = bisect_right(named.lives, (at, end))
    near = named.lives[max(0, place - 1) : place + 1]
    return any(after > at and before < end for before, after in (*near, *named.void))
