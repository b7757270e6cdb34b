"""Entries of pools, freed by plain Python and by machine code."""

import numpy as np
import pytest

from cepheid.kernel.compile import run_on_arrays
from cepheid.kernel.runtime import NIL


@pytest.mark.parametrize("native", [False, True])
def test_all_entries_of_some_partitions_are_freed(native: bool) -> None:
    heads = np.array(
        [0, NIL, 2, 4], np.uint32
    )  # partition 0 has the entries 0 and 1, partition 2 has 2 and 3, partition 3 has 4
    following = np.array([1, NIL, 3, NIL, NIL, NIL], np.uint32)
    nodes, cells = np.array([7, 8, 9, 10, 11, NIL], np.uint32), np.array([5, 5])  # entry 5 is free, five are used
    run_on_arrays("free_lists", np.array([2, 1, 0]), 3, heads, following, nodes, cells, 0, 1, native=native)
    assert heads.tolist() == [NIL, NIL, NIL, 4]
    assert nodes.tolist() == [NIL, NIL, NIL, NIL, 11, NIL]
    free, entry = [], int(cells[0])
    while entry != NIL:
        free.append(entry)
        entry = int(following[entry])
    assert (sorted(free), int(cells[1])) == ([0, 1, 2, 3, 5], 1)
