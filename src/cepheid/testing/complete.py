"""Completes case files: writes the outcome on the reference where a case has none or another one."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from difflib import SequenceMatcher

from cepheid.testing.cases import case_files, parse_cases
from cepheid.testing.headers import Functions
from cepheid.testing.outcomes import Outcome
from cepheid.testing.page import is_gap
from cepheid.testing.paths import REFERENCE


def complete_cases(path: str | pathlib.Path, functions: Functions | None = None) -> int:
    """Complete a case file, or the `.case` files of a folder, and return the number of changed cases.

    Comments, order and layout are kept. Check what was written before you keep it: by itself it proves nothing.
    """
    changed = 0
    for file in case_files(path):
        old = file.read_text("utf-8")
        new, count = complete_text(old, str(file), functions)
        if count:
            file.write_text(new, "utf-8")
        changed += count
    return changed


def complete_text(text: str, file: str = "<text>", functions: Functions | None = None) -> tuple[str, int]:
    """The text with the outcomes of its cases, and the number of changed cases.

    >>> text, changed = complete_text('''=== a negation at the end without a window
    ... --- query
    ... PATTERN SEQ(A a, !(B b))
    ... ''')
    >>> print(text)
    === a negation at the end without a window
    --- query
    PATTERN SEQ(A a, !(B b))
    --- error
    CEP203 1:20 negation at the end of the pattern needs WITHIN
    """
    lines = text.split("\n")
    changed = 0
    for case in reversed(parse_cases(text, file, functions)):  # from the end, so that the places stay right
        if REFERENCE.name in case.not_on:
            continue
        outcome = REFERENCE.run(case)
        if outcome != case.expected:
            start, stop = case.expected_at
            body = _merge(lines[start + 1 : stop], case.expected.lines if case.expected else (), outcome)
            lines[start:stop] = [f"--- {outcome.section}", *body]
            changed += 1
    return "\n".join(lines), changed


def _merge(written: Sequence[str], expected: Sequence[str], outcome: Outcome) -> list[str]:
    """The lines of an outcome with the existing comments, each before the same line as it was."""
    comments: list[list[str]] = [[]]
    matches: list[str] = []
    for line in written:
        if is_gap(line):
            comments[-1].append(line)
        else:
            matches.append(line)
            comments.append([])
    merged: list[str] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, expected, outcome.lines, autojunk=False).get_opcodes():
        for k in range(i, i_end):
            merged += [*comments[k], matches[k]] if tag == "equal" else comments[k]
        if tag != "equal":
            merged += outcome.lines[j:j_end]
    return merged
