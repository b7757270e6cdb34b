"""The events that a run has bound: what an expression is evaluated on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cepheid.values.rows import Event
from cepheid.values.value import Value


@dataclass(frozen=True, slots=True)
class Bindings:
    """What a run has bound.

    `all`: every event of each variable that was reached; `now`: the one that `a.x` means, of a group that of its
    current round. `register`: the fields of an automaton's register.
    """

    all: Mapping[str, tuple[Event, ...]]
    now: Mapping[str, Event]
    register: Mapping[str, Value] = field(default_factory=dict)


NOTHING = Bindings({}, {})

Evaluator = Callable[[Bindings], Value]
"""An expression as a function."""
