"""Text to tree, with errors that show the place."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedInput, VisitError

from cepheid.errors import CepheidError, ParseError, Span
from cepheid.language.algebra.printed import without_latex
from cepheid.language.algebra.reader import begins_algebra, read_algebra
from cepheid.language.builder import QueryBuilder
from cepheid.language.lexis import OPAQUE, after_blanks, blanked, masked
from cepheid.language.mistakes import syntax_error
from cepheid.language.tables import grammar
from cepheid.pattern.expressions.nodes import Expression
from cepheid.pattern.tree.nodes import ArcClause, AutomatonPattern, Program, QueryTree
from cepheid.pattern.tree.walk import MAX_DEPTH, arcs_in, too_deep


def parse(text: str) -> Program:
    """Read one or more queries.

    >>> len(parse("EVENT A a; EVENT B b").queries)
    2
    """
    if not text.strip().strip(";"):
        raise ParseError("CEP108", "the query is empty", "write PATTERN SEQ(Shelf a, Exit b)", Span(text, 0, 0))
    for position, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            place = Span(text, position, position + 1)
            raise ParseError(
                "CEP112", "the query contains half of a surrogate pair", "write the whole character", place
            )
    _check_nesting(text)
    program = _read_mixed(text) if _CESAR.search(text) else _read(text)
    for query in program.queries:
        if (part := too_deep(query)) is not None:
            raise _too_deep(part.span)
    return program


_CESAR = re.compile(r"(?:\A|;|\*/|\n|\ufeff)\s*cesar\b", re.IGNORECASE)  # a hint: it may be in a comment
_ENDS = re.compile(rf"{OPAQUE.pattern}|;")


def _read(text: str, start: int = 0, end: int | None = None) -> Program:
    """The queries in a part of the text, which begin with PATTERN or AUTOMATON."""
    part = " " * start + text[start:end]
    try:
        tree = grammar().parse(part, start="program")
        program: Program = QueryBuilder(text).transform(tree)
    except UnexpectedInput as error:
        wrong = syntax_error(text[:end], error)
        place = wrong.span and Span(text, wrong.span.start, wrong.span.end)
        raise ParseError(wrong.code, wrong.message, wrong.remedy, place) from None
    except VisitError as error:
        if isinstance(error.orig_exc, CepheidError):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, RecursionError):
            raise _too_deep(Span(text, 0, len(text))) from None
        raise
    except RecursionError:
        raise _too_deep(Span(text, 0, len(text))) from None
    return program


def _read_mixed(text: str) -> Program:
    """A program some of whose queries may be CESAR expressions."""
    starts = [0, *(part.end() for part in _ENDS.finditer(text) if part[0] == ";")]
    if not any(begins_algebra(text, start) for start in starts):
        return _read(text)
    plain = without_latex(text)
    queries: list[QueryTree] = []
    position = 0
    while not queries or after_blanks(text, position) < len(text):
        if begins_algebra(text, position):
            try:
                query, position = read_algebra(text, plain, position)
            except RecursionError:
                raise _too_deep(Span(text, 0, len(text))) from None
            queries.append(query)
        else:
            ends = (part.start() for part in _ENDS.finditer(text, position) if part[0] == ";")
            end = next(ends, len(text))
            queries += _read(text, position, end).queries
            position = end
        position = after_blanks(text, position) + 1  # after the ;
    return Program(tuple(queries))


_BEFORE = "AUTOMATON a -> b ARC a -> b WHEN "


def parse_expression(text: str) -> Expression:
    """Read one expression, which is all of the text."""
    try:
        queries = parse(_BEFORE + text).queries
    except ParseError as error:
        raise ParseError(error.code, error.message, error.remedy, _moved(error.span, text)) from None
    condition = next((arc.condition for arc in arcs_in(queries[0])), None)
    if condition is None or queries != (
        QueryTree(AutomatonPattern("a", ("b",), (), (ArcClause("a", "b", condition=condition),))),
    ):
        remedy = "write one condition or value, such as e.price > 1; what else there is belongs to its own argument"
        raise ParseError("CEP101", "the text is more than an expression", remedy, Span(text, 0, len(text)))
    return condition


def _moved(span: Span | None, text: str) -> Span | None:
    """A place in a longer text as one in its end."""
    if span is None:
        return None
    start = max(0, span.start - len(_BEFORE))
    return Span(text, start, max(start + 1, span.end - len(_BEFORE)))


def _check_nesting(text: str) -> None:
    level = 0
    for position, character in enumerate(masked(text, blanked)):
        if character in "([{":
            level += 1
            if level > MAX_DEPTH:
                raise _too_deep(Span(text, position, position + 1))
        elif character in ")]}":
            level = max(0, level - 1)


def _too_deep(span: Span | None) -> ParseError:
    return ParseError(
        "CEP104", f"the query is nested more than {MAX_DEPTH} levels deep", "split it into simpler conditions", span
    )
