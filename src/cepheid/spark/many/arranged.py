"""Rules in the buckets that a stream has: those of its start, those that come later, those of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.hosting import TEMPLATE, SharedOptions, with_parameters
from cepheid.engine.many.protocol import constant_column
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.errors import CepheidError
from cepheid.pattern.binding.schema import Schema
from cepheid.spark.many.split import RuleSplit, VariantRules, filled, parts_of
from cepheid.spark.many.steady import Steadily


def by_ids(rules: RuleSet) -> RuleSet:
    """The same rules in the order of their ids, whatever order they came in."""
    every = np.concatenate([some.numbers for some in rules.rules] or [np.zeros(0, np.int64)])
    wanted = every[pc.sort_indices(rules.names(every)).to_numpy()]
    rank = np.zeros(len(rules.ids), np.int64)
    rank[wanted] = np.arange(len(wanted))
    moved = []
    for some in rules.rules:
        order = np.argsort(rank[some.numbers])
        moved.append(replace(some.take(order), numbers=rank[some.numbers][order], framed=None))
    return replace(rules, rules=tuple(moved), ids=rules.names(wanted))


def arranged(
    ways: Sequence[RuleSplit], parts: Sequence[VariantRules], ids: pa.Array
) -> tuple[list[RuleSplit], np.ndarray]:
    """Other rules in the buckets of some ways; also the numbers of those that fit none of these."""
    parts_of: list[list[VariantRules]] = [[] for _ in ways]
    left: list[np.ndarray] = [np.zeros(0, np.int64)]
    for part in parts:
        place = next((k for k, way in enumerate(ways) if _fits(part, way)), None)
        if place is None:
            left.append(part.numbers)
        else:
            parts_of[place].append(part)
    return [_with(way, mine, ids) for way, mine in zip(ways, parts_of, strict=True)], np.concatenate(left)


def _fits(part: VariantRules, way: RuleSplit) -> bool:
    if way.column is not None:
        return way.column in part.constants
    return all(path in part.key for path in way.key)


def _with(way: RuleSplit, parts: Sequence[VariantRules], ids: pa.Array) -> RuleSplit:
    if not parts:
        nobody = np.zeros(0, np.int64)
        return replace(way, numbers=nobody, places=None if way.key else nobody, values=None)
    placement = Steadily(way.buckets, ids)
    if way.column is not None:
        return placement.by_constant(parts, way.column, way.first)
    numbers = np.sort(np.concatenate([part.numbers for part in parts]))
    return replace(way, numbers=numbers) if way.key else placement.by_rules(numbers, way.first)


# Templates that have no rules yet.


def with_all_parameters(rules: RuleSet, columns: Sequence[str], id: str) -> RuleSet:
    """The parameters of templates without rules, which are columns of the control stream."""
    templates = tuple(
        template if template.parameters or template.texts else with_parameters(template, columns, (id, TEMPLATE))
        for template in rules.templates
    )
    return replace(rules, templates=templates)


def forms_to_come(rules: RuleSet, columns: pa.Schema, options: SharedOptions, schema: Schema) -> list[VariantRules]:
    """How events would be divided for the first rules of templates that have none."""
    used = {some.template for some in rules.rules}
    variants: list[VariantRules] = []
    for number, template in enumerate(rules.templates):
        if number in used or template.texts:
            continue
        sample = Rules(number, np.zeros(1, np.int64), _sample(template, columns))
        try:
            parts = parts_of(replace(rules, rules=(sample,)), options, schema)
        except CepheidError:  # what is wrong with them is reported when they come
            continue
        variants += [part.only(np.zeros(len(part.numbers), bool)) for part in parts]
    return variants


def _sample(template: Template, columns: pa.Schema) -> pa.Table:
    """Values of the types that rules will have."""
    types = {name: columns.field(name).type for name in template.parameters}
    return pa.table({constant_column(name): filled(pa.nulls(1, type_)) for name, type_ in types.items()})
