"""C++ to a loaded library, once per state of its source."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from ctypes import c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from bench.cache import kept

_HERE = Path(__file__).parent
_FLAGS = ["-O3", "-march=native", "-std=c++17", "-fno-exceptions", "-fvisibility=hidden", "-shared", "-fPIC"]
_COUNTERS = {
    "sase": ("matches", "positions", "steps"),
    "afa": ("changes", "held"),
    "cesar": ("matches",),
    "cql": ("matches",),
    "many": ("matches",),
    "naive": ("matches", "made"),
}


@cache
def library(name: str) -> ctypes.CDLL:
    """The library of `name`.cpp."""
    sources = [_HERE / f"{name}.cpp", *sorted(_HERE.glob("*.hpp"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    loaded = ctypes.CDLL(str(kept(f"{name}-{digest}.so", lambda draft: _compile(sources[0], draft))))
    getattr(loaded, f"{name}_new").restype = c_void_p
    for counter in _COUNTERS.get(name, ("matches", "positions")):
        getattr(loaded, f"{name}_{counter}").restype = c_int64
    if name in ("cesar", "cql"):
        getattr(loaded, f"{name}_column").restype = c_void_p
    return loaded


def address(array: Any) -> c_void_p:
    """Where the numbers of an array are."""
    return c_void_p(array.ctypes.data)


def _compile(source: Path, target: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        raise SystemExit("the C++ loops need g++ on the PATH")
    subprocess.run([compiler, *_FLAGS, source, "-o", target], check=True)
