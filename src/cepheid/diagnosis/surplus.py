"""What a query with matches may have got wrong: there are more of them than was meant, or fewer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheid.diagnosis.as_text import near
from cepheid.diagnosis.column_hints import needed_types
from cepheid.diagnosis.counting import Counting
from cepheid.diagnosis.facts import Hint
from cepheid.diagnosis.key_columns import other_keys
from cepheid.diagnosis.run_hints import is_tied
from cepheid.diagnosis.what_if import Count
from cepheid.diagnosis.whole_columns import QueryColumns
from cepheid.diagnosis.written import text_of
from cepheid.engine.matches.in_words import said_matches
from cepheid.language import print_expression
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.durations import NANOSECONDS, spell
from cepheid.pattern.lints.subsets import closure_of_subsets, variables_in
from cepheid.pattern.tree.nodes import QueryTree, Selection, Strategy
from cepheid.pattern.tree.walk import walk

_MOSTLY = 0.5  # of the complete runs are dropped
_KEYS = 3  # columns that are tried as a key
_COPIED = 0.2  # of the rows
_LOOKED_AT = 100_000  # rows
_SOME = 1_000  # events, which are no small example
_FAR = 10  # times as long as the stream
_SINCE_1970 = 10 * NANOSECONDS["days"] * 365  # of later ones CEP009 says whether the unit is wrong


def surplus_hints(
    written: QueryTree, counted: Counting, columns: QueryColumns, matches: int, count: Count
) -> Iterator[Hint]:
    """Matches of every subset, matches of events that do not belong together, matches that are dropped."""
    yield from _compared_with_itself(columns)
    yield from _no_witness(columns)
    yield from _copies(columns)
    yield from _endless(columns)
    if count.events == columns.table.num_rows:
        yield from _subsets(written, counted, matches, count)
        yield from _no_key(written, columns, matches, count)
    yield from _untied(counted)
    yield from _dropped(counted)


def _subsets(written: QueryTree, counted: Counting, matches: int, count: Count) -> Iterator[Hint]:
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


def _no_key(written: QueryTree, columns: QueryColumns, matches: int, count: Count) -> Iterator[Hint]:
    """Nothing says that the events of a match belong together."""
    query = columns.query
    needed = needed_types(columns)
    if needed is None or len(query.positive) < 2 or query.same or query.partition_by:
        return
    for condition in query.conditions:
        for node in walk(condition):
            if isinstance(node, ex.Compare) and node.operator == "=" and not _is_itself(node):
                return
    for name in other_keys(columns, [], needed)[:_KEYS]:
        key = ex.SameValue(name)
        fewer, exact = count.of(replace(written, where=(*written.where, key))) or (0, False)
        if exact and 0 < 2 * fewer <= matches:
            message = f"the query has no key: the events of a match may have different values of '{name}'"
            yield Hint("CEP035", message, f"{text_of(key)} in WHERE would give {fewer:,} of {said_matches(matches)}")
            return


def _is_itself(node: ex.Compare) -> bool:
    reads = any(isinstance(part, ex.Attribute) for part in walk(node))
    return reads and print_expression(node.left) == print_expression(node.right)


def _compared_with_itself(columns: QueryColumns) -> Iterator[Hint]:
    """Report a condition such as `a.user = a.user`."""
    for condition in columns.query.conditions:
        if isinstance(condition, ex.Compare) and _is_itself(condition):
            message = f"{text_of(condition)} compares a value with itself, so that it says nothing of two events"
            yield Hint("CEP035", message, "name another variable on one side")


def _no_witness(columns: QueryColumns) -> Iterator[Hint]:
    """A negation whose events never have the key of the others, so that it never drops a run."""
    query = columns.query
    if query.schema.roles.types is not None or query.schema.roles.type is None:
        return
    keys = dict.fromkeys([test.attribute for test in query.same] + list(query.partition_by))
    positive = {name for component in query.positive for name in component.types}
    negated = [component for component in query.components.values() if component not in query.positive]
    for name in (name for name in keys if name in columns.table.column_names):
        codes = columns.codes(name)
        for component in negated:
            kinds = set(component.types)
            if not kinds or not positive or kinds & positive or not any(columns.types.get(kind) for kind in kinds):
                continue
            absent_codes, others = (codes[columns.of_types(sorted(some))] for some in (kinds, positive))
            if not np.intersect1d(absent_codes[absent_codes > 0], others).size:
                kind = "|".join(component.types)
                message = f"!{component.variable} never drops a run: no {kind} has a value of the key '{name}' that "
                yield Hint("CEP026", f"{message}others have", f"compare the columns that tie {kind} to the others")


def _copies(columns: QueryColumns) -> Iterator[Hint]:
    """Rows that are equal in all columns, as when a source sends some of them twice."""
    table = columns.table.slice(0, _LOOKED_AT)
    if any(pa.types.is_nested(field.type) or pa.types.is_null(field.type) for field in table.schema):
        return
    copies = table.num_rows - table.group_by(table.column_names, use_threads=False).aggregate([]).num_rows
    if copies >= _COPIED * table.num_rows:
        of = (
            f"{table.num_rows:,} rows" if table.num_rows == columns.table.num_rows else f"the first {_LOOKED_AT:,} rows"
        )
        message = f"{copies:,} of {of} are copies of another row, and each is an event of its own"
        yield Hint("CEP035", message, "drop the copies before, if a source sends rows more than once")


def _endless(columns: QueryColumns) -> Iterator[Hint]:
    """A window far longer than the stream, whose times are numbers that may be of another unit."""
    query, span = columns.query, columns.seen.span
    time = query.schema.roles.time
    if span is None or query.within is None or query.within.nanoseconds is None or columns.seen.events < _SOME:
        return
    window, length = query.within.nanoseconds, span[1] - span[0]
    if not pa.types.is_integer(columns.table.column(time).type) or span[1] > _SINCE_1970:
        return
    if _FAR * length < window < 1_000 * length:
        message = f"WITHIN {spell(window)} is far longer than the whole stream, {near(length)}: it ends no run"
        yield Hint("CEP023", message, f"check the unit of '{time}': pass unit='s' if it has seconds")


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
