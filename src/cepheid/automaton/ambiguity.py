"""Whether two ways through an automaton can give one match: then equal matches have to be found and counted once."""

from __future__ import annotations

from cepheid.automaton.model import RegisterAutomaton


def is_ambiguous(automaton: RegisterAutomaton) -> bool:
    """Two different paths that bind the same variables in the same order, from the beginning to a match.

    Two copies of the automaton go side by side; if they can part and both reach a match, some match has two paths.
    """
    steps: dict[int | None, dict[str, list[int]]] = {}
    for arc in automaton.arcs:
        source = None if arc.source is None else automaton.states[arc.source].config
        if source is not None and arc.source not in automaton.entries[source]:
            continue  # of a state that a run is in instead of another, which has this arc as well
        steps.setdefault(source, {}).setdefault(arc.label, []).append(arc.target)
    ends: dict[int, int] = {}
    for exit_ in automaton.exits:
        ends[exit_.config] = ends.get(exit_.config, 0) + 1
    seen: set[tuple[int | None, int | None, bool]] = set()
    todo: list[tuple[int | None, int | None, bool]] = [(None, None, False)]
    while todo:
        pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        left, right, parted = pair
        if left in ends and right in ends and (parted or (left == right and ends[left] > 1)):
            return True
        for variable, targets in steps.get(left, {}).items():
            others = steps.get(right, {}).get(variable, [])
            for k, first in enumerate(targets):
                for m, second in enumerate(others):
                    apart = parted or first != second or (left == right and k != m)
                    todo.append((first, second, apart))
    return False
