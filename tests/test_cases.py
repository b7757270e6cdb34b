"""Every case on every execution path that has something to say of it."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path as FilePath
from zlib import crc32

import pytest

import cepheid
from cepheid.testing import PATHS, Case, Path, applicable_paths, complete_cases, find_failure, read_cases

CASES = FilePath(__file__).parent / "cases"
SAMPLE = 20
"""One case in so many is compiled, chosen by the hash of its title; all of them in the long suite."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    if metafunc.config.getoption("--complete"):
        complete_cases(CASES)
    slow = "slow" in metafunc.config.option.markexpr
    metafunc.parametrize(
        ("case", "path"),
        [
            pytest.param(
                case,
                path,
                id=f"{FilePath(case.file).stem}::{case.title}[{path.name}]",
                marks=[pytest.mark.slow] if takes_long(case, path) else [],
            )
            for case, path in runs(getattr(metafunc.config, "cache", None))
            if slow or not takes_long(case, path)
        ],
    )


def runs(cache: pytest.Cache | None) -> Iterator[tuple[Case, Path]]:
    """Each case with its paths. To find them takes seconds, so they are kept until a case or the package changes."""
    cases = read_cases(CASES)
    state = fingerprint()
    kept, names = ("", []) if cache is None else cache.get("cepheid/paths", ("", []))
    if kept != state:
        names = [[path.name for path in applicable_paths(case, PATHS)] for case in cases]
        if cache is not None:
            cache.set("cepheid/paths", (state, names))
    paths = {path.name: path for path in PATHS}
    return ((case, paths[name]) for case, of_case in zip(cases, names, strict=True) for name in of_case)


def fingerprint() -> str:
    """Of all that the paths of the cases depend on."""
    package = FilePath(cepheid.__file__).parent
    files = [*package.rglob("*.py"), *package.rglob("*.lark"), *CASES.glob("*.case")]
    return sha256(b"".join(str(file).encode() + file.read_bytes() for file in sorted(files))).hexdigest()


def takes_long(case: Case, path: Path) -> bool:
    """A kernel takes a second or two to compile, so that the fast suite has a sample of the cases on that path."""
    return path.name == "compiled" and crc32(case.title.encode()) % SAMPLE != 0


def test_case(case: Case, path: Path) -> None:
    failure = find_failure(case, path)
    if failure:
        pytest.fail(failure, pytrace=False)
    if path.name in case.not_on:
        pytest.xfail(case.not_on[path.name])


def test_that_cases_declare_only_paths_on_which_they_are_run() -> None:
    declared = {(case.title, name) for case in read_cases(CASES) for name in case.not_on}
    run = {
        (case.title, path.name) for case in read_cases(CASES) if case.not_on for path in applicable_paths(case, PATHS)
    }
    assert declared - run == set()
