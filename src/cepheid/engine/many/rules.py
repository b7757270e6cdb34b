"""Many queries as columns: templates, and for each of them a table with the constants of its rules (S23)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.encoding.arrow import from_numpy
from cepheid.engine.many.protocol import constant_column
from cepheid.pattern.schema import Roles
from cepheid.pattern.tree import Program

Ints = Any


@dataclass(frozen=True)
class Template:
    """A program whose bare names are parameters.

    parameters: those that each rule has a value for; params: the values that all of them share.
    """

    name: Any
    program: Program
    parameters: tuple[str, ...] = ()
    params: Mapping[str, object] | None = None
    functions: Mapping[str, Callable[..., object]] | None = None


@dataclass(frozen=True)
class Rules:
    """The rules of one template.

    numbers: of the rules, ascending. constants: a row a rule, a column `$name` for each parameter of the template.
    within: where WITHIN is a parameter, how long it is in nanoseconds; NULL where it is a number of events.
    """

    template: int
    numbers: Ints
    constants: pa.Table
    within: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, wanted: Ints) -> Rules:
        """Some of them, by their places."""
        rows = from_numpy(np.asarray(wanted, np.int64))
        within = None if self.within is None else self.within.take(rows)
        constants = self.constants.take(rows) if self.constants.num_columns else self.constants
        return replace(self, numbers=self.numbers[wanted], constants=constants, within=within)

    def values(self, parameters: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The constants of each rule, by the names of the parameters, as Python values."""
        columns = [self.constants.column(constant_column(name)) for name in parameters]
        for row in range(len(self)):
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

    def without(self, numbers: Ints) -> RuleSet:
        """The same without some rules; the others keep their numbers."""
        if not len(numbers):
            return self
        kept = (rules.take(np.flatnonzero(~np.isin(rules.numbers, numbers))) for rules in self.rules)
        return replace(self, rules=tuple(rules for rules in kept if len(rules)))

    def names(self, numbers: Ints) -> pa.Array:
        """The ids of rules."""
        return self.ids.take(from_numpy(np.asarray(numbers, np.int64)))
