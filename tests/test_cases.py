"""Every case on every execution path that has something to say of it."""

from pathlib import Path as FilePath
from zlib import crc32

import pytest

from cepheid.testing import PATHS, Case, Path, applicable_paths, complete_cases, find_failure, read_cases

CASES = FilePath(__file__).parent / "cases"
SAMPLE = 20
"""One case in so many is compiled, chosen by the hash of its title; all of them in the long suite."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    if metafunc.config.getoption("--complete"):
        complete_cases(CASES)
    metafunc.parametrize(
        ("case", "path"),
        [
            pytest.param(
                case,
                path,
                id=f"{FilePath(case.file).stem}::{case.title}[{path.name}]",
                marks=[pytest.mark.slow] if takes_long(case, path) else [],
            )
            for case in read_cases(CASES)
            for path in applicable_paths(case, PATHS)
        ],
    )


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
