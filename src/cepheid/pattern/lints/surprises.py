"""What is allowed in a query but likely to surprise: warnings that need neither a schema nor events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheid.errors import CepheidWarning
from cepheid.pattern.binding.having import Folding, folding
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.lints.contradictions import find_contradictions
from cepheid.pattern.lints.subsets import closure_of_subsets, variables_in
from cepheid.pattern.tree.nodes import PatternTree, QueryTree, Repeat, Strategy
from cepheid.pattern.tree.walk import walk


def find_surprises(query: QueryTree, strategies: Mapping[str, Strategy], roles: Roles) -> tuple[CepheidWarning, ...]:
    """The warnings about a query; the caller decides how to show them."""
    return (
        *_without_strategy(query, strategies),
        *_unbounded(query, strategies),
        *_tests_every_subset(query, strategies),
        *_never_true(query),
        *_before_the_first(query),
        *find_contradictions(query, roles),
    )


def _never_true(query: QueryTree) -> Iterator[CepheidWarning]:
    for condition in query.where:
        for node in walk(condition):
            if isinstance(node, ex.Compare) and any(_is_null(side) for side in (node.left, node.right)):
                remedy = "write IS NULL or IS NOT NULL"
                yield CepheidWarning("CEP003", "a comparison with NULL is never TRUE", remedy)


def _before_the_first(query: QueryTree) -> Iterator[CepheidWarning]:
    """A comparison with `a[i-2]` where there is none: a condition of its own, in which nothing deals with NULL."""
    for condition in query.where:
        nodes = list(walk(condition))
        if any(isinstance(node, ex.Or | ex.Not | ex.IsNull | ex.CaseWhen | ex.Call | ex.Quantified) for node in nodes):
            continue
        for back in (node for node in nodes if isinstance(node, ex.Attribute) and isinstance(node.index, ex.Back)):
            a = f"{back.variable}{back.index.value}"
            message = f"{a} is NULL for {back.variable}[2], so {back.variable}[] never gets a second event"
            yield CepheidWarning("CEP003", message, f"write {a}.{back.name} IS NULL OR …")
            break


def _is_null(node: ex.Expression) -> bool:
    return isinstance(node, ex.Literal) and node.value is None


def _without_strategy(query: QueryTree, strategies: Mapping[str, Strategy]) -> Iterator[CepheidWarning]:
    named = {name for selection in query.strategies for name in selection.variables or strategies}
    left = [variable for variable in strategies if variable not in named]
    if named and left:
        message = f"{', '.join(left)}: no strategy is given, so the default, skip_till_any_match, applies"
        yield CepheidWarning("CEP002", message, "give every variable a strategy")


def _unbounded(query: QueryTree, strategies: Mapping[str, Strategy]) -> Iterator[CepheidWarning]:
    """Skip-till-any Kleene without a window: as many matches as there are subsets."""
    names = _of_subsets(query, strategies)
    if names and query.within is None:
        closure = "a Kleene closure under skip_till_any_match without WITHIN matches every subset of the events"
        yield CepheidWarning("CEP001", f"{', '.join(names)}: {closure}", "add WITHIN or skip_till_next_match")


def _tests_every_subset(query: QueryTree, strategies: Mapping[str, Strategy]) -> Iterator[CepheidWarning]:
    """HAVING on as many matches as there are subsets, each of which is made to be tested."""
    names = _of_subsets(query, strategies)
    if not names or query.within is None or query.having is None:
        return
    arrays = [name for name in _arrays(query.pattern) if name in strategies]
    if folding(query.having, strategies, arrays, windowed=True) is not Folding.ALWAYS:
        many = "under skip_till_any_match there is one for every subset of the events"
        message = f"{', '.join(names)}: HAVING may have to be tested on each match, and {many}"
        yield CepheidWarning("CEP011", message, "use skip_till_next_match, or test it in WHERE")


def _of_subsets(query: QueryTree, strategies: Mapping[str, Strategy]) -> list[str]:
    closure = closure_of_subsets(query.pattern, strategies)
    return [] if closure is None else variables_in(closure)


def _arrays(pattern: PatternTree) -> set[str]:
    """The variables inside repetitions."""
    bodies = [node.body for node in walk(pattern) if isinstance(node, Repeat)]
    return {name for body in bodies for name in variables_in(body)}
