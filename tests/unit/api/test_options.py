"""Arguments of Query."""

from collections.abc import Callable
from datetime import timedelta

import pytest

import cepheid as cep


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: cep.Query(5), "CEP601"),
        (lambda: cep.Query("EVENT A a", params=5), "CEP603"),
        (lambda: cep.Query("EVENT A a", functions={"f": 1}), "CEP312"),
        (lambda: cep.Query("EVENT A a", functions={"AVG": len}), "CEP312"),
        (lambda: cep.Query("EVENT A a", time=""), "CEP603"),
        (lambda: cep.Query("EVENT A a", type=""), "CEP603"),
        (lambda: cep.Query("EVENT A a", order_by=[""]), "CEP603"),
        (lambda: cep.Query("EVENT A a", types={"A": "x"}), "CEP603"),
        (lambda: cep.Query("EVENT A a", unit="fortnight"), "CEP601"),
        (lambda: cep.Query("EVENT A a").match([], engine="warp"), "CEP601"),
        (lambda: cep.Query("EVENT Shef a", types={"Shelf": ["x"]}), "CEP302"),
        (lambda: cep.Query("PATTERN SEQ(A a, B b)", type=None), "CEP302"),
        (lambda: cep.Query("EVENT A a", order_by="n").match([{"ts": 1, "type": "A"}]), "CEP301"),
        (lambda: cep.Query("EVENT A a", types={"A": ["z"]}).match([{"ts": 1, "type": "A"}]), "CEP301"),
        (lambda: cep.Query("PATTERN SEQ(A a, B b) WHERE a.x = MSFT"), "CEP304"),
        (lambda: cep.Query("EVENT A a WHERE a.x IN S", params={"S": 5}), "CEP307"),
        (lambda: cep.Query("EVENT A a WHERE a.x = S", params={"S": [5]}), "CEP307"),
        (lambda: cep.Query("EVENT A a WHERE a.x = S", params={"S": object()}), "CEP307"),
        (lambda: cep.Query("EVENT A a WITHIN T", params={"T": "soon"}), "CEP307"),
        (lambda: cep.Query("EVENT A a WITHIN T", params={"T": -1}), "CEP216"),
        (lambda: cep.Query("EVENT A a WITHIN 0 hours"), "CEP216"),
    ],
)
def test_wrong(make: Callable[[], object], code: str) -> None:
    with pytest.raises(cep.CepheidError) as error:
        make()
    assert error.value.code == code


@pytest.mark.parametrize("window", ["5 ms", 5, timedelta(milliseconds=5)])
def test_windows_as_parameters(window: object) -> None:
    query = cep.Query("PATTERN SEQ(A a, B b) WITHIN T", params={"T": window})
    rows = [{"ts": 0, "type": "A"}, {"ts": 4, "type": "B"}, {"ts": 5, "type": "B"}]
    assert [m["b"]["ts"] for m in query.match(rows)] == [4]


def test_single_type_without_a_type_column() -> None:
    query = cep.Query("PATTERN SEQ(Tick a, Tick b) WHERE strict_contiguity(a, b) { b.x > a.x }", type=None)
    assert [m["a"]["ts"] for m in query.match([{"ts": t, "x": x} for t, x in enumerate([3, 1, 2, 2])])] == [1]


def test_warning_on_exploding_kleene() -> None:
    with pytest.warns(cep.CepheidWarning, match="add WITHIN or skip_till_next_match"):
        cep.Query("PATTERN SEQ(A+ a[], B b)")


def test_warning_on_a_variable_without_a_strategy() -> None:
    with pytest.warns(cep.CepheidWarning, match="b: no strategy is given"):
        cep.Query("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a) { }")


def test_warning_on_a_comparison_with_null() -> None:
    with pytest.warns(cep.CepheidWarning, match="write IS NULL"):
        cep.Query("PATTERN A a WHERE a.x = NULL")


def test_warning_on_a_misspelt_type() -> None:
    query = cep.Query("PATTERN SEQ(shelf a, Exit b)")
    with pytest.warns(cep.CepheidWarning, match="no event has the type 'shelf'; did you mean 'Shelf'") as caught:
        query.match([{"ts": 1, "type": "Shelf"}])
    assert caught[0].filename == __file__


def test_a_file_name_is_no_query() -> None:
    with pytest.raises(cep.UsageError, match="looks like a file"):
        cep.Query("fraud.sase")
