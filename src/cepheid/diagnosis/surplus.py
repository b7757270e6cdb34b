"""What a query with matches may have got wrong: there are more of them than was meant, or fewer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheid.diagnosis.column_hints import needed_types
from cepheid.diagnosis.counting import Counting
from cepheid.diagnosis.facts import Hint, said_matches
from cepheid.diagnosis.key_columns import other_keys
from cepheid.diagnosis.run_hints import is_tied
from cepheid.diagnosis.what_if import Count
from cepheid.diagnosis.whole_columns import Columns
from cepheid.pattern import expressions as ex
from cepheid.pattern.subsets import closure_of_subsets, variables_in
from cepheid.pattern.tree import Query, Selection, Strategy
from cepheid.pattern.walk import walk

_MOSTLY = 0.5  # of the complete runs are dropped
_KEYS = 3  # columns that are tried as a key


def surplus_hints(written: Query, counted: Counting, columns: Columns, matches: int, count: Count) -> Iterator[Hint]:
    """Matches of every subset, matches of events that do not belong together, matches that are dropped."""
    if count.events == columns.table.num_rows:
        yield from _subsets(written, counted, matches, count)
        yield from _no_key(written, columns, matches, count)
    yield from _untied(counted)
    yield from _dropped(counted)


def _subsets(written: Query, counted: Counting, matches: int, count: Count) -> Iterator[Hint]:
    closure = closure_of_subsets(written.pattern, counted.query.strategies)
    if closure is None:
        return
    fewer, exact = count.of(replace(written, strategies=(Selection(Strategy.NEXT),))) or (0, False)
    if exact and 0 < 2 * fewer <= matches:
        names = ", ".join(f"{name}[]" for name in variables_in(closure))
        message = f"under skip_till_any_match every subset of the events that fit {names} is a match of its own"
        remedy = (
            f"if you want the longest ones only, skip_till_next_match would give {fewer:,} of {said_matches(matches)}"
        )
        yield Hint("CEP035", message, remedy)


def _no_key(written: Query, columns: Columns, matches: int, count: Count) -> Iterator[Hint]:
    """Nothing says that the events of a match belong together."""
    query = columns.query
    needed = needed_types(columns)
    if needed is None or len(query.positive) < 2 or query.same or query.partition_by:
        return
    for condition in query.conditions:
        for node in walk(condition):
            if isinstance(node, ex.Compare) and node.operator == "=":
                return
    for name in other_keys(columns, [], needed)[:_KEYS]:
        fewer, exact = count.of(replace(written, where=(*written.where, ex.SameValue(name)))) or (0, False)
        if exact and 0 < 2 * fewer <= matches:
            message = f"the query has no key: the events of a match may have different values of '{name}'"
            yield Hint("CEP035", message, f"[{name}] in WHERE would give {fewer:,} of {said_matches(matches)}")
            return


def _untied(counted: Counting) -> Iterator[Hint]:
    """A negation without a key drops most runs."""
    refuted, complete = sum(counted.witnesses.values()), counted.given.total()
    if not refuted or refuted < _MOSTLY * complete:
        return
    variable = counted.witnesses.most_common(1)[0][0][0]
    if not is_tied(counted, variable):
        message = f"{refuted:,} of {complete:,} complete runs are dropped because of !{variable}, which has no key"
        yield Hint("CEP026", message, f"if it must belong to the others, add a condition: {variable}.… = …")


def _dropped(counted: Counting) -> Iterator[Hint]:
    complete = counted.given.total()
    for clause, number in counted.given.items():
        if clause.startswith(("OUTPUT", "COOLDOWN")) and number > _MOSTLY * complete:
            message = f"{clause} drops {number:,} of {complete:,} complete runs, which begin before another one is over"
            if clause == "COOLDOWN":
                message = f"COOLDOWN drops {number:,} of {complete:,} complete runs, which begin too soon after a match"
            yield Hint("CEP036", message, "leave it out to see all of them")
