"""Lines of source under construction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Lines at the depth of the block that is open."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def put(self, *lines: str) -> None:
        """Lines in the open block."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """An indented block."""
        self.put(head)
        self.depth += 1
        before = len(self.lines)
        yield
        self.depth -= 1
        if len(self.lines) == before:
            if head == "else:":
                self.lines.pop()
            else:
                self.lines.append("    " * (self.depth + 1) + "pass")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """A block under a condition, which may be constant."""
        if condition == "True":
            yield
            return
        with self.block(f"if {condition}:"):
            yield
