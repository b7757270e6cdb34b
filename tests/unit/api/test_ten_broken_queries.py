"""Ten queries and one more that give nothing, each for one reason: the first hint says which."""

from functools import cache
from random import Random

import pyarrow as pa
import pytest

from cepheid import Query

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")

KINDS = ("Order", "Pay", "Check", "Ship")


@cache
def orders() -> pa.Table:
    """10,000 events of 2,500 orders: each is placed, paid, checked and shipped, an hour or so apart."""
    random = Random(17)
    rows = []
    for order in range(2_500):
        at, amount = random.randrange(10**6), random.randrange(10, 500)
        for kind in KINDS:
            at += random.randrange(1_800, 5_400)
            status = random.choice(("ok", "ok", "failed")) if kind == "Pay" else None
            row = {"ts": at, "type": kind, "order_id": order, "event_id": 10 * order + KINDS.index(kind)}
            rows.append({**row, "amount": amount, "status": status, "coupon": None if order else "X"})
    return pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("ts", pa.int64()),
                ("type", pa.string()),
                ("order_id", pa.int64()),
                ("event_id", pa.int64()),
                ("amount", pa.int64()),
                ("status", pa.string()),
                ("coupon", pa.string()),
            ]
        )
    )


BROKEN = {
    "a misspelt type": ("PATTERN SEQ(Order a, Shipp c) WHERE [order_id] WITHIN 12 hours", "CEP005"),
    "a text of another case": (
        "PATTERN SEQ(Order a, Pay b) WHERE [order_id] AND b.status = 'Failed' WITHIN 12 hours",
        "CEP021",
    ),
    "a wrong unit": ("PATTERN SEQ(Order a, Ship c) WHERE [order_id] WITHIN 12 milliseconds", "CEP023"),
    "a short window": ("PATTERN SEQ(Order a, Ship c) WHERE [order_id] WITHIN 30 minutes", "CEP023"),
    "conditions that contradict each other": (
        "PATTERN SEQ(Order a, Ship c) WHERE [order_id] AND a.amount > 400 AND a.amount < 100 WITHIN 12 hours",
        "CEP004",
    ),
    "a wrong key": ("PATTERN SEQ(Order a, Ship c) WHERE [event_id] WITHIN 12 hours", "CEP025"),
    "a column of NULLs": (
        "PATTERN SEQ(Order a, Ship c) WHERE [order_id] AND c.coupon != a.status WITHIN 12 hours",
        "CEP020",
    ),
    "strict contiguity": (
        "PATTERN SEQ(Order a, Ship c) WHERE partition_contiguity(a, c) { [order_id] } WITHIN 12 hours",
        "CEP024",
    ),
    "a negation that drops everything": (
        "PATTERN SEQ(Order a, !(Pay b), Ship c) WHERE a.order_id = c.order_id WITHIN 12 hours",
        "CEP026",
    ),
    "a HAVING that is never TRUE": (
        "PATTERN SEQ(Order a, Ship c) WHERE [order_id] WITHIN 12 hours HAVING c.amount > 2 * a.amount",
        "CEP029",
    ),
    "a condition on the wrong index": (
        "PATTERN SEQ(Order a, ANY(Pay, Check)+ b[], Ship c) WHERE skip_till_next_match(a, b, c) "
        "{ [order_id] AND b[1].amount > a.amount } WITHIN 12 hours",
        "CEP030",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_that_the_first_hint_says_the_cause(name: str) -> None:
    text, code = BROKEN[name]
    found = Query(text, unit="s").diagnose(orders())
    assert found.matches == 0
    assert [hint.code for hint in found.hints][:1] == [code]
