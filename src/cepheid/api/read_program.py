"""What a `Query` is made of: its text, a pattern tree, or an object of the builder."""

from __future__ import annotations

import re
from typing import Protocol

from cepheid.errors import UsageError
from cepheid.language import parse
from cepheid.pattern.tree.nodes import Program


class HasProgram(Protocol):
    """An object of the builder: anything with a pattern tree."""

    @property
    def program(self) -> Program: ...


def read_program(query: object) -> Program:
    """The program that a text says, or an object of the builder has."""
    if isinstance(query, str):
        if re.fullmatch(r"\S+\.\w+", query.strip()):
            remedy = f"read the file first: Query(Path({query.strip()!r}).read_text())"
            raise UsageError(
                "CEP601", f"{query.strip()!r} looks like a file name; Query takes the text of a query", remedy
            )
        return parse(query)
    if isinstance(query, Program):
        return query
    program = getattr(query, "program", None)
    if isinstance(program, Program):
        return program
    shown = type(query).__name__
    raise UsageError("CEP601", f"Query can't read a {shown}", "pass the text of a query, or a pattern of the builder")
