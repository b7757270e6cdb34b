"""Of the matches in a store that have one start and one end, the one that S9 puts first.

It is built event by event from its start: of all events that can come next, the earliest. Which variables the events
are bound to matters only where several ways have the same events; then the ways are compared variable by variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.engine.matches.graph_walk import Upwards, Walk
from cepheid.kernel.runtime import NIL


@dataclass(frozen=True, slots=True)
class Found:
    """A match as the store has it: the node that leads to it (NIL: none), and its last event where that has no node."""

    root: int
    word: int
    low: int
    end: int


@dataclass(slots=True)
class Step:
    """An event of a match in the making: its word, and the steps that can come before it."""

    word: int
    node: int
    before: list[Step] = field(default_factory=list)


def smallest_match(
    walk: Walk, found: Sequence[Found], start: int, time: int, label: Callable[[int], int], reach: Callable[[int], int]
) -> list[int]:
    """The words of the first of the matches that start with one event and end with another.

    time: of the start, as windows count it. label: the variable of a word; reach: how many variables an end reached.
    """
    layers = _layers(walk, found, start, time)
    if any(len(layer) > 1 for layer in layers):
        _keep_first(layers, label)
    path = [max(layers[-1], key=lambda step: reach(step.word))]
    while path[-1].before:
        path.append(path[-1].before[0])
    return [step.word for step in reversed(path)]


def _layers(walk: Walk, found: Sequence[Found], start: int, time: int) -> list[list[Step]]:
    """The events of the match in order, each with all the ways to bind it."""
    end = found[0].end
    nodes = walk.below((one.root, time) for one in found)
    upwards = Upwards(walk, nodes)
    ways = Ways(walk, upwards, [one for one in found if one.word >= 0], end)
    layer = [Step(walk.word[node], node) for event, node in walk.starts(nodes) if event == start]
    layers = [[*layer, *(Step(one.word, NIL) for one in found if one.root == NIL)] if start == end else layer]
    while layers[-1][0].word >> walk.shift < end:
        layers.append(ways.after(layers[-1]))
    return layers


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways from an event to the next one of a match; the last event of those in `found` has no node."""

    walk: Walk
    upwards: Upwards
    found: Sequence[Found]
    end: int

    def after(self, layer: Sequence[Step]) -> list[Step]:
        """The ways to bind the earliest event that can come next."""
        coming: dict[int, list[tuple[Step, Step]]] = {}
        for step in layer:
            for following in self.following(step):
                coming.setdefault(following.word >> self.walk.shift, []).append((following, step))
        return _joined(coming[min(coming)])

    def following(self, step: Step) -> Iterator[Step]:
        """The earliest steps that can come after one."""
        walk, event = self.walk, step.word >> self.walk.shift
        stretched = walk.is_stretched(step.word)
        nodes, passed = self.upwards.after(step.node, every=stretched)
        last = [one for one in self.found if one.root in passed]
        if stretched:
            # The event after it is there in any case: bound by the same loop, or by what follows.
            nodes = [node for node in nodes if walk.event(node) > event]
            beyond = [node for node in nodes if walk.event(node) > event + 1]
            if beyond or (last and self.end > event + 1):
                yield Step(step.word + (1 << walk.shift), step.node)
        yield from (Step(walk.word[node], node) for node in nodes)
        yield from (Step(one.word, NIL) for one in last)


def _joined(steps: Sequence[tuple[Step, Step]]) -> list[Step]:
    """Equal steps are one, which can come after several."""
    joined: dict[tuple[int, int], Step] = {}
    for step, before in steps:
        one = joined.setdefault((step.word, step.node), step)
        if not any(before is other for other in one.before):
            one.before.append(before)
    return list(joined.values())


def _keep_first(layers: list[list[Step]], label: Callable[[int], int]) -> None:
    """Of several ways to bind the same events keep the one that comes first: the events of each variable in turn."""
    for variable in range(1 + max(label(step.word) for layer in layers for step in layer)):
        # Which steps lead to the end without another event of the variable.
        without: list[set[int]] = [set() for _ in layers]
        without[-1] = {id(step) for step in layers[-1] if label(step.word) != variable}
        for at in range(len(layers) - 1, 0, -1):
            ends = [step for step in layers[at] if id(step) in without[at]]
            before = {id(one): one for step in ends for one in step.before}
            without[at - 1] = {key for key, one in before.items() if label(one.word) != variable}
        for at, layer in enumerate(layers):
            kept = layer if at == 0 else _after(layer, layers[at - 1])
            # Fewer events come first, then earlier ones.
            ending = [step for step in kept if id(step) in without[at]]
            bound = [step for step in kept if label(step.word) == variable]
            layers[at] = ending or bound or kept
            if ending:
                for later in range(at + 1, len(layers)):
                    follow = _after(layers[later], layers[later - 1])
                    layers[later] = [step for step in follow if id(step) in without[later]]
                break
        _prune(layers)


def _after(layer: Sequence[Step], before: Sequence[Step]) -> list[Step]:
    """The steps that can come after some others, and no longer after those that are gone."""
    kept = {id(step) for step in before}
    for step in layer:
        step.before = [one for one in step.before if id(one) in kept]
    return [step for step in layer if step.before]


def _prune(layers: list[list[Step]]) -> None:
    """Steps that no longer lead to the end are gone."""
    for at in range(len(layers) - 1, 0, -1):
        needed = {id(one) for step in layers[at] for one in step.before}
        layers[at - 1] = [step for step in layers[at - 1] if id(step) in needed]
