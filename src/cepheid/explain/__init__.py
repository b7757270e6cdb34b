"""A query explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.pattern.analysis import Analysed


@dataclass(frozen=True)
class Explanation:
    text: str

    def __str__(self) -> str:
        return self.text


def explain_program(queries: Sequence[Analysed], sources: Sequence[str | None]) -> Explanation:
    return Explanation("")
