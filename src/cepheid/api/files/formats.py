"""File formats, recognised by file name or by the first bytes."""

from __future__ import annotations

from enum import Enum


class Format(Enum):
    PARQUET = "Parquet"
    CSV = "CSV"
    JSON_LINES = "JSON lines"
    JSON = "JSON"


FORMATS = {
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".json": Format.JSON,
}


def sniff(data: bytes) -> Format:
    """Recognise the format by the first bytes.

    >>> sniff(b'{"ts": 1}'), sniff(b"ts,type")
    (<Format.JSON_LINES: 'JSON lines'>, <Format.CSV: 'CSV'>)
    """
    if data.startswith(b"PAR1"):
        return Format.PARQUET
    first = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"{": Format.JSON_LINES, b"[": Format.JSON}.get(first, Format.CSV)
