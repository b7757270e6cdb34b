"""Texts that are almost queries, as typed by a hurried user or an attacker."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from cepheid.language import print_query
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.testing.strategies.queries import queries
from cepheid.testing.strategies.schemas import PLAIN
from cepheid.testing.strategies.trees import any_algebra

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|.", re.DOTALL)
_PIECES = """
    PATTERN EVENT SEQ ( ) ( ) AND OR ANY ! ~ NOT WHERE PARTITION BY WITHIN HAVING RETURN AS INTO FROM OUTPUT TIES { }
    [ ] [i] [i-1] [..i-1] [1] [a.LEN] [] . , ; + * ? {2,3} {0} - / % = != <= >= ∧ ∨ ¬ ≠ ≤ ≥ ∈ a b A B x ts a.x a.LEN
    1 0 2.5 1e999 99999999999999999999 '' ' " ` `a` /* */ -- \\ $ ^ | || && 5 hours events NULL TRUE CASE WHEN THEN
    ELSE END IN LIKE BETWEEN IS count( avg(a[].x) skip_till_next_match strict_contiguity( TIMESTAMP DATE '2024-01-01'
    80%* \x00 \ud7ff ‘ ’
    CESAR LET := ≡ -> ↦ SELECT[ σ_{ μ[ ITERATE[ ADD[ RENAME[ PROJECT[ THEN[ UNION ∪ ∘ ;[ ;_{ θ_3 \\theta_3 ID DUR last
    """.split()  # noqa: SIM905  a list of words is read more easily


def _mutated(tokens: list[str], draw: st.DrawFn) -> list[str]:
    at = draw(st.integers(0, max(0, len(tokens) - 1)))
    other = draw(st.integers(0, max(0, len(tokens) - 1)))
    match draw(st.integers(0, 4)):
        case 0:
            return tokens[:at] + tokens[at + 1 :]
        case 1:
            return tokens[:at] + tokens[at : at + 1] + tokens[at:]
        case 2 if tokens:
            swapped = list(tokens)
            swapped[at], swapped[other] = swapped[other], swapped[at]
            return swapped
        case 3:
            return tokens[:at]
    return [*tokens[:at], draw(st.sampled_from(_PIECES) | st.text(max_size=3)), *tokens[at:]]


def _algebra(draw: st.DrawFn) -> str:
    return print_query(QueryTree(draw(any_algebra())))


@st.composite
def text_near_queries(draw: st.DrawFn) -> str:
    """A query with some of its tokens and characters lost, doubled, swapped or replaced; or something else."""
    if draw(st.integers(0, 9)) == 9:
        pieces = draw(st.lists(st.sampled_from(_PIECES) | st.text(max_size=2), max_size=30))
        return draw(st.sampled_from(["", " "])).join(pieces)
    algebra = draw(st.integers(0, 2)) == 0
    tokens = _TOKEN.findall(_algebra(draw) if algebra else draw(queries(PLAIN)).text)
    for _ in range(draw(st.integers(1, 4))):
        tokens = _mutated(tokens, draw)
    text = "".join(tokens)
    if draw(st.integers(0, 3)) == 3:
        text = "".join(_mutated(list(text), draw))
    return text
