"""The words of CONTRIBUTING's glossary: how often one that is out may still stand in src/, which only goes down."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))

# A word that is out: how it is found in docstrings, comments, messages and names, and how many places may have it.
OUT = {
    "give": (r"\b(give|gives|gave|giving)\b", 194),  # emit, return; "given" is a usual participle
    "go over": (r"\b(go|goes|going|gone|went) (\w+ )?over\b", 57),  # process, read, replay
    "lane": (r"\blanes?\b", 95),  # partition; time lines draw lanes, and snapshots have the word
    "let go of": (r"\blet(s|ting)? (\w+ ){0,2}?go\b", 8),  # drop, release
    "met": (r"\bmet\b", 14),  # found, seen, passed
    "number": (r"\b(numbered|numbering)\b|\b(to number|Numbers?) (the|each|every|all|them)\b", 37),  # index
    "take back": (r"\b(take|takes|taken|taking|took) (\w+ ){0,2}?back\b", 13),  # retract
    "take up": (r"\b(take|takes|taken|taking|took) (\w+ )?up\b", 6),  # restore
    "tell": (r"\b(tell|tells|telling|told)\b(?! apart)", 234),  # report, say
    "that it is": (r"\bthat (it|they) (is|are)\b", 40),  # a noun
}
# Local names that say nothing of what they hold, and how many assignments may have them.
NAMES = {"found": 72, "given": 11, "now": 7, "one": 29, "own": 36, "told": 1}

# Places where a value has no type: only libraries without types justify it (pyarrow, pandas, py4j, llvmlite).
ANY = 392

# Docstrings of at most four words, most of which say less than the signature does.
SHORT = 74

# `from cepheid… import A as B`, where A is not a module: another thing has its name. Modules: each has one short name.
RENAMED = 17
NAMESPACES = {
    "cepheid.kernel.code.nodes": "n",
    "cepheid.kernel.scan.program": "p",
    "cepheid.kernel.shared": "k",
    "cepheid.kernel.shared_ranges": "r",
    "cepheid.front.cesar.bound": "b",
    "cepheid.pattern.algebra.tree": "algebra",
    "cepheid.pattern.expressions.nodes": "ex",
    "cepheid.pattern.tree.nodes": "tree",
}


@cache
def prose(path: Path) -> str:
    """A file as one line of words, so that a phrase may cross lines and a name is its parts."""
    return re.sub(r"\s*\n\s*(#\s?)?", " ", path.read_text(encoding="utf-8")).replace("_", " ")


def assigned(path: Path) -> Iterator[str]:
    """The names that a file assigns or takes as arguments."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name


def anys(path: Path) -> int:
    """How often a file says `Any`, but for its imports."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(len(re.findall(r"\bAny\b", line)) for line in lines if " import " not in line)


def short(path: Path) -> int:
    """How many functions and classes of a file have a docstring of at most four words."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = [ast.get_docstring(node) for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return sum(1 for text in texts if text and len(text.split()) <= 4)


def renamed(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports from the package under another name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "cepheid":
            for name in node.names:
                if name.asname not in (None, name.name):
                    yield f"{node.module}.{name.name}", name.asname


@pytest.mark.parametrize("word", OUT)
def test_that_a_word_is_on_its_way_out(word: str) -> None:
    pattern, most = OUT[word]
    places = [path for path in SOURCES for _ in re.findall(pattern, prose(path))]
    assert len(places) <= most, f"{word!r}: {len(places)} places in src/, {most} are allowed; see CONTRIBUTING, Words"


def test_that_local_names_say_what_they_hold() -> None:
    counts = Counter(name for path in SOURCES for name in assigned(path))
    assert {name: counts[name] for name, most in NAMES.items() if counts[name] > most} == {}


def test_that_docstrings_say_something() -> None:
    assert sum(map(short, SOURCES)) <= SHORT


def test_that_values_have_types() -> None:
    assert sum(map(anys, SOURCES)) <= ANY


def test_that_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path}:{node.lineno}")
    assert {name: lines for name, lines in places.items() if len(lines) > 1} == {}


def test_that_names_are_not_changed_at_import() -> None:
    names = [(name, alias) for path in SOURCES for name, alias in renamed(path)]
    others = [(name, alias) for name, alias in names if NAMESPACES.get(name) != alias]
    assert len(others) <= RENAMED, others
