"""Changes of an automaton that runs (S17), as Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cepheid.builder.automata import make_arc, read_trigger
from cepheid.builder.columns import Column
from cepheid.builder.misuse import check_name, misuse, shown
from cepheid.front.automata.timeline import AddArc, RemoveArc
from cepheid.pattern.tree.nodes import Fires


def add_arc(
    source: str,
    target: str,
    /,
    condition: Column | str | None = None,
    *,
    name: str | None = None,
    at: object = None,
    until: object = None,
    on: str | Sequence[str] | None = None,
    at_end: bool = False,
    epsilon: bool = False,
    set: Mapping[str, object] | None = None,
    **fields: object,
) -> AddArc:
    """An arc that holds for events after the time `at`, and up to the time `until`; written as `arc` of an automaton.

    epsilon: it takes no event.

    >>> from cepheid import builder as cep
    >>> cep.add_arc("q2", "q3", "e.change > 0.5", name="done", at=1_000).arc.name
    'done'
    """
    fires, types = read_trigger(on, at_end)
    if not isinstance(epsilon, bool):
        raise misuse(f"epsilon can't be {shown(epsilon)}", "pass True or False")
    if epsilon and (on is not None or at_end):
        raise misuse("an EPSILON arc takes no event", "leave out on= and at_end=, or epsilon=True")
    arc = make_arc(source, target, condition, name=name, set=set, fields=fields)
    return AddArc(replace(arc, fires=Fires.NOTHING if epsilon else fires, types=types), at, until)


def remove_arc(name: str, /, at: object = None) -> RemoveArc:
    """An arc holds for events up to the time `at`, and no longer.

    >>> from cepheid import builder as cep
    >>> cep.remove_arc("done", at=1_000)
    RemoveArc(name='done', at=1000)
    """
    return RemoveArc(check_name(name, "an arc", "write remove_arc('done')"), at)
