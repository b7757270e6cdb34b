"""Whether a query sees an event (S25)."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.scope import EVENT
from cepheid.values.bindings import Bindings
from cepheid.values.evaluate import Compiler
from cepheid.values.rows import Event


def sight_of(query: Runnable) -> Callable[[Event], bool]:
    """The test of an event by FROM: its types and its condition, which must be TRUE."""
    scope = query.scope
    if scope is None:
        return lambda event: True
    types = frozenset(scope.types)
    holds = Compiler(query).condition(scope.condition) if scope.condition is not None else None

    def sees(event: Event) -> bool:
        if types and event.type not in types:
            return False
        return holds is None or holds(Bindings({EVENT: (event,)}, {EVENT: event}))

    return sees
