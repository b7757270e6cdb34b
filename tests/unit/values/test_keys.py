"""The order of content (S1)."""

import math

from cepheid.values.keys import sort_key

NAN = math.nan


def test_order_of_content_tells_zeros_apart() -> None:
    assert [str(v) for v in sorted([0.0, -0.0], key=sort_key)] == ["-0.0", "0.0"]


def test_order_of_content_is_null_first_nan_last() -> None:
    assert sorted([NAN, 1.0, None, -1.0], key=sort_key)[:3] == [None, -1.0, 1.0]
