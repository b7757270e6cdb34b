"""A query explained: its normal form, where each predicate sits, and what it can cost."""

from cepheid.explain.explanation import Explanation, explain_program

__all__ = ["Explanation", "explain_program"]
