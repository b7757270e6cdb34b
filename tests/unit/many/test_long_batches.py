"""A batch that makes far more rows of a joined stream than it has events: matches keep the rows that they have."""

import pyarrow as pa

import cepheid as cep

TEXT = "PATTERN SEQ(A a, B b) WHERE [symbol] AND a.price > high AND b.price < a.price - 3 AND a.name != word WITHIN 9"
EVENTS = pa.table(
    {
        "ts": list(range(80)),
        "type": ["A", "B"] * 40,
        "symbol": [f"s{k % 5}" for k in range(80)],
        "name": [f"w{k % 7}" for k in range(80)],
        "price": [k * 7 % 45 for k in range(80)],
    }
)


def test_matches_are_taken_out_before_their_rows_go():
    rules = [{"id": k, "high": k % 40, "word": f"w{k}"} for k in range(600)]
    found = cep.Queries(TEXT, rules).match(EVENTS).to_pylist()
    assert len(found) == 11_910
    some = cep.Queries(TEXT, rules[::60])
    ids = {rule["id"] for rule in rules[::60]}
    assert [row for row in found if row["query"] in ids] == some.match(EVENTS, engine="reference").to_pylist()
