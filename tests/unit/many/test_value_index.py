"""Rules by a constant of each, as they come and go, against a look at all of them."""

from datetime import date, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.engine.many.routed import value_index
from cepheid.engine.many.routed.value_index import ValueIndex

VALUES: dict[str, list[Any]] = {
    "integers": [-(2**63), -1, 0, 1, 2**63 - 1, None],
    "texts": ["", "a", "ä", "never", "b", None],
    "dates": [date(2026, 1, 1) + timedelta(days=day) for day in range(5)] + [None],
    "booleans": [True, False, None],
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("coded", [False, True])
def test_what_it_finds(kind: str, coded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_index, "SOME", 3)
    random, index, rules, first = Random(kind), ValueIndex(), dict[int, Any](), 0
    arrow = pa.array(VALUES[kind]).type
    for _ in range(40):
        values = random.choices(VALUES[kind], k=random.randrange(6))
        index.add(np.arange(first, first + len(values)), pa.chunked_array([pa.array(values, arrow)]))
        rules |= dict(enumerate(values, first))
        first += len(values)
        gone = random.sample(sorted(rules), len(rules) // 3)
        index.remove(np.array(gone, np.int64))
        rules = {number: value for number, value in rules.items() if number not in gone}
        asked = random.choices(VALUES[kind], k=7)
        column = pa.chunked_array([pa.array(asked[:3], arrow), pa.array(asked[3:], arrow)])
        places, numbers = index.copy().find(column.dictionary_encode() if coded else column)
        expected = [
            (place, number)
            for place, value in enumerate(asked)
            for number, own in sorted(rules.items())
            if value is not None and own == value
        ]
        assert list(zip(places.tolist(), numbers.tolist(), strict=True)) == expected
    index.clear()
    assert index.find(pa.chunked_array([pa.array(VALUES[kind])]))[1].tolist() == []
