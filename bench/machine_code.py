"""How much of a run is spent in machine code of ours; the rest is Python, numpy and Arrow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cepheid.kernel import compile as compiler


def seconds_in_machine_code(run: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the best of some runs; all that it calls is compiled already."""
    kernels: list[Any] = list(compiler._LOADED.values())
    best = float("inf")
    for _ in range(rounds):
        spent = [0.0]
        calls = [kernel._call for kernel in kernels]
        for kernel, call in zip(kernels, calls, strict=True):
            kernel._call = _clocked(call, spent)
        try:
            run()
        finally:
            for kernel, call in zip(kernels, calls, strict=True):
                kernel._call = call
        best = min(best, spent[0])
    return best


def _clocked(call: Callable[[bytes], int], spent: list[float]) -> Callable[[bytes], int]:
    def clocked(slots: bytes) -> int:
        begin = time.process_time()
        found = call(slots)
        spent[0] += time.process_time() - begin
        return found

    return clocked
