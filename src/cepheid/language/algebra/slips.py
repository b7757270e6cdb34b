"""Typical slips in CESAR expressions, each with a sentence of its own."""

from __future__ import annotations

import re
from typing import NoReturn

from cepheid.errors import ParseError, Span, nearest
from cepheid.language.algebra.scanner import Scanner
from cepheid.language.algebra.values import ValueReader
from cepheid.language.algebra.words import LETTERS, OPERATORS
from cepheid.language.lexis import after_blanks
from cepheid.pattern.expressions.durations import UNITS

_FORMS = {
    "SELECT": "SELECT[price > 10](S)",
    "PROJECT": "PROJECT[name, price](S)",
    "RENAME": "RENAME[price -> maxP](S)",
    "ADD": "ADD[total := price * vol](S)",
    "THEN": "THEN[S1.name = S2.name](S1, S2)",
    "ITERATE": "ITERATE[S2.price > S2.price.last, S1.name = S2.name](S1, S2)",
}
_FORMS |= {letter: _FORMS[word].replace(word, letter) for letter, word in LETTERS.items()}
# What others call the operators.
_MEANT = {
    "WHERE": "SELECT",
    "FILTER": "SELECT",
    "SIGMA": "SELECT",
    "PI": "PROJECT",
    "RHO": "RENAME",
    "ALPHA": "ADD",
    "MU": "ITERATE",
    "EXTEND": "ADD",
    "WITH": "ADD",
    "SEQ": "THEN",
    "SEQUENCE": "THEN",
    "NEXT": "THEN",
    "FOLD": "ITERATE",
    "REPEAT": "ITERATE",
    "KLEENE": "ITERATE",
    "MINUS": "",
    "JOIN": "",
}
_CLAUSES = {
    "WHERE": "write the condition around the stream: SELECT[price > 10](S)",
    "HAVING": "write the condition around the stream: SELECT[price > 10](S)",
    "WITHIN": "write the condition around the stream: SELECT[DUR <= 10 minutes](S)",
    "PARTITION": "write the equality as a condition of ; or ITERATE: S1 ;[S1.name = S2.name] S2",
    "RETURN": "choose attributes by PROJECT[name, price](S), and name the stream by INTO",
    "FROM": "a stream stands in parentheses: SELECT[price > 10](Stock)",
    "OUTPUT": "a CESAR expression has no clauses: its result is a set of events",
    "TIES": "a CESAR expression has no clauses: an instant is always read as one",
    "LET": "write all LETs before the stream: CESAR LET S1, S2 := Stock S1 ; S2",
    "AS": "name a stream by LET before its use: LET S1 := Stock",
}
_KEYWORDS = r"and|or|not|in|like|rlike|regexp|between|when|then|else|case|is|union"
_NEXT_LINE = r"[ \t]*\n\s*"
_VALUE_END = rf"(?:\b(?!(?:{_KEYWORDS})\b)\w+|[)\]'\"`])"
# A value is complete before a parenthesis on the next line, or one with streams in it, and a number before a stream
# on the next line whose name is also a unit.
_COMPLETE = re.compile(
    rf"{_VALUE_END}(?={_NEXT_LINE}\()|\d(?={_NEXT_LINE}(?:{'|'.join(UNITS)})\b)|(?P<call>{_VALUE_END})(?=[ \t]*\()",
    re.IGNORECASE,
)
_STREAMS = re.compile(r";|[\w)`]\s+union\s+[\w(`]|[∪⋃]|[\]}]\s*\(", re.IGNORECASE)
_NEXT = re.compile(r"(?<![.\w])let\b|;", re.IGNORECASE)
_MISSING = "write a stream: the name of a type or of a LET, or an operator on one, as SELECT[price > 10](Stock)"
_VALUE = re.compile(r"(?:[.=<>!+*/%≤≥≠∧∨&|-]|\\|(?:and|or|is|in|not|between|like|rlike)\b)", re.IGNORECASE)
_BEFORE = re.compile(r";\s*(\w+)\s*\Z")
_ONE_LINE = re.compile(r"[ \t]*([\[({])")


def end_of_value(here: Scanner) -> int:
    """Where a value of LET that begins here ends because a stream begins, and no function's argument and no unit."""
    text, start = here.masked(), here.place()
    following = _NEXT.search(text, start, here.limit)
    for complete in _COMPLETE.finditer(text, start, following.start() if following else here.limit):
        part = text[start : complete.end()]
        if any(part.count(opening) != part.count(closing) for opening, closing in ("()", "[]", "{}")):
            continue
        if complete["call"] is None or _STREAMS.search(_inside(text, complete.end("call"), here.limit)):
            return complete.end()
    return here.limit


