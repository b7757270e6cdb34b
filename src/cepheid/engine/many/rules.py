"""Many queries as columns: templates, and for each of them a table with the constants of its rules (S23)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.language import parse
from cepheid.language.texts.frames import Framed, example_of, read_frames
from cepheid.pattern.binding.schema import Roles
from cepheid.pattern.tree.nodes import Program
from cepheid.values.value import Value

TEXT = "text"
"""The only parameter of a template whose rules are texts."""


@dataclass(frozen=True)
class Template:
    """A program whose bare names are parameters.

    parameters: those that each rule has a value for; params: the values that all of them share.
    texts: a rule has no values but a text, which is its whole query; the program is the frame that all of these have.
    """

    name: Any
    program: Program
    parameters: tuple[str, ...] = ()
    params: Mapping[str, object] | None = None
    functions: Mapping[str, Callable[..., object]] | None = None
    texts: bool = False

    def of(self, values: Mapping[str, object]) -> tuple[Program, dict[str, object]]:
        """The program and the parameters of a rule with some values; without any: of no rule in particular."""
        shared = dict(self.params or {})
        if not self.texts:
            return self.program, {**shared, **values}
        return (parse(str(values[TEXT])) if values else example_of(self.program)), shared

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for templates that mean the same. By what is printed, because 0.0 and -0.0 are equal."""
        functions = tuple(sorted((name, id(function)) for name, function in (self.functions or {}).items()))
        return self.texts, repr(self.program), self.parameters, repr(sorted((self.params or {}).items())), functions


@dataclass(frozen=True)
class Rules:
    """Rules of one template, with constants of the same types.

    numbers: of the rules, ascending. constants: a row a rule, a column `$name` for each parameter of the template.
    within: where WITHIN is a parameter, how long it is in nanoseconds; NULL where it is a number of events.
    framed: of texts, what they were read as, if that is at hand.
    """

    template: int
    numbers: np.ndarray
    constants: pa.Table
    within: pa.Array | None = None
    framed: Framed | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, wanted: np.ndarray) -> Rules:
        """Some of them, by their places."""
        if np.array_equal(wanted, np.arange(len(self))):
            return self
        rows = from_numpy(np.asarray(wanted, np.int64))
        ascending = (np.diff(wanted) > 0).all()
        framed = None if self.framed is None or not ascending else self.framed.only(wanted)
        within = None if self.within is None else self.within.take(rows)
        constants = self.constants.take(rows) if self.constants.num_columns else self.constants
        return replace(self, numbers=self.numbers[wanted], constants=constants, within=within, framed=framed)

    def read_texts(self) -> Framed:
        """Rules that are texts, by their frames and conditions."""
        return self.framed or read_frames(self.texts())

    def texts(self) -> list[str]:
        """The texts of rules that are such."""
        found: list[str] = self.constants.column(constant_column(TEXT)).to_pylist()
        return found

    def values(self, parameters: Sequence[str]) -> Iterator[dict[str, Value]]:
        """The constants of each rule, by the names of the parameters, as Python values."""
        return values_of(self.constants, parameters, len(self))


def values_of(constants: pa.Table, parameters: Sequence[str], count: int) -> Iterator[dict[str, Value]]:
    """The constants of each rule, by the names of the parameters, as Python values."""
    columns = [constants.column(constant_column(name)) for name in parameters]
    for row in range(count):
        yield {name: column[row].as_py() for name, column in zip(parameters, columns, strict=True)}


@dataclass(frozen=True)
class RuleSet:
    """Rules of some templates, on one stream. ids: of each rule, by its number."""

    templates: tuple[Template, ...]
    rules: tuple[Rules, ...]
    ids: pa.Array
    roles: Roles

    def __len__(self) -> int:
        return sum(map(len, self.rules))

    def more(self, added: RuleSet) -> RuleSet:
        """These, then others of the same templates and of more, whose numbers come after theirs."""
        alike: dict[Hashable, list[Rules]] = {}
        for one in (*self.rules, *added.rules):  # constants of other types make other conditions
            alike.setdefault((one.template, tuple(one.constants.schema.types)), []).append(one)
        rules = tuple(map(_together, alike.values()))
        ids = added.ids if not len(self.ids) else pa.concat_arrays([self.ids, added.ids.cast(self.ids.type)])
        return replace(self, templates=added.templates, rules=rules, ids=ids)

    def as_texts(self) -> RuleSet:
        """The same, without what texts were read as."""
        if all(some.framed is None for some in self.rules):
            return self
        return replace(self, rules=tuple(replace(some, framed=None) for some in self.rules))

    def after(self, templates: tuple[Template, ...]) -> RuleSet:
        """The same, with templates among others, and after these where they are new."""
        known = {template.key: number for number, template in enumerate(templates)}
        every = list(templates)
        for template in self.templates:
            if template.key not in known:
                known[template.key] = len(every)
                every.append(template)
        rules = tuple(replace(some, template=known[self.templates[some.template].key]) for some in self.rules)
        return replace(self, templates=tuple(every), rules=rules)

    def numbered_from(self, first: int) -> RuleSet:
        """The same, with numbers that begin later."""
        return replace(self, rules=tuple(replace(some, numbers=some.numbers + first) for some in self.rules))

    def without(self, numbers: np.ndarray) -> RuleSet:
        """The same without some rules; the others keep their numbers."""
        if not len(numbers):
            return self
        kept = (rules.take(np.flatnonzero(~np.isin(rules.numbers, numbers))) for rules in self.rules)
        return replace(self, rules=tuple(rules for rules in kept if len(rules)))

    def of(self, template: int, numbers: np.ndarray) -> Iterator[Rules]:
        """Rules of a template by their numbers, those with constants of the same types together."""
        for some in self.rules:
            if some.template == template:
                places = np.flatnonzero(np.isin(some.numbers, numbers))
                if len(places):
                    yield some.take(places)

    def names(self, numbers: np.ndarray) -> pa.Array:
        """The ids of rules."""
        return self.ids.take(from_numpy(np.asarray(numbers, np.int64)))


def _together(some: Sequence[Rules]) -> Rules:
    if len(some) == 1:
        return some[0]
    within = None
    if some[0].within is not None:
        within = pa.concat_arrays([one.within for one in some])
    constants = pa.concat_tables([one.constants for one in some]) if some[0].constants.num_columns else pa.table({})
    return Rules(some[0].template, np.concatenate([one.numbers for one in some]), constants, within)
