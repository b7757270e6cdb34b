"""Checking cases on execution paths."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from difflib import ndiff

from cepheid.testing.cases import Case, read_cases
from cepheid.testing.complete import complete_cases
from cepheid.testing.headers import Functions
from cepheid.testing.outcomes import Outcome
from cepheid.testing.paths import QUICK, Path, applicable_paths


def check_cases(
    path: str | pathlib.Path,
    *,
    functions: Functions | None = None,
    paths: Iterable[Path] = QUICK,
    complete: bool = False,
) -> int:
    """Check a case file, or the `.case` files of a folder, and return the number of cases.

    Raises AssertionError if the outcome of a case differs. The header of a case names its functions, and `functions`
    maps these names to Python functions; `complete` first writes the outcome of the cases into the file.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... === a pair
    ... functions: half
    ... --- events
    ... ts | type | x
    ... 1  | A    | 4
    ... 2  | B    | 2
    ... --- query
    ... PATTERN SEQ(A a, B b) WHERE b.x = half(a.x)
    ... --- matches
    ... a=1 b=2
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "pairs.case")
    ...     _ = file.write_text(text)
    ...     check_cases(file, functions={"half": lambda x: x / 2})
    1
    """
    if complete:
        complete_cases(path, functions)
    cases = read_cases(path, functions)
    tried = tuple(paths)
    failures = [failure for case in cases for p in applicable_paths(case, tried) if (failure := find_failure(case, p))]
    if failures:
        raise AssertionError("\n\n".join(failures))
    return len(cases)


def find_failure(case: Case, path: Path) -> str | None:
    """Why a case fails on a path, or None. On a path declared as `not_on` the case must fail.

    >>> from cepheid.testing import REFERENCE
    >>> case = Case("a query that can be made", "PATTERN SEQ(A a, B b)", expected=Outcome(("a=1 b=2",)))
    >>> print(find_failure(case, REFERENCE))
    <text>:1: a query that can be made [reference]
    (- expected, + got)
      --- matches
    - a=1 b=2
    """
    place = f"{case.file}:{case.line}: {case.title} [{path.name}]"
    declared = case.not_on.get(path.name)
    try:
        difference = _difference(case, path.run(case))
    except Exception as error:
        if declared is not None:
            return None  # any error will do on a path that can't run the case yet
        error.add_note(place)
        raise
    if declared is None:
        return f"{place}\n{difference}" if difference else None
    return None if difference else f"{place}\npasses, but is declared as not_on: {path.name}: {declared}"


def _difference(case: Case, outcome: Outcome) -> str | None:
    if case.expected is None:
        return "\n".join(["has no expected outcome; the outcome is", *_section(outcome)])
    if outcome != case.expected:
        lines = ndiff(_section(case.expected), _section(outcome))
        return "\n".join(["(- expected, + got)", *(line for line in lines if not line.startswith("?"))])
    warned = "; ".join(outcome.warnings) or "no warning"
    if case.warns == "none":
        return f"expected no warning\ngot: {warned}" if outcome.warnings else None
    wanted = case.warns
    if wanted is not None and not any(wanted in warning for warning in outcome.warnings):
        return f"expected the warning: {wanted}\ngot: {warned}"
    return None


def _section(outcome: Outcome) -> list[str]:
    return [f"--- {outcome.section}", *outcome.lines]
