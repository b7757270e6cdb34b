"""S3: three-valued logic. None is NULL."""

from __future__ import annotations


def conjunction(values: list[bool | None]) -> bool | None:
    """AND: FALSE wins over NULL, NULL over TRUE."""
    if False in values:
        return False
    return None if None in values else True


def disjunction(values: list[bool | None]) -> bool | None:
    """OR: TRUE wins over NULL, NULL over FALSE."""
    if True in values:
        return True
    return None if None in values else False


def negation(value: bool | None) -> bool | None:
    """NOT."""
    return None if value is None else not value
