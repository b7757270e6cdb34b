"""A long log of changes (S17), read in one go: of arcs that differ only in numbers, one is analysed and bound."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.engine.planning.lifetimes import Member, TimedArcs, literals_in, member_of, shape_of
from cepheid.front.automata.arc_forms import form_of, marked, numbers_in
from cepheid.front.automata.bound import BoundArc, BoundAutomaton
from cepheid.front.automata.named_arcs import NamedArcs
from cepheid.front.automata.timeline import AddArc, Change, RemoveArc
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern

Numbers = tuple[int | float, ...]


@dataclass
class ReadLog:
    """What is left of a log: the arcs that it names, by the form and the numbers of each.

    added: one change for each form, whose arc has marks for its numbers.
    """

    own: int  # how many arcs the automaton has itself
    added: list[AddArc] = field(default_factory=list)
    marks: list[Numbers] = field(default_factory=list)
    forms: list[int] = field(default_factory=list)  # of each further arc
    numbers: list[Numbers] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    since: Sequence[int | None] = ()  # of all
    until: Sequence[int | None] = ()

    def timed(self, bound: BoundAutomaton) -> BoundAutomaton | None:
        """The automaton with all arcs, of one that is bound with one for each form; None if a mark is not there."""
        shapes: dict[Hashable, int] = {}
        arcs = [(arc, shapes.setdefault(shape_of(arc), len(shapes))) for arc in bound.arcs]
        original, forms = arcs[: self.own], arcs[self.own :]
        fills = [_filling(arc, marks) for (arc, _), marks in zip(forms, self.marks, strict=True)]
        lives = list(zip(self.since, self.until, strict=True))
        members = [
            replace(member_of(arc, shape), since=since, until=until)
            for (arc, shape), (since, until) in zip(original, lives, strict=False)
        ]
        known = zip(self.forms, self.numbers, self.names, lives[self.own :], strict=True)
        for form, numbers, name, (since, until) in known:
            fill, (arc, shape) = fills[form], forms[form]
            if fill is None:
                return None
            members.append(Member(arc, shape, fill(numbers), name, since, until))
        return replace(bound, arcs=TimedArcs(members, shapes))


def read_log(automaton: AutomatonPattern, changes: Sequence[Change]) -> ReadLog:
    """What changes leave, one after the other; their times are ticks."""
    log, named = ReadLog(len(automaton.arcs)), NamedArcs()
    for arc in automaton.arcs:
        named.put(arc.name, arc.since, arc.until)
    forms: dict[Hashable, int] = {}
    for change in changes:
        at: Any = change.at
        if isinstance(change, RemoveArc):
            named.remove(change.name, at)
            continue
        arc, until = change.arc, change.until
        named.add(arc.name, at, until)  # type: ignore[arg-type]
        form = form_of(arc)
        number = forms.setdefault(form.key, len(forms))
        if number == len(log.added):
            log.added.append(_only(arc, at))
            log.marks.append(marked(arc)[1])
        log.forms.append(number)
        log.numbers.append(form.numbers)
        log.names.append(arc.name)
    log.since, log.until = named.since, named.until
    return log


def _only(arc: ArcClause, at: int) -> AddArc:
    return AddArc(replace(marked(arc)[0], name=None), at)


def _filling(arc: BoundArc, marks: Numbers) -> Callable[[Numbers], tuple[Any, ...]] | None:
    return numbers_in(literals_in(arc), marks)
