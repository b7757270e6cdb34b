"""Python code is read as a query without being run: what is read, where errors are, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.builder.read_python import read_python
from cepheid.errors import CepheidError
from cepheid.language import parse, print_program

HEAD = "import cepheid as cep\na, b = cep.var('a'), cep.var('b')\n"
SEQ = "cep.seq(cep.event('Shelf', a), cep.event('Exit', b))"


def text(code: str) -> str:
    return print_program(read_python(code))


def refused(code: str) -> tuple[str, str, str]:
    """The code of the error, what it underlines, and its message."""
    with pytest.raises(CepheidError) as caught:
        read_python(code)
    assert caught.value.span is not None
    assert caught.value.remedy
    return caught.value.code, caught.value.span.excerpt, caught.value.message


def test_names_are_given_and_used_again() -> None:
    code = f"{HEAD}limit = 2 * 3\nhigh = a.price > limit\nbase = {SEQ}\nquery = cep.Query(base.where(high).same('tag'))"
    assert text(code) == "PATTERN SEQ(Shelf a, Exit b)\nWHERE a.price > 6\n  AND [tag]"


def test_functions_may_be_imported_by_name() -> None:
    code = "from cepheid import Query, event, var\nfrom datetime import timedelta\nx = var('x')\n"
    code += "Query(event('A', x).where(5 < x.n).within(timedelta(hours=2)))"
    assert text(code) == "PATTERN A x\nWHERE x.n > 5\nWITHIN 2 hours"


def test_without_query_the_last_value_is_it() -> None:
    assert (
        text(f"{HEAD}first = cep.event('A', a)\n{SEQ}.within('1 hour')")
        == "PATTERN SEQ(Shelf a, Exit b)\nWITHIN 1 hour"
    )


def test_a_query_as_text_in_code() -> None:
    code = 'import cepheid as cep\nquery = cep.Query("""PATTERN Shelf a\nWHERE a.x >\n""")'
    assert refused(code)[0] == "CEP102"
    assert read_python(code.replace("a.x >", "a.x > 1")) == parse("PATTERN Shelf a WHERE a.x > 1")


def test_a_place_in_a_text_is_a_place_in_the_code() -> None:
    code = 'import cepheid as cep\nquery = cep.Query("PATERN Shelf a")'
    with pytest.raises(CepheidError) as caught:
        read_python(code)
    assert (caught.value.line, caught.value.column) == (2, 20)
    arc = "import cepheid as cep\ncep.automaton('q0', final='q1').arc('q0', 'q1', 'e.x > > 1')"
    assert refused(arc)[:2] == ("CEP101", ">")
    assert refused(arc)[2] == "unexpected '>'"


def test_nodes_have_their_places() -> None:
    code = f"{HEAD}cep.Query({SEQ}.same('tag').where(a.x * 2 > 5, b.é == 'ü').within('12 hours').returns(n=a.x))"
    (query,) = read_python(code).queries
    assert [one.span and one.span.excerpt for one in query.where] == ["'tag'", "a.x * 2 > 5", "b.é == 'ü'"]
    assert query.within is not None
    assert query.within.amount.span is not None
    assert query.within.amount.span.excerpt == "12"
    assert query.pattern.span is not None
    assert query.pattern.span.excerpt == SEQ


@pytest.mark.parametrize(
    ("code", "under", "message"),
    [
        ("cep.Query(cep.sequ(cep.event('A', a)))", "cep.sequ", "the builder has no 'sequ'"),
        ("cep.Query(cep.event('A', c))", "c", "unknown name 'c'"),
        (f"{SEQ}.within('12 hourz')", "within('12 hourz')", "'12 hourz' is not a window"),
        (f"{SEQ}.withn('1 hour')", f"{SEQ}.withn", "there is no 'withn' here"),
        (f"{SEQ}.within()", "within()", "within() missing 1 required positional argument: 'window'"),
        (f"{SEQ}.where(a.x > 1 and b.x > 1)", "a.x > 1 and b.x > 1", "'and' and 'or' have no meaning for conditions"),
        (f"{SEQ}.where(1 < a.x < 5)", "1 < a.x < 5", "a chain of comparisons has no meaning for conditions"),
        (f"{SEQ}.where(not a.x)", "not a.x", "'not' has no meaning for conditions"),
        (f"{SEQ}.where(a.x in [1])", "a.x in [1]", "a query has no such comparison"),
        (f"{SEQ}.where(1 < 2)", "1 < 2", "no part of this is a column"),
        (f"{SEQ}.where(5)", "where(5)", "5 is not a condition"),
        (f"{SEQ}.query", f"{SEQ}.query", "there is no 'query' here"),
        (f"cep.Query({SEQ}).match([])", f"cep.Query({SEQ}).match", "only the query itself is read here"),
        (f"cep.Query({SEQ}, params={{}})", "{}", "options of cep.Query can't be read here"),
        ("cep.Query(5)", "cep.Query(5)", "this is not a query"),
        ("import os", "os", "'os' can't be imported here"),
        ("from cepheid import spark", "spark", "the builder has no 'spark'"),
        ("for x in []: pass", "for x in []: pass", "a loop would have to be run"),
        ("x = 5", "", "the code makes no query"),
        ("cep.event('A', f'{a}')", "f'{a}'", "an f-string would have to be run"),
        ("a.x.expression", "a.x.expression", "'expression' can't be read this way"),
        ("a._variable", "a._variable", "'_variable' can't be read this way"),
        ("a.__class__", "a.__class__", "'__class__' can't be read this way"),
        ("cep.event.__globals__", "cep.event", "'event' is a function"),
        ("cep.__builtins__", "cep.__builtins__", "the builder has no '__builtins__'"),
        ("cep.spark", "cep.spark", "the builder has no 'spark'"),
        ("open('x')", "open", "unknown name 'open'"),
        ("float.fromhex('0')", "float.fromhex", "there is no 'fromhex' here"),
        ("'x'.join([])", "'x'.join", "there is no 'join' here"),
        ("'%1000000000d' % 5", "'%1000000000d' % 5", "no part of this is a column"),
        ("'x' * 1000000000", "'x' * 1000000000", "no part of this is a column"),
        ("[1] * 1000000000", "[1] * 1000000000", "no part of this is a column"),
        ("9 ** 9 ** 9", "9 ** 9", "a query has no such operator"),
        ("1 << 1000000000", "1 << 1000000000", "a query has no such operator"),
        ("a.x(1)", "a.x", "there is no 'x' here"),
        ("c = a.x\nc(1)", "c", "this can't be called in a query"),
        ("(lambda: 1)()", "lambda: 1", "this can't be called in a query"),
        ("[x for x in a]", "[x for x in a]", "a comprehension would have to be run"),
    ],
)
def test_what_is_refused_has_its_place(code: str, under: str, message: str) -> None:
    found = refused(HEAD + code + "\n")
    assert found[1:] == (under, message)
    assert found[0] in ("CEP114", "CEP604")


def test_what_is_no_python_has_its_place() -> None:
    assert refused("import cepheid as cep\ncep.event('é', )) # x") == (
        "CEP114",
        ")",
        "this is not Python: unmatched ')'",
    )
    assert refused("x = (1,\n")[::2] == ("CEP114", "this is not Python: '(' was never closed")
    assert refused("x = '\0'")[2] == "this is not Python: source code string cannot contain null bytes"


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join(["1"] * 50_000),
        HEAD + "a" + ".b" * 50_000,
        "x = " + "[" * 90 + "]" * 90 + "\n" + "(" * 5_000,
        HEAD + "c = a.x > 1\n" + "c = c & c\n" * 40 + "cep.event('A', a).where(c)",
        HEAD + "c = a.x\n" + "c = c + c\n" * 40 + "cep.event('A', a).where(c > 1)",
        HEAD + "c = 0x" + "f" * 20_000 + "\n" + "c = c * c\n" * 16 + "cep.event('A', a).where(a.x > c)",
        HEAD + "c = 9223372036854775807\n" + "c = c * c\n" * 16 + "cep.event('A', a).where(a.x > c)",
    ],
)
def test_what_would_never_end_is_refused(code: str) -> None:
    assert refused(code)[0] in ("CEP114", "CEP604")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_on_any_system(end: str) -> None:
    code = end.join(["import cepheid as cep", "", "a = cep.var('a')", "cep.event('é', a).where(a.x > 'é').foo()"])
    assert refused(code)[1:] == ("cep.event('é', a).where(a.x > 'é').foo", "there is no 'foo' here")


def test_characters_that_are_no_usual_ones() -> None:
    wide = "import cepheid as cep\ncep.event('A', 'a').\uff57ithin('1 hour')"  # a name that Python reads as within
    assert text(wide) == "PATTERN A a\nWITHIN 1 hour"
    assert refused(wide + ".foo()")[2] == "there is no 'foo' here"
    assert refused("import cepheid as cep\ncep.event('\ud800')")[0] == "CEP114"  # half of a character


def test_nothing_is_run(tmp_path: Path) -> None:
    victim = tmp_path / "made"
    for attack in (
        f"open({str(victim)!r}, 'w')",
        f"__import__('os').system('touch {victim}')",
        f"exec('open({str(victim)!r}, chr(119))')",
        f"cep.var.__globals__['__builtins__']['open']({str(victim)!r}, 'w')",
        "cep.call.__class__.__mro__[1].__subclasses__()",
        "a.x.__class__.__init__.__globals__['shown']('x')",
        "cep.Query.__init__.__globals__",
        "from cepheid.api.files.read_files import read_files\nread_files('/etc/passwd', None)",
        "import cepheid.cli\ncepheid.cli",
        f"@cep.event\ndef f(): open({str(victim)!r}, 'w')",
        f"(x := open({str(victim)!r}, 'w'))",
        f"float(open({str(victim)!r}, 'w'))",
    ):
        assert refused(HEAD + attack)[0] == "CEP114"
    assert not victim.exists()
