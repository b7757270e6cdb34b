"""Streams and libraries that are made once and kept beside the bench, out of git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from bench.workloads import STREAMS, Stream

DIRECTORY = Path(__file__).parent / ".cache"


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The file of that name, made on first use; a run that is broken off leaves none behind."""
    path = DIRECTORY / name
    if not path.exists():
        DIRECTORY.mkdir(exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        make(draft)
        draft.replace(path)
    return path


def stream(name: str, events: int | None = None, scale: float = 1.0) -> pa.Table:
    """A stream of the papers as Arrow holds it in memory: in one piece, its type column dictionary-encoded."""
    generate, size = STREAMS[name]
    return made(name, generate, int((events or size) * scale))


def made(name: str, generate: Stream, n: int) -> pa.Table:
    """The same of a stream that is none of the papers', or one of theirs with other parameters."""
    path = kept(f"{name}-{n}.parquet", lambda draft: pyarrow.parquet.write_table(generate(n), draft))
    table = pyarrow.parquet.read_table(path, use_threads=False).combine_chunks()
    at = table.schema.get_field_index("type")
    return table.set_column(at, "type", table.column("type").dictionary_encode())
