"""Numbers sorted in parts: whatever their size, number and order, and run either way."""

import numpy as np
import pytest

from cepheid.kernel.compile import library_function
from cepheid.kernel.packing import FEW, PLACES


def arrange(numbers: list[int], *, native: bool) -> list[int]:
    bits = max(numbers, default=0).bit_length()
    arrays = [np.array(numbers, np.int64), np.zeros(len(numbers), np.int64)]
    heads = [np.zeros(PLACES, np.uint32), np.zeros(PLACES, np.uint32)]
    given = [*arrays, *heads] if native else [array.tolist() for array in (*arrays, *heads)]
    turned = library_function("sort_packed", native=native)(len(numbers), bits, *given)
    return [int(number) for number in given[turned]]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, FEW, FEW + 1, 300, 5_000])
@pytest.mark.parametrize("bits", [0, 1, 7, 16, 38, 48, 62])
def test_numbers_are_sorted(count: int, bits: int, native: bool) -> None:
    numbers = np.random.default_rng(bits).integers(0, 2**bits, count).tolist()
    assert arrange(numbers, native=native) == sorted(numbers)


@pytest.mark.parametrize("native", [False, True])
def test_numbers_that_are_sorted_or_close_together(native: bool) -> None:
    close = [2**61 + k % 7 for k in range(3_000)]
    groups = [(k // 500 << 40) + (k * 7919) % 500 for k in range(4_000)]
    for numbers in (list(range(5_000)), list(range(5_000, 0, -1)), close, groups, [2**62 - 1, *range(100)]):
        assert arrange(numbers, native=native) == sorted(numbers)
