"""Every case on Spark: in batch, and as a stream in random micro-batches, out of order within the watermark."""

from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any
from zlib import crc32

import pytest

from cepheid.testing import Case, Outcome, Path, find_failure, read_cases
from cepheid.testing.paths import run_reference
from cepheid.testing.spark import spark_paths, to_spark_types

CASES = FilePath(__file__).parents[1] / "cases"
NAMES = ("spark_batch", "spark_stream")
SAMPLE = {"spark_batch": 8, "spark_stream": 45}
"""One case in so many is run by the fast suite, chosen by the hash of its title; all of them by the long suite."""

FINER = {"a timestamp is read to the nanosecond": "the timestamps of Spark have microseconds"}
LEFT_OUT: dict[str, dict[str, str]] = {"spark_batch": {**FINER}, "spark_stream": {**FINER}}
"""Cases by their titles, with the reason why they can't be run on a path. One that can is a failure."""

OF_INTEGERS = {
    "AFA cleaning: a step that is missing is filled in",
    "AFA: a trade of A without a trade of B in 300 seconds",
}
"""Cases that compute with times as integers: they mean an error where times are Spark's timestamps."""

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


def declared(case: Case, name: str) -> Case:
    reason = LEFT_OUT[name].get(case.title)
    return replace(case, not_on={name: reason} if reason else {})


def needs_spark(case: Case) -> bool:
    """Not one that is refused before there are events: it would not get as far as Spark."""
    return case.events is not None and not run_reference(replace(case, events=None)).error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        slow = "slow" in metafunc.config.option.markexpr
        metafunc.parametrize(
            ("case", "name"),
            [
                pytest.param(
                    declared(case, name),
                    name,
                    id=f"{FilePath(case.file).stem}::{case.title}[{name}]",
                    marks=[] if in_sample(case, name) else [pytest.mark.slow],
                )
                for name in NAMES
                for case in read_cases(CASES)
                if (slow or in_sample(case, name)) and needs_spark(case)
            ],
        )


def in_sample(case: Case, name: str) -> bool:
    return crc32(case.title.encode()) % SAMPLE[name] == 0


@pytest.fixture(scope="module")
def paths(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.name: path for path in spark_paths(spark, tmp_path_factory.mktemp("streams"))}


def test_case(case: Case, name: str, paths: dict[str, Path]) -> None:
    failure = find_failure(case, paths[name])
    if failure:
        pytest.fail(failure, pytrace=False)
    if name in case.not_on:
        pytest.xfail(case.not_on[name])


def bindings(outcome: Outcome) -> list[str]:
    """What does not show a time: the events of each match, by their numbers."""
    return ["" if line.startswith(("CEP", "{")) else line for line in outcome.lines]


def test_that_events_in_the_types_of_spark_mean_the_same() -> None:
    """Or the paths would be compared with something else than the cases say."""
    different = {
        case.title
        for case in read_cases(CASES)
        if needs_spark(case)
        and case.expected is not None
        and case.events is not None
        and case.title not in LEFT_OUT["spark_stream"]
        and not _same(run_reference(replace(case, events=to_spark_types(case.events, case.options))), case.expected)
    }
    assert different == OF_INTEGERS


def _same(outcome: Outcome, wanted: Outcome) -> bool:
    return outcome.error == wanted.error and bindings(outcome) == bindings(wanted)


def test_that_cases_are_left_out_by_titles_that_exist() -> None:
    titles = {case.title for case in read_cases(CASES)}
    assert {title for given in LEFT_OUT.values() for title in given} - titles == set()
