"""Standard input and output as bytes: data is UTF-8 whatever the locale says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper

from cepheid.errors import FileError


def read_stdin() -> bytes:
    """Read all of stdin; an error says why it can't be read."""
    if sys.stdin is None:  # the shell's `<&-`
        raise FileError("CEP801", "can't read stdin: it is closed", "pipe data into it, or pass a file")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise FileError.of("read", "stdin", error) from None


def write_stdout(lines: Iterable[str]) -> None:
    """Write lines to stdout, which some other program may have closed."""
    for line in lines:
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()


def tolerate_narrow_encoding() -> None:
    """Escape characters that the terminal's encoding lacks, instead of failing."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Discard what can't be written; otherwise Python would fail again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
