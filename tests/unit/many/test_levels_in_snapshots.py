"""Runs of equal rules that came at different times are one run where the rules come together."""

import cepheid as cep

TEXT = "PATTERN SEQ(A a, B b) WHERE [id] AND a.x > low WITHIN 50"
RULES = [{"id": f"u{k}", "low": k} for k in range(12)]


def event(ts, type, x):
    return {"ts": ts, "type": type, "id": 1, "x": x}


def test_a_match_comes_once_after_a_restore():
    queries = cep.Queries(TEXT, RULES)
    session = queries.session()
    session.push([event(1, "C", 0)])
    session.advance(2)
    session.add([{"id": "new", "low": 3}], at=2)  # as u3 is
    session.push([event(3, "A", 5), event(4, "A", 4)])
    session.advance(5)
    restored = queries.restore(session.snapshot())
    for one in (session, restored):
        one.push([event(6, "B", 0)])
    found = restored.close().to_pylist()
    assert found == session.close().to_pylist()
    rows = [(row["query"], row["match_start"]) for row in found]
    both = [(name, start) for name in ("u0", "u1", "u2", "u3") for start in (3, 4)]
    assert rows == [*both, ("u4", 3), ("new", 3), ("new", 4)]
