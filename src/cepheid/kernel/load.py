"""Source to functions: as plain Python, or by numba from a content-addressed file, which is its cache's key.

The file's name is a hash of all that decides the machine code, so that no process can find code that is not its own,
and many can write at once: each writes a file of its own and puts it in place in one step. Where several want the same
kernel, which none has compiled yet, one does and the others wait for it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from cepheid.cache import alone, cache_directory
from cepheid.kernel import counting, plain, store

Function = Callable[..., Any]
_LOADING = RLock()
_PREFIX = "cepheid_kernel_"
ARRAY = {"w": "types.{}[::1]", "r": "types.Array(types.{}, 1, 'C', readonly=True)"}


@cache
def has_numba() -> bool:
    """Whether there is a compiler. Finding out must not import it."""
    return importlib.util.find_spec("numba") is not None


@lru_cache(maxsize=256)
def as_python(text: str, name: str) -> Function:
    """A function of generated source, run as it is. It keeps no state: every run of a query can have the same."""
    namespace = {key: value for key, value in vars(plain).items() if not key.startswith("_")}
    exec(compile(text, f"<cepheid {name}>", "exec"), namespace)
    found: Function = namespace[name]
    return found


_CONSTANT = re.compile(r"\b(U8|U4|I8)\((\d+)\)")


def _with_constants(text: str) -> str:
    """Numbers of a width as names of the module: numba types a name at once, and a call by trying its overloads."""
    found = sorted({(kind, int(number)) for kind, number in _CONSTANT.findall(text)})
    defined = [f"{kind}_{number} = {kind}({number})" for kind, number in found]
    return "\n".join([*defined, "", "", _CONSTANT.sub(r"\1_\2", text)])


@cache
def compiled(text: str, signatures: tuple[tuple[str, str], ...]) -> Mapping[str, Function]:
    """Functions of a source, compiled for the signatures that are given with their names."""
    head = "from numba import njit, types\n\nfrom cepheid.kernel.native import *\n\n"
    body = _with_constants(text)
    for name, signature in signatures:
        counted = "" if "@helper" not in text else "_nrt=False, "
        decorator = f'@njit({signature}, cache=True, nogil=True, {counted}error_model="numpy")'
        body = body.replace(f"def {name}(", f"{decorator}\ndef {name}(", 1)
    module = _load(head + body)
    return {name: getattr(module, name) for name, _ in signatures}


def signature(result: str, arguments: Sequence[str]) -> str:
    """An eager signature; arrays are given as `dtype[r]` for those that are only read and `dtype[w]`."""
    return f"types.{result}({', '.join(map(_type, arguments))})"


def _type(argument: str) -> str:
    if argument.endswith("]"):
        dtype, access = argument[:-1].split("[")
        return ARRAY[access].format(dtype)
    return f"types.{argument}"


@cache
def store_functions() -> Mapping[str, Function]:
    """The functions of the match store, compiled."""
    nodes = ["int64[w]", "uint32[w]", "uint32[w]", "int64[w]"]
    out = ["int64[w]", "int64[w]", "uint32[w]", "int64[w]", "int64[w]", "int64[w]"]
    wanted = {
        "enumerate_matches": ("int64", ["int64", "int64", *nodes, "uint32[w]", "int64[w]", "int64[w]", *out]),
        "count_matches": (
            "int64",
            [
                *("int64", "int64", "uint32[w]", "uint32[w]", "int64[w]", "uint32[w]", "int64[w]"),
                *("uint64[w]", "uint32[w]", "uint64[w]", "uint32[w]", "int64", "int64", "uint64[w]"),
            ],
        ),
        "mark_nodes": ("int64", ["int64", "uint32[w]", "uint32[w]", "int64[w]", "int64[w]", "uint32[w]"]),
        "move_nodes": ("void", ["int64", *nodes, "uint32[w]"]),
        "renumber": ("void", ["uint32[w]", "uint32[w]"]),
        "precedes": ("boolean", ["int64"] * 4 + ["int64[w]"] * 3),
        "decode_matches": ("void", ["int64"] * 3 + ["int64[w]"] * 5 + ["int16[w]", "int64[w]"]),
        "order_matches": ("void", ["int64"] * 3 + ["int64[w]"] * 5),
    }
    text = "\n\n".join(inspect.getsource(getattr(store, name)) for name in wanted)
    text = f"Array = None\nFREE = {store.FREE}\n\n\n{text}".replace("# noqa: PLR0913", "")
    return compiled(text, tuple((name, signature(*types)) for name, types in wanted.items()))


@cache
def counting_functions() -> Mapping[str, Function]:
    """The functions that count by blocks, compiled."""
    graph = ["uint32[w]", "uint32[w]", "int64[w]"]
    blocks = ["int64[w]", "int64[w]", "uint32[w]", "uint64[w]", "uint64[w]"]
    wanted = {
        "last_uses": ("boolean", ["int64", *graph, "uint32[w]"]),
        "row_of": ("uint64", ["uint32", "uint64", "uint64", "uint64", "uint32[w]"]),
        "end_block": ("uint64", ["uint64"] * 4 + ["uint32[w]", "uint32[w]", "uint64[w]", "uint64[w]"]),
        "make_blocks": ("int64", ["int64"] + ["uint32[w]"] * 4 + [*blocks, "uint64[w]"]),
        "set_number": ("uint64", ["uint64", "uint64[w]", "uint64"]),
        "add_scaled": ("uint64", ["uint64[w]", "uint64", "uint64", "uint64[w]", "uint64", "uint64", "uint64"]),
        "count_nodes": ("void", ["uint64"] * 3 + ["int64", *graph, "uint64[w]"]),
        "count_by_blocks": (
            "int64",
            ["int64", "int64", *graph, "uint32[w]", "int64[w]", "uint32[w]", *blocks, *["uint64[w]"] * 5],
        ),
    }
    constants = (
        f"{name} = {value}" for name, value in vars(counting).items() if name.isupper() and name not in vars(plain)
    )
    text = "\n\n".join(inspect.getsource(getattr(counting, name)) for name in wanted)
    text = "\n".join(["Array = None", *constants, "\n", text])
    return compiled(text, tuple((name, signature(*types)) for name, types in wanted.items()))


def warm(limit: int = 64) -> int:
    """Load the newest kernels of the cache, so that processes that are forked have them. How many there were."""
    from numba.core.registry import cpu_target

    importlib.import_module("cepheid.kernel.native")
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    made: list[tuple[float, Path]] = []
    for path in cache_directory().glob(f"{_PREFIX}*.py"):
        with suppress(OSError):
            made.append((path.stat().st_mtime, path))
    loaded = 0
    for _, path in sorted(made, reverse=True)[:limit]:
        with suppress(Exception):  # of another release, or torn: who needs it will see to it
            text = path.read_text(encoding="utf-8")
            if _name(text) == path.stem and _is_complete(path, text):
                _load(text)
                loaded += 1
    return loaded


def _name(text: str) -> str:
    """A name for all that decides the machine code."""
    import numba
    from numba.core.registry import cpu_target

    native = files("cepheid.kernel").joinpath("native.py").read_text(encoding="utf-8")
    machine = repr(cpu_target.target_context.codegen().magic_tuple())
    facts = [text, native, numba.__version__, sys.version, machine]
    return _PREFIX + hashlib.sha256("\n".join(facts).encode()).hexdigest()[:24]


def _load(text: str) -> ModuleType:
    """The module of a source, from the cache if it is there. Any trouble with the cache costs time and nothing else."""
    import numba

    name = _name(text)
    with _LOADING:
        if name in sys.modules:
            return sys.modules[name]
        for _ in range(2):
            path = cache_directory() / f"{name}.py"
            try:
                if _is_complete(path, text):
                    return _run(name, text, str(path))
                with alone(path.with_name(f"{name[-2:]}.lock")):  # not one for each kernel: there are many
                    _write(path, text)
                    return _run(name, text, str(path))
            except (numba.core.errors.NumbaError, MemoryError):
                raise
            except Exception:  # a full disk, or a file that a crash of the machine has torn: it fails in any way
                _remove(path)
        return _run(name, text.replace("cache=True, ", ""), f"<{name}>")


def _is_complete(path: Path, text: str) -> bool:
    """Whether all functions have been compiled, so that nobody need wait."""
    found = list((path.parent / "__pycache__").glob(f"{path.stem}.*.nbc"))
    return len(found) >= text.count("@njit(") and path.exists() and path.read_text(encoding="utf-8") == text


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)


def _remove(path: Path) -> None:
    for file in [path, *(path.parent / "__pycache__").glob(f"{path.stem}.*")]:
        with suppress(OSError):
            file.unlink()


def _run(name: str, text: str, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module  # numba looks for it there
    try:
        exec(compile(text, path, "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module
