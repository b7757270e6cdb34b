"""What is wrong where the parser stopped, as an error with the place and the remedy."""

from __future__ import annotations

import re
from typing import Any

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from cepheid.errors import ParseError, Span, did_you_mean, nearest
from cepheid.language.advice import advise
from cepheid.language.lexis import unfinished
from cepheid.pattern.tree.nodes import Strategy

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


def syntax_error(text: str, error: UnexpectedInput) -> ParseError:
    """What is wrong at the place where a parser stopped."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token = error.token
        start = token.start_pos or 0
        if (wrong := unfinished(text, start)) is not None:
            return wrong
        called = _STRATEGY.search(text[:start])
        if token == "{" and called:
            remedy = did_you_mean(called[1], [strategy.value for strategy in Strategy], "strategies")
            place = Span(text, called.start(1), called.end(1))
            return ParseError("CEP101", f"unknown strategy '{called[1]}'", remedy, place)
        return _advised(text, start, token.end_pos or 0, str(token), error)
    if isinstance(error, UnexpectedCharacters):
        position: Any = error.pos_in_stream  # lark declares None, and always sets it
        start = int(position)
        if (wrong := unfinished(text, start)) is not None:
            return wrong
        letters = re.compile(r"\w+").match(text, start)
        word = letters[0] if letters else text[start]
        return _advised(text, start, start + len(word), word, error)
    assert isinstance(error, UnexpectedToken | UnexpectedEOF)
    end = len(text.rstrip())
    return _advised(text, end, end + 1, "", error)


def _advised(text: str, start: int, end: int, word: str, error: _Unexpected) -> ParseError:
    """What is wrong and what to write, by the best advice that there is."""
    code, message = ("CEP101", f"unexpected '{word}'") if word else ("CEP102", "unexpected end of the query")
    advice = advise(word, text, start, _allowed(error))
    if advice is None:
        return ParseError(code, message, _expected(error, word), Span(text, start, end))
    place = Span(text, *(advice.place or (start, end)))
    return ParseError(code, advice.message or message, advice.remedy, place)


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
    # What is possible almost everywhere is said in one word.
    operators, clauses = terminals & _OPERATORS, terminals & _CLAUSES
    called |= {"an operator such as = or AND"} if len(operators) > 2 else {names[t] for t in operators}
    called |= {"another clause"} if len(clauses) > 2 else {names[t] for t in clauses}
    words = sorted(called, key=lambda w: (not w.isupper(), w))
    if len(words) > 1:
        return f"expected {', '.join(words[:-1])} or {words[-1]}"
    return f"expected {words[0] if words else 'the end of the query'}"
