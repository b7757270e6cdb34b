"""The meaning of a query in plain Python: the definition that every engine is tested against.

Read it beside the semantics page: `values` is S3 and S3a, `stream` S1, `partition` S6 and S8 (what a partition is),
`runs` S2 and S4 to S8, `negation` S10, `output` S9 and S12, `interpreter` puts them together.
"""

from cepheid.reference.interpreter import interpret
from cepheid.reference.output import Match

__all__ = ["Match", "interpret"]
