"""Functions and aggregates on exact values."""

import math
from decimal import Decimal

import pytest

from cepheid.values.functions import AGGREGATES, NULLABLE, SCALAR, like

NAN = math.nan
BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("substring", ("cepheid", 2, 3), "eph"),
        ("substring", ("cepheid", -3), "eid"),
        ("substring", ("cepheid", 0, 2), "ce"),
        ("substring", ("abc", -5, 4), "ab"),
        ("instr", ("abc", "c"), 3),
        ("instr", ("abc", "z"), 0),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (1.005, 2), 1.01),
        ("round", (125, -1), 130),
        ("round", (Decimal("2.345"), 2), Decimal("2.35")),
        ("floor", (-1.5,), -2),
        ("ceil", (-1.5,), -1),
        ("floor", (NAN,), 0),
        ("floor", (math.inf,), BIG),
        ("ceil", (-math.inf,), -(2**63)),
        ("power", (0.0, -3.2), math.inf),
        ("power", (-0.0, -3.0), -math.inf),
        ("power", (-8.0, 1 / 3), NAN),
        ("power", (1.0, math.inf), NAN),
        ("power", (10.0, 400), math.inf),
        ("abs", (-(2**63),), -(2**63)),
        ("sign", (-3,), -1.0),
        ("ln", (0,), None),
        ("ln", (-1,), None),
        ("power", (2, 10), 1024.0),
        ("exp", (1000,), math.inf),
        ("concat", ("a", "b", "c"), "abc"),
    ],
)
def test_scalar_functions(name: str, arguments: tuple[object, ...], expected: object) -> None:
    result = SCALAR[name](*arguments)
    assert result == expected or (expected is NAN and math.isnan(result))


def test_square_root_of_less_than_nothing() -> None:
    assert math.isnan(SCALAR["sqrt"](-1))


def test_functions_that_see_null() -> None:
    assert NULLABLE["coalesce"](None, 2, 3) == 2
    assert NULLABLE["nullif"](1, 1) is None
    assert NULLABLE["nullif"](1, None) == 1
    assert NULLABLE["least"](None, 2, 1) == 1
    assert math.isnan(NULLABLE["greatest"](1.0, NAN, None))


@pytest.mark.parametrize(
    ("name", "items", "expected"),
    [
        ("count", [1, 2], 2),
        ("sum", [BIG, 1], -(2**63)),
        ("sum", [], None),
        ("avg", [1, 2], 1.5),
        ("avg", [Decimal("1.5"), Decimal("2.5")], 2.0),
        ("avg", [], None),
        ("min", [2, 1, 3], 1),
        ("max", ["a", "c", "b"], "c"),
        ("first", [3, 1], 3),
        ("last", [3, 1], 1),
        ("stddev", [2, 4, 4, 4, 5, 5, 7, 9], math.sqrt(32 / 7)),
        ("stddev", [1], None),
    ],
)
def test_aggregates(name: str, items: list[object], expected: object) -> None:
    result = AGGREGATES[name](items)
    assert result == pytest.approx(expected) if isinstance(expected, float) else result == expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc", "abc", True),
        ("abc", "ab", False),
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "%b%", True),
        ("abc", "a%c%", True),
        ("ab", "a%b%b", False),
        ("aba", "a%a", True),
        ("a", "a%a", False),
        ("abc", "___", True),
        ("abc", "____", False),
        ("", "%", True),
        ("", "_", False),
        ("a%", "a\\%", True),
        ("ab", "a\\%", False),
        ("a\\", "a\\", True),
        ("line\nbreak", "line%", True),
        ("a" * 2000, "%a" * 30 + "b", False),
    ],
)
def test_like(text: str, pattern: str, expected: bool) -> None:
    assert like(text, pattern) is expected
