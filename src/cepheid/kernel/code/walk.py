"""Going through a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.types import Scalar


def calls(
    function: n.Function, resolve: Callable[[n.Invoke], n.Function | None]
) -> tuple[n.Function, list[n.Function]]:
    """A function whose calls have the names of what they are resolved to, and what these are."""
    needed: list[n.Function] = []

    def settled(node: Any) -> Any:
        if isinstance(node, tuple):
            made = tuple(settled(part) for part in node)
            return made if any(a is not b for a, b in zip(made, node, strict=True)) else node
        if not is_dataclass(node) or isinstance(node, Scalar | n.Immediate | n.Local | n.Array):
            return node
        changed = {f.name: new for f in fields(node) if (new := settled(old := getattr(node, f.name))) is not old}
        rebuilt = replace(node, **changed) if changed else node  # type: ignore[type-var]
        if isinstance(rebuilt, n.Invoke):
            other = resolve(rebuilt)
            if other is not None:
                needed.append(other)
                return replace(rebuilt, function=other.name)
        return rebuilt

    return replace(function, body=settled(function.body)), needed
