"""Which machine runs a query: a kernel where one can be generated, compiled where that pays."""

from __future__ import annotations

from cepheid.automaton.build import build
from cepheid.automaton.model import NotNative
from cepheid.engine.generated import Generated
from cepheid.engine.interpreted import Interpreted
from cepheid.engine.stage import Machine
from cepheid.kernel.load import has_numba
from cepheid.pattern.bind import Bound

ENOUGH = 5_000
"""Events from which on compiling, or loading what was compiled before, is faster than not to."""


def make_machine(query: Bound, kind: str | None = None, *, engine: str, events: int | None) -> Machine:
    """A machine for a query; `events` is how many there will be, `kind` what wrote a state, if that is known."""
    if kind == "interpreted" or (kind is None and engine == "interpreted"):
        return Interpreted(query)
    native = has_numba() and (engine == "compiled" or (engine == "auto" and events is not None and events >= ENOUGH))
    try:
        return Generated(build(query), native=native, events=events)
    except NotNative:
        return Interpreted(query)
