"""By which plans a query can be run on a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cepheid.engine.machines.protocol import Machine
from cepheid.plan.spec import PlanSpec

if TYPE_CHECKING:
    from cepheid.engine.planning.plan_chooser import PlanChooser  # kernels are not needed before


class MakeMachine(Protocol):
    """Creates the machine of a plan. native: on compiled code from its first event."""

    def __call__(self, choice: PlanSpec, *, native: bool = False) -> Machine:
        """Create a machine without any state."""


@dataclass(frozen=True, slots=True)
class Plans:
    """The plan that was asked for, and what chooses among several (None: there is one)."""

    choice: PlanSpec
    make: MakeMachine
    chooser: PlanChooser | None = None
