"""Options of the test suite, and how far properties are searched.

`fast` is the same on every run, HYPOTHESIS_PROFILE=long takes an hour.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

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
settings.register_profile("long", settings.get_profile("fast"), max_examples=2_000, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="write what the reference gives into the case files that differ, then run the cases",
    )
