"""The engines by name, which plans they have, and what makes their machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.errors import UsageError, did_you_mean
from cepheid.plan.spec import PlanSpec, read_plan

if TYPE_CHECKING:
    from cepheid.engine.machines.factory import MachineFactory

ENGINES = ("auto", "compiled", "plain", "interpreted", "reference")


def check_engine(engine: object) -> None:
    """Refuse an engine that there is not."""
    if engine not in ENGINES:
        raise UsageError("CEP601", f"unknown engine {engine!r}", did_you_mean(str(engine), ENGINES, "engines"))


def read_choice(engine: object, plan: object) -> PlanSpec:
    """The plan that is asked for, which the engine must have."""
    check_engine(engine)
    choice = read_plan(plan)
    if choice.joins and engine in ("interpreted", "reference"):
        message = f"engine '{engine}' does not support plan '{choice}'"
        raise UsageError("CEP610", message, "use engine='auto', 'compiled' or 'plain'")
    return choice


def machine_factory(engine: str, choice: PlanSpec, events: int | None, *, steady: bool = False) -> MachineFactory:
    """What makes the machines of a run: they and their kernels are a third of what there is to import."""
    from cepheid.engine.machines.factory import MachineFactory

    return MachineFactory(engine, choice, events, steady)
