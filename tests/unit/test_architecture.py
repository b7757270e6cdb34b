"""Every node has a printer, a meaning, a strategy and a case; every error code a line in the documentation."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from cepheid.builder.algebra import Stream
from cepheid.engine.machines.forms.registers import RegisterForm
from cepheid.engine.machines.forms.values import ValueForm
from cepheid.engine.machines.interpreted.automata import AutomatonStepper
from cepheid.engine.machines.interpreted.expressions import ExpressionStepper
from cepheid.errors import CepheidError
from cepheid.front.automata.bound import BoundAutomaton, automaton_in
from cepheid.front.automata.check import with_register
from cepheid.front.cesar.result import BoundAlgebra
from cepheid.language import parse, printer
from cepheid.pattern.algebra import tree as algebra
from cepheid.pattern.algebra.walk import walk_terms
from cepheid.pattern.binding.schema import make_schema
from cepheid.pattern.binding.typing import Typer
from cepheid.pattern.expressions import functions
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.tree import nodes as tree
from cepheid.pattern.tree.components import components, name_events
from cepheid.pattern.tree.layout import lay_out
from cepheid.pattern.tree.walk import expressions, rewrite_expressions, walk
from cepheid.testing import read_cases
from cepheid.testing.strategies import NESTED, PLAIN, GeneratedQuery, any_automata, automata, queries
from cepheid.testing.strategies import trees as algebra_strategies
from cepheid.testing.strategies.operators import OF_UNITS, SAME, SIGNATURES
from cepheid.testing.strategies.trees import BRANCHES, COMPOUNDS, LEAVES, any_events
from cepheid.values import functions as meanings
from cepheid.values.evaluate import Compiler

ROOT = Path(__file__).parents[2]


def concrete(module: ModuleType, base: type) -> list[type]:
    """The node classes of a module. (`__subclasses__` also has those that `slots=True` replaced.)"""
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, base) and c is not base]
    return sorted(classes, key=lambda c: c.__name__)


EXPRESSIONS = concrete(ex, ex.Expression)
PATTERNS = concrete(tree, tree.PatternTree)
NODES = [*EXPRESSIONS, *PATTERNS]
RESOLVED = {algebra.SourceTerm, algebra.Prefix}  # what names stand for, which has no spelling
TERMS = [term for term in concrete(algebra, algebra.Term) if term not in RESOLVED]
OPERATORS = concrete(algebra, algebra.Operator)

REPLACED = {
    ex.Name: "parameters.resolve_names puts the parameter or the attribute in its place",
    ex.InSet: "parameters.resolve_names makes it an In with the members of the set",
}
ELSEWHERE = {
    ex.When: "a part of a Case, which compiles its arms",
    ex.SameValue: "the meaning of [attr] is reference.partition.Agreement",
}

by_name = pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)


def nodes_of(query: tree.QueryTree) -> set[type]:
    """The classes of all nodes of a query. In an automaton `r.x` is an attribute until its register is known."""
    if isinstance(query.pattern, tree.AutomatonPattern):
        query = with_register(query)
    found = {type(node) for expression in expressions(query) for node in walk(expression)}
    return found | {type(node) for node in walk(query.pattern)}


def test_that_all_nodes_are_where_they_are_looked_for() -> None:
    below = {c for base in (ex.Expression, tree.PatternTree, *NODES) for c in base.__subclasses__()}
    # What automata, joins and chains read, such as registers, is no part of the language; nor are samples of templates.
    others = (
        "cepheid.automaton",
        "cepheid.plan",
        "cepheid.pattern.expressions.sampled",
        "cepheid.engine.many.tables.chain",
    )
    written = {c.__name__ for c in below if not c.__module__.startswith(others)}
    assert written == {node.__name__ for node in NODES} | {"Algebra"}
    below = {c.__name__ for base in (algebra.Term, algebra.Operator) for c in base.__subclasses__()}
    read = below - {"Listed"}  # of the reader of texts, where it was imported
    assert read == {node.__name__ for node in [*TERMS, *RESOLVED, *OPERATORS]}


@pytest.mark.parametrize("node", [*TERMS, *OPERATORS], ids=lambda node: node.__name__)
def test_that_a_node_of_the_algebra_has_a_printer_a_strategy_and_a_walk(node: type) -> None:
    """What is printed is read back, and every expression in it is walked and rewritten."""
    if issubclass(node, algebra.Term):
        term = find(algebra_strategies.TERMS[node](algebra_strategies.any_terms()), lambda _: True, settings=QUICK)
    else:
        operator = find(
            algebra_strategies.OPERATORS[node](), lambda found: found != algebra.Project(()), settings=QUICK
        )
        term = algebra.Apply(operator, algebra.Named("S"))
    query = tree.QueryTree(algebra.Algebra((), term))
    assert parse(printer.print_query(query)).queries == (query,)
    marked = rewrite_expressions(query, lambda _: ex.Name("marked"))
    assert len(list(expressions(query))) == len(list(expressions(marked)))
    assert {*expressions(marked)} <= {ex.Name("marked")}
    assert isinstance(query.pattern, algebra.Algebra)
    assert node in {type(part) for part in nodes_of_terms(query.pattern.term)}


def nodes_of_terms(term: algebra.Term) -> Iterator[algebra.Term | algebra.Operator]:
    for part in walk_terms(term):
        yield part
        if isinstance(part, algebra.Apply):
            yield part.operator


@by_name
def test_that_a_node_has_a_printer(node: type) -> None:
    dispatch = printer.print_pattern if issubclass(node, tree.PatternTree) else printer._print
    assert node in dispatch.registry


@pytest.mark.parametrize("node", EXPRESSIONS, ids=lambda node: node.__name__)
def test_that_an_expression_has_a_type_and_a_meaning(node: type[ex.Expression]) -> None:
    typed = Typer.__dict__["check"].dispatcher.registry
    compiled = Compiler.__dict__["function"].dispatcher.registry
    assert (node in typed) == (node not in REPLACED)
    assert (node in compiled) == (node not in REPLACED and node not in ELSEWHERE)


def registers_of(query: GeneratedQuery) -> list[ex.Expression]:
    """What a generated automaton reads of its register."""
    found = (node for expression in expressions(with_register(query.tree)) for node in walk(expression))
    return [node for node in found if isinstance(node, ex.RegisterField)]


QUICK = settings(max_examples=100, database=None, derandomize=True, deadline=None, phases=[Phase.generate])
STRATEGIES: dict[type, st.SearchStrategy[Any]] = {
    **LEAVES,
    **{node: make(LEAVES[ex.Name]) for node, make in BRANCHES.items()},
    tree.EventPattern: any_events(),
    **{node: make(any_events()) for node, make in COMPOUNDS.items()},
    tree.AutomatonPattern: any_automata(),
    ex.RegisterField: automata(PLAIN).map(registers_of).filter(bool).map(lambda found: found[0]),
}


@by_name
def test_that_a_node_has_a_strategy(node: type) -> None:
    assert type(find(STRATEGIES[node], lambda _: True, settings=QUICK)) is node


@pytest.mark.parametrize(
    "node", [p for p in PATTERNS if p is not tree.AutomatonPattern], ids=lambda node: node.__name__
)
def test_that_a_pattern_has_a_meaning(node: type[tree.PatternTree]) -> None:
    pattern = find(STRATEGIES[node].map(name_events), lambda _: True, settings=QUICK)
    places = {place.variable for place in lay_out(pattern).places}
    assert places == {component.variable for component in components(pattern) if not component.negated}


def test_that_an_automaton_has_a_meaning() -> None:
    """It has no variables to lay out, but arcs of every kind."""
    fires: set[tree.Fires] = set()

    @settings(QUICK)
    @given(automata(PLAIN) | automata(PLAIN, simultaneous=True))
    def collect(query: GeneratedQuery) -> None:
        program = query.make().compiled
        [bound] = program.bind(make_schema(PLAIN, program.roles))
        automaton = automaton_in(bound)
        assert isinstance(query.tree.pattern, tree.AutomatonPattern)
        assert [arc.fires for arc in automaton.arcs] == [arc.fires for arc in query.tree.pattern.arcs]
        fires.update(arc.fires for arc in automaton.arcs)

    collect()
    assert fires == set(tree.Fires)


def test_that_queries_with_a_meaning_use_every_node() -> None:
    seen: set[type] = set()

    @settings(QUICK, max_examples=1_000)
    @given(queries(PLAIN))
    def collect(query: GeneratedQuery) -> None:
        seen.update(nodes_of(query.tree))

    collect()
    nested, own = {ex.Field, ex.Element}, {tree.AutomatonPattern, ex.RegisterField}
    assert set(NODES) - seen == nested | own
    assert {type(find(automata(PLAIN), _has(node), settings=QUICK)) for node in own} == {GeneratedQuery}
    assert {type(find(queries(NESTED), _has(node), settings=QUICK)) for node in nested} == {GeneratedQuery}


def _has(node: type) -> Callable[[GeneratedQuery], bool]:
    return lambda query: node in nodes_of(query.tree)


def test_that_every_node_has_a_case() -> None:
    seen: set[type] = set()
    for case in read_cases(ROOT / "tests" / "cases"):
        try:
            seen.update(node for query in parse(case.query).queries for node in nodes_of(query))
        except CepheidError:  # a case of an error
            continue
    assert set(NODES) - seen == set()


def test_that_functions_have_a_meaning_and_a_strategy() -> None:
    timed = {*meanings.CALENDAR, *meanings.FIELDS_OF, *meanings.TRUNCATED}
    assert set(functions.BUILT_IN) == {*meanings.NULLABLE, *meanings.SCALAR, *timed}
    signed = {name for signatures in SIGNATURES.values() for name in signatures}
    assert set(functions.BUILT_IN) == {*SAME, *OF_UNITS, *signed}
    assert set(ex.AGGREGATES) == set(meanings.AGGREGATES)


def test_that_every_error_code_is_documented() -> None:
    sources = (ROOT / "src").rglob("*.py")
    raised = {code for path in sources for code in re.findall(r'"(CEP\d{3})"', path.read_text("utf-8"))}
    documented = re.findall(r"^### (CEP\d{3})$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(documented) == sorted(raised - {"CEP000"})  # the example of errors.py


def test_that_importing_is_light() -> None:
    """Neither Spark nor a compiler, nor what only the command line, the tests or data frames need."""
    heavy = {"pyspark", "llvmlite", "click", "rich", "hypothesis", "pandas", "polars"}
    code = f"import sys, cepheid; print(*sorted(sys.modules.keys() & {heavy!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_that_a_first_answer_does_not_wait_for_pandas_or_a_compiler() -> None:
    """Arrow imports pandas for many a small thing, which takes longer than to match a thousand events."""
    program = """
