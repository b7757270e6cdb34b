"""Kernels to machine code: a tree becomes LLVM's text, that an object file in the cache, and that a function.

LLVM comes with llvmlite, which is numba's way to it. Numba itself would take a second to import, and ten times as long
to find out the types that the tree has. An object file has a name made of all that decides its bytes, so that no
process can find code that is not its own, and many can write at once: each writes a file of its own and puts it in
place in one step. Where several want the same kernel, which nobody has compiled yet, one does and the others wait for
it.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import logging
import os
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread, get_ident
from time import monotonic
from types import MappingProxyType
from typing import Any

import numpy as np

from cepheid.cache import alone, cache_directory
from cepheid.kernel.arrays import Pinned
from cepheid.kernel.code import nodes as n
from cepheid.kernel.code.lower import entry_name, lower
from cepheid.kernel.code.printer import print_function
from cepheid.kernel.code.reader import declared_types
from cepheid.kernel.code.types import FLOAT64, INT64
from cepheid.kernel.library import FUNCTIONS, instance, with_library
from cepheid.kernel.runtime import CONSTANTS

Run = Callable[..., int]
"""A kernel that can be called with its arguments, in order: numbers and arrays, which for plain Python are lists.

Machine code also takes arrays that are pinned.
"""

compilations = 0
"""How many kernels this process has compiled: those that came from the cache do not count."""
waiting: dict[int, float] = {}
"""Since when a thread waits for machine code, by the thread."""
SLOW = 2.0
"""Seconds of waiting from which on they are logged."""
_addressof, _from_buffer = ctypes.addressof, ctypes.c_char.from_buffer
_FORMS = {INT64: "q", FLOAT64: "d"}
_PREFIX = "kernel-"
_LOADED: dict[str, Run] = {}
_BESIDE: dict[str, Thread] = {}
_LOCKS: dict[str, Lock] = {}  # of each kernel: one thread gets it, the others wait
_LOCK = Lock()
_LLVM = Lock()  # LLVM is used by one thread at a time, and by none while the process forks or ends
_LONGEST = 60.0  # s: more than any kernel takes


def _forget_threads() -> None:
    """Reset the compile threads and their locks in a forked process, which has neither."""
    global _LOCK, _LLVM
    _LOCK, _LLVM = Lock(), Lock()
    _LOCKS.clear()
    _BESIDE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _LLVM.acquire(), after_in_parent=lambda: _LLVM.release(), after_in_child=_forget_threads
    )


@atexit.register
def _end_compiling() -> None:
    """Wait for a thread that is in LLVM, and let no other begin: what it works on is freed when the process ends."""
    _LLVM.acquire(timeout=_LONGEST)


@cache
def has_compiler() -> bool:
    """Whether there is a compiler. Finding out does not import it."""
    return find_spec("llvmlite") is not None


class Compilable:
    """A function of generated code: as text, as plain Python, as machine code."""

    def __init__(self, function: n.Function, generated: Mapping[str, n.Function] = MappingProxyType({})) -> None:
        self.function = function
        self.own = generated  # generated functions that it calls by the names of functions of the library

    @cached_property
    def text(self) -> str:
        """What a reader sees, and what plain Python runs."""
        return "\n\n".join(map(print_function, (*self.own.values(), self.function)))

    @cached_property
    def key(self) -> str:
        """A name for all that decides the machine code: the text has the names, and these have the types."""
        import llvmlite

        types = [str(p.element if isinstance(p, n.Array) else p.type) for p in self.function.parameters]
        facts = [self.text, *types, _own_source(), llvmlite.__version__, *_machine()]
        return _PREFIX + hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]

    def as_python(self) -> Run:
        """As plain Python, on lists."""
        return _as_python(self.text, self.function.name)

    def is_at_hand(self) -> bool:
        """Whether the machine code was compiled before, so that getting it takes next to no time."""
        return self.key in _LOADED or (cache_directory() / f"{self.key}.o").exists()

    def compiled(self) -> Run:
        """As machine code, on arrays: what was loaded before, or from the cache, or compiled now."""
        if self.key not in _LOADED:
            with _LOCK:
                lock = _LOCKS.setdefault(self.key, Lock())
            with _timed(self.function.name), lock:  # who wants another kernel need not wait for this one
                if self.key not in _LOADED:
                    _LOADED[self.key] = _load(self)
        return _LOADED[self.key]

    def compile_beside(self) -> bool:
        """Compile in a thread while the caller goes on. Returns whether the machine code is ready."""
        if self.key in _LOADED:
            return True
        if self.key in _BESIDE and not _BESIDE[self.key].is_alive():
            self.compiled()  # it has failed: raise why
        elif self.key not in _BESIDE:
            # A daemon ends with the process, but for the kernel that it compiles. LLVM runs without the interpreter's
            # lock.
            _BESIDE[self.key] = Thread(target=self.compiled, name=f"compile {self.function.name}", daemon=True)
            _BESIDE[self.key].start()
        return False


@contextmanager
def _timed(name: str) -> Iterator[None]:
    """Note that this thread waits for machine code, and log it if that took long."""
    begun = waiting[get_ident()] = monotonic()
    try:
        yield
    finally:
        del waiting[get_ident()]
        if monotonic() - begun >= SLOW:
            logging.getLogger("cepheid").info("compiled %s in %.1f s", name, monotonic() - begun)


@cache
def _as_python(text: str, name: str) -> Run:
    """Return the text as a Python function. It keeps no state, so that all runs share it."""
    namespace: dict[str, Any] = {**FUNCTIONS, **CONSTANTS}
    exec(compile(text, f"<cepheid {name}>", "exec"), namespace)
    made: Run = namespace[name]
    return made


class Native:
    """A compiled function: its arguments go into a row of slots, whose address it gets."""

    def __init__(self, address: int, parameters: Sequence[n.Local | n.Array], engine: object) -> None:
        forms = ("Q" if isinstance(p, n.Array) else _FORMS[p.type] for p in parameters)
        self._pack = struct.Struct("".join(forms)).pack
        self._arrays = [
            (k, p.name, np.dtype(p.element.name)) for k, p in enumerate(parameters) if isinstance(p, n.Array)
        ]
        self._engine = engine  # the code is gone when this is
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(address)

    def __call__(self, *arguments: Any) -> int:
        slots = list(arguments)
        for k, name, type_ in self._arrays:
            array = slots[k]
            if type(array) is not Pinned:
                if array.dtype == type_:
                    try:
                        slots[k] = _addressof(_from_buffer(array))
                        continue
                    except (TypeError, ValueError):  # it is empty, can't be written to, or is not in one piece
                        pass
                array = Pinned(array)
            if array.dtype != type_ or not array.whole:  # it would read past the array
                raise TypeError(f"{name} is {array.dtype} with strides {array.array.strides}, and not {type_}")
            slots[k] = array.address
        result: int = self._call(self._pack(*slots))
        return result


@cache
def library_kernel(name: str) -> Compilable:
    """A function that no query shapes."""
    return Compilable(instance(name, declared_types(FUNCTIONS[name])))


@cache
def library_function(name: str, *, native: bool) -> Run:
    """The same: compiled once for all, or as it is."""
    return library_kernel(name).compiled() if native else FUNCTIONS[name]


def run_on_arrays(name: str, *arguments: Any, native: bool) -> int:
    """Call such a function with numbers and numpy's arrays, which it may write to."""
    function = library_function(name, native=native)
    if native:
        return function(*arguments)
    # A view has numbers of Python's own, which do not overflow and are faster.
    return function(*(a.data if isinstance(a, np.ndarray) else a for a in arguments))


