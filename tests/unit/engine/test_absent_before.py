"""`!(B b) FOR d` at the start, on a kernel: when the last witness came is kept for each partition (S26)."""

import cepheid as cep

QUERY = cep.Query(
    "PATTERN SEQ(!(B n) FOR 10 milliseconds, A+ a[], C c) WHERE skip_till_next_match { [id] } WITHIN 60 milliseconds"
)


def row(ts: int, kind: str, key: int) -> dict[str, object]:
    return {"ts": ts, "type": kind, "id": key}


def test_it_runs_on_a_kernel() -> None:
    session = QUERY.session(engine="plain")
    session.push([row(1, "A", 1)])
    session.advance(2)
    assert session.engine.pipeline.queries[0].machine.mode == "plain"


def test_a_partition_is_kept_as_long_as_its_witness_matters() -> None:
    session = QUERY.session(engine="plain", lateness=0)
    session.push([row(t, "B", t) for t in range(15)])
    machine = session.engine.pipeline.queries[0].machine
    ((_, alive),) = machine.held_partitions()
    assert alive.tolist() == [t > 13 - 10 for t in range(14)]  # the event at the watermark waits


def test_a_witness_is_remembered_where_partitions_were_given_up() -> None:
    session = QUERY.session(engine="plain", lateness=0)
    session.push([row(t, "B", t) for t in range(100)])
    session.engine.compact()
    events = [row(t, kind, key) for t, kind, key in [(100, "A", 95), (101, "A", 80), (102, "C", 95), (103, "C", 80)]]
    found = session.push(events).to_pylist() + session.close().to_pylist()
    assert [(match["a"][0]["id"], match["match_start"], match["match_end"]) for match in found] == [(80, 101, 103)]
