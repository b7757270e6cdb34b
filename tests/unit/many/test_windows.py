"""Windows of rules: longer than the times there are, and columns of any form."""

import pandas
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError

PAIR = "PATTERN SEQ(A a, B b) WHERE a.x > p WITHIN w"
EVENTS = [{"ts": 1, "type": "A", "x": 2}, {"ts": 2, "type": "B", "x": 2}]


@pytest.mark.parametrize("window", ["300000000 days", 2**62])
@pytest.mark.parametrize("others", [0, 9])
def test_a_window_that_is_longer_than_the_ticks_there_are(window: object, others: int) -> None:
    rules = [{"id": k, "p": 1, "w": f"{k + 1} ms"} for k in range(others)] if isinstance(window, str) else []
    found = cep.Queries(PAIR, [*rules, {"id": -1, "p": 1, "w": window}], unit="s").match(EVENTS)
    assert [m["query"] for m in found] == [-1]


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_the_same_beside_timestamps(unit: str) -> None:
    times = pa.array([0, 60], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(unit))
    events = pa.table({"ts": times, "type": ["A", "B"], "x": [2, 2]})
    rules = [{"id": k, "p": 1, "w": f"{k} s"} for k in range(1, 9)] + [{"id": 9, "p": 1, "w": "300000 days"}]
    assert [m["query"] for m in cep.Queries(PAIR, rules).match(events)] == [9]
    text = "PATTERN SEQ(A a, B b) WITHIN 300000000 days"
    assert len(cep.Queries([text]).match(events)) == 1


def test_a_column_of_categories() -> None:
    rules = pandas.DataFrame({"id": [1, 2], "p": [1, 1], "w": ["5 ms", "1 ms"]}).astype({"w": "category"})
    assert [m["query"] for m in cep.Queries(PAIR, rules).match(EVENTS)] == [1]


def test_a_window_that_is_null() -> None:
    with pytest.raises(CepheidError, match="rule 2: column 'w': a window can't be NULL"):
        cep.Queries(PAIR, [{"id": 1, "p": 1, "w": "5 ms"}, {"id": 2, "p": 1, "w": None}])


def test_a_snapshot_of_many_queries_is_not_of_one() -> None:
    blob = cep.Queries(["PATTERN A a"]).session().snapshot()
    with pytest.raises(CepheidError, match="CEP607: the snapshot is of a session of many queries"):
        cep.Query("PATTERN A a").restore(blob)
