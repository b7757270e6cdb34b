"""ALL and ANY in registers: of the greatest and least values where what they are compared with comes later."""

import math
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def events(seed: int) -> pa.Table:
    chance = Random(seed)
    return pa.table(
        {
            "ts": range(12),
            "type": [chance.choice("AAB") for _ in range(12)],
            "x": pa.array([chance.choice([None, 1.0, 2.0, math.nan]) for _ in range(12)], pa.float64()),
            "k": pa.array([chance.choice([None, 1, 2, 3]) for _ in range(12)], pa.int64()),
        }
    )


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("quantifier", ["ALL", "ANY"])
def test_that_a_kernel_gives_what_the_reference_gives(quantifier: str, operator: str) -> None:
    for seed, condition in enumerate(
        [
            f"{quantifier}(a[].x {operator} b.x)",
            f"NOT {quantifier}(b.x {operator} a[].x)",
            f"{quantifier}(a[].x {operator} b.x) IS NULL",
            f"{quantifier}(a[].k {operator} b.x + 0.5)",
        ]
    ):
        for closure in ("A+", "A*"):
            query = cep.Query(f"PATTERN SEQ({closure} a[], B b) WHERE {condition} WITHIN 8 ms")
            table = events(seed)
            expected = repr(query.match(table, engine="reference").to_pylist())
            assert repr(query.match(table, engine="plain").to_pylist()) == expected


@pytest.mark.parametrize(
    ("condition", "native"),
    [
        ("ALL(a[].x < b.x)", True),
        ("ANY(a[].x > b.x)", True),
        ("ALL(a[].x = b.x)", True),
        ("ALL(a[].x != s.x)", True),
        ("ALL(a[].x != b.x)", False),
        ("ANY(a[].x = b.x OR a[].k = 1)", False),
    ],
)
def test_which_are_in_a_kernel(condition: str, native: bool) -> None:
    query = cep.Query(f"PATTERN SEQ(S s, A+ a[], B b) WHERE {condition} WITHIN 8 ms")
    assert ("on a generated kernel" in str(query.explain(events(0).schema))) is native
