"""Python code that makes a query with the builder, read as a tree without running it."""

from __future__ import annotations

import ast
import re

from cepheid.builder.algebra import duration
from cepheid.builder.drafts import checked
from cepheid.builder.placing import BuiltQuery
from cepheid.builder.python_values import CALLED, TIMES, ExpressionReader, MadeQuery, Package
from cepheid.errors import ParseError, did_you_mean
from cepheid.pattern.tree.nodes import Program

_BUILDER = ("cepheid", "cepheid.builder")
_EXAMPLE = "write cep.Query(cep.seq(cep.event('Shelf', 'a'), cep.event('Exit', 'b')))"
_TEXT = re.compile(r"\s*(PATTERN|EVENT|FROM|CESAR|AUTOMATON)\b")
_WORDS = {
    ast.FunctionDef: "a function",
    ast.AsyncFunctionDef: "a function",
    ast.ClassDef: "a class",
    ast.For: "a loop",
    ast.While: "a loop",
    ast.If: "'if'",
    ast.With: "'with'",
    ast.Try: "'try'",
    ast.Delete: "'del'",
    ast.AugAssign: "an assignment with an operator",
}


def read_python(code: str) -> Program:
    """The tree of the query that Python code makes; its nodes have their places in the code.

    The code is never run. It may import `cepheid` and `datetime`, assign to names, and call what the builder has;
    the query is what it passes to `cep.Query`, or else its last value.

    >>> from cepheid.language import print_program
    >>> print(print_program(read_python("import cepheid as cep\\ncep.event('Shelf', 'a').within('1 hour')")))
    PATTERN Shelf a
    WITHIN 1 hour
    """
    reader = ExpressionReader(code)
    try:
        query: object = None
        for statement in _parsed(code, reader).body:
            reader.parts = 0
            value = _statement(statement, reader)
            if isinstance(value, MadeQuery) or (
                isinstance(value, BuiltQuery | Program) and not isinstance(query, MadeQuery)
            ):
                query = value
    except RecursionError:
        message, remedy = "the code is nested too deep", "split it into simpler conditions"
        raise ParseError("CEP114", message, remedy, reader.places.at(1, 1)) from None
    if isinstance(query, BuiltQuery):
        return checked(query)
    if isinstance(query, MadeQuery):
        return query.program
    if isinstance(query, Program):
        return query
    raise ParseError("CEP114", "the code makes no query", _EXAMPLE, reader.places.at(code.count("\n") + 1, 1))


def _parsed(code: str, reader: ExpressionReader) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError as error:
        place, remedy = reader.places.at(error.lineno, error.offset), "mend it here, or just before"
        if _TEXT.match(code):
            remedy = "this is the text form of a query: write it as text, or as cep.Query('PATTERN …')"
        raise ParseError("CEP114", f"this is not Python: {error.msg}", remedy, place) from None
    except (ValueError, MemoryError) as error:  # a NUL; what the parser has no room for
        message = f"this is not Python: {str(error) or 'it is nested too deep'}"
        raise ParseError("CEP114", message, "take it out, or split it", reader.places.at(1, 1)) from None


def _statement(node: ast.stmt, reader: ExpressionReader) -> object:
    """What a statement makes, and the names that it assigns."""
    match node:
        case ast.Import() | ast.ImportFrom():
            _import(node, reader)
            return None
        case ast.Expr(value=value):
            return reader.value(value)
        case ast.Assign(targets=[target], value=value):
            made = reader.value(value)
            _assign(target, made, reader)
            return made
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            made = reader.value(value)
            _assign(target, made, reader)
            return made
    what = _WORDS.get(type(node), "this")
    raise reader.refused(
        node, f"{what} would have to be run", "write the query itself: names, and calls of the builder"
    )


def _assign(target: ast.expr, made: object, reader: ExpressionReader) -> None:
    if isinstance(target, ast.Name):
        reader.names[target.id] = made, reader.parts
        return
    names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    if not names or not isinstance(made, tuple | list) or not all(isinstance(element, ast.Name) for element in names):
        raise reader.refused(target, "only names can be assigned to", "write a, b = cep.var('a'), cep.var('b')")
    if len(names) != len(made):
        raise reader.refused(target, f"{len(names)} names for {len(made)} values", "write as many names as values")
    for name, value in zip(names, made, strict=True):
        _assign(name, value, reader)


def _import(node: ast.Import | ast.ImportFrom, reader: ExpressionReader) -> None:
    origin = "" if isinstance(node, ast.Import) else node.module or ""
    for imported in node.names:
        name, known = imported.asname or imported.name, imported.name
        whole = not origin and known in _BUILDER and (imported.asname or known == "cepheid")
        if whole or (origin == "cepheid" and known == "builder"):
            reader.names[name] = Package(), 1
        elif origin in _BUILDER and known in CALLED:
            reader.names[name] = CALLED[known], 1
        elif origin in _BUILDER and known == "duration":
            reader.names[name] = duration, 1
        elif origin == "datetime" and known in TIMES:
            reader.names[name] = TIMES[known], 1
        elif origin in _BUILDER:
            raise reader.refused(imported, f"the builder has no '{known}'", did_you_mean(known, CALLED, "functions"))
        else:
            remedy = "import cepheid as cep, and date, datetime and timedelta from datetime"
            raise reader.refused(imported, f"'{origin or known}' can't be imported here", remedy)
