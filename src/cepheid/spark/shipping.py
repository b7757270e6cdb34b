"""The package as a zip for `spark-submit --py-files` or `addArtifacts`, if it is not installed on the workers.

    python -m cepheid.spark.shipping cepheid.zip

Packages with compiled code (pyarrow, numpy, llvmlite) cannot be imported from a zip: they must be installed on the
workers. Without llvmlite queries run there as plain Python.
"""

from __future__ import annotations

import sys
import zipfile
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGES = ("cepheid", "lark")
"""The packages that a query needs and that are plain Python."""


def write_zip(path: str | Path) -> Path:
    """Write the zip. The same packages are always the same bytes."""
    path = Path(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for package in PACKAGES:
            _add(out, files(package), package)
    return path


def _add(out: zipfile.ZipFile, folder: Traversable, name: str) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        inner = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            _add(out, entry, inner)
        elif entry.is_file():
            out.writestr(zipfile.ZipInfo(inner), entry.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m cepheid.spark.shipping FILE.zip")
    write_zip(sys.argv[1])
