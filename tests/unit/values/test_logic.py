"""S3: FALSE, NULL and TRUE."""

from cepheid.values.logic import conjunction, disjunction, negation


def test_three_valued_logic() -> None:
    assert conjunction([True, None, False]) is False
    assert conjunction([True, None]) is None
    assert disjunction([False, None, True]) is True
    assert disjunction([False, None]) is None
    assert negation(None) is None
