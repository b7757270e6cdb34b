"""The meaning of a query in plain Python: the definition that every engine is tested against.

Read it beside docs/semantics.md: `partition` is S6 and S8 (what a partition is), `runs` S2 and S4 to S8, `negation`
S10, `output` S9 and S12; `interpreter` puts them together. `own_automata` is S17 and S18. `algebra` is S19 to S21 on
sets of events, and `event_automata` defines the same again by Algorithm 1 of the Cayuga report (S22).

Code here is clear rather than fast. Engines do not use it, except for the interpreted ones, since a comparison with
shared code would prove little; import-linter has the list.
"""

from cepheid.reference.algebra import interpret_algebra
from cepheid.reference.interpreter import interpret

__all__ = ["interpret", "interpret_algebra"]
