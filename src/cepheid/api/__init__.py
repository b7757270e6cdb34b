"""What users call: queries, sessions, events in, matches out.

`Query` and `Queries` run on events in memory, `Session` and `ChangeSession` on a stream. The other modules read
events and rules in any form, check options, and apply changes to queries that run.
"""

from cepheid.api.change_session import ChangeSession
from cepheid.api.many.many_matches import ManyMatches
from cepheid.api.queries import Queries
from cepheid.api.query import Query
from cepheid.api.session import Session
from cepheid.engine.matches.changes import Changes
from cepheid.engine.matches.matches import Matches
from cepheid.engine.progress import Progress
from cepheid.engine.session.query_changes import add_query, remove_query, replace_query
from cepheid.engine.session.stats import Stats
from cepheid.pattern.expressions.aggregates import Aggregate

__all__ = [
    "Aggregate",
    "ChangeSession",
    "Changes",
    "ManyMatches",
    "Matches",
    "Progress",
    "Queries",
    "Query",
    "Session",
    "Stats",
    "add_query",
    "remove_query",
    "replace_query",
]
