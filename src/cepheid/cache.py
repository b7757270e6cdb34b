"""Where what takes long to make is kept: compiled kernels, and the tables of the grammar.

What is in the cache is run. So it is never in a directory in which other users could have put something.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PATIENCE = 120.0
"""Seconds to wait for another process that makes the same. It takes a few; who hangs must not hold up the others."""

NOWHERE = Path(os.devnull) / "cepheid"
"""Where nothing can be read or written: everything is then made anew."""


def cache_directory() -> Path:
    """`CEPHEID_CACHE`, else the user's cache, or a directory of the user's among the temporary ones.

    It is `NOWHERE` where nothing can be written at all. The path depends on the user and the machine only, so that all
    processes of a user share it: the workers of a cluster too, which may have no home, and get the package by another
    path each time.
    """
    chosen = os.environ.get("CEPHEID_CACHE")
    return _usable(Path(chosen) if chosen else _users())


def _users() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(home) / "cepheid" if home else Path.home() / ".cache" / "cepheid"
    except RuntimeError:  # a user without a home, as in many containers
        return None


@cache
def _usable(path: Path | None) -> Path:
    if path is not None and _writable(path):
        if not _open_to_all(path):
            return path
        if _private(directory := path / _own_name()):
            return directory
    try:
        directory = Path(tempfile.gettempdir()) / _own_name()
        return directory if _private(directory) else Path(tempfile.mkdtemp(prefix="cepheid-"))
    except OSError:
        return NOWHERE


def _own_name() -> str:
    return f"cepheid-{os.getuid()}" if hasattr(os, "getuid") else "cepheid"


def _writable(path: Path) -> bool:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _open_to_all(path: Path) -> bool:
    return hasattr(os, "getuid") and bool(path.stat().st_mode & stat.S_IWOTH)


def _private(path: Path) -> bool:
    """Whether it is a directory of this user's that no other can write to. In /tmp anybody could have made it."""
    if not _writable(path):
        return False
    if not hasattr(os, "getuid"):
        return True
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


@contextmanager
def alone(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Of the processes that make the same, one goes first. If it dies, the system lets the next one in.

    It spares work and is not needed for the result: without locks, and after much patience, all go on.
    """
    if sys.platform == "win32":  # there, each process makes what it needs
        yield
        return
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open too
        os.close(handle)
