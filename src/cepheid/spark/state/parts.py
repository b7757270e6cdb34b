"""A bucket's state written as a header and parts, and read back. What the store already has is not written again."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cepheid.engine.stream.parts import FlatSink, FlatSource
from cepheid.engine.stream.rows import FAN, SEGMENT, StoredRows, is_crowded
from cepheid.engine.stream.snapshot import from_bytes, to_bytes
from cepheid.spark.packing import CODEC, unpack, write
from cepheid.spark.state.chunks import cut
from cepheid.spark.state.rows import PackedRows, packed
from cepheid.spark.state.store import StateStore, damaged, digest_of, reporting_damage
from cepheid.values.json import Json

SMALL = 16_384
"""Bytes up to which rows, or the body, go into the header."""

NONCE = 16
"""Bytes at the beginning of a header that are random: they identify one committed state."""


@dataclass
class Inventory:
    """What a store has: the digest of each part by name, and of each table its segments of rows.

    A segment is a list, as JSON has it: first position, end position, level, size in bytes (0: not written yet).
    """

    digests: dict[str, str] = field(default_factory=dict)
    segments: dict[str, list[list[int]]] = field(default_factory=dict)


def read_header(blob: bytes) -> tuple[Json, FlatSource]:
    """Split a stored header into its facts and the small parts that it carries."""
    with reporting_damage():
        return from_bytes(blob[NONCE:])


class StateWriter(FlatSink):
    """Takes the parts of a state, and writes those that the store does not have."""

    def __init__(self, store: StateStore, stored: Inventory) -> None:
        super().__init__()
        self.store = store
        self.stored = stored
        self.written = Inventory()  # what the store has when all is written
        self.size = 0  # of all that is stored, in bytes

    def put(self, name: str, part: bytes) -> None:
        """Store a part that the state did not have; its digest goes into the header."""
        digest = digest_of(part)
        self.store.put(name, part, digest)
        self.written.digests[name] = digest

    def keep(self, name: str) -> None:
        """Keep a part that the store has."""
        self.written.digests[name] = self.stored.digests[name]

    def rows(self, name: str, table: pa.Table, base: int) -> Any:
        """Write the rows of a table that the store does not have. The first row is at position `base` of the stream."""
        if table.nbytes <= SMALL:
            return {"rows": self.table(name, table)}
        end = base + table.num_rows
        segments = [segment for segment in self.stored.segments.get(name, []) if segment[1] > base]
        if not segments or segments[0][0] > base or segments[-1][1] > end:
            segments = []
        at = segments[-1][1] if segments else base
        if at < end:
            segments = [*segments, [at, end, 0, 0]]
        row_size = table.nbytes // max(table.num_rows, 1)
        while is_crowded([segment[2] for segment in segments]):
            begin, end = max(segments[-FAN][0], base), segments[-1][1]
            if (end - begin) * row_size > SEGMENT:
                break
            segments = [*segments[:-FAN], [begin, end, segments[-1][2] + 1, 0]]
        for segment in segments:
            begin, end, _, size = segment
            part = f"{name}@{begin}-{end}"
            if size:
                self.keep(part)
            else:
                first = max(begin, base)
                blob = write(table.slice(first - base, end - first).combine_chunks(), dense=True)
                segment[3] = len(blob)
                self.put(part, blob)
        self.written.segments[name] = segments
        return {"segments": name}

    def hold(self, name: str, rows: StoredRows) -> tuple[Any, StoredRows]:
        """Write rows that wait for the watermark, unless the store has them. They are found by their digest."""
        kept = rows if isinstance(rows, PackedRows) else packed(write(rows.table().combine_chunks(), dense=True))
        if kept.digest in self.stored.digests:
            self.keep(kept.digest)
        elif kept.digest not in self.written.digests:
            assert kept.blob is not None
            self.put(kept.digest, kept.blob)
        self.size += kept.size
        return [kept.digest, kept.size], kept

    def close(self, header: Json) -> bytes:
        """Write the body and the header, delete parts that are no longer used, and return the nonce of the state."""
        chunks: list[tuple[str, int]] = []
        body, inner = self.parts, FlatSink()
        if self.length > SMALL:
            chunks = put_chunks(self.store, b"".join(body), {**self.stored.digests, **self.written.digests})
            self.written.digests |= {digest: digest for digest, _ in chunks}
        else:
            inner = self
        inventory = {"chunks": chunks, "parts": self.written.digests, "rows": self.written.segments}
        nonce = os.urandom(NONCE)
        text = nonce + to_bytes({**header, **inventory}, inner)
        self.store.put_header(text)
        self.size += len(text) + sum(size for _, size in chunks)
        self.size += sum(segment[3] for segments in self.written.segments.values() for segment in segments)
        for name, digest in self.stored.digests.items():
            if name not in self.written.digests:
                self.store.drop(name, digest)
        return nonce


def put_chunks(store: StateStore, body: bytes, known: Container[str] = ()) -> list[tuple[str, int]]:
    """Write bytes in chunks, but for those that the store has; return the digest and the size of each."""
    chunks: list[tuple[str, int]] = []
    written: set[str] = set()
    for chunk in cut(body):
        digest = digest_of(chunk)
        if digest not in known and digest not in written:
            store.put(digest, CODEC.compress(chunk, asbytes=True), digest)
            written.add(digest)
        chunks.append((digest, len(chunk)))
    return chunks


def read_chunk(store: StateStore, digest: str, size: int) -> bytes:
    """Read and decompress a chunk. Its digest is that of the decompressed bytes."""
    stored = store.part(digest, digest)
    if stored is None:
        raise damaged(f"part {digest} is missing")
    try:
        part = CODEC.decompress(stored, size, asbytes=True)
    except (OSError, pa.ArrowInvalid) as error:  # cut off, empty, or no compressed bytes at all
        raise damaged(f"part {digest} is not as it was written: {error}") from None
    if digest_of(part) != digest:
        raise damaged(f"part {digest} is not as it was written")
    return bytes(part)


class StateReader(FlatSource):
    """Reads the parts of a state, and checks them against their digests."""

    def __init__(self, store: StateStore, header: Json, flat: FlatSource) -> None:
        self.store = store
        self.stored = Inventory(header["parts"], header["rows"])
        chunks: list[tuple[str, int]] = header["chunks"]
        super().__init__(memoryview(b"".join(self.chunk(*chunk) for chunk in chunks)) if chunks else flat.body)

    def chunk(self, digest: str, size: int) -> bytes:
        """Read a chunk of the body."""
        return read_chunk(self.store, digest, size)

    def fetch(self, name: str) -> bytes:
        """Read a part, and check its digest, which is that of the stored bytes."""
        digest = self.stored.digests[name]
        part = self.store.part(name, digest)
        if part is None:
            raise damaged(f"part {name} is missing")
        if digest_of(part) != digest:
            raise damaged(f"part {name} is not as it was written")
        return part

    def held(self, part: tuple[str, int]) -> StoredRows:
        """Return rows that wait for the watermark. They are fetched when it has passed some of them."""
        digest, size = part
        return PackedRows(digest, size, reader=self)

    def rows(self, part: Any, base: int) -> pa.Table:
        """Read the rows of a table from a position of the stream on."""
        if "rows" in part:
            return self.table(part["rows"])
        name = part["segments"]
        tables = []
        for begin, end, *_ in self.stored.segments[name]:
            table = unpack(self.fetch(f"{name}@{begin}-{end}"))
            tables.append(table.slice(table.num_rows - (end - max(begin, base))))
        return pa.concat_tables(tables)
