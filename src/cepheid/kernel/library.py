"""Functions that are written by hand: as they are for plain Python, as trees for the compiler.

What no query shapes is here once: the match store, counting, the order of matches, sorting and looking up. A generated
kernel calls such a function by its name; the types of the arguments settle which form of it is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import FunctionType, MappingProxyType

from cepheid.kernel import (
    comparing,
    counting_blocks,
    counting_nodes,
    decoding,
    entries,
    keys,
    order,
    packing,
    partition_order,
    runtime,
    shared_conditions,
    shared_edges,
    shared_keys,
    shared_lists,
    shared_lookup,
    shared_loop,
    shared_ranges,
    sorting,
    store,
    stretches,
)
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.reader import INTRINSICS, read_function
from cepheid.kernel.code.types import Scalar
from cepheid.kernel.code.walk import calls

MODULES = (
    runtime, store, counting_nodes, counting_blocks, order, packing, decoding, keys, entries, sorting, partition_order,
    stretches, comparing, shared_loop, shared_lookup, shared_edges, shared_ranges, shared_conditions, shared_lists,
    shared_keys,
)  # fmt: skip


def _functions() -> Iterator[tuple[str, FunctionType]]:
    for module in MODULES:
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("__"):
                yield name, value


FUNCTIONS: Mapping[str, FunctionType] = dict(_functions())


@cache
def instance(name: str, arguments: tuple[Scalar, ...]) -> n.Function:
    """A function for arguments of some types; its name tells these."""
    return read_function(FUNCTIONS[name], arguments, ".".join([name, *(str(a) for a in arguments)]))


def with_library(
    function: n.Function, generated: Mapping[str, n.Function] = MappingProxyType({})
) -> tuple[n.Function, tuple[n.Function, ...]]:
    """A function, and the functions of the library that it needs, each call going to the form for its arguments.

    own: generated functions that take the place of those of the library that have their names.
    """
    functions: dict[str, n.Function] = {}

    def settle(caller: n.Function) -> n.Function:
        resolved, needed = calls(caller, lambda call: generated.get(call.function) or _resolve(call))
        for other in needed:
            if other.name not in functions:
                functions[other.name] = other  # before its own calls are settled: a function may call itself
                functions[other.name] = settle(other)
        return resolved

    main = settle(function)
    return main, tuple(functions.values())


def _resolve(call: n.Invoke) -> n.Function | None:
    if call.function in INTRINSICS or call.function == "abs":
        return None
    types = tuple(a.element if isinstance(a, n.Array) else a.type for a in call.arguments)
    return instance(call.function, types)
