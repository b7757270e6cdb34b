"""Conditions that bound a search: `a.price < b.price` is a range of a stack that is sorted by price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from cepheid.automaton.model import Held
from cepheid.kernel.expressions import kind_of
from cepheid.pattern import expressions as ex
from cepheid.pattern.walk import walk
from cepheid.plan.join import Join, Joint

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_SORTABLE = "ift"


@dataclass(frozen=True)
class Bound:
    """`column operator value`: the column of one stack, the value of others."""

    joint: Joint
    operator: str
    value: ex.Expression


@dataclass(frozen=True)
class Sorted:
    """A stack that is worth sorting: by which column, and what bounds it."""

    column: str
    kind: str
    bounds: tuple[Bound, ...]


def find_sorted(join: Join, y: int, kind_of_value: Callable[[ex.Expression], str]) -> Sorted | None:
    """The column of a stack that most conditions bound, by values of its kind: an integer is a double beside one."""
    found: list[tuple[str, Bound]] = []
    for joint in join.joints:
        node = joint.test.condition
        if y not in joint.stacks or joint.late or not isinstance(node, ex.Compare) or node.operator not in _TURNED:
            continue
        if any(join.stacks[x].negated for x in joint.stacks):
            continue
        name = join.stacks[y].variable
        for side, other, operator in (
            (node.left, node.right, node.operator),
            (node.right, node.left, _TURNED[node.operator]),
        ):
            read = {n.register.variable for n in walk(other) if isinstance(n, Held)}
            if isinstance(side, Held) and side.register.variable == name and name not in read:
                kind = kind_of(side.type)
                alike = kind == kind_of_value(other) or (kind == "f" and kind_of_value(other) == "i")
                if alike and (kind in _SORTABLE or (kind == "s" and operator == "=")):
                    found.append((side.register.column, Bound(joint, operator, other)))
    if not found:
        return None
    column = Counter(name for name, _ in found).most_common(1)[0][0]
    bounds = tuple(bound for name, bound in found if name == column)
    return Sorted(column, kind_of(join.query.schema.columns[column]), bounds)
