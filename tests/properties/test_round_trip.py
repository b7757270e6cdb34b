"""Text to tree to text: the printer spells every tree so that the parser reads the same tree."""

import pytest
from hypothesis import given

from cepheid import ParseError, PatternError, Query
from cepheid.language import parse, print_program
from cepheid.pattern.algebra.tree import Algebra
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.nodes import Program
from cepheid.testing.strategies import (
    PLAIN,
    GeneratedQuery,
    any_algebra,
    any_programs,
    merges,
    programs,
    queries,
    text_near_queries,
)

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")


@given(any_programs())
def test_that_a_printed_tree_is_read_back(program: Program) -> None:
    assert parse(print_program(program)) == program


@given(any_algebra())
def test_that_a_printed_algebra_is_read_back(algebra: Algebra) -> None:
    program = Program((tree.QueryTree(algebra),))
    assert parse(print_program(program)) == program


@given(queries(PLAIN) | programs(PLAIN) | merges(PLAIN))
def test_that_a_printed_query_is_read_back(query: GeneratedQuery) -> None:
    assert parse(query.text) == query.program


@given(text_near_queries())
def test_that_a_printed_text_prints_the_same(text: str) -> None:

    try:
        program = parse(text)
    except (ParseError, PatternError):
        return
    printed = print_program(program)
    assert parse(printed) == program
    assert print_program(parse(printed)) == printed


@given(queries(PLAIN))
def test_that_a_query_made_of_its_text_is_the_same(query: GeneratedQuery) -> None:
    """`Query(text)`, `Query(tree)` and `Query(query.text)` are one query."""

    made = Query(query.text, **query.options)
    assert made.text == query.make().text == query.text
    assert str(made.explain()) == str(query.make().explain())
