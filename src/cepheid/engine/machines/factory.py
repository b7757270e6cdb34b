"""Which machines can run a query: on a kernel if there is one, by the forced plan or one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.engine.encoding.batch import StreamCodes
from cepheid.engine.machines.forms.events import EventForm
from cepheid.engine.machines.forms.form import ResultForm
from cepheid.engine.machines.forms.registers import RegisterForm
from cepheid.engine.machines.forms.values import ValueForm
from cepheid.engine.machines.interpreted.automata import AutomatonStepper
from cepheid.engine.machines.interpreted.expressions import ExpressionStepper
from cepheid.engine.machines.interpreted.machine import Interpreted
from cepheid.engine.machines.interpreted.patterns import PatternStepper
from cepheid.engine.machines.interpreted.stepper import Stepper
from cepheid.engine.machines.plans import Plans
from cepheid.engine.machines.policy import Policy, read_policy
from cepheid.engine.machines.protocol import Machine
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.machines.stack_machine import StackMachine
from cepheid.engine.planning.candidates import Question
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.engine.planning.decision import consider
from cepheid.engine.planning.plan_chooser import PlanChooser
from cepheid.errors import UsageError
from cepheid.front.runnable import Runnable
from cepheid.pattern.tree.nodes import Language, Output
from cepheid.plan.spec import AUTO, AUTOMATON, PlanSpec


@dataclass(frozen=True, slots=True)
class Kinds:
    """How the queries of one language are run: what matches look like on a scan, and what runs without a kernel.

    plans: there may be several ways to run it. lasts: its arcs may come and go in a running stream.
    """

    form: Callable[[], ResultForm]
    stepper: Callable[[Runnable], Stepper[Any]]
    plans: bool = True
    lasts: bool = False


KINDS: Mapping[Language, Kinds] = {
    Language.PATTERN: Kinds(EventForm, PatternStepper),
    Language.AUTOMATON: Kinds(RegisterForm, AutomatonStepper, lasts=True),
    Language.CESAR: Kinds(ValueForm, ExpressionStepper, plans=False),
}


@dataclass(frozen=True, slots=True)
class MachineFactory:
    """How the machines of a run are made.

    events: how many there will be, None for a stream.
    steady: when a match is given may not depend on the plan. Joins hold some back that are certain.
    """

    engine: str
    choice: PlanSpec
    events: int | None
    steady: bool = False

    def __call__(self, compiled: CompiledQuery, codes: StreamCodes, kind: str | None = None) -> Plans:
        """Return the plans for a query of a stream. `kind`: the kind of machine whose state is restored, if any."""
        if self.events is None and compiled.query.untyped and kind in (None, "adaptive", Interpreted.kind):
            return _general(compiled)  # whose state does not depend on the type that the column will have
        choice = self.choice
        if self.steady and choice == AUTO and (compiled.query.waits or compiled.query.output is not Output.ALL):
            choice = AUTOMATON
        if choice == AUTO and not KINDS[compiled.query.language].plans:
            choice = AUTOMATON
        if choice.joins and compiled.hollow:
            choice = AUTO  # a column without any value: nothing is known of it, and nothing can match
        if choice.joins and (why := consider(Question(compiled, choice)).why_not(choice.way)):
            message = f"plan '{choice}' does not apply: {why}"
            raise UsageError(
                "CEP610", message, "use plan='auto', which takes one that applies; explain() says which do"
            )
        if kind == "adaptive":  # a state before the first event
            kind = None
        if kind is not None and choice != AUTO and (kind == StackMachine.kind) != choice.joins:
            held = "stacks" if kind == StackMachine.kind else "runs"
            message = f"the state is of {held}, and plan '{choice}' is not"
            raise UsageError("CEP610", message, "restore it with plan='auto', or with a plan of that kind")
        if kind == Interpreted.kind:
            return _general(compiled)
        policy = read_policy(self.engine, once=codes.once)

        def make(choice: PlanSpec, *, native: bool = False) -> Machine:
            return self._make(compiled, codes, policy, choice, restored=kind is not None, native=native)

        # How the stream is split is open where there are several [attr].
        several = choice.joins and (len(compiled.query.same) > 1 or kind == StackMachine.kind)
        if (choice == AUTO and self.engine != "interpreted") or several or kind == StackMachine.kind:
            return Plans(choice, make, PlanChooser(compiled, codes, choice))
        return Plans(choice, make)

    def _make(
        self,
        compiled: CompiledQuery,
        codes: StreamCodes,
        policy: Policy,
        choice: PlanSpec,
        *,
        restored: bool,
        native: bool,
    ) -> Machine:
        machine: ScanMachine | StackMachine
        if choice.joins:
            machine = StackMachine(compiled, codes, policy, choice, self.events or 0)
        elif (self.engine == "interpreted" and not restored) or compiled.why_interpreted:
            return interpreted(compiled.query)
        else:
            machine = scan_machine(compiled, codes, policy, self.events or 0)
        if native:
            machine.go_native()
        return machine


def scan_machine(compiled: CompiledQuery, codes: StreamCodes, policy: Policy, events: int = 0) -> ScanMachine:
    """The machine that runs a query on the scan of its automaton."""
    kinds = KINDS[compiled.query.language]
    lasts = kinds.lasts and not codes.once
    return ScanMachine(compiled.lasting if lasts else compiled, codes, policy, kinds.form(), events)


def _general(compiled: CompiledQuery) -> Plans:
    return Plans(AUTOMATON, lambda choice, *, native=False: interpreted(compiled.query))


def interpreted(query: Runnable) -> Machine:
    """The machine that runs a query as the reference does."""
    return Interpreted(query, KINDS[query.language].stepper(query))
