"""Tests are not a package, so what they share is imported from beside them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from serving import Served, demo, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(demo()) as found:
        found.ready()
        yield found
