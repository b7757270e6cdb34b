"""Conditions of many queries that are more than bounds, and what runs hold of events: as one generated kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from cepheid.automaton.model import Now
from cepheid.engine.encoding.batch import Batch
from cepheid.engine.many.tables.chain import Chain, SharedTest, Slot, TestConstant
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.build import Code
from cepheid.kernel.code.reader import declared_types, read_function
from cepheid.kernel.code.types import BOOL, INT64
from cepheid.kernel.compile import Compilable
from cepheid.kernel.constants import Constants
from cepheid.kernel.expressions import KernelSort, KernelTranslator, Value, as_sort, sort_of
from cepheid.kernel.library import FUNCTIONS
from cepheid.kernel.shared import NULLS, REALS, SLOTS_AT, STRIDE
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import Type
from cepheid.pattern.tree.walk import walk

Transfer = tuple[tuple[int, ex.Expression], ...]


class CodeNumbers:
    """The tests and transfers of all templates, each once: their numbers, the columns they read, and the kernel."""

    def __init__(self) -> None:
        self.tests: dict[ex.Expression, int] = {}
        self.transfers: dict[Transfer, int] = {}
        self.columns: dict[str, Type] = {}
        self.slots = 0
        self._kernel: Compilable | None = None  # for the tests and transfers so far

    def copy(self) -> CodeNumbers:
        """The same, to which more may come; the kernel is the same as long as none does."""
        numbers = CodeNumbers()
        numbers.tests, numbers.transfers, numbers.columns = dict(self.tests), dict(self.transfers), dict(self.columns)
        numbers.slots = self.slots
        return numbers

    def test(self, test: SharedTest) -> int:
        """The number of a test; 0 is none."""
        return self._known(self.tests, test.condition, [test.condition])

    def transfer(self, transfer: Transfer) -> int:
        """The number of what a step holds; 0 is nothing."""
        if not transfer:
            return 0
        self.slots = max(self.slots, 1 + max(slot for slot, _ in transfer))
        return self._known(self.transfers, transfer, [value for _, value in transfer])

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """By the number of a transfer: which slots runs have after it, as whole numbers, and as doubles."""
        whole = np.zeros((1 + len(self.transfers), self.slots), bool)
        real = whole.copy()
        translator = _Function("shared_transfer", tuple(self.columns)).translator
        for transfer, number in self.transfers.items():
            for slot, value in transfer:
                (real if translator.value(value).sort is KernelSort.REAL else whole)[number, slot] = True
        return whole, real

    def _known(self, known: dict[Any, int], key: Any, nodes: Sequence[ex.Expression]) -> int:
        if key not in known:
            known[key] = len(known) + 1
            for node in nodes:
                for part in walk(node):
                    if isinstance(part, Now):
                        self.columns.setdefault(part.column, part.type)
            self._kernel = None
        return known[key]

    def of(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What tests and transfers read of events, row by row: whole numbers, doubles, and where they are NULL."""
        count, width = len(batch), max(len(self.columns), 1)
        numbers, reals = np.zeros((count, width), np.int64), np.zeros((count, width))
        nulls = np.zeros((count, width), np.uint8)
        for at, (name, type_) in enumerate(self.columns.items()):
            (reals if sort_of(type_) is KernelSort.REAL else numbers)[:, at] = batch.values(name)
            if batch.has_nulls(name):
                nulls[:, at] = batch.nulls(name)
        return numbers.reshape(-1), reals.reshape(-1), nulls.reshape(-1)

    @property
    def kernel(self) -> Compilable:
        """The loop, with the tests and transfers that there are."""
        if self._kernel is None:
            self._kernel = _kernel(tuple(self.tests), tuple(self.transfers), tuple(self.columns))
        return self._kernel


@cache
def _form(name: str) -> n.Function:
    """A function of the library as a tree."""
    return read_function(FUNCTIONS[name], declared_types(FUNCTIONS[name]), name)


@lru_cache(256)
def _kernel(tests: tuple[ex.Expression, ...], transfers: tuple[Transfer, ...], columns: tuple[str, ...]) -> Compilable:
    """The same for all tables that have them."""
    functions = {}
    if tests:
        functions["shared_test"] = _Function("shared_test", columns).tests(tests)
    if transfers:
        functions["shared_transfer"] = _Function("shared_transfer", columns).transfers(transfers)
    return Compilable(_form("run_shared"), functions)


