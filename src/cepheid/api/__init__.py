"""The user-facing API: queries, sessions, events in, matches out."""

from cepheid.api.query import Query
from cepheid.api.session import Session, Stats
from cepheid.engine.matches.matches import Matches

__all__ = ["Matches", "Query", "Session", "Stats"]
