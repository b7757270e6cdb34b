"""The user-facing API: queries, sessions, events in, matches out."""

from cepheid.api.query import Query
from cepheid.api.session import Session, Stats
from cepheid.engine.matches.matches import Matches
from cepheid.engine.progress import Progress
from cepheid.pattern.aggregates import Aggregate

__all__ = ["Aggregate", "Matches", "Progress", "Query", "Session", "Stats"]
