"""Python functions as kernels: what can be read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cepheid.kernel.code.printer import print_function
from cepheid.kernel.code.reader import Int64, Int64s, Keys, UInt32s, declared_types, read_function
from cepheid.kernel.code.types import FLOAT64, INT64, UINT32
from cepheid.kernel.compile import Compilable

LIMIT = 3


def example(count: Int64, values: Int64s, marks: UInt32s) -> Int64:
    """How many values are above a limit, those being marked."""
    k, found = 0, 0
    while k < count:
        above = values[k] > LIMIT and marks[k] == 0
        if above:
            found += 1
            marks[k] = found
        k += 1
    return max(found, 1)


def largest(count: Int64, keys: Keys) -> Int64:
    """The place of the largest key."""
    best, k = 0, 1
    while k < count:
        best = k if keys[k] > keys[best] else best
        k += 1
    return best


def test_a_function_is_read() -> None:
    made = read_function(example, declared_types(example), "example")
    assert print_function(made).splitlines()[:4] == [
        "def example(count, values, marks):",
        "    k = 0",
        "    found = 0",
        "    while k < count:",
    ]
    marks = np.zeros(4, np.uint32)
    assert Compilable(made).compiled()(4, np.array([1, 5, 4, 3]), marks) == 2
    assert marks.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(("type_", "values"), [(INT64, [3, 9, 2]), (FLOAT64, [0.5, 2.5, -1.0]), (UINT32, [1, 2, 0])])
def test_a_key_is_of_any_type(type_, values) -> None:
    made = read_function(largest, (INT64, type_), f"largest.{type_}")
    assert Compilable(made).compiled()(3, np.array(values, type_.name)) == 1


def text(count: Int64) -> Int64:
    """What no kernel has."""
    return len(str(count))


def test_what_no_kernel_has_is_told() -> None:
    with pytest.raises((TypeError, KeyError)):
        read_function(text, (INT64,), "text")
