"""Where what takes long to make is kept: compiled kernels, and the tables of the grammar."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


def cache_directory() -> Path:
    """`CEPHEID_CACHE`, else the user's cache, or a temporary directory where that can't be written."""
    given = os.environ.get("CEPHEID_CACHE")
    return _writable(Path(given) if given else _users() / "cepheid")


def _users() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(home) if home else Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in many containers
        return Path(tempfile.gettempdir()) / f"cache-{os.getpid()}"


@cache
def _writable(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return Path(tempfile.mkdtemp(prefix="cepheid-"))
