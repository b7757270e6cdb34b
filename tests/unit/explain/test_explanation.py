"""A query explained."""

import pytest

import cepheid as cep
from cepheid.explain.nondeterminism import bound, splits
from cepheid.front.analysed import Analysed
from cepheid.front.fronts import analyse
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles


def analysed(text: str) -> Analysed:
    return analyse(parse(text).queries[0], {}, Roles())


@pytest.mark.parametrize(
    ("pattern", "strategy", "expected"),
    [
        ("SEQ(A a, B b)", "skip_till_next_match", []),
        ("SEQ(A a, B b)", "skip_till_any_match", [("b", "begin-ignore")]),
        ("SEQ(A+ a[], B b)", "strict_contiguity", []),
        ("SEQ(A+ a[], A b)", "strict_contiguity", [("a[i]", "take-proceed")]),
        ("SEQ(A+ a[], B b)", "skip_till_next_match", [("a[i]", "ignore-proceed")]),
        ("SEQ(B b, A+ a[])", "skip_till_next_match", [("a[i]", "take-proceed")]),
        ("SEQ(A+ a[], B b)", "skip_till_any_match", [("a[i]", "ignore-proceed"), ("a[i]", "take-ignore")]),
    ],
)
def test_splits(pattern: str, strategy: str, expected: list[tuple[str, str]]) -> None:
    query = analysed(f"PATTERN {pattern} WHERE {strategy} {{ }} WITHIN 1 hour")
    assert [(s.state, s.kind) for s in splits(query)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity { }", "at most W, one for each starting event"),
        ("PATTERN SEQ(A a, B b, C c)", "at most W^3: W starting events, 2 states where runs split"),
        (
            "PATTERN A+ a[] WITHIN 1 hour",
            "exponential in W: a skip-till-any Kleene closure matches subsets of the window",
        ),
    ],
)
def test_bound(text: str, expected: str) -> None:
    assert bound(analysed(text)) == expected


def test_the_whole_text() -> None:
    query = cep.Query(
        """
        PATTERN SEQ(A a, !(X x), B* b[], OR(C c, D? d)) WHERE a.x > 1 AND x.y = a.y AND b.LEN < T AND [id] AND 1 = 1
        WITHIN 500 HAVING a.x > 2 RETURN a.x AS it INTO New OUTPUT NON_OVERLAP
        """,
        params={"T": 5},
    )
    assert (
        str(query.explain())
        == """\
Query
  PATTERN SEQ(A a, !(X x), B* b[], OR(C c, D? d))
  WHERE skip_till_any_match(a, b[], c, d) {
      a.x > 1
      AND x.y = a.y
      AND b.LEN < 5
      AND [id]
      AND 1 = 1
  }
  WITHIN 500
  HAVING a.x > 2
  RETURN a.x AS it INTO New
  OUTPUT NON_OVERLAP
  TIES ORDERED
  -- the window counts in milliseconds, the unit of the time column
Components
  a  A  one event            skip_till_any_match
  x  X  absent
  b  B  zero or more events  skip_till_any_match
  c  C  one event or none    skip_till_any_match
  d  D  one event or none    skip_till_any_match
Predicates
  before any run                1 = 1
  every event, absent ones too  [id]
  begin a                       a.x > 1
  proceed b                     b.LEN < 5
  witness x                     x.y = a.y
  every begin and take          WITHIN 500
  complete match                a.x > 2
Nondeterminism
  b     begin-ignore    linear in W
  c     begin-ignore    linear in W
  d     begin-ignore    linear in W
  b[i]  take-proceed    linear in W
  b[i]  ignore-proceed  linear in W
  b[i]  take-ignore     exponential in W
  runs in a window of W events: exponential in W: a skip-till-any Kleene closure matches subsets of the window
Output
  match_start, match_end, it"""
    )


def test_a_program() -> None:
    text = str(cep.Query("EVENT A a RETURN a.x AS x INTO N; FROM N EVENT N n").explain())
    assert text.startswith("Query 1 of 2\n")
    assert "Query 2 of 2, reads N\n  FROM N\n" in text
