"""Bytes as Arrow reads them."""

from __future__ import annotations

import pyarrow as pa


def arrow_file(data: bytes) -> pa.BufferReader:
    """Bytes as Arrow reads them, copied into its own memory.

    Its threads let go of what they have read a moment after the table is there. If these are bytes of Python, and the
    interpreter is ending at that moment, the process aborts.
    """
    copy = pa.BufferOutputStream()
    copy.write(data)
    return pa.BufferReader(copy.getvalue())
