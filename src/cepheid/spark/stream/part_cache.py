"""Parts of the state in local files: reading one from Spark's state store takes far longer."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import blake2b

_SEAL = 16  # bytes of the digest at the beginning of a file


class PartCache:
    """Keeps parts in files of the Spark application on this machine.

    A part is looked up by the digest that the header in the state store has of it. So it does not matter which task
    wrote the file, or whether it is there at all. A file that is not whole is ignored.
    """

    def __init__(self) -> None:
        first = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
        self.folder = os.path.join(first, "cepheid") if first else ""

    def get(self, digest: str) -> bytes | None:
        """Return a part, or None if there is no file of it that is whole."""
        try:
            with open(os.path.join(self.folder, digest), "rb") as file:
                content = file.read()
        except OSError:
            return None
        part = content[_SEAL:]
        return part if blake2b(part, digest_size=_SEAL).digest() == content[:_SEAL] else None

    def put(self, digest: str, part: bytes) -> None:
        """Write a part to a file, if there is a folder and space for it."""
        if not self.folder:
            return
        path = os.path.join(self.folder, digest)
        draft = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with open(draft, "wb") as file:
                file.write(blake2b(part, digest_size=_SEAL).digest())
                file.write(part)
            os.replace(draft, path)
        except OSError:  # such as a full disk
            self.drop(f"{digest}.{os.getpid()}")

    def drop(self, digest: str) -> None:
        """Delete the file of a part that is no longer needed."""
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, digest))