def _inside(text: str, start: int, limit: int) -> str:
    """What stands in the parentheses that begin after a place."""
    level = 0
    for place in range(start, limit):
        level += (text[place] in "([{") - (text[place] in ")]}")
        if level == 0 and text[place] == ")":
            return text[start:place]
    return text[start:limit]


def no_stream(here: Scanner, lets: bool) -> NoReturn:
    """No stream after CESAR and the LETs."""
    if here.sign() == ";" and lets:
        after = re.compile(r";\s*let\b", re.IGNORECASE)
        here.unexpected("LETs need nothing between them: remove the ;" if here.at(after) else f"{_MISSING}, before it")
    if here.sign() in ("", ";") or here.word() == "INTO":
        what = "after the LETs there is no stream" if lets else "there is no stream after CESAR"
        here.fail(what, _MISSING)
    if lets and here.sign() == ",":
        here.unexpected("write each definition with its own LET")
    no_stream_here(here)


def no_stream_here(here: Scanner) -> NoReturn:
    """Something else where a stream must be."""
    sign, start = here.sign(), here.place()
    if sign and (sign.isdigit() or sign in "'\"‘“-"):
        here.unexpected("this is a value, and a stream must stand here: write SELECT[condition](stream)")
    if sign == "[":
        here.unexpected("write the operator before the brackets: SELECT[price > 10](Stock)")
    if sign in ")]}" and sign and not here.is_open(start):
        here.unexpected("there is no opening bracket for it: remove it")
    here.unexpected(_MISSING)


def after_the_end(here: Scanner, has_into: bool) -> NoReturn:
    """Something after the stream that is no part of it."""
    word, start = here.word(), here.place()
    if word in _CLAUSES:
        here.unexpected(_CLAUSES[word])
    if here.sign() in (")", "]", "}"):
        here.unexpected(f"there is no opening bracket for it: remove it, or add '{_opening(here.sign())}'")
    if has_into:
        here.unexpected("expected ';' or the end of the query")
    after_a_stream(here, start, "")


def after_a_stream(here: Scanner, start: int, closing: str) -> NoReturn:
    """What can't follow a stream; `start`: where the parenthesis was opened, if `closing` must come."""
    word, place = here.word(), here.place()
    if close := (nearest(word, ["UNION", "INTO"]) if len(word) > 2 else None):
        here.unexpected(f"did you mean {close}?")
    if word in _CLAUSES:
        here.unexpected(_CLAUSES[word])
    if before := _BEFORE.search(here.plain, 0, place):
        begin = nearest(before[1], ["PATTERN", "EVENT", "AUTOMATON", "CESAR"])
        if begin and not closing:
            here.fail(f"unexpected '{before[1]}'", f"did you mean {begin}?", *before.span(1))
    if closing and (place >= here.limit or here.sign() in ";]}"):
        here.not_closed("parenthesis", closing, start)
    if here.sign() in ("∩", "\\", "∖", "−", "&"):
        here.unexpected("streams are combined by UNION, ; and ITERATE")
    if here.sign() == "|":
        here.unexpected("write UNION")
    if here.sign() == ",":
        here.unexpected("two streams are the operands of THEN[c](S1, S2) or ITERATE[F, c](S1, S2)")
    if word or here.sign() in "`(":
        here.unexpected("combine two streams by UNION or ;[condition]: S1 ;[S1.name = S2.name] S2")
    here.unexpected(f"""expected {f"'{closing}', " if closing else ""}UNION or ;[condition]""")


def _opening(closing: str) -> str:
    return {")": "(", "]": "[", "}": "{"}[closing]


def let_without_name(here: Scanner) -> NoReturn:
    here.unexpected("write a name and its value: LET S1 := Stock, or LET same := S1.name = S2.name")


def let_without_value(here: Scanner) -> NoReturn:
    """No := after the names of a LET."""
    if here.at(re.compile(r"==?|←|<-|(?:as|be|is)\b", re.IGNORECASE)):
        here.unexpected("write := after the name: LET S1 := Stock")
    if here.at(re.compile(r"->|→|↦")):
        here.unexpected("write := after the name of a list: LET f := price -> maxP")
    if here.at(re.compile(r"[\[(]")):
        here.unexpected("a LET has no parameters: write LET S1 := Stock")
    here.unexpected("expected ':=' and the value: LET S1 := Stock")


