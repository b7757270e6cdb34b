"""Which machine runs a query: a kernel where one can be generated, compiled where that pays."""

from __future__ import annotations

from cepheid.engine.blueprint import Blueprint
from cepheid.engine.generated import Generated
from cepheid.engine.interpreted import Interpreted
from cepheid.engine.joined import Joined
from cepheid.engine.planned import Planned
from cepheid.engine.stage import Machine
from cepheid.errors import UsageError
from cepheid.kernel.load import has_numba
from cepheid.plan.choice import AUTO, Choice

ENOUGH = 5_000
"""Events from which on compiling, or loading what was compiled before, is faster than not to."""


def make_machine(
    blueprint: Blueprint, kind: str | None = None, *, engine: str, events: int | None, choice: Choice
) -> Machine:
    """A machine for a query; `events` is how many there will be, `kind` what wrote a state, if that is known."""
    if choice.joins and blueprint.hollow:
        choice = AUTO  # a column without any value: nothing is known of it, and nothing can match
    if choice.joins and blueprint.why_not_joined:
        message = f"plan '{choice}' does not apply: {blueprint.why_not_joined}"
        raise UsageError("CEP610", message, "use plan='auto', which takes one that applies; explain() says which do")
    native = has_numba() and (engine == "compiled" or (engine == "auto" and events is not None and events >= ENOUGH))
    later = ENOUGH if engine == "auto" and events is None and has_numba() else None

    def make(choice: Choice) -> Machine:
        if choice.joins:
            return Joined(blueprint, choice, native=native, events=events, compile_after=later)
        if (engine == "interpreted" and kind is None) or blueprint.automaton is None:
            return Interpreted(blueprint.query)
        return Generated(blueprint, native=native, events=events, compile_after=later)

    if kind == "planned":  # a state before the first event
        kind = None
    if kind is not None and choice != AUTO and (kind == "joined") != choice.joins:
        message = f"the state is of {'stacks' if kind == 'joined' else 'runs'}, and plan '{choice}' is not"
        raise UsageError("CEP610", message, "restore it with plan='auto', or with a plan of that kind")
    if kind == "interpreted":
        return Interpreted(blueprint.query)
    several = choice.joins and (len(blueprint.query.same) > 1 or kind == "joined")  # how the stream is split is open
    if (choice == AUTO and engine != "interpreted") or several or kind == "joined":
        return Planned(blueprint, make, once=events is not None, forced=choice)
    return make(choice)
