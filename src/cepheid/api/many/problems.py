"""What is wrong with rules, each told by its id: the first is raised, or all are collected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cepheid.errors import CepheidError

E = TypeVar("E", bound=CepheidError)

RAISE, COLLECT = "raise", "collect"


def told(error: E, what: str) -> E:
    """The same error, of a rule."""
    return type(error)(error.code, f"{what}: {error.message}", error.remedy, error.span)


class Problems:
    """The rules that are wrong, by number, each with its first error."""

    def __init__(self, ids: pa.Array, *, collect: bool, what: str = "rule") -> None:
        self.ids = ids
        self.what = what
        self._collect = collect
        self._found: dict[int, CepheidError] = {}

    def add(self, numbers: list[int] | np.ndarray, error: CepheidError) -> None:
        """An error of some rules; it is raised if errors are not collected."""
        if not len(numbers):
            return
        if not self._collect:
            first = int(min(numbers))
            raise told(error, self._named(first, len(numbers) - 1)) from error.__cause__
        for number in map(int, numbers):
            self._found.setdefault(number, error)

    @contextmanager
    def of(self, numbers: list[int] | np.ndarray) -> Iterator[None]:
        """Whatever is wrong here is wrong with these rules."""
        try:
            yield
        except CepheidError as error:
            self.add(numbers, error)

    def _named(self, number: int, others: int) -> str:
        shown = self.ids[number].as_py()
        named = f"{self.what} {shown!r}" if shown is not None else f"the {self.what} in row {number}"
        return f"{named} and {others:,} other{'s' * (others != 1)}" if others else named

    def copy(self) -> Problems:
        """The same, to which more may come."""
        problems = Problems(self.ids, collect=self._collect, what=self.what)
        problems._found = dict(self._found)
        return problems

    def more(self, others: Problems, ids: pa.Array, first: int) -> Problems:
        """These, and those of more rules, whose numbers begin at `first`. ids: of all rules."""
        problems = self.copy()
        problems.ids = ids
        problems._found |= {first + number: error for number, error in others._found.items()}
        return problems

    def items(self) -> list[tuple[int, CepheidError]]:
        """Each rule that is wrong, with its error."""
        return sorted(self._found.items())

    @property
    def numbers(self) -> np.ndarray:
        """The rules that are wrong."""
        return np.array(sorted(self._found), np.int64)

    def table(self) -> pa.Table:
        """The ids of the rules that are wrong, with the codes and messages of their errors."""
        numbers = sorted(self._found)
        errors = [self._found[number] for number in numbers]
        texts = {id(error): str(error) for error in errors}
        return pa.table(
            {
                "id": self.ids.take(pa.array(numbers, pa.int64())),
                "code": pa.array([error.code for error in errors], pa.string()),
                "message": pa.array([texts[id(error)] for error in errors], pa.string()),
            }
        )
