"""Content-defined chunking: a body of bytes is cut where its content says, so that moved bytes make the same chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CHUNK = 65_536
"""The expected size of a chunk in bytes. The smallest is a quarter of it, the largest four times as long."""

_BLOCK = 32_768  # words that are hashed at a time: they stay in the processor's cache


def cut(body: bytes) -> Iterator[memoryview]:
    """Yield a body in chunks.

    The arrays of a session lose entries at their beginning and gain others at their end, so that most of their content
    only moves from one commit to the next. Chunks of moved content are the same as before, and are not written again.
    """
    view = memoryview(body)
    begin = 0
    for end in _ends(np.frombuffer(body, np.uint32, len(body) // 4)):
        while end - begin > 4 * CHUNK:
            yield view[begin : begin + 4 * CHUNK]
            begin += 4 * CHUNK
        if end - begin >= CHUNK // 4:
            yield view[begin:end]
            begin = end
    for at in range(begin, len(body), 4 * CHUNK):
        yield view[at : at + 4 * CHUNK]


def _ends(words: np.ndarray) -> Iterator[int]:
    """Yield the byte positions where a chunk may end: after three words whose rolling hash is below a threshold."""
    for at in range(0, len(words), _BLOCK):
        some = words[at : at + _BLOCK + 2]
        mixed = some[2:] * np.uint32(0x9E3779B1)
        mixed += some[1:-1] * np.uint32(0x85EBCA77)
        mixed += some[: len(some) - 2] * np.uint32(0xC2B2AE3D)
        for place in np.flatnonzero(mixed < np.uint32(2**32 // (CHUNK // 4))).tolist():
            yield 4 * (at + place + 3)
