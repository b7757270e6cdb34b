"""What a user sees of the package: its names, and errors about arguments that do not exist."""

import subprocess
import sys
from typing import Any

import pytest

import cepheid as cep

OWN = {"add", "all", "any", "first", "last", "max", "min", "rename", "spark", "sum"}
ROWS = [{"ts": 1, "type": "A"}]


def test_the_names_are_the_api() -> None:
    assert set(dir(cep)) == {*cep.__all__, *OWN}
    assert all(hasattr(cep, name) for name in dir(cep))
    assert dir(cep.spark) == sorted(cep.spark.__all__)
    assert all(callable(getattr(cep.spark, name)) for name in dir(cep.spark))


def test_submodules_are_imported_as_before() -> None:
    code = "import cepheid.testing, sys; from cepheid import builder, errors; print('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        ({"directt": True}, "unknown argument 'directt'", "did you mean 'direct'? It is for Spark DataFrames only"),
        ({"direct": True}, "'direct' is not an option for events in memory", "use it with Spark DataFrames only"),
        (
            {"lateness": "10 minutes"},
            "'lateness' is an option of a session",
            "write q.session(lateness=…), or leave it out: match() has all events and sorts them itself",
        ),
        ({"limits": 3}, "unknown argument 'limits'", "did you mean 'limit'?"),
    ],
)
def test_unknown_arguments(arguments: dict[str, Any], message: str, remedy: str) -> None:
    with pytest.raises(cep.UsageError) as error:
        cep.Query("PATTERN A a").match(ROWS, **arguments)
    assert (error.value.code, error.value.message, error.value.remedy) == ("CEP603", message, remedy)


def test_an_argument_like_none_that_exists() -> None:
    known = "changes, engine, limit, op, open, plan, progress, sequence"
    with pytest.raises(cep.UsageError, match=f"the arguments are: {known}"):
        cep.Query("PATTERN A a").match(ROWS, xyz=1)
    with pytest.raises(cep.UsageError, match=r"unknown argument 'plam'\nhelp: did you mean 'plan'"):
        cep.Query("PATTERN A a").explain(ROWS, plam="tree")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "there are no metrics yet: the stream has not finished a micro-batch"),
        (3, "metrics can't read a int"),
        ({}, "metrics can't read a dict"),
    ],
)
def test_metrics_of_no_progress(given: object, message: str) -> None:
    with pytest.raises(cep.UsageError) as error:
        cep.spark.metrics(given)
    assert (error.value.code, error.value.message) == ("CEP603", message)


def test_metrics_of_a_progress_without_ours() -> None:
    assert set(cep.spark.metrics({"batchId": 0}).values()) == {0}
