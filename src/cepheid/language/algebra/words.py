"""How the operators of CESAR are spelled, and which names could be taken for something else."""

from __future__ import annotations

import re

LETTERS = {"σ": "SELECT", "π": "PROJECT", "ρ": "RENAME", "α": "ADD", "μ": "ITERATE"}
OPERATORS = ("SELECT", "PROJECT", "RENAME", "ADD", "THEN", "ITERATE")
# An operator is a word or a letter with brackets, or a letter with an index.
OPERATOR = re.compile(
    r"(?P<word>(?i:select|project|rename|add|then|iterate)|[σπραμ])\s*(?:(?P<square>\[)|_\s*(?P<brace>\{))"
    r"|(?P<letter>[σπραμ])(?:_(?P<index>\w+)|(?P<joined>\w+)(?=\s*[(∘◦○]))"
)
# The name of a stream that begins something else: an operator, the index of a ;, a query after it.
A_WORD = re.compile(
    r"(?:select|project|rename|add|then|iterate|let|union|into|pattern|event|from|automaton|cesar)\Z|[_σπραμ]",
    re.IGNORECASE,
)
