"""What can be written at the cursor of the Python form: functions and methods of the builder, types, columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from keyword import iskeyword

from cepheid.builder.columns import Column
from cepheid.builder.patterns import Pattern
from cepheid.builder.printed_expressions import quote
from cepheid.builder.python_values import CALLED
from cepheid.pattern.expressions.functions import BUILT_IN
from cepheid.pattern.tree.nodes import Strategy
from cepheid.studio.completing import UNITS, Completion, Completions, columns, fitting, types, values
from cepheid.studio.describing import Facts

_PACKAGE = re.compile(r"\bimport\s+cepheid\s+as\s+(\w+)|\bfrom\s+cepheid\s+import\s+builder\s+as\s+(\w+)")
_VARIABLES = re.compile(r"^\s*(\w+(?:\s*,\s*\w+)*)\s*=[^\n]*\bvar\(", re.MULTILINE)
_WORD = re.compile(r"\w*\Z")
_AFTER = re.compile(r"(\w+|[)\]])(?:\.(first|current|previous|before|last|each))?\.\w*\Z")
_STRING = re.compile(r"(?:^|[^\w'\"])['\"]([^'\"\n]*)\Z")
_ITEM = re.compile(r"(\w+)(?:\.\w+)?\[\s*['\"][^'\"\n]*\Z")
_CALL = re.compile(r"(\w+)\(\s*(?:\[?(?:\s*['\"][^'\"\n]*['\"]\s*,)*)\s*\[?\s*['\"][^'\"\n]*\Z")
_COMPARED = re.compile(r"\.(\w+)\s*[=!]=\s*['\"][^'\"\n]*\Z|\.(\w+)\.is_in\(\s*\[[^\]]*\Z")
_INDEXES = ("first", "current", "previous", "before", "last", "each", "len", "nth", "back")


def complete(code: str, at: int, facts: Facts | None) -> Completions:
    """What can be written at a place of some code.

    >>> code = "import cepheid as cep\\nquery = cep.any_"
    >>> [one.label for one in complete(code, len(code), None).options]
    ['any_order']
    """
    before = code[:at]
    string = _STRING.search(before)
    if string is not None:
        return fitting(before, string.start(1), _within_string(before, facts))
    word = _WORD.search(before)
    return fitting(before, at if word is None else word.start(), _names(code, before, facts))


def _within_string(before: str, facts: Facts | None) -> Iterator[Completion]:
    compared = _COMPARED.search(before)
    if compared is not None:
        yield from _texts(values(compared[1] or compared[2], facts))
        return
    if _ITEM.search(before):
        yield from _texts(columns(facts))
        return
    call = _CALL.search(before)
    match call[1] if call is not None else "":
        case "event" | "from_":
            yield from _texts(types(facts))
        case "same" | "partition_by" | "col":
            yield from _texts(columns(facts))
        case "call":
            yield from (Completion(name, "function") for name in BUILT_IN)
        case "strategy":
            yield from (Completion(strategy.value, "keyword") for strategy in Strategy)
        case "within" | "for_":
            amount = re.search(r"['\"]\s*([0-9.]+)\s+\w*\Z", before)
            yield from (Completion(f"{amount[1]} {unit}", "unit") for unit in UNITS if amount is not None)


def _texts(completions: Iterable[Completion]) -> Iterator[Completion]:
    """As the rest of a string."""
    for completion in completions:
        yield replace(completion, insert=re.sub(r"(['\"\\])", r"\\\1", completion.label))


def _names(code: str, before: str, facts: Facts | None) -> Iterator[Completion]:
    packages = {name for groups in _PACKAGE.findall(code) for name in groups if name}
    variables = [name for groups in _VARIABLES.findall(code) for name in re.split(r"\s*,\s*", groups)]
    after = _AFTER.search(before)
    if after is None:
        if not packages:
            yield Completion("import cepheid as cep", "keyword")
        yield from (Completion(name, "variable") for name in [*dict.fromkeys(variables), *sorted(packages)])
    elif after[1] in packages:
        yield from (Completion(name, "function") for name in sorted([*CALLED, "duration"]))
    elif after[1] in variables:
        indexes = _INDEXES if after[2] is None else ()
        yield from (_attribute(column, indexes) for column in columns(facts))
        yield from (Completion(name, "keyword") for name in indexes)
    else:
        methods = {name for kind in (Pattern, Column) for name in dir(kind) if callable(getattr(kind, name))}
        yield from (Completion(name, "function") for name in sorted(methods) if not name.startswith("_"))


def _attribute(column: Completion, taken: Collection[str]) -> Completion:
    """A column after a dot; if its name can't stand there, in brackets instead of the dot."""
    name = column.label
    if name.isidentifier() and not iskeyword(name) and name not in taken:
        return replace(column, insert=None)
    return replace(column, insert=f"[{quote(name)}]", back=1)