def warm() -> None:
    """Load LLVM and look at the machine, so that processes that are forked need not. A kernel then loads at once."""
    _target()
    _own_source()


@cache
def _own_source() -> str:
    """Hash the compiler and the functions written by hand, so that kernels of another release are not found."""
    sources = []
    for folder in (files("cepheid.kernel"), files("cepheid.kernel").joinpath("code")):
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(".py"):
                sources.append(file.read_text(encoding="utf-8"))
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()


@cache
def _machine() -> tuple[str, str, str]:
    import llvmlite.binding as llvm

    return llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target() -> Any:
    """The machine that code is made for. An engine takes one for its own, and ends it when it ends."""
    import llvmlite.binding as llvm

    _initialize()
    triple, cpu, features = _machine()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, jit=True, codemodel="jitdefault"
    )


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _load(kernel: Compilable) -> Run:
    """The function of an object file. Any trouble with the cache costs time and nothing else."""
    path = cache_directory() / f"{kernel.key}.o"
    code = _read(path)
    if code is None:
        with alone(path.with_name(f"{kernel.key[-2:]}.lock")):  # not one for each kernel: there are many
            code = _read(path)
            if code is None:
                with _LLVM:
                    code = _compile(kernel)
                _write(path, code)
    with _LLVM:
        return _link(kernel.function, code)


def _compile(kernel: Compilable) -> bytes:
    import llvmlite.binding as llvm

    global compilations
    compilations += 1
    target = _target()
    module = llvm.parse_assembly(lower(*with_library(kernel.function, kernel.own)))
    module.verify()
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    code: bytes = target.emit_object(module)
    return code


def _link(function: n.Function, code: bytes) -> Run:
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Native(engine.get_function_address(entry_name(function)), function.parameters, engine)


def _read(path: Path) -> bytes | None:
    """Read an object file; None if its checksum is wrong."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _write(path: Path, code: bytes) -> None:
    with suppress(OSError):
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(code).digest() + code)
        os.replace(draft, path)
