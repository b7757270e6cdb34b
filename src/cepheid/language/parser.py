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
from cepheid.language.builder import QueryBuilder
from cepheid.pattern.tree import Program, Strategy
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
    "$END": "the end of the query",
}
# Left out of "expected …": they are possible almost everywhere, so naming them does not help.
_QUIET = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT_SIGN", "_CONCAT", "QUOTED", "TIME_UNIT", "PERCENTAGE", "QMARK"}


# Brackets inside quotes and comments do not count as nesting.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|‘[^’]*’|“[^”]*”|`[^`]*`|/\*.*?\*/|--[^\n]*", re.DOTALL)


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


def _check_nesting(text: str) -> None:
    level = 0
    for position, character in enumerate(_QUOTED.sub(lambda found: " " * len(found[0]), text)):
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
        span = Span(text, start, token.end_pos or 0)
        called = re.search(r"([\w-]+)\s*(\([^(){}]*\))?\s*\Z", text[:start])
        if token == "{" and called and called[1]:
            remedy = did_you_mean(called[1], [strategy.value for strategy in Strategy], "strategies")
            place = Span(text, called.start(1), called.end(1))
            return ParseError("CEP101", f"unknown strategy '{called[1]}'", remedy, place)
        habit = _habit(str(token), text[:start])
        if habit is not None:
            return ParseError("CEP101", f"unexpected '{token}'", habit, span)
        if token == "*" and re.search(r"count\s*\(\s*\Z", text[:start], re.IGNORECASE):
            return ParseError("CEP101", "count(*) is not supported", "write count(a[])", span)
        if token.upper() == "INTO":
            return ParseError("CEP101", "INTO needs RETURN", "write RETURN a.x AS x INTO Name", span)
        return ParseError("CEP101", f"unexpected '{token}'", _expected(error, str(token)), span)
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
        span = Span(text, start, start + len(word))
        remedy = _habit(word, text[:start]) or _expected(error, word)
        return ParseError("CEP101", f"unexpected '{word}'", remedy, span)
    assert isinstance(error, UnexpectedToken | UnexpectedEOF)
    end = len(text.rstrip())
    return ParseError("CEP102", "unexpected end of the query", _expected(error, ""), Span(text, end, end + 1))


# SQL words, and what to write instead.
_HABITS = {
    "SELECT": "begin with PATTERN; list the output columns in RETURN",
    "GROUP": "use PARTITION BY, or [attr] in WHERE",
    "ORDER": "matches are ordered by their end; sort the result instead",
    "LIMIT": "limit the result instead: q.match(events, limit=10), or --limit on the command line",
    "DISTINCT": "RETURN has no DISTINCT; remove duplicates from the result",
    "INTERVAL": "write the number and the unit: 5 minutes",
    "FOR": "FOR follows a negated event at the start or end of the pattern: !(B b) FOR 10 minutes",
    "JOIN": "bind both events in the pattern: SEQ(A a, B b)",
}


def _habit(token: str, before: str) -> str | None:
    if token == "," and not re.search(r"\b(where|within|partition|having|return)\b", before, re.IGNORECASE):
        return "write PATTERN SEQ(A a, B b)"
    if token == "." and re.search(r"(\[|\bby\s|,)\s*\w+\s*\Z", before, re.IGNORECASE):
        return "write the attribute without a variable: [tag_id], PARTITION BY tag_id"
    if re.search(r"\bwithin\s*\Z", before, re.IGNORECASE):
        return "write a number and a unit without quotes: WITHIN 12 hours, WITHIN 500 events"
    if re.search(r"\bwithin\s+[\d.]+\s*\w+\s*\Z", before, re.IGNORECASE) and token[0].isdigit():
        return "write one number and one unit: WITHIN 90 minutes"
    if token in ("<", "<=", ">", ">=", "=", "==", "!="):
        return "combine two comparisons with AND: a.x < b.x AND b.x < c.x"
    return _HABITS.get(token.upper())


def _expected(error: UnexpectedToken | UnexpectedCharacters | UnexpectedEOF, word: str) -> str:
    terminals = set(error.allowed if isinstance(error, UnexpectedCharacters) else error.expected) - _QUIET
    if isinstance(error, UnexpectedToken):
        terminals = set(error.accepts or error.expected) - _QUIET
    if "_DOTS" in terminals:
        return "use a[1], a[i], a[i-1], a[..i-1], a[a.LEN] or a[]"
    called = {_WORDS.get(t, t.strip("_").replace("_", " ")) for t in terminals}
    words = sorted(called, key=lambda w: (not w.isupper(), w))
    close = nearest(word, [w for w in words if w.isupper()]) if len(word) > 2 else None
    if close is not None:
        return f"did you mean {close}?"
    if len(words) > 1:
        return f"expected {', '.join(words[:-1])} or {words[-1]}"
    return f"expected {words[0] if words else 'the end of the query'}"
