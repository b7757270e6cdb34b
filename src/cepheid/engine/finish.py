"""What is left to do with matches once they are found: HAVING, and those that must not overlap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.engine.found import Found, bindings
from cepheid.engine.overlap import Chosen
from cepheid.pattern.bind import Bound
from cepheid.values.evaluate import Compiler


def finish(
    query: Bound, found: Found, kept: pa.Table, base: int, chosen: Chosen | None, unsettled: int | None
) -> Found:
    """The matches that are given. `unsettled`: from this position on an earlier match may still come true."""
    if query.having is not None and len(found):
        holds = Compiler(query).condition(query.having)
        wanted = [k for k, bound in enumerate(bindings(query, kept, found)) if holds(bound)]
        found = found.take(np.array(wanted, np.int64))
    return found if chosen is None else chosen.choose(found, kept, base, unsettled)
