"""HAVING: which matches pass a condition over all of their events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.matches.match_table import MatchTable, bindings
from cepheid.pattern.bind import Bound
from cepheid.values.evaluate import Compiler


def keep_having(query: Bound, matches: MatchTable, kept: pa.Table) -> MatchTable:
    """The matches that pass; all of them where a query has no HAVING."""
    if query.having is None or not len(matches):
        return matches
    holds = Compiler(query).condition(query.having)
    wanted = [k for k, bound in enumerate(bindings(query, kept, matches)) if holds(bound)]
    return matches.take(np.array(wanted, np.int64))
