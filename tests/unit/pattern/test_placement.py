"""Where predicates sit (S5), on exact values."""

import pytest

from cepheid import PatternError
from cepheid.explain.explanation import sittings
from cepheid.front.analysed import Analysed
from cepheid.front.fronts import analyse
from cepheid.language import parse
from cepheid.pattern.binding.schema import Roles


def analysed(text: str) -> Analysed:
    return analyse(parse(text).queries[0], {}, Roles())


def sits(pattern: str, condition: str) -> list[str]:
    found = sittings(analysed(f"PATTERN {pattern} WHERE {condition} WITHIN 1 hour"))
    return [s.where for s in found if s.where != "every begin and take"]


@pytest.mark.parametrize(
    ("pattern", "condition", "expected"),
    [
        ("SEQ(A a, B b)", "a.x > 1", ["begin a"]),
        ("SEQ(A a, B b)", "a.x > b.x", ["begin b"]),
        ("SEQ(A+ a[], B b)", "a[1].x > 1", ["begin a[1]"]),
        ("SEQ(A+ a[], B b)", "a[i].x > a[i-1].x", ["take a[i]"]),
        ("SEQ(A+ a[], B b)", "a[i].x > avg(a[..i-1].x)", ["take a[i]"]),
        ("SEQ(A+ a[], B b)", "a[i].x > min(a[i-1].x)", ["take a[i]"]),
        ("SEQ(A+ a[], B b)", "a[].x > 1", ["begin and take a[]"]),
        ("SEQ(A+ a[], B b)", "a[a.LEN].x > 1", ["proceed a"]),
        ("SEQ(A+ a[], B b)", "a.LEN > 2", ["proceed a"]),
        ("SEQ(A+ a[], B b)", "sum(a[].x) > a[1].x", ["proceed a"]),
        ("SEQ(A+ a[], B b)", "sum(a[].x) > b.x", ["begin b"]),
        ("SEQ(A a, B+ b[])", "b[i].x > a.x", ["take b[i]"]),
        ("SEQ(A a, !(B b), C c)", "b.x > c.x", ["witness b"]),
        ("AND(A a, B b)", "a.x > b.x", ["begin b", "begin a"]),
        ("SEQ(A a, B? b, C c)", "a.x > b.x", ["begin b"]),
        ("(SEQ(A a, B b))+", "a.x > b.x", ["begin and take b[]"]),
        ("(SEQ(A a, B b))+", "a[i].x > a[i-1].x", ["take a[i]"]),
        ("(SEQ(A a, B b))+", "a.LEN > 1", ["proceed a, b"]),
        ("A a", "1 > 0", ["before any run"]),
    ],
)
def test_where(pattern: str, condition: str, expected: list[str]) -> None:
    assert sits(pattern, condition) == expected


@pytest.mark.parametrize(
    ("pattern", "condition", "code"),
    [
        ("SEQ(A+ a[], B b)", "a[i].x > b.x", "CEP205"),
        ("SEQ(A+ a[], B b)", "a[].x > b.x", "CEP205"),
        ("SEQ(A+ a[], B+ b[])", "a[i].x > b[i].x", "CEP205"),
        ("SEQ(A+ a[], B+ b[])", "b.LEN > a[i].x", "CEP205"),
        ("SEQ(A+ a[], !(B b), C c)", "a[i].x > b.x", "CEP205"),
        ("SEQ(A+ a[], B b)", "a[].x > a[i-1].x", "CEP205"),
        ("SEQ(A+ a[], B b)", "a[..i-1].x > 1", "CEP205"),
        ("SEQ(A+ a[], B b)", "a[i].x > a[a.LEN].x", "CEP206"),
        ("SEQ(A+ a[], B b)", "a[i].x > avg(a[].x)", "CEP206"),
        ("SEQ(A+ a[], B b)", "avg(b.x) > 1", "CEP206"),
        ("SEQ(A+ a[], B b)", "avg(a[].x + b.x) > 1", "CEP206"),
        ("SEQ(A+ a[], B b)", "avg(max(a[].x)) > 1", "CEP206"),
        ("SEQ(A+ a[], B b)", "a[] = 1", "CEP206"),
        ("(SEQ(A+ a[], B b))+", "a.LEN > b.x", "CEP206"),
        ("(SEQ(B b, A+ a[]))+", "a.LEN > b.x", "CEP206"),
        ("SEQ(A+ a[], B b)", "a.x > 1", "CEP208"),
        ("SEQ(A+ a[], B b)", "b[1].x > 1", "CEP208"),
        ("SEQ((SEQ(A a, B b))+, C c)", "a.x > c.x", "CEP208"),
        ("SEQ(!(A a), B b, !(C c))", "a.x > c.x", "CEP204"),
        ("SEQ(A a, B b)", "z.x > 1", "CEP202"),
        ("SEQ(A a, B b)", "a.x > 1 OR [id]", "CEP210"),
    ],
)
def test_no_place(pattern: str, condition: str, code: str) -> None:
    with pytest.raises(PatternError) as error:
        analysed(f"PATTERN {pattern} WHERE {condition} WITHIN 1 hour")
    assert error.value.code == code
    assert error.value.line == 1
