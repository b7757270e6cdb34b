"""Events that wait for the watermark, packed: as they came through the shuffle, or in the state store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from cepheid.spark.packing import unpack
from cepheid.spark.state.store import digest_of


class PartReader(Protocol):
    """Reads parts of a state from its store."""

    def fetch(self, name: str) -> bytes:
        """Read a part by its name in the state."""


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Rows as a blob of Arrow IPC.

    digest: of the blob, which is also the name of the part of the store that has it.
    blob: None if it is in the store only, from which `reader` fetches it.
    """

    digest: str
    size: int
    blob: bytes | None = None
    reader: PartReader | None = None

    def table(self) -> pa.Table:
        """Unpack the rows, which may still have to be read from the state."""
        if self.blob is not None:
            return unpack(self.blob)
        assert self.reader is not None
        return unpack(self.reader.fetch(self.digest))


def packed(blob: bytes) -> PackedRows:
    """Return the rows of a blob."""
    return PackedRows(digest_of(blob), len(blob), blob)
