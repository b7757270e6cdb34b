"""The state store of the bucket that Spark's stateful operator is processing."""

from __future__ import annotations

from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from cepheid.spark.stream.part_cache import PartCache

_HEADER = st.StructType([st.StructField("header", st.BinaryType())])
_NAME = st.StructType([st.StructField("name", st.StringType())])
_PART = st.StructType([st.StructField("part", st.BinaryType())])


class HandleStore:
    """Stores state through the handle that Spark passes to a processor. Spark sets the bucket before each call."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self.headers = handle.getValueState("header", _HEADER)
        self.parts = handle.getMapState("parts", _NAME, _PART)
        self.cache = PartCache()

    def header(self) -> bytes | None:
        """Return the header, or None for a bucket without state."""
        stored = self.headers.get()
        return None if stored is None else bytes(stored[0])

    def put_header(self, header: bytes) -> None:
        self.headers.update((header,))

    def part(self, name: str, digest: str) -> bytes | None:
        """Return a part, from a local file if there is one."""
        cached = self.cache.get(digest)
        if cached is not None:
            return cached
        stored = self.parts.getValue((name,))
        return None if stored is None else bytes(stored[0])

    def put(self, name: str, part: bytes, digest: str) -> None:
        """Store a part, and replace the one of the same name."""
        self.parts.updateValue((name,), (part,))
        self.cache.put(digest, part)

    def drop(self, name: str, digest: str) -> None:
        self.parts.removeKey((name,))
        self.cache.drop(digest)
