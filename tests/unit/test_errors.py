"""How errors look."""

import pickle

import pytest

import cepheid as cep
from cepheid.errors import Span, nearest


def test_whole_text() -> None:
    with pytest.raises(cep.BindError) as error:
        cep.Query("PATTERN SEQ(A a, B b)\nWHERE\ta.pric > b.price").match([{"ts": 1, "type": "A", "price": 1}])
    assert str(error.value) == (
        "error CEP301: unknown column 'pric'\n"
        "  at line 2, column 7\n"
        "2 | WHERE a.pric > b.price\n"
        "  |       ^^^^^^\n"
        "help: did you mean 'price'?"
    )


def test_wide_characters_shift_the_caret() -> None:
    text = "WHERE '日本' = x"
    assert Span(text, 13, 14).caret() == "1 | WHERE '日本' = x\n  |                ^"


def test_long_lines_are_cut() -> None:
    text = "x" * 1000 + "HERE" + "y" * 1000
    line, caret = Span(text, 1000, 1004).caret().splitlines()
    assert line == "1 | …" + "x" * 50 + "HERE" + "y" * 56 + "…"
    assert caret == "  | " + " " * 51 + "^^^^"


def test_a_span_over_several_lines_underlines_the_first() -> None:
    assert Span("ab\ncd", 1, 5).caret() == "1 | ab\n  |  ^"


def test_errors_can_be_sent_to_another_process() -> None:
    with pytest.raises(cep.ParseError) as error:
        cep.Query("PATTERN SEQ(A a")
    copy = pickle.loads(pickle.dumps(error.value))
    assert type(copy) is cep.ParseError
    assert str(copy) == str(error.value)


def test_nearest_name() -> None:
    assert nearest("TAG_ID", ["ts", "tag_id"]) == "tag_id"
    assert nearest("zzz", ["ts", "tag_id"]) is None


def test_one_root() -> None:
    for stage in (cep.ParseError, cep.PatternError, cep.BindError, cep.InputError, cep.EvaluationError, cep.UsageError):
        assert issubclass(stage, cep.CepheidError)
