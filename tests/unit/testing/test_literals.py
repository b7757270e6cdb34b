from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import inf

import pytest

from cepheid.testing.literals import evaluate

VALUES = [
    None,
    True,
    -1,
    1.5,
    inf,
    -inf,
    "it's",
    [1, [2]],
    (1,),
    {1, 2},
    set(),
    {"a": {"b": None}},
    timedelta(days=1, seconds=2),
    -timedelta(hours=1),
    datetime(2024, 2, 29, 12, 30),
    datetime(2024, 2, 29, tzinfo=UTC),
    date(2024, 2, 29),
    time(12, 30),
    Decimal("1.50"),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_the_repr_of_a_value_reads_as_the_value(value: object) -> None:
    assert evaluate(repr(value)) == value


def test_short_names() -> None:
    assert evaluate("{'T': timedelta(hours=1), 'at': datetime(2024, 1, 1, tzinfo=UTC)}") == {
        "T": timedelta(hours=1),
        "at": datetime(2024, 1, 1, tzinfo=UTC),
    }


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("__import__('os')", "__import__('os')"),
        ("[1, x]", "x"),
        ("1 + 1", "1 + 1"),
        ("{**{}}", "{**{}}"),
        ("timedelta(**{'hours': 1})", "timedelta(**{'hours': 1})"),
        ("date.today()", "date.today()"),
        ("[1", "[1"),
        ("-'a'", "-'a'"),
        ("...", "..."),
        ("[i for i in [1]]", "[i for i in [1]]"),
    ],
)
def test_nothing_else_is_run(text: str, culprit: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        evaluate(text)
    assert str(caught.value) == f"{culprit} is not a literal"
