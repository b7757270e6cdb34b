"""Which events of a batch a query sees: those of the types of FROM for which its condition is TRUE (S25)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.automaton.model import NotNative, Now
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.columns import Unfit, type_numbers
from cepheid.engine.encoding.masks import answers
from cepheid.errors import CepheidError
from cepheid.front.runnable import Runnable
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.whole_arrays import evaluate
from cepheid.kernel.constants import Constant, Constants
from cepheid.kernel.reads import EventReader, I
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree.scope import EVENT
from cepheid.pattern.tree.walk import conjuncts, substitute, walk


@dataclass(frozen=True, slots=True)
class _Vectorised:
    """A conjunct that is computed on whole columns."""

    original: ex.Expression
    code: n.Expr
    arrays: tuple[EventArray, ...]
    constants: tuple[Constant, ...]

    def holds(self, batch: Batch) -> Any:
        """For each event: whether it is TRUE."""
        columns: dict[str, Any] = {
            constant.parameter.name: constant.argument(batch.codes.strings.code) for constant in self.constants
        }
        for event_array in self.arrays:
            match event_array.holds:
                case ColumnValues(column=column):
                    columns[event_array.array.name] = batch.values(column)
                case ColumnNulls(column=column):
                    columns[event_array.array.name] = batch.nulls(column)
        return np.broadcast_to(evaluate(self.code, I, columns), len(batch))


class ScopeFilter:
    """The filter of FROM, for the batches of the stream that it reads.

    A user-defined function is called for every event of the types, as by the reference. Of other conjuncts those that
    have code are computed on whole columns, the rest on the events that are left.
    """

    def __init__(self, query: Runnable) -> None:
        assert query.scope is not None
        self.query = query
        self.types = query.scope.types
        condition = query.scope.condition
        self.calls: list[ex.Expression] = []
        self.vectorised: list[_Vectorised] = []
        self.others: list[ex.Expression] = []
        for conjunct in () if condition is None else conjuncts(condition):
            if any(isinstance(node, ex.Call) and node.function in query.functions for node in walk(conjunct)):
                self.calls.append(conjunct)
                continue
            try:
                self.vectorised.append(self._vectorised(conjunct))
            except NotNative:
                self.others.append(conjunct)

    def _vectorised(self, conjunct: ex.Expression) -> _Vectorised:
        schema, constants = self.query.schema, Constants()
        events = EventReader((), frozenset(schema.columns), constants)

        def read(node: ex.Expression) -> ex.Expression | None:
            if not isinstance(node, ex.Attribute):
                return None
            if not all(schema.has(name, node.name) for name in self.types or schema.roles.types or ()):
                raise NotNative(f"{node.name} is missing in some types")
            return Now(node.name, schema.columns[node.name])

        code = events.translator.holds(substitute(conjunct, read))
        return _Vectorised(conjunct, code, tuple(events.arrays), tuple(constants))

    def places(self, batch: Batch) -> Any:
        """The places in a batch of the events that are seen; None: all."""
        seen = np.ones(len(batch), bool)
        if self.types:
            codes, names = batch.type_codes
            seen = type_numbers(names, self.types)[codes] != 0
        of_types = np.flatnonzero(seen)
        for call in self.calls:
            seen &= self._answers(batch, call, of_types)
        left = list(self.others)
        for test in self.vectorised:
            try:
                seen &= test.holds(batch)
            except Unfit:  # values that only Python computes with
                left.append(test.original)
        for conjunct in left:
            seen &= self._answers(batch, conjunct, np.flatnonzero(seen))
        return None if seen.all() else np.flatnonzero(seen)

    def _answers(self, batch: Batch, conjunct: ex.Expression, rows: np.ndarray) -> Any:
        """For each event: whether it is one of some and a conjunct is TRUE for it."""
        errors: dict[int, CepheidError] = {}
        held = np.zeros(len(batch), bool)
        if len(rows):
            held[rows] = answers(self.query, batch, conjunct, EVENT, rows, errors) == 1
        if errors:
            raise errors[min(errors)]
        return held
