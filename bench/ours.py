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
from cepheid.engine.blueprint import Blueprint
from cepheid.engine.found import Found
from cepheid.engine.generated import Generated
from cepheid.engine.joined import Joined
from cepheid.engine.rows import Rows
from cepheid.engine.times import ticks
from cepheid.pattern.bind import Bound, bind
from cepheid.pattern.schema import make_schema
from cepheid.plan.choice import STACKS, read_choice

Machine = Generated | Joined

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

    def scan(self) -> Machine:
        """From columns in the layout of the kernel to its match store, or to the matches of a join.

        The state begins empty, in the memory of the round before: that of the C++ does too.
        """
        prepared, columns = self._prepared
        machine = self._machine()
        machine.lanes = prepared.lanes
        machine.columns = lambda *_: columns  # type: ignore[method-assign]
        machine.feed(self.table, columns["times"], 0)
        return machine

    def kernel(self) -> Any:
        """From columns in the layout of the kernel to all matches.

        Those of an automaton are words and offsets, in parts; a word is the position of an event and what it is bound
        to, in one integer. Those of a join are a column of positions for each variable. `positions` reads both.
        """
        found: Any = self.scan().settle(None, self.table, 0)
        return found if isinstance(found, Rows) else found.enumerated()

    def in_order(self) -> Found:
        """The same, as positions and variables in the order of S9."""
        many: Any = self.scan().settle(None, self.table, 0)
        found: Found = many.all()
        return found

    def positions(self) -> Positions:
        """What the kernel finds, as positions."""
        found = self.kernel()
        if isinstance(found, Rows):
            flat = np.sort(np.stack(list(found.positions), axis=1), axis=1)
            return np.arange(len(flat) + 1) * flat.shape[1], flat.ravel()
        lengths = np.concatenate([np.diff(offsets) for _, offsets in found])
        words = np.concatenate([words for words, _ in found])
        return np.concatenate([[0], np.cumsum(lengths)]), words >> self._prepared[0].source.shift

    @cached_property
    def _blueprint(self) -> Blueprint:
        return Blueprint(_bound(self.query, self.table), merge=self.merging)

    @cached_property
    def _prepared(self) -> tuple[Any, dict[str, Any]]:
        machine = self._machine()
        times = ticks(self._blueprint.query.schema, self.table)
        return machine, machine.columns(self.table, times, {}) | {"times": times}

    def _machine(self) -> Machine:
        choice = read_choice(self.plan)
        if choice.joins:
            return Joined(self._blueprint, choice, native=True, events=self.table.num_rows)
        return Generated(self._blueprint, native=True, events=self.table.num_rows)


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
    blueprint = Blueprint(_bound(Query(text), table))

    def run() -> int:
        machine = Joined(blueprint, SECOND_TEST[way], native=True, events=table.num_rows)
        machine.feed(table, ticks(blueprint.query.schema, table), 0)
        many: Any = machine.settle(None, table, 0)
        return len(many.all())

    return run


def _bound(query: Query, table: pa.Table) -> Bound:
    return bind(query._analysed[0], make_schema(to_table(table).schema, query._roles), {})
