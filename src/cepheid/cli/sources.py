"""EVENTS for Spark: a table, or files whose format is recognised by their names and first bytes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.api.files.formats import FORMATS, Format, sniff
from cepheid.errors import FileError, InputError, UsageError

_TABLE = "table:"
_TABLE_NAME = re.compile(r"\w+(\.\w+)*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_SPARK = {Format.PARQUET: "parquet", Format.CSV: "csv", Format.JSON_LINES: "json", Format.JSON: "json"}
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view that Spark knows."""

    name: str


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files: the address for Spark, the format by Spark's name, its options, and the columns as the file has them."""

    address: str
    form: str
    options: dict[str, str] = field(default_factory=dict)
    first: tuple[str, ...] = ()


def address(path: str) -> str:
    """The URI of a path for Spark: a path without a scheme is local, whatever Spark's default file system is.

    >>> address("s3a://bucket/day")
    's3a://bucket/day'
    """
    return path if _SCHEME.match(path) else Path(os.path.abspath(path)).as_uri()


def inside(folder: str, name: str) -> str:
    """The path of what is in a folder, which may be written with a slash at its end.

    >>> inside("out/", "batch=end"), inside("s3a://bucket/day", "batch=end")
    ('out/batch=end', 's3a://bucket/day/batch=end')
    """
    return f"{folder.rstrip('/')}/{name}"


def local(path: str) -> Path | None:
    """The local path, or None for a remote one."""
    if path.startswith("file:"):
        return Path(re.sub("^file:(//)?", "", path))
    return None if _SCHEME.match(path) else Path(path)


def find_source(argument: str, form: str | None, *, stream: bool) -> Table | FileSource:
    """Resolve the argument of --from."""
    if argument.startswith(_TABLE):
        return Table(argument.removeprefix(_TABLE))
    path = local(argument)
    if path is None:
        return FileSource(address(argument), form or _form_of(argument))
    if not os.path.exists(path):
        if _TABLE_NAME.fullmatch(argument) and Path(argument).suffix.lower() not in FORMATS:
            return Table(argument)
        message = f"can't read the events '{argument}': there is no such file or directory"
        raise FileError("CEP801", message, "check the spelling and the directory; write table:NAME for a table")
    if stream and not os.path.isdir(path):
        message = f"'{argument}' is a file, but a stream reads a directory"
        raise UsageError("CEP603", message, "pass the directory, or leave out --stream")
    if form is not None:
        return FileSource(address(argument), form)
    return _look_at(path, argument)


def find_control(argument: str) -> FileSource:
    """Resolve the argument of --control: a directory, which may be empty, of JSON lines unless it shows otherwise."""
    path = local(argument)
    if path is None:
        return FileSource(address(argument), "parquet" if argument.rstrip("/").endswith(".parquet") else "json")
    if not os.path.isdir(path):
        message = f"can't read the control rows '{argument}': there is no such directory"
        raise FileError("CEP801", message, "create it; it may be empty in the beginning")
    first = next(_data_files(path), None)
    parquet = first is not None and FORMATS.get(_ending(first.name)) is Format.PARQUET
    return FileSource(address(argument), "parquet" if parquet else "json")


def _form_of(argument: str) -> str:
    form = FORMATS.get(_ending(argument.rstrip("/")))
    if form is None:
        message = f"the name '{argument}' does not show the format of the events"
        raise UsageError("CEP603", message, "pass it: --from-format parquet, json or csv")
    return _SPARK[form]


def _ending(name: str) -> str:
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in _PACKED and Path(path.stem).suffix in FORMATS else path.suffix


def _look_at(path: Path, argument: str) -> FileSource:
    if os.path.isdir(path / "_delta_log") or next(path.glob("metadata/*.metadata.json"), None):
        message = f"'{argument}' is a Delta Lake or Iceberg table: some of its files may be obsolete"
        remedy = "read it through its connector: --from-format delta and --conf spark.jars.packages=…, or table:NAME"
        raise InputError("CEP406", message, remedy)
    file = next(_data_files(path), None) if os.path.isdir(path) else path
    if file is None:
        raise InputError("CEP407", f"'{argument}' has no files", "pass a directory with files of events")
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError as error:
        raise FileError.of("read", f"the events '{file}'", error) from None
    packed = file.suffix.lower() in _PACKED
    form = FORMATS.get(_ending(file.name)) or (None if packed else sniff(head))
    if form is None:
        _form_of(str(file))
    assert form is not None
    return FileSource(address(argument), _SPARK[form], *(() if packed else _details(form, head)))


def _data_files(directory: Path) -> Iterator[Path]:
    """Data files sorted by name, without those that Spark ignores."""
    for parent, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        for name in sorted(files):
            if not name.startswith(("_", ".")) and os.path.getsize(os.path.join(parent, name)):
                yield Path(parent, name)


def _details(form: Format, head: bytes) -> tuple[dict[str, str], tuple[str, ...]]:
    """Options of the reader, and the columns of the first object: Spark would sort JSON columns by name."""
    text = head.decode("utf-8", "ignore").removeprefix("\ufeff").lstrip()
    if form is Format.CSV:
        header = text.split("\n", 1)[0]
        return {"sep": next((sign for sign in (",", "\t", ";") if sign in header), ",")}, ()
    if form is Format.PARQUET:
        return {}, ()
    several = {"multiLine": "true"} if text.startswith("[") else {}
    try:
        first_object, _ = json.JSONDecoder().raw_decode(text.lstrip("[ \r\n\t"))
    except ValueError:
        return several, ()
    return several, tuple(first_object) if isinstance(first_object, dict) else ()
