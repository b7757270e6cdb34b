"""Arrays that grow at their end, and copies that have one memory."""

import numpy as np

from cepheid.engine.many.tables.growing import Growing


def made(*values: int) -> Growing:
    found = Growing(np.int64)
    found.append(values)
    return found


def test_values_come_at_the_end() -> None:
    found = made(1, 2, 3)
    assert found.append(np.arange(100)) == 3
    assert found.append([]) == 103
    assert found.values.tolist() == [1, 2, 3, *range(100)]


def test_the_first_copy_that_goes_on_does_so_in_place() -> None:
    given = made(1, 2, 3)
    memory = given.array
    one, other = given.copy(), given.copy()
    one.append([4])
    other.append([5, 6])
    given.append([7])
    one.append([8])
    assert [np.shares_memory(memory, each.array) for each in (one, other, given)] == [True, False, False]
    assert one.values.tolist() == [1, 2, 3, 4, 8]
    assert other.values.tolist() == [1, 2, 3, 5, 6]
    assert given.values.tolist() == [1, 2, 3, 7]


def test_a_copy_of_a_copy_that_went_on() -> None:
    given = made(1)
    one = given.copy()
    one.append([2])
    again = one.copy()
    again.append([3])
    one.append([4])
    assert (given.values.tolist(), one.values.tolist(), again.values.tolist()) == ([1], [1, 2, 4], [1, 2, 3])


def test_no_more_room_than_an_eighth() -> None:
    found = made(*range(8000))
    assert len(found.array) == 8000 + 1000 + 16
