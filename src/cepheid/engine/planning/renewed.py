"""A query that differs from another one in constants only: its kernels are those of the other, with other arguments."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from cepheid.engine.planning.compiled_query import CompiledQuery
from cepheid.front.runnable import BoundQuery, Runnable
from cepheid.kernel.arguments import EventArray, Mask
from cepheid.kernel.constants import Constant
from cepheid.kernel.join.kernel import JoinFunction, JoinKernel
from cepheid.kernel.scan.kernel import ScanKernel
from cepheid.pattern.binding.placement import Placement
from cepheid.pattern.expressions import nodes as ex

Renewed = dict[int, tuple[ex.Literal, ex.Literal]]
"""Literals by their identity, each with the one in its place."""

K = TypeVar("K", ScanKernel, JoinFunction)

_NUMBERED = (ex.And, ex.Or, ex.Not, ex.Compare, ex.Between, ex.Minus, ex.Arithmetic)
"""Below these, constants are arguments of a kernel. Elsewhere they may shape it."""


def renewed(known: CompiledQuery, query: Runnable) -> CompiledQuery | None:
    """What runs a query, made of what runs one of its shape; None if that is of another shape."""
    literals = _literals(known.query, query)
    if literals is None or known.derived or known.why_interpreted or known.tries or known.lasts:
        return None
    compiled = known.with_constants(query)
    compiled.use_kernels(
        scans=_each(known.scans, literals, _scan),
        tracked=_each(known.tracked, literals, _scan),
        joins=_each(known.joins, literals, _join),
    )
    return compiled


def _each(kernels: Mapping[Any, Any], literals: Renewed, renew: Any) -> dict[Any, Any]:
    """Those that can have other constants; the others are generated when they are asked for."""
    renewed_kernels = {key: renew(kernel, literals) for key, kernel in kernels.items()}
    return {key: kernel for key, kernel in renewed_kernels.items() if kernel is not None}


def _scan(kernel: ScanKernel, literals: Renewed) -> ScanKernel | None:
    constants = _constants(kernel.constants, kernel.events, literals)
    return None if constants is None else replace(kernel, constants=constants)


def _join(kernel: JoinKernel, literals: Renewed) -> JoinKernel | None:
    select, construct = (_function(function, literals) for function in (kernel.select, kernel.construct))
    group = None if kernel.group is None else _function(kernel.group, literals)
    if select is None or construct is None or (group is None) != (kernel.group is None):
        return None
    return replace(kernel, select=select, group=group, construct=construct)


def _function(function: JoinFunction, literals: Renewed) -> JoinFunction | None:
    constants = _constants(function.constants, function.events, literals)
    return None if constants is None else replace(function, constants=constants)


def _constants(
    constants: Sequence[Constant], events: Sequence[EventArray], literals: Renewed
) -> tuple[Constant, ...] | None:
    """Other arguments; None where a condition is computed beforehand, or a literal is not one of the conditions."""
    if any(isinstance(event.holds, Mask) for event in events):
        return None
    arguments = []
    for constant in constants:
        if constant.literal is not None:
            pair = literals.get(id(constant.literal))
            if pair is None:
                return None
            constant = constant.of(pair[1])
        arguments.append(constant)
    return tuple(arguments)


# What differs.

_SAME = tuple(field.name for field in fields(BoundQuery) if field.name not in ("placement", "typer"))


def _literals(old: Runnable, new: Runnable) -> Renewed | None:
    """The literals of conditions and those in their place; None if queries differ in more than that."""
    if any(getattr(old, name) != getattr(new, name) for name in _SAME):
        return None
    renewed_literals: Renewed = {}
    before, after = list(_conditions(old.placement)), list(_conditions(new.placement))
    if [place for place, _ in before] != [place for place, _ in after]:
        return None
    pairs = zip(before, after, strict=True)
    return (
        renewed_literals
        if all(_match(old_part, new_part, renewed_literals, free=True) for (_, old_part), (_, new_part) in pairs)
        else None
    )


def _conditions(placement: Placement) -> Iterator[tuple[object, ex.Expression]]:
    """Each condition, with where it is tested."""
    for number, tests in placement.at_place.items():
        yield from (((number, when), condition) for when, condition in tests)
    for kind, placed in (("exit", placement.at_exit), ("witness", placement.of_witness)):
        for number, conditions in placed.items():
            yield from (((kind, number), condition) for condition in conditions)
    yield from (("constant", condition) for condition in placement.constant)


def _match(old_part: Any, new_part: Any, renewed_literals: Renewed, *, free: bool) -> bool:
    """Whether two expressions differ only in constants that are arguments; notes all constants."""
    if type(old_part) is not type(new_part):
        return False
    if isinstance(old_part, ex.Literal):
        known = renewed_literals.setdefault(id(old_part), (old_part, new_part))[1]
        return known == new_part and (_alike(old_part, new_part) if free else old_part == new_part)
    if isinstance(old_part, tuple):
        return len(old_part) == len(new_part) and all(
            _match(a, b, renewed_literals, free=free) for a, b in zip(old_part, new_part, strict=True)
        )
    if not isinstance(old_part, ex.Expression):
        return bool(old_part == new_part)
    below = free and isinstance(old_part, _NUMBERED)
    return all(
        _match(getattr(old_part, field.name), getattr(new_part, field.name), renewed_literals, free=below)
        for field in fields(old_part)
        if field.compare
    )


def _alike(old_literal: ex.Literal, new_literal: ex.Literal) -> bool:
    """Whether code that has the one as an argument is right for the other: NULL, booleans, zero and NaN shape it."""
    a, b = old_literal.value, new_literal.value
    if old_literal.type != new_literal.type or type(a) is not type(b):
        return False
    if a is None or isinstance(a, bool):
        return a == b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return (a == 0) == (b == 0) and math.isnan(a) == math.isnan(b)
    return isinstance(a, str)
