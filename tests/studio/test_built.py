"""The page that is shipped is the one that its sources give."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src/cepheid/studio/page"
WEB = ROOT / "web"


def test_the_shipped_page_was_built_from_these_sources() -> None:
    own = [f"src/{file.name}" for file in (WEB / "src").iterdir()]
    hashed = hashlib.sha256()
    for path in sorted(["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts", *own]):
        hashed.update(path.encode() + b"\n" + (WEB / path).read_bytes() + b"\n")
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    assert f'<meta name="sources" content="{hashed.hexdigest()}">' in index, (
        "run `make studio-page`, and commit the page"
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to build the page with")
@pytest.mark.skipif(not (WEB / "node_modules").is_dir(), reason="`make studio-page` was not run here: no node_modules")
def test_the_shipped_page_is_built_from_its_sources(tmp_path: Path) -> None:
    built = tmp_path / "page"
    command = ["node", "node_modules/vite/bin/vite.js", "build", "--outDir", str(built), "--logLevel", "error"]
    subprocess.run(command, cwd=WEB, check=True)
    assert _files(built) == _files(PAGE)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_page_asks_nobody_else() -> None:
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "http" not in index
    assert "//" not in index
