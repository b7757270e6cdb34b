"""A query explained: its normal form, where each condition is tested, by which plan it runs, and what it can cost.

The explanation is a value with text and pictures. The graphs of automata and plans are made here and drawn by
`cepheid.pictures`.
"""

from cepheid.explain.explanation import Explanation, explain_program

__all__ = ["Explanation", "explain_program"]
