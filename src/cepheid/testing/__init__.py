"""Tools for testing queries: case files and their runner; Hypothesis strategies are in `cepheid.testing.strategies`."""

from cepheid.testing.cases import Case, parse_cases, read_cases
from cepheid.testing.check import check_cases, find_failure
from cepheid.testing.complete import complete_cases
from cepheid.testing.outcomes import Outcome
from cepheid.testing.page import CaseError
from cepheid.testing.paths import PATHS, REFERENCE, Path, applicable_paths
from cepheid.testing.printing import print_case
from cepheid.testing.runs import run_case

__all__ = [
    "PATHS",
    "REFERENCE",
    "Case",
    "CaseError",
    "Outcome",
    "Path",
    "applicable_paths",
    "check_cases",
    "complete_cases",
    "find_failure",
    "parse_cases",
    "print_case",
    "read_cases",
    "run_case",
]
