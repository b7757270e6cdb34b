"""How the events are divided for which rules: by a key, by constants of the rules, or not, and then the rules are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.api.hosting import SharedOptions, example
from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.routed.variants import VariedTemplate
from cepheid.engine.many.rules import Rules, RuleSet, Template
from cepheid.front.templates.rule_columns import NotJoinedError
from cepheid.pattern.binding.schema import Schema
from cepheid.pattern.expressions.paths import Path
from cepheid.pattern.tree.flow import EVENTS
from cepheid.spark.many.constant_keys import constant_keys
from cepheid.spark.partitioning import SparkPartitioning, choose_partitioning


@dataclass(frozen=True, eq=False)
class RuleSplit:
    """Rules, and how the events are divided for them; a rule finds each match in one bucket.

    numbers: of the rules. buckets: how many there are; first: the number of the first one.
    key: columns whose hash is the bucket; every bucket has all rules.
    column, values: events go to the bucket of the value of this column; those with another value matter to no rule.
    slices: the events are divided by time; every slice has all rules.
    None of these: every event goes to every bucket.
    places: of each rule, its bucket; -1: in none, as it asks for NULL. None: in all of them.
    """

    numbers: np.ndarray
    buckets: int
    first: int
    key: tuple[Path, ...] = ()
    column: str | None = None
    values: pa.Table | None = None  # value, bucket
    places: np.ndarray | None = None
    slices: SparkPartitioning | None = None

    def numbers_in(self, bucket: int) -> np.ndarray:
        """The rules of a bucket."""
        return self.numbers if self.places is None else self.numbers[self.places == bucket]

    @property
    def named(self) -> list[object]:
        """What the state of a stream depends on: how events are divided, whatever rules there are."""
        return [self.buckets, self.first, [list(path) for path in self.key], self.column]


@dataclass(frozen=True, eq=False)
class VariantRules:
    """Rules of one variant: the keys, windows and constants by which events can be divided for them."""

    numbers: np.ndarray
    by: SparkPartitioning
    constants: Mapping[str, pa.Array]

    @property
    def key(self) -> tuple[Path, ...]:
        """The columns on which all events of a match agree."""
        return self.by.key

    def only(self, kept: np.ndarray) -> VariantRules:
        """Some of the rules, by a mask."""
        constants = {name: values.filter(from_numpy(kept)) for name, values in self.constants.items()}
        return VariantRules(self.numbers[kept], self.by, constants)


class Buckets(Protocol):
    """How many buckets there are, and which rules are in which.

    keyed: how many buckets events are divided among by a key. slices: into how many times, if that may be.
    """

    keyed: int
    slices: int | None

    def by_constant(self, parts: Sequence[VariantRules], column: str, first: int) -> RuleSplit:
        """Rules by the constant that they ask for in a column."""

    def by_rules(self, numbers: np.ndarray, first: int) -> RuleSplit:
        """Rules that are divided among buckets, to each of which all events go."""


class Evenly:
    """Rules and values one after the other, as many in each bucket. tasks: how many run at the same time."""

    def __init__(self, tasks: int) -> None:
        self.keyed = tasks
        self.slices: int | None = 2 * tasks

    def by_constant(self, parts: Sequence[VariantRules], column: str, first: int) -> RuleSplit:
        """As many values in each bucket."""
        numbers, coded = constants_of(parts, column)
        buckets = max(1, min(2 * self.keyed, len(coded.dictionary)))
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        places = np.where(codes < 0, -1, first + codes % buckets)
        of_value = from_numpy(first + np.arange(len(coded.dictionary)) % buckets).cast(pa.int32())
        values = pa.table({"value": coded.dictionary, "bucket": of_value})
        return RuleSplit(numbers, buckets, first, column=column, values=values, places=places)

    def by_rules(self, numbers: np.ndarray, first: int) -> RuleSplit:
        """As many rules in each bucket."""
        buckets = max(1, min(self.keyed, len(numbers)))
        return RuleSplit(numbers, buckets, first, places=first + np.arange(len(numbers)) % buckets)


def split(parts: Sequence[VariantRules], placement: Buckets) -> list[RuleSplit]:
    """How to divide the events for all rules."""
    ways: list[RuleSplit] = []

    def first() -> int:
        return sum(way.buckets for way in ways)

    common = _common_key(parts)
    shared = [c for c in _shared_constants(parts) if not common or (c,) in common]
    if common and not shared:
        return [RuleSplit(_numbers(parts), placement.keyed, 0, key=common)]
    rest = parts
    while shared_constant := _shared_constants_of_some(rest, shared):
        column, parts_of = shared_constant
        rest = [part for part in rest if part not in parts_of]
        ways.append(placement.by_constant(parts_of, column, first()))
    timed = placement.slices if rest and not ways and not any(part.key for part in rest) else None
    if timed is not None and (slices := _slices(rest)) is not None:
        return [RuleSplit(_numbers(rest), timed, 0, slices=slices)]
    keys: dict[tuple[Path, ...], list[VariantRules]] = {}
    for part in rest:
        keys.setdefault(part.key, []).append(part)
    for key, parts_of in keys.items():
        numbers = _numbers(parts_of)
        ways.append(
            RuleSplit(numbers, placement.keyed, first(), key=key) if key else placement.by_rules(numbers, first())
        )
    return ways


def parts_of(
    rules: RuleSet, options: SharedOptions, schema: Schema, collated: frozenset[str] = frozenset()
) -> list[VariantRules]:
    """Rules by what can divide the events for them. collated: columns that Spark does not compare byte by byte."""
    parts = [part for some in rules.rules for part in _parts(rules.templates[some.template], some, options, schema)]
    return [_without(part, collated) for part in parts if len(part.numbers)]


def _slices(parts: Sequence[VariantRules]) -> SparkPartitioning | None:
    """How to divide the events by time, if the matches of all rules are within a window."""
    windows = [part.by.window for part in parts if part.by.window is not None]
    if len(windows) < len(parts):
        return None
    return SparkPartitioning((), max(windows), max(part.by.lookback for part in parts))


def _numbers(parts: Sequence[VariantRules]) -> np.ndarray:
    return np.sort(np.concatenate([part.numbers for part in parts]))


def _without(part: VariantRules, collated: frozenset[str]) -> VariantRules:
    constants = {name: values for name, values in part.constants.items() if name not in collated}
    return VariantRules(part.numbers, part.by, constants)


def _common_key(parts: Sequence[VariantRules]) -> tuple[Path, ...]:
    """The columns that are keys of all rules."""
    if not parts:
        return ()
    return tuple(path for path in parts[0].key if all(path in part.key for part in parts))


def _shared_constants(parts: Sequence[VariantRules]) -> list[str]:
    """The columns that must have a constant, for all rules."""
    return [name for name in parts[0].constants if all(name in part.constants for part in parts)] if parts else []


def _shared_constants_of_some(
    parts: Sequence[VariantRules], first: Sequence[str]
) -> tuple[str, list[VariantRules]] | None:
    """The column whose constants divide the events for most rules, and these. first: those that are for all."""
    counts: dict[str, int] = {}
    for part in parts:
        for name in part.constants:
            counts[name] = counts.get(name, 0) + len(part.numbers)
    if not counts:
        return None
    column = max(counts, key=lambda name: (name in first, counts[name]))
    return column, [part for part in parts if column in part.constants]


def constants_of(parts: Sequence[VariantRules], column: str) -> tuple[np.ndarray, pa.DictionaryArray]:
    """The numbers of rules, ascending, and what each asks for in a column."""
    numbers = np.concatenate([part.numbers for part in parts])
    known = [part.constants[column].type for part in parts if not pa.types.is_null(part.constants[column].type)]
    type_ = pa.int64() if all(map(pa.types.is_integer, known)) else pa.string()
    order = np.argsort(numbers)
    values = pa.concat_arrays([part.constants[column].cast(type_) for part in parts]).take(from_numpy(order))
    return numbers[order], values.dictionary_encode()


def _parts(template: Template, rules: Rules, options: SharedOptions, schema: Schema) -> Iterator[VariantRules]:
    """The rules of a template, by what can divide the events for them."""
    if template.texts:  # each has conditions of its own
        yield VariantRules(rules.numbers, SparkPartitioning(()), {})
        return
    varied = VariedTemplate(template.program, options.roles, template.functions or {}, schema, template.params)
    try:
        columns = {name[1:]: rules.constants.column(name) for name in rules.constants.column_names}
        shares, wrong = varied.split(
            _with_twins(pa.table(columns)) if columns else pa.table({"": pa.nulls(len(rules))})
        )
    except NotJoinedError:
        yield from _alone(template, rules, options, schema)
        return
    for problem in wrong:
        if (problem.rows < len(rules)).any():
            raise problem.error
    for share in shares:
        by = choose_partitioning([share.variant.joined.plain], [EVENTS])
        constants = constant_keys(share, [path[0] for path in by.key if len(path) == 1])
        valid = share.rows < len(rules)
        yield VariantRules(rules.numbers[np.where(valid, share.rows, 0)], by, constants).only(valid)


def _with_twins(constants: pa.Table) -> pa.Table:
    """Rules that have NULL once more without it: a value says how events are divided for a rule, and NULL does not."""
    missing = [column.is_null().to_numpy() for column in constants.columns if column.null_count]
    if not missing:
        return constants
    some = constants.filter(from_numpy(np.logical_or.reduce(missing)))
    twins = [filled(column.combine_chunks()) for column in some.columns]
    return pa.concat_tables([constants, pa.table(dict(zip(constants.column_names, twins, strict=True)))])


def filled(values: pa.Array) -> pa.Array:
    """Numbers or texts in place of NULL; texts are such that they can be windows."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values.fill_null("1 second")
    return values.fill_null(1) if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) else values


def _alone(template: Template, rules: Rules, options: SharedOptions, schema: Schema) -> Iterator[VariantRules]:
    """Rules that each run on their own: whether a window counts events changes what can divide them."""
    counts = np.zeros(len(rules), bool) if rules.within is None else pc.is_null(rules.within).to_numpy(False)
    for wanted in (np.flatnonzero(counts), np.flatnonzero(~counts)):
        if len(wanted):
            alike = rules.take(wanted)
            compiled = options.query(template, example(template, alike)).compiled
            bound = compiled.bind(schema)
            by = choose_partitioning(bound, [source for _, source in compiled.flow])
            same = not template.parameters  # else the windows of other rules may be longer
            yield VariantRules(alike.numbers, by if same else SparkPartitioning(by.key), {})
