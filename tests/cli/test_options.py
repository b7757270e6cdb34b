"""The values of parameters."""

from __future__ import annotations

import pytest

from cepheid.cli.options import read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-1.5e3", -1500.0),
        ("true", True),
        ("null", None),
        ('"7"', "7"),
        ("[1, 2]", [1, 2]),
        ("", ""),
        ("12 hours", "12 hours"),
        ("Shelf", "Shelf"),
        ("a=b", "a=b"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("007", "007"),
        ('"\\ud800"', '"\\ud800"'),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_json_where_it_is_json_else_a_string(text: str, value: object) -> None:
    found = read_value(text)
    assert (found, type(found)) == (value, type(value))
