"""Many texts, each skeleton of which is parsed once: every text is what the parser makes of it alone."""

from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError
from cepheid.language import parse, print_program, print_query
from cepheid.language.texts.conjuncts import split
from cepheid.language.texts.frames import frames_of
from cepheid.language.texts.known_drafts import KnownDrafts
from cepheid.language.texts.skeleton import BLOCK, HOLE, cut, pieces_of
from cepheid.language.texts.template import read_cut
from cepheid.pattern.tree.nodes import QueryTree
from cepheid.testing import read_cases
from cepheid.testing.functions import FUNCTIONS
from cepheid.testing.strategies import (
    PLAIN,
    algebra_queries,
    any_algebra,
    any_programs,
    automata,
    programs,
    queries,
    text_near_queries,
)

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.CepheidWarning")
CASES = [case.query for case in read_cases(Path(__file__).parent.parent / "cases", FUNCTIONS)]
CONSTANTS = (
    *("0", "1", "2", "3", "10", "007", "000", "9223372036854775807", "9223372036854775808", "99999999999999999999"),
    *("0.0", "1.5", "2.25", "0.9", "1e3", "1.5E-7", "1e999", "1.2.3", ".5", "5."),
    *("''", "'a'", '"b"', "'it''s'", "‘c’", "'é'", "'2024-02-29'", "'2023-02-29'", "'2024-01-01 10:00:00'"),
    *("'2024-01-01T10:00:00.123456789Z'", "'9999-12-31 00:00:00'", "'5 minutes'", "'1 02:03:04'", "'%a%'", "'('"),
)
TEXTS = st.one_of(
    queries(PLAIN).map(lambda query: query.text),
    programs(PLAIN).map(lambda query: query.text),
    automata(PLAIN).map(lambda query: query.text),
    algebra_queries().map(lambda query: query.text),
    any_programs().map(print_program),
    any_algebra().map(lambda algebra: print_query(QueryTree(algebra))),
    text_near_queries(),
    st.sampled_from(CASES),
)


@st.composite
def similar_texts(draw: st.DrawFn) -> list[str]:
    """A text, and the same with other constants."""
    text = draw(TEXTS)
    pieces = pieces_of(text)
    found = [text]
    for _ in range(draw(st.integers(0, 4))):
        other = list(pieces)
        for at in range(1, len(pieces), 2):
            if draw(st.booleans()):
                other[at] = draw(st.sampled_from(CONSTANTS))
        found.append("".join(other))
    return found


def outcome(text: str) -> str:
    """What the parser makes of a text. By what is printed, because 0.0 and -0.0 are equal."""
    try:
        return repr(parse(text))
    except CepheidError as error:
        return str(error)


def outcomes(texts: list[str], known: KnownDrafts | None = None) -> list[str]:
    """The same by skeletons."""
    reading = read_cut(cut(texts), known)
    found = {
        text: repr(template.program_of(row))
        for template in reading.templates
        for row, text in enumerate(template.texts.tolist())
    }
    for wrong in reading.wrong:
        assert str(wrong.error) == outcome(texts[int(wrong.texts[0])])
        found |= {text: str(wrong.error_of(texts[text])) for text in wrong.texts.tolist()}
    told = [part.texts for part in (*reading.templates, *reading.wrong)]
    assert sorted(np.concatenate(told).tolist()) == list(range(len(texts)))
    return [found[text] for text in range(len(texts))]


@given(similar_texts())
def test_that_texts_are_what_the_parser_makes_of_each(texts: list[str]) -> None:
    assert outcomes(texts) == list(map(outcome, texts))


def test_that_all_cases_together_are_what_the_parser_makes_of_each() -> None:
    alone = list(map(outcome, CASES))
    assert outcomes(CASES) == alone
    assert framed(CASES) == alone


def framed(texts: list[str], known: KnownDrafts | None = None) -> list[str]:
    """The same by frames and conditions."""
    found = frames_of(cut(texts), known)
    assert texts is not CASES or len(found.conjuncts) > 300  # most conditions are cut
    wrong = {text: one for one in found.wrong for text in one.texts.tolist()}
    assert [text in wrong for text in range(len(texts))] == (found.frame < 0).tolist()
    return [
        str(wrong[text].error_of(texts[text])) if text in wrong else repr(found.program_of(text))
        for text in range(len(texts))
    ]


@given(similar_texts())
def test_that_frames_with_their_conditions_are_what_the_parser_makes_of_each(texts: list[str]) -> None:
    assert framed(texts) == list(map(outcome, texts))


@given(st.lists(similar_texts(), min_size=2, max_size=3))
def test_that_what_was_read_before_changes_nothing(batches: list[list[str]]) -> None:
    known = KnownDrafts()
    for texts in batches:
        alone = list(map(outcome, texts))
        assert outcomes(texts, known) == alone
        assert framed(texts, known) == alone


def test_that_all_cases_are_read_the_same_again() -> None:
    known, alone = KnownDrafts(), list(map(outcome, CASES))
    for _ in range(2):
        assert outcomes(CASES, known) == alone
        assert framed(CASES, known) == alone


@st.composite
def texts_of_one_frame(draw: st.DrawFn) -> list[str]:
    """A text, and the same with its conditions in another order, some left out, some twice."""
    text = draw(TEXTS)
    pieces = pieces_of(text)
    parts = split(HOLE.join(pieces[::2]))
    if not parts.conjuncts or HOLE in text or BLOCK in text:
        return [text]
    constants = pieces[1::2]

    def written(skeleton: str, own: Sequence[str]) -> str:
        return "".join(chain(*zip_longest(skeleton.split(HOLE), own, fillvalue="")))

    blocks: dict[int, list[str]] = {}
    for block, part, first in zip(parts.blocks, parts.conjuncts, parts.first, strict=True):
        own = constants[first : first + part.count(HOLE)]
        blocks.setdefault(block, []).append(written(part, own))
    outside = written(parts.frame, [constants[at] for at in parts.constants]).split(BLOCK)
    found = [text]
    for _ in range(draw(st.integers(1, 3))):
        chosen = [
            " AND ".join(draw(st.lists(st.sampled_from(some), min_size=1, max_size=4))) for some in blocks.values()
        ]
        found.append("".join(chain(*zip_longest(outside, chosen, fillvalue=""))))
    return found


@given(texts_of_one_frame())
def test_that_conditions_in_any_order_are_what_the_parser_makes_of_each(texts: list[str]) -> None:
    assert framed(texts) == list(map(outcome, texts))
