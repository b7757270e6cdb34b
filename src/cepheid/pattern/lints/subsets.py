"""The closure that makes a query explode: under skip_till_any_match every subset of the events is a match."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.errors import EvaluationError
from cepheid.pattern.tree.nodes import EventPattern, PatternTree, Repeat, Strategy
from cepheid.pattern.tree.walk import walk


def closure_of_subsets(pattern: PatternTree, strategies: Mapping[str, Strategy]) -> Repeat | None:
    """The first closure without an upper bound that is under skip_till_any_match."""
    for node in walk(pattern):
        if isinstance(node, Repeat) and node.high is None and Strategy.ANY in map(strategies.get, variables_in(node)):
            return node
    return None


def variables_in(pattern: PatternTree) -> list[str]:
    """The variables of a pattern whose events have names."""
    return [str(event.variable) for event in walk(pattern) if isinstance(event, EventPattern)]


def too_many_runs(pattern: PatternTree, strategies: Mapping[str, Strategy], problem: str) -> EvaluationError:
    """The error for a query that has more runs than can be held: where they come from, and what to do."""
    closure = closure_of_subsets(pattern, strategies)
    if closure is None:
        remedy = "shorten WITHIN, or add conditions or [attr]; explain() says what splits the events"
        return EvaluationError("CEP504", problem, remedy)
    names = ", ".join(f"{name}[]" for name in variables_in(closure))
    message = f"{problem}: under skip_till_any_match there is one for every subset of the events of {names}"
    remedy = (
        "use skip_till_next_match, WHERE skip_till_next_match { … }; or shorten WITHIN, or add conditions or [attr]"
    )
    return EvaluationError("CEP504", message, remedy, closure.span)
