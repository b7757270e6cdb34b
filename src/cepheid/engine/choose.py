"""Which machine runs a query: a kernel where one can be generated, compiled where that pays."""

from __future__ import annotations

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.generated import Generated
from cepheid.engine.interpreted import Interpreted
from cepheid.engine.stage import Machine
from cepheid.kernel.load import has_numba

ENOUGH = 5_000
"""Events from which on compiling, or loading what was compiled before, is faster than not to."""


def make_machine(blueprint: Blueprint, kind: str | None = None, *, engine: str, events: int | None) -> Machine:
    """A machine for a query; `events` is how many there will be, `kind` what wrote a state, if that is known."""
    wanted = kind or ("interpreted" if engine == "interpreted" else "generated")
    if wanted == "interpreted" or blueprint.automaton is None:
        return Interpreted(blueprint.query)
    native = has_numba() and (engine == "compiled" or (engine == "auto" and events is not None and events >= ENOUGH))
    later = ENOUGH if engine == "auto" and events is None and has_numba() else None
    return Generated(blueprint, native=native, events=events, compile_after=later)
