"""Where predicates are tested (S5): each conjunct when its last identifier is bound (SASE+ 3.2 step 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from cepheid.errors import PatternError
from cepheid.pattern.expressions.nodes import Attribute, Expression, Index, Nth
from cepheid.pattern.tree.components import Component
from cepheid.pattern.tree.layout import Layout, Place
from cepheid.pattern.tree.uses import Use, is_iterated, uses


class TestedAt(Enum):
    """On which events of its variable a condition is tested."""

    ALWAYS = "on each"
    FIRST = "on the first"
    LATER = "on the second and each later"


@dataclass(frozen=True, slots=True)
class Placement:
    """Conditions by the number of their place, loop or negation; those without variables are constant.

    `Nth`: tested when that event of the variable is bound, and once more when the repetition is left, since there may
    be none.
    """

    at_place: Mapping[int, tuple[tuple[TestedAt | Nth, Expression], ...]] = field(default_factory=dict)
    at_exit: Mapping[int, tuple[Expression, ...]] = field(default_factory=dict)
    of_witness: Mapping[int, tuple[Expression, ...]] = field(default_factory=dict)
    constant: tuple[Expression, ...] = ()


def place(conditions: Sequence[Expression], layout: Layout, components: Mapping[str, Component]) -> Placement:
    """Find the place where each condition is tested; an error says why there is none."""
    at_place: dict[int, list[tuple[TestedAt | Nth, Expression]]] = {}
    at_exit: dict[int, list[Expression]] = {}
    of_witness: dict[int, list[Expression]] = {}
    constant: list[Expression] = []
    for condition in conditions:
        found = uses(condition)
        negated = {use.variable for use in found if components[use.variable].negated}
        if not found:
            constant.append(condition)
        elif len(negated) > 1:
            names = " and ".join(sorted(negated))
            remedy = "split it with AND, so that each condition has one negated variable (SASE 2.2.2)"
            raise PatternError("CEP204", f"the condition has two negated variables, {names}", remedy, condition.span)
        elif negated:
            # AND lays a negation out once for each set of operands that can come after its own.
            for number, absent in enumerate(layout.negations):
                if absent.variable in negated:
                    others = [use for use in found if use.variable not in negated]
                    check_complete(others, components, "a condition on a negated event", layout, absent.loops)
                    of_witness.setdefault(number, []).append(condition)
        else:
            for number, when in _places(found, layout, components):
                at_place.setdefault(number, []).append((when, condition))
            for number in _exits(found, layout, components):
                at_exit.setdefault(number, []).append(condition)
    return Placement(
        {k: tuple(v) for k, v in at_place.items()},
        {k: tuple(v) for k, v in at_exit.items()},
        {k: tuple(v) for k, v in of_witness.items()},
        tuple(constant),
    )


def check_complete(
    found: Sequence[Use],
    components: Mapping[str, Component],
    reader: str,
    layout: Layout | None = None,
    loops: tuple[int, ...] = (),
) -> None:
    """Check references once all events are bound; `a.x` of a group may only be read in a round of it."""
    for use in found:
        component = components[use.variable]
        if is_iterated(use.index) or (use.index is Index.EACH and not use.whole):
            raise _no_single_event(use, reader)
        current = layout is not None and not component.indexed and _in_round(use.variable, loops, layout)
        if use.index is Index.ONE and component.array and not current:
            raise _needs_index(use, complete=True)


def _no_single_event(use: Use, reader: str) -> PatternError:
    a, x = use.variable, use.node.name if isinstance(use.node, Attribute) else "x"
    over = f"ANY({a}[].{x} = …) or ALL({a}[].{x} = …), " if reader != "RETURN" else ""
    return PatternError(
        "CEP205",
        f"{a}{use.index.value} can't be used in {reader}, which does not go through the events of {a} one by one",
        f"use {over}{a}[1], {a}[{a}.LEN], or an aggregate such as max({a}[].{x}) or collect({a}[].{x})",
        use.node.span,
    )


def _needs_index(use: Use, *, complete: bool = False) -> PatternError:
    a = use.variable
    more = "" if complete else f"{a}[i], {a}[i-1], {a}[] for each event, "
    remedy = f"say which event: {a}[1], {a}[{a}.LEN], {more}or use an aggregate over {a}[]"
    return PatternError("CEP208", f"'{a}' is a list of events and needs an index", remedy, use.node.span)


def _places(
    found: Sequence[Use], layout: Layout, components: Mapping[str, Component]
) -> Iterator[tuple[int, TestedAt | Nth]]:
    names = {use.variable for use in found}
    for number, spot in enumerate(layout.places):
        if spot.variable not in names or _comes_later(found, spot, layout):
            continue
        own = [use for use in found if use.variable == spot.variable]
        if any(use.whole for use in own):
            _check_own_whole(own)
            continue  # tested when the repetition is left
        others = [use for use in found if use.variable != spot.variable]
        when = _when(own, components[spot.variable])
        _check_others(others, spot, layout, components)
        if any(use.index is Index.ONE and components[use.variable].array for use in others):
            when = TestedAt.ALWAYS if when is TestedAt.FIRST else when  # each round has another event to compare with
        yield number, when


def _comes_later(found: Sequence[Use], spot: Place, layout: Layout) -> bool:
    """Whether another identifier of a condition is bound after a place.

    In a group `a[1]` may be bound in an earlier round than `b[1]` before it, so such conditions sit at both.
    """
    around = _around(spot, layout)
    later = {use.variable for use in found} & spot.later
    firsts = all(use.index is Index.FIRST for use in found if use.variable in around)
    return bool(later) and not (firsts and later <= around)


def _around(spot: Place, layout: Layout) -> frozenset[str]:
    """The variables of the outermost repetition around a place."""
    return layout.loops[spot.loops[0]].variables if spot.loops else frozenset()


def _check_own_whole(own: Sequence[Use]) -> None:
    for use in own:
        if not use.whole and not _is_numbered(use):
            a = use.variable
            raise PatternError(
                "CEP206",
                f"{a}{use.index.value} and all of {a}[] can't be in one condition: {a}[] is still growing at {a}[i]",
                f"use the events so far, {a}[..i-1], or move the part on all of {a}[] to HAVING",
                use.node.span,
            )


def _is_numbered(use: Use) -> bool:
    return use.index is Index.FIRST or isinstance(use.index, Nth)


def _incomplete(use: Use) -> PatternError:
    a = use.variable
    return PatternError(
        "CEP206",
        f"{a}[] is not complete here: the group that binds {a} may repeat",
        "move the condition to HAVING",
        use.node.span,
    )


def _when(own: Sequence[Use], component: Component) -> TestedAt | Nth:
    """On which events of its variable a condition holds a reference to the current one."""
    indexes = {use.index for use in own}
    for use in own:
        if use.index is Index.ONE and component.indexed:
            raise _needs_index(use)
    nth = max((index.number for index in indexes if isinstance(index, Nth)), default=0)
    iterated = any(map(is_iterated, indexes))
    if nth > 2 if iterated else nth and indexes & {Index.EACH, Index.ONE}:
        a = component.variable
        raise PatternError(
            "CEP205",
            f"{a}[{nth}] may come after the event that the condition is tested on",
            f"compare all events with it when they are bound: ALL({a}[].x > {a}[{nth}].x)",
            own[0].node.span,
        )
    if iterated:
        if Index.EACH in indexes or Index.ONE in indexes:
            a = component.variable
            raise PatternError(
                "CEP205",
                f"{a}[] is every event and {a}[i] every event from the second on: one condition can't have both",
                f"use {a}[i] for the current event and {a}[i-1] for the previous one",
                own[0].node.span,
            )
        return TestedAt.LATER
    if nth:
        return Nth(nth)
    return TestedAt.FIRST if indexes == {Index.FIRST} else TestedAt.ALWAYS


def _check_others(others: Sequence[Use], spot: Place, layout: Layout, components: Mapping[str, Component]) -> None:
    around = _around(spot, layout)
    for use in others:
        if is_iterated(use.index) or (use.index is Index.EACH and not use.whole):
            raise _no_single_event(use, f"a condition on {spot.variable}")
        if use.whole and use.variable in around:
            raise _incomplete(use)
        component = components[use.variable]
        current = not component.indexed and _in_round(use.variable, spot.loops, layout)
        if use.index is Index.ONE and component.array and not current:
            raise _needs_index(use)


def _in_round(variable: str, loops: tuple[int, ...], layout: Layout) -> bool:
    """Whether a place inside some loops is in the round of a group that binds a variable: `a.x` is one event then."""
    return any(p.loops == loops[: len(p.loops)] for p in layout.places if p.variable == variable)


def _exits(found: Sequence[Use], layout: Layout, components: Mapping[str, Component]) -> Iterator[int]:
    """The outermost repetitions after which the condition can be tested for the first time."""
    names = {use.variable for use in found}
    for number, loop in enumerate(layout.loops):
        if loop.outer or names & loop.later:
            continue
        inside = [use for use in found if use.variable in loop.variables]
        numbered = any(isinstance(use.index, Nth) for use in inside) and not any(is_iterated(u.index) for u in inside)
        if not numbered and not any(use.whole for use in inside):
            continue
        for use in inside:
            if not use.whole and not _is_numbered(use):
                raise _incomplete(use)
        check_complete(found, components, f"a condition on all of {', '.join(sorted(loop.variables))}")
        yield number
