"""What those use of this room who run queries elsewhere, as Spark does. It is theirs, and no part of what users call.

Rules of many queries are read, checked, compared and shipped; warnings need what tasks have seen; the rest reads
options as `Query` and `Queries` do. Sessions themselves are in `cepheid.engine.session`.
"""

from cepheid.api.many.bound import check_bound
from cepheid.api.many.compared import only
from cepheid.api.many.ids import BAD_RULES
from cepheid.api.many.many_matches import QUERY
from cepheid.api.many.options import SharedOptions
from cepheid.api.many.problems import Problems
from cepheid.api.many.read_rules import TEMPLATE, example, with_parameters
from cepheid.api.many.running import many_stream
from cepheid.api.many.session import ManySession
from cepheid.api.many.written_rules import read_rule_set, write_rule_set
from cepheid.api.matching import How, match_arrivals
from cepheid.api.observed import TINY, Observed, key_name, smallest_distance, tiny_gap
from cepheid.api.options import check_limit, read_column
from cepheid.api.queries import Rereading
from cepheid.api.surprises import ENOUGH

__all__ = [
    "BAD_RULES",
    "ENOUGH",
    "QUERY",
    "TEMPLATE",
    "TINY",
    "How",
    "ManySession",
    "Observed",
    "Problems",
    "Rereading",
    "SharedOptions",
    "check_bound",
    "check_limit",
    "example",
    "key_name",
    "many_stream",
    "match_arrivals",
    "only",
    "read_column",
    "read_rule_set",
    "smallest_distance",
    "tiny_gap",
    "with_parameters",
    "write_rule_set",
]
