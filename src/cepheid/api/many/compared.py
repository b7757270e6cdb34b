"""Rules of two sets compared by their ids: which are the same, with the same values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.many.id_index import IdIndex
from cepheid.api.many.written_rules import mark_of
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.language import parse
from cepheid.language.texts.constants import as_literal
from cepheid.language.texts.template import with_constants


def same_rules(wanted: RuleSet, known: RuleSet, index: IdIndex, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of wanted rules that are among the known ones, and their numbers there.

    index: of the ids of the known rules; alive: which of these count, by number.
    """
    marks = [mark_of(template, known.roles) for template in known.templates]
    wanted_numbers: list[np.ndarray] = [np.zeros(0, np.int64)]
    other: list[np.ndarray] = [np.zeros(0, np.int64)]
    if wanted.ids.type != known.ids.type or wanted.roles != known.roles:
        return wanted_numbers[0], other[0]
    for some in wanted.rules:
        template = wanted.templates[some.template]
        mark = mark_of(template, wanted.roles)
        places, numbers = index.find(wanted.names(some.numbers), known.ids)
        there = alive[numbers]
        places, numbers = places[there], numbers[there]
        for candidates in known.rules:
            other_template = known.templates[candidates.template]
            same_template = marks[candidates.template] == mark
            same_columns = candidates.constants.schema.equals(some.constants.schema)
            by_text = template.texts != other_template.texts and _alike(template, other_template)
            if not by_text and not (same_template and same_columns):
                continue
            mine = np.flatnonzero(np.isin(numbers, candidates.numbers))
            if not len(mine):
                continue
            rows = np.searchsorted(candidates.numbers, numbers[mine])
            own_rows, another = some.take(places[mine]), candidates.take(rows)
            if by_text:
                equal = _equal_programs(_programs(template, own_rows), _programs(other_template, another))
            else:
                equal = _equal_rows(own_rows, another)
            wanted_numbers.append(some.numbers[places[mine][equal]])
            other.append(numbers[mine][equal])
    return np.concatenate(wanted_numbers), np.concatenate(other)


def _alike(first: Template, second: Template) -> bool:
    """Whether all rules of two templates share the same, and both come from texts."""
    cut = all(
        name.startswith("$") for template in (first, second) if not template.texts for name in template.parameters
    )
    return cut and first.params == second.params and set(first.functions or ()) == set(second.functions or ())


def _programs(template: Template, rules: Rules) -> Iterator[str]:
    """What each rule is, with its constants, as its text gives it."""
    if template.texts:
        yield from (repr(parse(text)) for text in rules.texts())
        return
    columns = {name: rules.constants.column(constant_column(name)) for name in template.parameters}
    for row in range(len(rules)):
        constants = {name: as_literal(column, row) for name, column in columns.items()}
        yield repr(with_constants(template.program, constants))


def _equal_programs(texts: Iterator[str], other: Iterator[str]) -> np.ndarray:
    return np.flatnonzero([first == second for first, second in zip(texts, other, strict=True)])


def _equal_rows(rules: Rules, other: Rules) -> np.ndarray:
    """Which rules have the same constants; NULL is the same as NULL, and NaN as NaN."""
    equal: np.ndarray = np.ones(len(rules), bool)
    for first, second in zip(rules.constants.columns, other.constants.columns, strict=True):
        equal &= _equal(first, second)
    return np.flatnonzero(equal)


def _equal(first: pa.ChunkedArray, second: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_nested(first.type):
        return np.array([a == b for a, b in zip(first.to_pylist(), second.to_pylist(), strict=True)], bool)
    if isinstance(first.type, pa.DictionaryType):
        first, second = first.cast(first.type.value_type), second.cast(first.type.value_type)
    same = pc.equal(first, second).fill_null(False)
    same = pc.or_(same, pc.and_(first.is_null(), second.is_null()))
    if pa.types.is_floating(first.type):
        same = pc.or_(same, pc.and_(pc.is_nan(first), pc.is_nan(second)).fill_null(False))
    equal: np.ndarray = same.combine_chunks().to_numpy(zero_copy_only=False)
    return equal


def only(rules: RuleSet, numbers: np.ndarray) -> RuleSet:
    """Some rules, numbered from 0 in their order."""
    wanted = np.sort(numbers)
    kept = rules.without(np.setdiff1d(np.arange(len(rules.ids)), wanted))
    moved = tuple(replace(some, numbers=np.searchsorted(wanted, some.numbers)) for some in kept.rules)
    return RuleSet(rules.templates, moved, rules.ids.take(from_numpy(wanted)), rules.roles)
