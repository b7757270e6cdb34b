"""Of the matches in a store that have one start and one end, the one that S9 puts first.

It is built event by event from its start: of all events that can come next, the earliest. Which variables the events
are bound to matters only where several ways have the same events; then the ways are compared variable by variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cepheid.engine.matches.graph_walk import GraphWalk, Upwards
from cepheid.kernel.runtime import NIL


@dataclass(frozen=True, slots=True)
class StoredMatch:
    """A match as the store has it: the node that leads to it (NIL: none), and its last event where that has no node."""

    root: int
    word: int
    low: int
    end: int


@dataclass(slots=True)
class MatchStep:
    """An event of a match in the making: its word, and the steps that can come before it."""

    word: int
    node: int
    before: list[MatchStep] = field(default_factory=list)


def smallest_match(
    walk: GraphWalk,
    stored: Sequence[StoredMatch],
    start: int,
    time: int,
    label: Callable[[int], int],
    reach: Callable[[int], int],
) -> list[int]:
    """The words of the first of the matches that start with one event and end with another.

    time: of the start, as windows count it. label: the variable of a word; reach: how many variables an end reached.
    """
    layers = next(_in_order(walk, stored, start, time))
    if any(len(layer) > 1 for layer in layers):
        _keep_first(layers, label)
    return _words([max(layers[-1], key=lambda step: reach(step.word))], lambda step: step.before[:1])[0]


def matches_in_order(
    walk: GraphWalk,
    stored: Sequence[StoredMatch],
    start: int,
    time: int,
    label: Callable[[int], int],
    reach: Callable[[int], int],
) -> Iterator[list[int]]:
    """The words of all matches that start with one event and end with another, in the order of S9."""
    for layers in _in_order(walk, stored, start, time):
        if all(len(layer) == 1 for layer in layers):
            yield [layer[0].word for layer in layers]
            continue
        ways: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for words in _words(layers[-1], lambda step: step.before):
            labels = [label(word) for word in words]
            shape = tuple(
                tuple(
                    word >> walk.shift
                    for word, bound_variable in zip(words, labels, strict=True)
                    if bound_variable == variable
                )
                for variable in range(max(labels) + 1)
            )
            other = ways.get(shape)
            if other is None or reach(words[-1]) > reach(other[-1]):
                ways[shape] = words
        yield from (ways[shape] for shape in sorted(ways))


def _words(last: Sequence[MatchStep], before: Callable[[MatchStep], Sequence[MatchStep]]) -> list[list[int]]:
    """The words of all ways to some last steps."""
    all_words: list[list[int]] = []
    stack = [(step, [step.word]) for step in last]
    while stack:
        step, words = stack.pop()
        if not before(step):
            all_words.append(words[::-1])
        stack += [(earlier, [*words, earlier.word]) for earlier in before(step)]
    return all_words


def _in_order(walk: GraphWalk, stored: Sequence[StoredMatch], start: int, time: int) -> Iterator[list[list[MatchStep]]]:
    """The events of each match in order, each with all the ways to bind it; the smallest positions first."""
    end = stored[0].end
    nodes = walk.below((match.root, time) for match in stored)
    ways = MatchWays(walk, Upwards(walk, nodes), [match for match in stored if match.word >= 0], end)
    first = [MatchStep(walk.word[node], node) for event, node in walk.starts(nodes) if event == start]
    if start == end:
        yield [[*first, *(MatchStep(match.word, NIL) for match in stored if match.root == NIL)]]
        return
    layers, waiting = [first], [iter(ways.after(first))]
    while waiting:
        layer = next(waiting[-1], None)
        if layer is None:
            waiting.pop()
            layers.pop()
        elif layer[0].word >> walk.shift == end:
            yield [*layers, layer]
        else:
            layers.append(layer)
            waiting.append(iter(ways.after(layer)))


@dataclass(frozen=True, slots=True)
class MatchWays:
    """The ways from an event to the next one of a match; the last event of those in `found` has no node."""

    walk: GraphWalk
    upwards: Upwards
    found: Sequence[StoredMatch]
    end: int

    def after(self, layer: Sequence[MatchStep]) -> Iterator[list[MatchStep]]:
        """The ways to bind each event that can come next, the earliest first; the others if they are asked for."""
        for every in (False, True):
            coming: dict[int, list[tuple[MatchStep, MatchStep]]] = {}
            for step in layer:
                for following in self.following(step, every=every):
                    coming.setdefault(following.word >> self.walk.shift, []).append((following, step))
            order = sorted(coming)
            yield from (_joined(coming[event]) for event in (order[1:] if every else order[:1]))

    def following(self, step: MatchStep, *, every: bool) -> Iterator[MatchStep]:
        """The steps that can come after one: all of them, or at least the earliest."""
        walk, event = self.walk, step.word >> self.walk.shift
        stretched = walk.is_stretched(step.word)
        nodes, passed = self.upwards.after(step.node, every=stretched or every)
        last = [match for match in self.found if match.root in passed]
        if stretched:
            # The event after it is there in any case: bound by the same loop, or by what follows.
            if any(walk.event(node) > event + 1 for node in nodes) or (last and self.end > event + 1):
                yield MatchStep(step.word + (1 << walk.shift), step.node)
            nodes = [node for node in nodes if walk.event(node) == event + 1]
            last = last if self.end == event + 1 else []
        yield from (MatchStep(walk.word[node], node) for node in nodes)
        yield from (MatchStep(match.word, NIL) for match in last)


def _joined(steps: Sequence[tuple[MatchStep, MatchStep]]) -> list[MatchStep]:
    """Equal steps are one, which can come after several."""
    joined: dict[tuple[int, int], MatchStep] = {}
    for step, before in steps:
        kept = joined.setdefault((step.word, step.node), step)
        if not any(before is known for known in kept.before):
            kept.before.append(before)
    return list(joined.values())


def _keep_first(layers: list[list[MatchStep]], label: Callable[[int], int]) -> None:
    """Of several ways to bind the same events keep the one that comes first: the events of each variable in turn."""
    for variable in range(1 + max(label(step.word) for layer in layers for step in layer)):
        # Which steps lead to the end without another event of the variable.
        without: list[set[int]] = [set() for _ in layers]
        without[-1] = {id(step) for step in layers[-1] if label(step.word) != variable}
        for at in range(len(layers) - 1, 0, -1):
            ends = [step for step in layers[at] if id(step) in without[at]]
            before = {id(earlier): earlier for step in ends for earlier in step.before}
            without[at - 1] = {key for key, earlier in before.items() if label(earlier.word) != variable}
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


def _after(layer: Sequence[MatchStep], before: Sequence[MatchStep]) -> list[MatchStep]:
    """The steps that can come after some others, and no longer after those that are gone."""
    kept = {id(step) for step in before}
    for step in layer:
        step.before = [earlier for earlier in step.before if id(earlier) in kept]
    return [step for step in layer if step.before]


def _prune(layers: list[list[MatchStep]]) -> None:
    """Steps that no longer lead to the end are gone."""
    for at in range(len(layers) - 1, 0, -1):
        needed = {id(earlier) for step in layers[at] for earlier in step.before}
        layers[at - 1] = [step for step in layers[at - 1] if id(step) in needed]
