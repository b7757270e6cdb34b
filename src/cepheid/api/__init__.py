"""What a user calls: queries, events in, matches out."""

from cepheid.api.matches import Matches
from cepheid.api.query import Query

__all__ = ["Matches", "Query"]
