"""The interface to wherever a bucket's state is stored, and the error for state that is damaged there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Protocol

import pyarrow as pa

from cepheid.engine.stream.snapshot import OtherFormatError
from cepheid.errors import CepheidError, UsageError


class StateStore(Protocol):
    """Stores one bucket's state: a header, and parts that are found by name."""

    def header(self) -> bytes | None:
        """Return the header, or None for a bucket without state."""

    def put_header(self, header: bytes) -> None:
        """Replace the header, once all parts that it names are there."""

    def part(self, name: str, digest: str) -> bytes | None:
        """Return a part, or None if it is missing. The digest is the one that was passed to `put`."""

    def put(self, name: str, part: bytes, digest: str) -> None:
        """Store a part, and replace the one of the same name."""

    def drop(self, name: str, digest: str) -> None:
        """Delete a part that no header names any more."""


def digest_of(part: bytes | memoryview | pa.Buffer) -> str:
    """Return the digest by which a part is checked when it is read back."""
    return blake2b(part, digest_size=16).hexdigest()


def damaged(what: str) -> UsageError:
    """Make the error for state that is not as it was written."""
    remedy = "restore the checkpoint's files from a copy, or start the stream with a new checkpoint location"
    return UsageError("CEP906", f"the state in the checkpoint is damaged: {what}", remedy)


def other_format(what: str) -> UsageError:
    """Make the error for state of another format: `what` says which format it has, and which this release reads."""
    remedy = "continue with the release that wrote it, or start the stream with a new checkpoint location"
    return UsageError("CEP905", f"the state in the checkpoint {what}", remedy)


@contextmanager
def reporting_damage() -> Iterator[None]:
    """Turn the engine's errors for a snapshot into those for a checkpoint."""
    try:
        yield
    except OtherFormatError as error:
        raise other_format(error.message.removeprefix("the snapshot ")) from None
    except CepheidError as error:
        if error.code != "CEP607":
            raise
        raise damaged(error.message.removeprefix("the snapshot is damaged: ")) from None
