"""Built trees with places in their own text."""

from __future__ import annotations

from abc import ABC, abstractmethod

from cepheid.builder.misuse import misuse
from cepheid.language import parse, print_program
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.walk import MAX_DEPTH, too_deep


class BuiltQuery(ABC):
    """A query under construction, in whichever language."""

    __slots__ = ()

    @abstractmethod
    def _checked(self) -> tree.QueryTree:
        """Its tree, which is not too deep."""

    def _stream_name(self) -> str | None:
        """Its name, if it is a stream and nothing but named."""
        return None


def placed(made: tree.Program) -> tree.Program:
    """The tree read back from its own text, so that later errors can point to places in it.

    If a constant does not print as itself, the two trees differ and the original one is used.
    """
    read = parse(print_program(made))
    return read if read == made else made


def check_depth(query: tree.QueryTree) -> None:
    """Refuse a tree that would be refused as text."""
    if too_deep(query) is not None:
        raise misuse(f"the query is nested more than {MAX_DEPTH} levels deep", "split it into simpler conditions")
