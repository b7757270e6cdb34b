"""Our engine, under the three clocks. Whatever the bench needs of its inside is here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bench.native import Positions
from cepheid import Matches, Query
from cepheid.api.events import to_table
from cepheid.engine.encoding.batch import Batch, StreamCodes
from cepheid.engine.encoding.times import ticks
from cepheid.engine.machines.factory import scan_machine
from cepheid.engine.machines.forms.registers import RegisterForm
from cepheid.engine.machines.forms.values import ValueForm
from cepheid.engine.machines.policy import CompilePolicy, Policy
from cepheid.engine.machines.scan_machine import ScanMachine
from cepheid.engine.machines.stack_machine import StackMachine
from cepheid.engine.matches.join_matches import JoinMatches
from cepheid.engine.matches.match_table import MatchTable
from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.runnable import Runnable
from cepheid.plan.spec import STACKS, read_plan

COMPILED = Policy(CompilePolicy.NOW, at_once=True)

# Ways to test a second equivalence attribute: when a match is complete, by a stack for each pair of values, and as soon
# as two events are there.
SECOND_TEST = {
    "selection": replace(STACKS, partition=("attr1",), late=True),
    "both split": STACKS,
    "filtering": replace(STACKS, partition=("attr1",)),
}


@dataclass
class Ours:
    """A query over a stream."""

    query: Query
    table: pa.Table
    merging: bool = True
    plan: str = "auto"

    def find(self) -> Matches:
        """The matches, not enumerated yet."""
        return self.query.match(self.table, engine="compiled", plan=self.plan)

    def count(self) -> int:
        """How many there are, without enumeration."""
        return self.find().count()

    def enumerate(self) -> Matches:
        """End to end: from an Arrow table to the positions of all matches."""
        matches = self.find()
        len(matches)
        return matches

    def size(self) -> int:
        """The same, and then only how many there are."""
        return len(self.enumerate())

    def to_arrow(self) -> pa.Table:
        """The same, and then to an Arrow table."""
        return self.enumerate().to_arrow()

    def scan(self) -> ScanMachine | StackMachine:
        """From columns in the layout of the kernel to its match store, or to the matches of a join.

        The state begins empty, in the memory of the round before: that of the C++ does too.
        """
        machine = self._machine(self._batch.codes)
        machine.feed(self._batch)  # whose arrays were made in the round before
        return machine

    def kernel(self) -> Any:
        """From columns in the layout of the kernel to all matches.

        Those of an automaton are words and offsets, in parts; a word is the id of an event and what it is bound to, in
        one integer. Those of a join are a column of positions for each variable. `positions` reads both.
        """
        found: Any = self._found()
        return found if isinstance(found, JoinMatches) else found.enumerated()

    def registers(self) -> MatchTable:
        """The same of an automaton of one's own: the first and the last event of each match, and its register."""
        machine = self.scan()
        assert isinstance(machine, ScanMachine)
        assert isinstance(machine.form, RegisterForm)
        machine.scan.state.expire(None)
        matches = machine.form.enumerated()
        machine.scan.release()
        return matches

    def results(self) -> int:
        """The same of a CESAR expression: its results in the columns that the kernel writes; how many."""
        machine = self.scan()
        assert isinstance(machine, ScanMachine)
        assert isinstance(machine.form, ValueForm)
        count = machine.form.count
        machine.scan.release()
        return count

    def in_order(self) -> MatchTable:
        """The same, as positions and variables in the order of S9."""
        found: MatchTable = self._found().all()
        return found

    def positions(self) -> Positions:
        """What the kernel finds, as positions."""
        found = self.kernel()
        if isinstance(found, JoinMatches):
            flat = np.sort(np.stack(list(found.positions), axis=1), axis=1)
            return np.arange(len(flat) + 1) * flat.shape[1], flat.ravel()
        lengths = np.concatenate([np.diff(offsets) for _, offsets in found])
        words = np.concatenate([words for words, _ in found])
        return np.concatenate([[0], np.cumsum(lengths)]), words >> self.compiled.scan(frozenset()).shift

    def _found(self) -> Any:
        return self.scan().settle(None, Rows(self.table))

    @cached_property
    def compiled(self) -> CompiledQuery:
        """What is made of the query for the table."""
        return CompiledQuery(_bound(self.query, self.table), merge=self.merging)

    @cached_property
    def _batch(self) -> Batch:
        return batch_of(self.compiled, self.table)

    def _machine(self, codes: StreamCodes) -> ScanMachine | StackMachine:
        choice = read_plan(self.plan)
        if choice.joins:
            return StackMachine(self.compiled, codes, COMPILED, choice, self.table.num_rows)
        return scan_machine(self.compiled, codes, COMPILED, self.table.num_rows)


@dataclass
class Rows:
    """The rows that matches are of."""

    kept: pa.Table
    base: int = 0


def batch_of(compiled: CompiledQuery, table: pa.Table) -> Batch:
    """All events at once."""
    schema = compiled.query.schema
    return Batch(StreamCodes(schema, once=True), table, ticks(schema, table), 0)


def ours(text: str, table: pa.Table, merging: bool = True, plan: str = "auto") -> Ours:
    """The query that the text is."""
    return Ours(Query(text), table, merging, plan)


def tests(text: str, table: pa.Table, plan: str) -> int:
    """How often conditions over several events are evaluated."""
    session = Query(text).session(engine="compiled", plan=plan, lateness=0)
    session.push(table)
    session.close()
    return session.stats.tests


def chosen(query: Query, table: pa.Table) -> str:
    """The plan that auto takes for a table."""
    session = query.session(engine="compiled", plan="auto", lateness=0)
    session.push(table)
    return session.stats.plan


def second_test(text: str, table: pa.Table, way: str) -> Callable[[], int]:
    """A query with two equivalence tests on stacks, the second tested in one of three ways; gives how many matches."""
    compiled = CompiledQuery(_bound(Query(text), table))

    def run() -> int:
        batch = batch_of(compiled, table)
        machine = StackMachine(compiled, batch.codes, COMPILED, SECOND_TEST[way], table.num_rows)
        machine.feed(batch)
        found: Any = machine.settle(None, Rows(table))
        return len(found.all())

    return run


def _bound(query: Query, table: pa.Table) -> Runnable:
    return query.compiled.bind(query.compiled.schema(to_table(table).schema))[0]
