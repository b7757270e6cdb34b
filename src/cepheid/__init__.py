"""Complex event processing for Python: patterns over streams of events."""

from cepheid.api import Matches, Query
from cepheid.errors import (
    BindError,
    CepheidError,
    CepheidWarning,
    EvaluationError,
    InputError,
    ParseError,
    PatternError,
    UsageError,
)

__version__ = "0.1.0"

__all__ = [
    "BindError",
    "CepheidError",
    "CepheidWarning",
    "EvaluationError",
    "InputError",
    "Matches",
    "ParseError",
    "PatternError",
    "Query",
    "UsageError",
    "__version__",
]
