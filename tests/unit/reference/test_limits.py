"""An exploding query ends with an error."""

import pytest

import cepheid as cep
from cepheid.reference import runs


def test_too_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_RUNS", 1000)
    query = cep.Query("PATTERN A+ a[] WITHIN 1 hour")
    assert len(query.match([{"ts": t, "type": "A"} for t in range(9)], engine="reference")) == 2**9 - 1
    with pytest.raises(cep.EvaluationError) as error:
        query.match([{"ts": t, "type": "A"} for t in range(40)], engine="reference")
    assert error.value.code == "CEP504"