import sys
import pyarrow as pa
ts = pa.Array.from_buffers(pa.int64(), 300, [None, pa.py_buffer(b"".join(k.to_bytes(8, "little") for k in range(300)))])
kind = pa.StringArray.from_buffers(
    300, pa.py_buffer(b"".join(k.to_bytes(4, "little") for k in range(301))), pa.py_buffer(b"ABC" * 100)
)
events = pa.Table.from_arrays([ts, kind], ["ts", "type"])
from cepheid import Query
query = Query("PATTERN SEQ(A a, B b, C c) WHERE a.ts < b.ts WITHIN 9")
assert len(query.match(events)) > 100
session = query.session(lateness=0)
session.push(events)
query.restore(session.snapshot()).close().to_arrow()
print(sorted({"pandas", "llvmlite", "numba"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Languages end at the front. A question is a place that asks which language a query is of.

QUESTIONS = 8
"""How many places of src/ may ask; it only goes down."""
OF_ONE_LANGUAGE: tuple[type, ...] = (
    *(tree.AutomatonPattern, BoundAutomaton, RegisterForm, AutomatonStepper),
    *(algebra.Algebra, BoundAlgebra, Stream, ValueForm, ExpressionStepper),
)
PARTS_OF_ONE_LANGUAGE = {"algebra", "automaton", "own_automaton"}
"""Attributes that only a query of one language has, and that are None in the others."""


def imported(module: ast.Module, name: str) -> dict[str, str]:
    """What each name of a module stands for: the module that defines it, and its name there."""
    known = {node.name: f"{name}.{node.name}" for node in module.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def questions(path: Path) -> list[int]:
    """The lines of a file that ask which language a query is of."""
    text = path.read_text("utf-8")
    if not any(name in text for name in (*PARTS_OF_ONE_LANGUAGE, "Language", *(c.__name__ for c in OF_ONE_LANGUAGE))):
        return []
    module = ast.parse(text)
    names = imported(module, ".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    classes = {f"{c.__module__}.{c.__qualname__}" for c in OF_ONE_LANGUAGE}

    def names_a_class(node: ast.AST) -> bool:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                if f"{names.get(part.value.id)}.{part.attr}" in classes:
                    return True
            elif isinstance(part, ast.Name) and names.get(part.id) in classes:
                return True
        return False

    def is_part(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr in PARTS_OF_ONE_LANGUAGE

    def asks(node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=left, comparators=[ast.Constant(value=None)]):
                return is_part(left)
            case ast.Compare(left=left, comparators=[ast.Attribute(value=ast.Name(id="ResultForm" | "Language"))]):
                return True
            case ast.BoolOp(values=values):
                return any(map(is_part, values))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.UnaryOp(op=ast.Not(), operand=test):
                return is_part(test)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                return names_a_class(kinds)
            case ast.MatchClass(cls=kind):
                return names_a_class(kind)
            case ast.MatchValue(value=ast.Attribute(value=ast.Name(id="ResultForm" | "Language"))):
                return True
        return False

    return [node.lineno for node in ast.walk(module) if asks(node)]  # type: ignore[attr-defined]


def test_that_few_places_ask_for_the_language_of_a_query() -> None:
    asked = {str(path.relative_to(ROOT)): questions(path) for path in sorted((ROOT / "src").rglob("*.py"))}
    places = [f"{path}:{line}" for path, lines in asked.items() for line in lines]
    assert len(places) <= QUESTIONS, "\n".join(places)


@cache
def tables_of_languages() -> dict[str, set[str]]:
    """The tables that are keyed by the language, by file and name: the languages that each has an entry for."""
    tables: dict[str, set[str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.parse(text).body if "Language" in text else ():
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.Dict(keys=keys)):
                    if re.match(r"Mapping\[(tree\.)?Language\b", ast.unparse(annotation)):
                        languages = {key.attr for key in keys if isinstance(key, ast.Attribute)}
                        tables[f"{path.relative_to(ROOT / 'src' / 'cepheid')}:{name}"] = languages
    return tables


def test_that_each_table_of_languages_has_all_of_them() -> None:
    tables = tables_of_languages()
    every = {language.name for language in tree.Language}
    assert {name: every - languages for name, languages in tables.items() if languages != every} == {}
    assert tables.keys() >= {"front/fronts.py:FRONTS", "engine/machines/factory.py:KINDS"}


def test_that_the_files_that_know_a_new_language_are_written_down() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Adding a query language")[1].split("\n## ")[0]
    files = {name.split(":")[0] for name in tables_of_languages()}
    assert {file for file in files if f"`{file}`" not in section} == set()


RIGHT_OF_FRONT = ("values", "automaton", "reference", "plan", "kernel", "engine", "diagnosis", "explain", "builder")
PARTS_OF_TABLES = {
    *("automaton/own.py", "automaton/as_own.py"),
    *("engine/machines/factory.py", "engine/planning/lifetimes.py", "engine/planning/many_changes.py"),
    *("explain/algebra.py", "explain/automata.py", "explain/automaton_graph.py"),
    *("builder/__init__.py", "builder/algebra.py", "builder/automata.py", "builder/python_values.py"),
}
"""The modules right of the front that are about one language, or are the table of them; there may only be fewer."""


def test_that_no_room_right_of_the_front_names_a_class_of_one_language() -> None:
    classes = {f"{c.__module__}.{c.__qualname__}" for c in OF_ONE_LANGUAGE}
    naming = set()
    for room in RIGHT_OF_FRONT:
        for path in sorted((ROOT / "src" / "cepheid" / room).rglob("*.py")):
            text = path.read_text("utf-8")
            if not any(c.__name__ in text for c in OF_ONE_LANGUAGE):
                continue
            name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            module = ast.parse(text)
            names = imported(module, name)
            read = {f"{names.get(node.value.id)}.{node.attr}" for node in ast.walk(module)
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}  # fmt: skip
            elsewhere = {named for named in (*names.values(), *read) if not named.startswith(f"{name}.")}
            if classes & elsewhere:
                naming.add(str(path.relative_to(ROOT / "src" / "cepheid")))
    assert naming <= PARTS_OF_TABLES
