"""`cepheid errors`: the entries of docs/errors.md, in a clone and in a wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"


def test_one_code(run) -> None:
    assert run("errors", "CEP301").stdout == (
        "CEP301\n\n"
        "An unknown column, or an unknown field of a struct.\n\n"
        '    >>> cep.Query("PATTERN SEQ(Shelf a, Exit c) WHERE [tagid]").match(readings)\n'
        "    Traceback (most recent call last):\n"
        "    cepheid.errors.BindError: error CEP301: unknown column 'tagid'\n"
        "      at line 1, column 37\n"
        "    1 | PATTERN SEQ(Shelf a, Exit c) WHERE [tagid]\n"
        "      |                                     ^^^^^\n"
        "    help: did you mean 'tag_id'?\n"
    )


@pytest.mark.parametrize("given", ["cep602", "602"])
def test_a_code_as_people_type_it(run, given: str) -> None:
    assert run("errors", given).stdout.startswith("CEP602\n\nAn optional package is missing.")


def test_all_codes(run) -> None:
    lines = run("errors").stdout.splitlines()
    codes = re.findall(r"^### (CEP\d{3})$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [line.split()[0] for line in lines] == codes
    assert "CEP602  An optional package is missing." in lines


def test_a_code_that_there_is_not(run) -> None:
    assert "there is no code 'CEP999'; `cepheid errors` lists them" in run("errors", "CEP999", code=2).stderr


def test_that_a_wheel_has_the_page(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        assert files.read("cepheid/errors.md") == PAGE.read_bytes()
        files.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-m", "cepheid", "errors", "CEP602"],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("CEP602\n\nAn optional package is missing.")
