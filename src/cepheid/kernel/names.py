"""Names in the text of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")


def identifier(text: str) -> str:
    """Return a text as part of an identifier: other characters than letters and digits become underscores."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text)


def distinct(wanted: Mapping[Key, str]) -> dict[Key, str]:
    """An identifier for each text, all different.

    >>> distinct({1: "a b", 2: "a.b", 3: "c"})
    {1: 'a_b', 2: 'a_b_2', 3: 'c'}
    """
    names: dict[Key, str] = {}
    for key, text in wanted.items():
        base = identifier(text)
        name, number = base, 2
        while name in names.values():
            name, number = f"{base}_{number}", number + 1
        names[key] = name
    return names
