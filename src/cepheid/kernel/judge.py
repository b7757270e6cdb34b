"""Conditions as functions of plain Python, to try on a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cepheid.kernel.load import as_python
from cepheid.kernel.source import Mask
from cepheid.kernel.stacks import Columns, Function, Select
from cepheid.plan.join import Join


@dataclass(frozen=True)
class Trial:
    """The scan of a join as if everything that it waits for had come, and its conditions over several events."""

    select: Function
    judges: tuple[Judge, ...]
    names: Mapping[str, str]
    masks: tuple[Mask, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class Judge:
    """A function of the values of some stacks' entries: `arrays` are those of each stack, as the values come."""

    function: Callable[..., bool]
    stacks: tuple[int, ...]
    arrays: Mapping[int, tuple[str, ...]]


def try_out(join: Join, nullable: frozenset[str], strings: Callable[[str], int], window: int | None) -> Trial:
    """What a join asks of its events."""
    columns = Columns(join, nullable, strings)
    writer = Select(columns, window, free=True)
    select = writer.function()
    return Trial(select, tuple(_judges(columns)), columns.names, tuple(writer.masks), writer.types)


def _judges(columns: Columns) -> Iterator[Judge]:
    join = columns.join
    columns.forms = {stack.variable: (f"s{x}_c_{{}}", f"s{x}_z_{{}}") for x, stack in enumerate(join.stacks)}
    for joint in join.joints:
        stacks = tuple(sorted(joint.stacks))
        arrays = {
            x: tuple(p.name for p in columns.arrays(x) if p.name.startswith((f"s{x}_c_", f"s{x}_z_"))) for x in stacks
        }
        names = ", ".join(name for x in stacks for name in arrays[x])
        text = f"def judge({names}):\n    return {columns.emitter.truth(joint.test.condition).true}\n"
        yield Judge(as_python(text, "judge"), stacks, arrays)
