"""Text to tree, with errors that show the place."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError

from cepheid.cache import cache_directory
from cepheid.errors import CepheidError, ParseError, Span, did_you_mean, nearest
from cepheid.language.advice import QUOTED, advise
from cepheid.language.builder import QueryBuilder
from cepheid.pattern.expressions import Expression
from cepheid.pattern.tree import Arc, Automaton, Program, Query, Strategy
from cepheid.pattern.walk import MAX_DEPTH, too_deep

# The names of terminals in error messages.
_WORDS = {
    "_AND": "AND",
    "_OR": "OR",
    "_NOT": "!",
    "NEGATED": "NOT",
    "_IN": "IN",
    "_PATTERN": "PATTERN",
    "COMPARE": "a comparison",
    "NAME": "a name",
    "TYPE": "an event type",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "STRING": "a string",
    "STRATEGY": "a strategy",
    "WINDOW_UNIT": "a unit such as hours",
    "OUTPUT_MODE": "ALL, NON_OVERLAP or LONGEST",
    "TIES_MODE": "SIMULTANEOUS or ORDERED",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "DOT": "'.'",
    "SEMICOLON": "';'",
    "ARRAY": "'[]'",
    "_EQUALS": "'='",
    "_ARROW": "'->'",
    "_CAST_TO": "'::'",
    "QUANTIFIER": "ALL",
    "$END": "the end of the query",
}
# Left out of "expected …": they are possible almost everywhere, so naming them does not help.
_QUIET = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT_SIGN", "_CONCAT", "QUOTED", "TIME_UNIT", "PERCENTAGE", "QMARK"}


@cache
def _grammar() -> Lark:
    text = files("cepheid.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    # Making the tables takes longer than a small query; Lark checks that the cached file belongs to this grammar.
    tables = str(cache_directory() / "grammar.lark.tables")
    return Lark(text, start="program", parser="lalr", propagate_positions=True, maybe_placeholders=True, cache=tables)


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
    try:
        tree = _grammar().parse(text)
        program: Program = QueryBuilder(text).transform(tree)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    except VisitError as error:
        if isinstance(error.orig_exc, CepheidError):
            raise error.orig_exc from None
        if isinstance(error.orig_exc, RecursionError):
            raise _too_deep(Span(text, 0, len(text))) from None
        raise
    except RecursionError:
        raise _too_deep(Span(text, 0, len(text))) from None
    for query in program.queries:
        if (part := too_deep(query)) is not None:
            raise _too_deep(part.span)
    return program


_BEFORE = "AUTOMATON a -> b ARC a -> b WHEN "


def parse_expression(text: str) -> Expression:
    """Read one expression, which is all of the text."""
    try:
        queries = parse(_BEFORE + text).queries
    except ParseError as error:
        raise ParseError(error.code, error.message, error.remedy, _moved(error.span, text)) from None
    pattern = queries[0].pattern
    found = pattern.arcs[0].condition if isinstance(pattern, Automaton) and pattern.arcs else None
    if found is None or queries != (Query(Automaton("a", ("b",), (), (Arc("a", "b", condition=found),))),):
        remedy = "write one condition or value, such as e.price > 1; what else there is belongs to its own argument"
        raise ParseError("CEP101", "the text is more than an expression", remedy, Span(text, 0, len(text)))
    return found


def _moved(span: Span | None, text: str) -> Span | None:
    """A place in a longer text as one in its end."""
    if span is None:
        return None
    start = max(0, span.start - len(_BEFORE))
    return Span(text, start, max(start + 1, span.end - len(_BEFORE)))


def _check_nesting(text: str) -> None:
    level = 0
    for position, character in enumerate(QUOTED.sub(lambda found: " " * len(found[0]), text)):
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


def _syntax_error(text: str, error: UnexpectedInput) -> ParseError:
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token = error.token
        start = token.start_pos or 0
        if text.startswith("/*", start):
            return ParseError("CEP103", "the comment is not closed", "close it with */", Span(text, start, start + 2))
        called = _STRATEGY.search(text[:start])
        if token == "{" and called:
            remedy = did_you_mean(called[1], [strategy.value for strategy in Strategy], "strategies")
            place = Span(text, called.start(1), called.end(1))
            return ParseError("CEP101", f"unknown strategy '{called[1]}'", remedy, place)
        return _advised(text, start, token.end_pos or 0, str(token), error)
    if isinstance(error, UnexpectedCharacters):
        position: Any = error.pos_in_stream  # lark declares None, and always sets it
        start = int(position)
        rest = text[start:]
        if rest.startswith("``"):
            return ParseError(
                "CEP103", "the name is empty", "write a name between the quotes", Span(text, start, start + 2)
            )
        if rest[0] in "'\"‘“`":
            return ParseError(
                "CEP103", "the quote is not closed", "add the closing quote", Span(text, start, start + 1)
            )
        found = re.match(r"\w+", rest)
        word = found[0] if found else rest[0]
        return _advised(text, start, start + len(word), word, error)
    assert isinstance(error, UnexpectedToken | UnexpectedEOF)
    end = len(text.rstrip())
    return _advised(text, end, end + 1, "", error)


def _advised(text: str, start: int, end: int, word: str, error: _Unexpected) -> ParseError:
    """What is wrong and what to write, by the best advice that there is."""
    code, message = ("CEP101", f"unexpected '{word}'") if word else ("CEP102", "unexpected end of the query")
    found = advise(word, text, start, _allowed(error))
    if found is None:
        return ParseError(code, message, _expected(error, word), Span(text, start, end))
    place = Span(text, *(found.place or (start, end)))
    return ParseError(code, found.message or message, found.remedy, place)


# What is before the brace of WHERE strategy(a), strategy(b) { … }.
_STRATEGY = re.compile(
    r"\bwhere\s+(?:[\w-]+\s*(?:\([^(){}]*\))?\s*,\s*)*([\w-]+)\s*(?:\([^(){}]*\))?\s*\Z", re.IGNORECASE
)
_Unexpected = UnexpectedToken | UnexpectedCharacters | UnexpectedEOF
_OPERATORS = {"_AND", "_OR", "_NOT", "NEGATED", "_IN", "_IS", "_LIKE", "_RLIKE", "_BETWEEN", "COMPARE", "_CAST_TO"}
_CLAUSES = {"_WHERE", "_PARTITION", "_WITHIN", "_HAVING", "_RETURN", "_OUTPUT", "_TIES"}
_VALUES = {"NAME", "INTEGER", "STRING", "_CASE"}


def _allowed(error: _Unexpected) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(error.allowed if isinstance(error, UnexpectedCharacters) else error.expected)


def _expected(error: _Unexpected, word: str) -> str:
    terminals = _allowed(error) - _QUIET
    if "_DOTS" in terminals:
        return "use a[1], a[i], a[i-1], a[..i-1], a[a.LEN] or a[]"
    names = {t: _WORDS.get(t, t.strip("_").replace("_", " ")) for t in terminals}
    close = nearest(word, [name for name in names.values() if name.isupper()]) if len(word) > 2 else None
    if close is not None:
        return f"did you mean {close}?"
    if terminals >= _VALUES:
        return "a value is missing: write an attribute such as a.price, a number, or a text in quotes"
    called = {name for terminal, name in names.items() if terminal not in _OPERATORS | _CLAUSES}
    # What is possible almost everywhere is told by one word.
    operators, clauses = terminals & _OPERATORS, terminals & _CLAUSES
    called |= {"an operator such as = or AND"} if len(operators) > 2 else {names[t] for t in operators}
    called |= {"another clause"} if len(clauses) > 2 else {names[t] for t in clauses}
    words = sorted(called, key=lambda w: (not w.isupper(), w))
    if len(words) > 1:
        return f"expected {', '.join(words[:-1])} or {words[-1]}"
    return f"expected {words[0] if words else 'the end of the query'}"
