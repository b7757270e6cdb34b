"""When a kernel is worth compiling: in the time that it takes, plain Python processes some 40,000 events."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cepheid.errors import UsageError, did_you_mean
from cepheid.kernel.compile import Compilable, has_compiler

ENOUGH_TO_LOOK = 8_000
"""Work from which on it is asked whether the kernel was compiled before: that loads the compiler's library."""
ENOUGH_TO_COMPILE = 40_000
"""Work from which on compiling is faster than going on without: events, runs that they meet, tests over several."""

TREE_EFFORT = 8
"""How many times longer than others the kernels of a tree take to compile: about a second."""


class CompilePolicy(Enum):
    """The values of the environment variable `CEPHEID_COMPILE`, which says when kernels are compiled."""

    NOW = "now"  # the work waits
    BESIDE = "beside"  # in a thread, while events run as plain Python
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Policy:
    """How the kernels of a run are compiled. `at_once`: before the first event, however few there are."""

    when: CompilePolicy
    at_once: bool = False

    def pays(self, kernels: Sequence[Compilable], events: int, done: int = 0, effort: int = 1) -> bool:
        """Whether compiled code is there, or so much is to be done that it is worth the wait.

        events: are known to come; nobody knows how many tests they need. done: how much work there was so far.
        effort: how many times longer than usual the kernels take to compile.
        """
        work = events + done
        if self.when is CompilePolicy.NEVER or self.at_once:
            return self.at_once
        if work < ENOUGH_TO_LOOK:
            return False
        much = events >= ENOUGH_TO_COMPILE or work >= ENOUGH_TO_COMPILE * effort
        if not much and not all(kernel.is_at_hand() for kernel in kernels):
            return False
        # All of them begin at once.
        return self.when is CompilePolicy.NOW or min([kernel.compile_beside() for kernel in kernels])


def read_policy(engine: str, *, once: bool) -> Policy:
    """Return the policy of an engine. With all events at hand (`once`) waiting is quickest; a stream never waits."""
    asked = os.environ.get("CEPHEID_COMPILE", "")
    if asked and asked not in {when.value for when in CompilePolicy}:
        remedy = did_you_mean(asked, [when.value for when in CompilePolicy], "values")
        raise UsageError("CEP601", f"CEPHEID_COMPILE is {asked!r}", remedy)
    if engine == "compiled" and has_compiler():
        return Policy(CompilePolicy.NOW, at_once=True)
    if engine != "auto" or not has_compiler():
        return Policy(CompilePolicy.NEVER)
    return Policy(CompilePolicy(asked) if asked else CompilePolicy.NOW if once else CompilePolicy.BESIDE)
