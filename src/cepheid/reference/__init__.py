"""The meaning of a query in plain Python: the definition that every engine is tested against.

Read it beside the semantics page: `partition` is S6 and S8 (what a partition is), `runs` S2 and S4 to S8, `negation`
S10, `output` S9 and S12, `interpreter` puts them together; `algebra` is S19 to S21, and `event_automata` says it again
by S22. Events and values (S1, S3, S3a) are in `cepheid.values`, which the engines use too. What is here none of them
uses but the interpreted one: else to test them against it would say little.
"""

from cepheid.reference.algebra import interpret_algebra
from cepheid.reference.interpreter import interpret

__all__ = ["interpret", "interpret_algebra"]
