"""Runs the command in this process; what a process of its own is needed for is in test_process.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cepheid.cli import main

DEMO = Path(__file__).parents[2] / "src" / "cepheid" / "demo"

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run `cepheid` with arguments, and see that it ends with an exit code and no traceback."""

    def call(*arguments: object, code: int = 0, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def thefts() -> Path:
    """The query of the demo."""
    return DEMO / "shoplifting.sase"


@pytest.fixture
def readings() -> Path:
    """The events of the demo."""
    return DEMO / "readings.csv"
