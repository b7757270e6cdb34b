"""Options of the test suite, what its markers do, and how far properties are searched.

`quick` and `fast` are the same on every run, HYPOTHESIS_PROFILE=long takes an hour.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).parents[1]

settings.register_profile(
    "fast",
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    # Queries are large values: drawing some of them takes longer than Hypothesis expects of a strategy.
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    # Without the phase that explains a failure: it multiplies the time until one is seen.
    phases=(Phase.explicit, Phase.generate, Phase.target, Phase.shrink),
)
# Of a few examples too many may be filtered out; whether a strategy filters too much is for the other profiles to say.
settings.register_profile(
    "quick", settings.get_profile("fast"), max_examples=20, suppress_health_check=tuple(HealthCheck)
)
settings.register_profile("long", settings.get_profile("fast"), max_examples=2_000, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Where no bytecode is to be written beside the sources, each process of a run, and each worker of Spark, would compile
# all of them again, for seconds.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / "build" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="write what the reference gives into the case files that differ, then run the cases",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One process has all tests of tests/spark, so that there is one JVM. Marks of groups are lost by pytest 9.2."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class OneJvm(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if nodeid.startswith("tests/spark/") else nodeid

    return OneJvm(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what needs a JVM, and properties."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.spark)
    if item.nodeid.startswith("tests/properties/"):
        item.add_marker(pytest.mark.properties)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow, unless it is asked for."""
    if "slow" not in config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
