"""Paths: the way from a column to a field of a struct, which can be a key as a column can."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from cepheid.errors import Span
from cepheid.pattern.expressions.nodes import Attribute, Expression, Field, Index
from cepheid.pattern.expressions.types import Type

Path = tuple[str, ...]
"""A column and fields of structs in it: `payload.user` is ("payload", "user")."""

_WORD = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a struct that is read like a column."""

    path: Path
    type: Type


def spell(path: Path) -> str:
    """A path as text; no two paths have the same.

    >>> spell(("payload", "user id"))
    'payload.`user id`'
    """
    return ".".join(name if _WORD.match(name) else "`" + name.replace("`", "``") + "`" for name in path)


def part_name(path: Path, columns: Collection[str]) -> str:
    """The name by which a key is known among columns: of a field, the text of its path."""
    if len(path) == 1:
        return path[0]
    name = spell(path)
    while name in columns:
        name += " "  # a column has this very name
    return name


def resolve_path(path: Path, columns: Collection[str]) -> Path:
    """Where there is no column `payload`, `payload.user` is the column that has this name."""
    whole = ".".join(path)
    return (whole,) if path[0] not in columns and whole in columns else path


def read_path(path: Path, variable: str, span: Span | None = None) -> Expression:
    """The expression that reads a path of an event."""
    read: Expression = Attribute(variable, Index.ONE, path[0], span=span)
    for name in path[1:]:
        read = Field(read, name, span=span)
    return read