def check_name(here: Scanner, written: re.Match[str]) -> None:
    """Refuse a name that is no stream: an operator without its brackets, an unknown one, or a value."""
    name, word = written[0], written[0].upper()
    opened = _ONE_LINE.match(here.plain, here.position, here.limit)
    plain_name = not name.startswith("`")
    if plain_name and name in LETTERS:
        here.fail(f"{name} has no brackets", f"write {_FORMS[name]}", *written.span())
    if plain_name and word in OPERATORS and (opened or _another(here)):
        if word == "SELECT" and re.search(r"\bfrom\b", here.plain[here.position : here.limit], re.IGNORECASE):
            here.fail(
                "this SELECT is SQL's",
                "the condition stands in brackets and the stream in parentheses: PROJECT[name](SELECT[price > 10](S))",
                *written.span(),
            )
        here.fail(f"{word} needs brackets", f"write {_FORMS[word]}", *written.span())
    if plain_name and word in ("LET", "UNION", "INTO"):
        here.fail(
            f"unexpected '{name}'", f"{_MISSING}; a stream of this name is written in back quotes", *written.span()
        )
    if opened:
        _unknown(here, written)
    if _VALUE.match(here.plain, after_blanks(here.plain, here.position, here.limit), here.limit):
        _no_value(here, written)


def _another(here: Scanner) -> bool:
    """Whether a value follows, and not what can follow a stream."""
    rest = here.plain[after_blanks(here.plain, here.position, here.limit) : here.limit]
    return re.match(r"(?!(?:union|into|let)\b)[\w`'\"]|\*", rest, re.IGNORECASE) is not None


def _unknown(here: Scanner, written: re.Match[str]) -> NoReturn:
    name, word = written[0], written[0].upper()
    close = _MEANT.get(word) or nearest(word, OPERATORS)
    remedy = f"the operators are {', '.join(OPERATORS[:-1])} and {OPERATORS[-1]}, and UNION and ; between streams"
    if close:
        remedy = f"did you mean {close}? write {_FORMS[close]}"
    elif word in ("DUR", "LAST"):
        remedy = f"{word} belongs to a condition, in brackets: SELECT[DUR >= 30 minutes](S)"
    elif nearest(word, ["UNION"]):
        remedy = "write UNION between two streams: S1 UNION S2"
    here.fail(f"unknown operator '{name}'", remedy, *written.span())


def _no_value(here: Scanner, written: re.Match[str]) -> NoReturn:
    if here.sign() == "|":
        here.unexpected("write UNION")
    if dashed := re.compile(r"\w+(?:-\w+)+").match(here.plain, written.start(), here.limit):
        remedy = f"write a name with a dash in back quotes: `{dashed[0]}`"
        here.fail("this is a difference, and a stream must stand here", remedy, *dashed.span())
    here.fail(
        "this is a condition or a value, and a stream must stand here",
        "write the condition in brackets and the stream in parentheses: SELECT[price > 10](S)",
        *written.span(),
    )


def no_operator(here: Scanner) -> NoReturn:
    """No operator after the sign of a composition."""
    here.unexpected("compose operators, and write the stream in parentheses at the end: PROJECT[name] . SELECT[c](S)")


def no_parenthesis(here: Scanner) -> NoReturn:
    """No stream in parentheses after an operator."""
    here.unexpected("write the stream in parentheses after the brackets: SELECT[price > 10](Stock)")


def operands(here: Scanner, word: str, streams: int, span: Span) -> NoReturn:
    """A wrong number of streams."""
    count = "one stream" if streams == 1 else f"{streams} streams"
    if word:
        raise ParseError("CEP101", f"{word} takes two streams, not {streams}", f"write {_FORMS[word]}", span)
    raise ParseError(
        "CEP101", f"the operator takes one stream, not {count}", "combine them by UNION or ;[condition] first", span
    )


def iterate_without_condition(here: Scanner, value: ValueReader | None) -> NoReturn:
    """No comma after F."""
    if value and value.error and value.stop == here.position and here.sign() not in ("]", "}", ""):
        raise value.refused(value.error, "','")
    here.unexpected(
        "ITERATE has a condition for each step, and one for the next event: "
        "ITERATE[S2.price > S2.price.last, S1.name = S2.name](S1, S2); ID keeps every step"
    )


def not_closed(here: Scanner, start: int, closing: str) -> NoReturn:
    """The bracket of an operator is not closed."""
    if here.place() >= here.limit:
        opened = here.plain.find("[" if closing == "]" else "{", start)
        here.not_closed("bracket", closing, opened)
    here.unexpected(f"expected ',' or '{closing}'" if closing else "write the index in brackets")
