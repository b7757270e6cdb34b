from pathlib import Path

from cepheid.testing import check_cases, complete_cases
from cepheid.testing.complete import complete_text

OPEN = """\
# About the file.

=== nothing said
rule: S6
--- events
ts | type | x
1  | A    | 1
2  | B    | 2
3  | B    | NULL
--- query
PATTERN SEQ(A a, B b)

# About the next.
=== one match is wrong, one is missing, one is too many
--- events
ts | type
1  | A
2  | B
3  | B
4  | B
--- query
PATTERN SEQ(A a, B b)
--- matches
# the first
a=1   b=2
# the second
a=1 b=9
# the third
a=1 b=4
a=7 b=8
# at the end

=== what stays is not touched
--- events
ts | type | x
1  | A    | 5
--- query
EVENT A a RETURN a.x   AS x
--- matches
{"match_start":1,   "match_end":1, "x":5}

=== matches that became an error
--- query
PATTERN SEQ(A a, !(B b))
--- matches
a=1

=== an error that became matches, which are none
--- query
PATTERN SEQ(A a, !(B b)) WITHIN 5
--- error
CEP203 1:20 negation at the end of the pattern needs WITHIN

=== not for the reference
not_on: reference: it is not written yet
--- query
PATTERN SEQ(A a, !(B b))
--- matches
a=1
"""

COMPLETE = """\
# About the file.

=== nothing said
rule: S6
--- events
ts | type | x
1  | A    | 1
2  | B    | 2
3  | B    | NULL
--- query
PATTERN SEQ(A a, B b)
--- matches
a=1 b=2
a=1 b=3

# About the next.
=== one match is wrong, one is missing, one is too many
--- events
ts | type
1  | A
2  | B
3  | B
4  | B
--- query
PATTERN SEQ(A a, B b)
--- matches
# the first
a=1   b=2
# the second
a=1 b=3
# the third
a=1 b=4
# at the end

=== what stays is not touched
--- events
ts | type | x
1  | A    | 5
--- query
EVENT A a RETURN a.x   AS x
--- matches
{"match_start":1,   "match_end":1, "x":5}

=== matches that became an error
--- query
PATTERN SEQ(A a, !(B b))
--- error
CEP203 1:20 negation at the end of the pattern needs WITHIN

=== an error that became matches, which are none
--- query
PATTERN SEQ(A a, !(B b)) WITHIN 5
--- matches

=== not for the reference
not_on: reference: it is not written yet
--- query
PATTERN SEQ(A a, !(B b))
--- matches
a=1
"""


def test_what_differs_is_written_and_the_rest_stays() -> None:
    assert complete_text(OPEN) == (COMPLETE, 4)


def test_a_complete_text_stays_as_it_is() -> None:
    assert complete_text(COMPLETE) == (COMPLETE, 0)


def test_files_are_completed_in_place(tmp_path: Path) -> None:
    open_, done = tmp_path / "open.case", tmp_path / "done.case"
    open_.write_text(OPEN)
    done.write_text(COMPLETE)
    assert complete_cases(tmp_path) == 4
    assert (open_.read_text(), done.read_text()) == (COMPLETE, COMPLETE)


def test_an_empty_error_section_is_completed() -> None:
    text = "=== a\n--- query\nPATTERN SEQ(A a, !(B b))\n--- error\n\n=== b\n--- query\nEVENT A a\n--- matches"
    completed = text.replace("error\n", "error\nCEP203 1:20 negation at the end of the pattern needs WITHIN\n")
    assert complete_text(text) == (completed, 1)


def test_checking_can_complete_first(tmp_path: Path) -> None:
    file = tmp_path / "one.case"
    file.write_text("=== a\n--- events\nts | type\n1 | A\n--- query\nEVENT A a\n")
    assert check_cases(file, complete=True) == 1
    assert file.read_text() == "=== a\n--- events\nts | type\n1 | A\n--- query\nEVENT A a\n--- matches\na=1\n"
