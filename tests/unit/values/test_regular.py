"""Which regular expressions are read, and that they find what Java's find."""

import pytest

from cepheid.pattern.expressions.regular import NotTheSame, compile_regular


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"\p{L}",
            r"(a)\1",
            "(?<n>a)",
            "(?P<n>a)",
            "a++",
            "(?>a)",
            "[a[b]]",
            "[a&&b]",
            "[]a]",
            r"\h",
            r"\v",
            r"\Qa\E",
        ),
        *(
            "(?m)^a",
            "a{,2}",
            "{",
            "(",
            "a**",
            r"\ud800",
            r"\x4",
            "a\\",
            "[a",
            "(?<=a+)b",
            r"[\b]",
            "(?#c)",
            "(?i:a)",
            r"\Qa\E",
        ),
    ],
)
def test_that_what_differs_is_refused(pattern: str) -> None:
    with pytest.raises(NotTheSame):
        compile_regular(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a.c", "a\rc", False),
        ("(?s)a.c", "a\nc", True),
        ("ab$", "ab\r\n", True),
        ("\r$", "ab\r\n", False),
        (r"ab\z", "ab\n", False),
        (r"ab\Z", "ab\u2028", True),
        (r"^\w$", "é", False),
        ("(?i)^É$", "é", False),
        (r"a{2,3}?b", "aaab", True),
        (r"\u00e9", "é", True),
    ],
)
def test_that_it_finds_what_java_finds(pattern: str, text: str, found: bool) -> None:
    assert (compile_regular(pattern).search(text) is not None) is found
