"""The stacks: what goes into them, how they are cleared, numbered anew, written down and taken up again."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from joins import Machine, bound, enumerate_all, events, find

from cepheid.errors import EvaluationError
from cepheid.kernel.join import output, state
from cepheid.kernel.join.generate import generate_join
from cepheid.kernel.join.state import StackState

TEXT = "SEQ(A a, B b, C c) WHERE [k] AND a.x <= b.x AND b.s = c.s WITHIN 9"


@pytest.fixture(autouse=True)
def clear_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are let go although there are few."""
    monkeypatch.setattr(state, "FEW", 4)


def stored(machine: Machine) -> dict[str, list[int]]:
    """The positions of the entries of each stack."""
    return {
        stack.name: list(machine.state.arrays[stack.at.name][: machine.state.count(stack.number)])
        for stack in machine.state.stacks
    }


@pytest.mark.parametrize("native", [False, True])
def test_that_an_event_is_stored_where_it_can_be_part_of_a_match(native: bool) -> None:
    machine = Machine(
        bound("SEQ(A a, !(X n), B b, C c) WHERE a.x > 1 AND b.x < c.x WITHIN 4"), (0, 1, 2), native=native
    )
    table = pa.table({"ts": [*range(9)], "type": [*"BXAAXBCBC"], "x": [3, 3, 0, 2, 3, 3, 3, 3, 3]})
    machine.feed(table)  # the first a fails its test, the last b comes after the window of the other
    assert stored(machine) == {"a": [3], "b": [5], "c": [], "n": [4]}  # each c has had its matches
    assert machine.state.entries == 3


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("text", [TEXT, "SEQ(A a, B b, !(X n)) WHERE [k] WITHIN 9", "SEQ(A a, B b) WITHIN 5 events"])
def test_that_what_is_over_is_let_go(text: str, native: bool) -> None:
    query, table = bound(text), events(1, 200)
    machine = Machine(query, None, native=native)
    found, most = set(), 0
    for begin in range(0, 200, 20):
        machine.feed(table.slice(begin, 20), begin)
        found |= machine.settle(machine.clock)
        oldest = machine.state.oldest_event()
        assert oldest is None or oldest > begin - 60
        most = max(most, machine.state.entries)
    assert found | machine.settle() == enumerate_all(query, table)
    assert most < 100


@pytest.mark.parametrize("native", [False, True])
def test_that_partitions_and_strings_are_numbered_anew(native: bool) -> None:
    """A key that has no entry is given up, and so is a string."""
    query = bound(TEXT)
    table = events(2, 300, k=[*range(40)], s=[f"s{k}" for k in range(5)])
    machine = Machine(query, (2, 1, 0), native=native)
    found, fewest = set(), 40
    for begin in range(0, 300, 20):
        machine.feed(table.slice(begin, 20), begin)
        found |= machine.settle()
        alive = machine.state.held_partitions()
        assert len(alive) == len(machine.partitions)
        machine.state.keep_partitions(alive)
        kept = [key for key, partition in machine.partitions.items() if alive[partition]]
        machine.partitions = {key: partition for partition, key in enumerate(kept)}
        held = np.unique(np.concatenate([np.zeros(0, np.int64), *machine.state.held_strings()]))
        texts = list(machine.strings)
        number = np.full(len(texts) + 1, -1, np.int64)
        number[held] = np.arange(len(held))
        machine.state.renumber_strings(number)
        machine.strings = {texts[k]: code for code, k in enumerate(held.tolist())}
        fewest = min(fewest, len(machine.partitions))
    assert found == enumerate_all(query, table)
    assert fewest < 20


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_that_a_state_may_be_taken_up_by_either_kind_of_run(before: bool, after: bool) -> None:
    query, table = bound(TEXT), events(3, 120, s=["u", "v", None])
    nullable = frozenset({"s"})
    one = Machine(query, None, native=before, nullable=nullable)
    one.feed(table.slice(0, 60))
    found = one.settle()
    facts, arrays = one.state.dump()
    other = Machine(query, (1, 0, 2), native=after, nullable=nullable)
    other.partitions, other.strings = dict(one.partitions), dict(one.strings)
    other.state.load(facts, arrays, len(other.partitions))
    assert stored(other) == stored(one)
    other.feed(table.slice(60), 60)
    assert found | other.settle() == enumerate_all(query, table)


def test_that_it_goes_native_in_the_middle_of_a_stream() -> None:
    query, table = bound(TEXT), events(4, 120)
    machine = Machine(query, (2, 1, 0))
    machine.feed(table.slice(0, 60))
    found = machine.settle()
    machine.native = True
    machine.state.to_native()
    machine.output.to_native()
    machine.feed(table.slice(60), 60)
    assert found | machine.settle() == enumerate_all(query, table)


@pytest.mark.parametrize("native", [False, True])
def test_that_the_kernel_changes_with_nulls_and_with_the_order(native: bool) -> None:
    query = bound(TEXT)
    table = pa.concat_tables([events(5, 60), events(6, 60, x=[0, 1, None], s=["u", None])])
    table = table.set_column(0, "ts", pa.array([at // 2 for at in range(120)]))
    machine = Machine(query, (2, 1, 0), native=native)
    machine.feed(table.slice(0, 60))
    found = machine.settle()
    machine.kernel = generate_join(machine.join, frozenset({"x", "s"}), query.window, None)
    machine.state.change_kernel(machine.kernel)
    machine.feed(table.slice(60), 60)
    assert found | machine.settle() == enumerate_all(query, table)


def test_that_arrays_are_used_again() -> None:
    query, table = bound(TEXT), events(7, 100)
    machine = Machine(query, (2, 1, 0), native=True)
    machine.feed(table)
    expected = machine.settle()
    size, arrays = machine.state.nbytes(), {name: id(array) for name, array in machine.state.arrays.items()}
    machine.state.reset()
    assert machine.state.entries == machine.state.tests == 0
    machine.feed(table)
    assert machine.settle() == expected
    assert machine.state.nbytes() == size
    assert {name: id(array) for name, array in machine.state.arrays.items()} == arrays


def test_that_a_match_waits_for_what_must_be_absent() -> None:
    query = bound("SEQ(A a, B b, !(X n)) WITHIN 5")
    table = pa.table({"ts": [*range(8)], "type": [*"AABXAB A"]})
    machine = Machine(query, None)
    machine.feed(table)
    assert machine.state.first_uncertain() == 2  # until the window of the first a is over
    assert machine.settle(7) == {(1, 5)}  # an x has come after the first b
    assert machine.state.first_uncertain() == 5
    assert machine.settle() == {(4, 5)}


def test_that_too_many_matches_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MOST", 1_000)
    query, table = bound("SEQ(A a, B b)"), events(8, 200, "AB")
    with pytest.raises(EvaluationError, match="matches are too many"):
        find(query, table, (0, 1))


@pytest.mark.parametrize("native", [False, True])
def test_how_much_memory_is_told(native: bool) -> None:
    query = bound(TEXT)
    kernel = generate_join(Machine(query, None).join, frozenset(), query.window, None)
    made: Any = StackState(Machine(query, None).join, kernel, query.window, native=native)
    assert made.nbytes() == 0
    made.reserve(1000, 3)
    assert made.nbytes() > 1000 * 8
