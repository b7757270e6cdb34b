"""A query whose WHERE changes while it runs (S17): each condition holds for some time, and is one condition again.

A condition goes by the time of the event that it is tested on. So `b.x > 5` until the time 10 is
`b.ts > 10 OR b.x > 5`, and nothing that runs a query knows of its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from cepheid.errors import PatternError
from cepheid.front.analysed import Analysed
from cepheid.pattern.binding.placement import place
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.pattern.tree.uses import Use, is_iterated, uses

Constant = Callable[[int], ex.Literal]
"""Makes a constant of a time in ticks."""

_CLAUSES = {"streams": "FROM", "sees": "the condition of FROM", "returns": "RETURN", "strategies": "the strategy"}


@dataclass(frozen=True, slots=True)
class Version:
    """What a query asks from a time on, in ticks; None: from the beginning."""

    query: Analysed
    since: int | None = None


def check_version(old: Analysed, new: Analysed, name: str) -> None:
    """Refuse a query that differs in more than the conditions of its WHERE."""
    differ = [*differences(replace(old.query, where=()), replace(new.query, where=()))]
    if old.same != new.same:
        differ.append("[attr]")
    refuse_differences(differ, name, "conditions of WHERE")


def differences(old: QueryTree, new: QueryTree) -> Iterator[str]:
    """The clauses in which two queries differ."""
    for field in fields(QueryTree):
        if field.compare and getattr(old, field.name) != getattr(new, field.name):
            yield _CLAUSES.get(field.name, field.name.upper().replace("_", " "))


def refuse_differences(differ: Sequence[str], name: str, can: str) -> None:
    """Say in what a query can't be another one."""
    if differ:
        message = f"the query in place of '{name}' differs in {', '.join(differ)}; only {can} can change"
        remedy = f"remove '{name}' and add the new query under a name of its own: then it begins without the old state"
        raise PatternError("CEP229", message, remedy)


def one_query(versions: Sequence[Version], constant: Constant) -> QueryTree:
    """The query that tests on each event the conditions of the version that is valid at its time."""
    last = versions[-1].query
    if len(versions) == 1:
        return last.query
    wanted: dict[ex.Expression, list[int]] = {}
    for number, version in enumerate(versions):
        for condition in version.query.conditions:
            wanted.setdefault(condition, []).append(number)
    where: list[ex.Expression] = list(last.same)
    for condition, numbers in wanted.items():
        for begin, end in _stretches(numbers):
            since = versions[begin].since
            until = versions[end + 1].since if end + 1 < len(versions) else None
            where += _during(condition, since, until, last, constant)
    return replace(last.query, where=tuple(where))


def _stretches(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers."""
    begin = 0
    for k in range(1, len(numbers) + 1):
        if k == len(numbers) or numbers[k] != numbers[k - 1] + 1:
            yield numbers[begin], numbers[k - 1]
            begin = k


def _during(
    condition: ex.Expression, since: int | None, until: int | None, query: Analysed, constant: Constant
) -> Iterator[ex.Expression]:
    """A condition that is tested on events after a time and up to another one."""
    if since is None and until is None:
        yield condition
        return
    for times in _times(condition, query):
        others = []
        if since is not None:
            before = tuple(_at_most(time, constant(since), several=len(times) > 1) for time in times)
            others.append(before[0] if len(before) == 1 else ex.And(before))
        if until is not None:
            others += [ex.Compare(">", time, constant(until)) for time in times]
        yield ex.Or((*others, condition))


def _at_most(time: ex.Expression, limit: ex.Expression, *, several: bool) -> ex.Expression:
    """Of several events, some may not be there: the others tell."""
    bounded = ex.Compare("<=", time, limit)
    return ex.Or((ex.IsNull(time), bounded)) if several else bounded


def _times(condition: ex.Expression, query: Analysed) -> Iterator[tuple[ex.Expression, ...]]:
    """The times of the events that a condition may be tested on, the last of which counts."""
    name = query.roles.time
    all_uses = uses(condition)
    if not all_uses:  # it is tested on every event
        for component in query.components.values():
            index = ex.Index.EACH if component.indexed else ex.Index.ONE
            yield (ex.Attribute(component.variable, index, name),)
        return
    placed = place([condition], query.layout, query.components)
    negated = [use.variable for use in all_uses if query.components[use.variable].negated]
    if negated:
        yield (ex.Attribute(negated[0], ex.Index.ONE, name),)
        return
    last = {query.layout.places[number].variable for number in placed.at_place}
    for number in placed.at_exit:
        last |= {use.variable for use in all_uses if use.variable in query.layout.loops[number].variables}
    by_variable = {variable: [use for use in all_uses if use.variable == variable] for variable in query.components}
    yield tuple(ex.Attribute(v, _index(by_variable[v]), name) for v in query.components if v in last)


def _index(of_variable: Sequence[Use]) -> ex.AnyIndex:
    """The last event of a variable that a condition reads."""
    indexes = [use.index for use in of_variable]
    if any(use.whole for use in of_variable):
        return ex.Index.LAST
    if any(map(is_iterated, indexes)):
        return ex.Index.CURRENT
    for index in (ex.Index.EACH, ex.Index.ONE):
        if index in indexes:
            return index
    nth = [index for index in indexes if isinstance(index, ex.Nth)]
    return max(nth, key=lambda index: index.number) if nth else ex.Index.FIRST