class _Function:
    """One of the two functions under construction: it has the parameters of the one whose place it takes."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.form = _form(name)
        self.given: dict[str, Any] = {parameter.name: parameter for parameter in self.form.parameters}
        self.columns = list(columns)
        self.code = Code()
        self.translator = KernelTranslator(self.leaf, _Written())
        self.slots_at = self.given["cells"][SLOTS_AT]
        self.old = self.given["run"] * self.given["cells"][STRIDE]
        self.old_real = self.given["run"] * self.given["cells"][REALS]

    def tests(self, tests: Sequence[ex.Expression]) -> n.Function:
        """One test after the other, by its number."""
        for number, condition in enumerate(tests, start=1):
            with self.code.when(self.given["test"].equals(number)):
                self.code.add(n.Return(self.translator.holds(condition)))
        self.code.add(n.Return(n.FALSE))
        return n.Function(self.form.name, self.form.parameters, self.code.block, BOOL)

    def transfers(self, transfers: Sequence[Transfer]) -> n.Function:
        """The function that writes what a step holds into a run, one branch for each transfer."""
        parameters, code = self.given, self.code
        row = parameters["row"] * parameters["cells"][STRIDE]
        real_row = parameters["row"] * parameters["cells"][REALS]
        for number, transfer in enumerate(transfers, start=1):
            with code.when(parameters["transfer"].equals(number)):
                for slot, value in transfer:
                    result = self.translator.value(value)
                    sort = result.sort
                    if sort is KernelSort.REAL:
                        code.put(parameters["real_into"], real_row + slot, as_sort(result, sort))
                    else:
                        code.put(parameters["into"], row + self.slots_at + slot, as_sort(result, sort).to(INT64))
                    if not isinstance(value, Slot):  # one that is kept is NULL as before
                        bits = parameters["into"][row + NULLS] & ~(1 << slot)
                        null = result.null.to(INT64) << slot
                        code.put(parameters["into"], row + NULLS, bits | null)
                code.give(number)
        code.give(0)
        return n.Function(self.form.name, self.form.parameters, code.block)

    def leaf(self, node: ex.Expression) -> Value | None:
        """What a test reads: the event, the run, the constants of the rule."""
        parameters = self.given
        match node:
            case Now(column=column, type=type_):
                sort = sort_of(type_)
                at = parameters["i"] * len(self.columns) + self.columns.index(column)
                source = parameters["reals"] if sort is KernelSort.REAL else parameters["numbers"]
                return Value(source[at].to(sort.scalar), sort, parameters["nulls"][at].differs(0))
            case Slot(number=number, type=type_):
                sort = sort_of(type_)
                null = ((parameters["runs"][self.old + NULLS] >> number) & 1).differs(0)
                if sort is KernelSort.REAL:
                    return Value(parameters["held"][self.old_real + number], sort, null)
                return Value(parameters["runs"][self.old + self.slots_at + number].to(sort.scalar), sort, null)
            case TestConstant(number=number, type=type_):
                sort = sort_of(type_)
                source = parameters["real_constants"] if sort is KernelSort.REAL else parameters["constants"]
                null = parameters["constants"][parameters["at"] + (2 * number + 1)].differs(0)
                return Value(source[parameters["at"] + 2 * number].to(sort.scalar), sort, null)
        return None


class _Written(Constants):
    """Literals are written into the code: those of texts and rules are no literals by now."""

    def literal(self, node: ex.Literal, value: int | float | str) -> Any:
        """The number itself: tests are shared by what is written in them."""
        assert isinstance(value, int | float)
        return n.expression(value, sort_of(node.type).scalar)


def check_code(chain: Chain) -> None:
    """Raise NotNative if a test or a transfer of a chain has no code."""
    numbers = CodeNumbers()
    for step in chain.steps:
        fences = [step.fence, *step.fence.ways]
        if step.wait is not None and step.wait.ending is not None:
            fences.append(step.wait.ending)
        for fence in fences:
            for test in fence.tests:
                numbers.test(test)
        numbers.transfer(step.transfer)
    assert numbers.kernel
