"""An exploding query ends with an error."""

import pytest

import cepheid as cep
from cepheid.engine.machines.interpreted import patterns
from cepheid.reference import runs


def test_too_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_RUNS", 1000)
    query = cep.Query("PATTERN A+ a[] WITHIN 1 hour")
    assert len(query.match([{"ts": t, "type": "A"} for t in range(9)], engine="reference")) == 2**9 - 1
    with pytest.raises(cep.EvaluationError) as error:
        query.match([{"ts": t, "type": "A"} for t in range(40)], engine="reference")
    assert error.value.code == "CEP504"


def test_that_the_error_shows_the_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a query that is interpreted, too: what it compares all of a[] with comes later."""
    monkeypatch.setattr(runs, "MAX_RUNS", 1000)
    monkeypatch.setattr(patterns, "MAX_RUNS", 1000)
    events = [*({"ts": t, "type": "A", "x": t} for t in range(18)), {"ts": 18, "type": "B", "x": 99}]
    text = "PATTERN SEQ(A+ a[], B b) WHERE {} ALL(a[].x != b.x) {} WITHIN 1 hour OUTPUT LONGEST"
    for engine in ("reference", "auto"):
        with pytest.raises(cep.EvaluationError) as error:
            cep.Query(text.format("", "")).match(events, engine=engine)
        assert (error.value.code, error.value.column) == ("CEP504", 13)
        assert error.value.span is not None
        assert error.value.span.excerpt == "A+ a[]"
        assert error.value.message.endswith(
            "under skip_till_any_match there is one for every subset of the events of a[]"
        )
        assert error.value.remedy.startswith("use skip_till_next_match")
        assert len(cep.Query(text.format("skip_till_next_match {", "}")).match(events, engine=engine)) == 1


def test_too_many_runs_without_a_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_RUNS", 100)
    events = [{"ts": t, "type": "A"} for t in range(40)]
    with pytest.raises(cep.EvaluationError) as error:
        cep.Query("PATTERN SEQ(A a, A b) WITHIN 1 hour").match(events, engine="reference")
    assert (error.value.code, error.value.message) == ("CEP504", "more than 100 runs in one partition")
    assert error.value.remedy == "shorten WITHIN, or add conditions or [attr]; explain() says what splits the events"
