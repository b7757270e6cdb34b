"""Rules found by their ids."""

from typing import Any

import pyarrow as pa
import pytest

from cepheid.api.many.id_index import IdIndex

ASCENDING = list(range(0, 60, 2))
SHUFFLED = [k * 7 % 31 for k in range(31)]


def found(parts: list[list[Any]], asked: list[Any]) -> list[tuple[Any, int]]:
    """Those of some ids that are there, each with the number of its rule."""
    index, known = IdIndex(pa.array(parts[0])), pa.array(parts[0])
    for more in parts[1:]:
        index.add(pa.array(more), len(known))
        known = pa.concat_arrays([known, pa.array(more)])
    places, numbers = index.find(pa.array(asked), known)
    return [(asked[place], number) for place, number in zip(places.tolist(), numbers.tolist(), strict=True)]


@pytest.mark.parametrize("ids", [ASCENDING, SHUFFLED, [f"id {k}" for k in SHUFFLED]])
def test_each_id_is_found_whatever_their_order(ids: list[Any]) -> None:
    asked = [*reversed(ids)]
    expected = [(one, ids.index(one)) for one in asked]
    assert found([ids], asked) == expected
    for cut in (1, 10, 20, 29):
        assert found([ids[:cut], ids[cut:]], asked) == expected
    assert found([ids[:20], *([one] for one in ids[20:])], asked) == expected


def test_an_id_that_came_again_has_both_numbers() -> None:
    assert found([[5, 3, 9], [3, 4]], [3, 7, 4]) == [(3, 1), (3, 3), (4, 4)]
