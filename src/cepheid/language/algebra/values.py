"""The conditions and values in a CESAR expression: as many words as the grammar of expressions can take."""

from __future__ import annotations

import re
from typing import Any

from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from cepheid.errors import CepheidError, ParseError, nearest
from cepheid.language.algebra.scanner import UNKNOWN_COMMAND, Scanner
from cepheid.language.elements import as_elements
from cepheid.language.expressions import ExpressionBuilder
from cepheid.language.lexis import WORD
from cepheid.language.mistakes import syntax_error
from cepheid.language.tables import grammar
from cepheid.pattern.expressions.durations import NANOSECONDS
from cepheid.pattern.expressions.nodes import Expression

_OPENING, _CLOSING = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}
_ENDS = {"_AND", "_OR", "_WHEN", "_THEN", "_ELSE", "_CASE", "COMMA", "_WHERE", "_DISTINCT"}
_OTHER = {"_NOT", "NEGATED", "_IN", "_BETWEEN", "_LIKE", "_RLIKE", "_IS"}
_WORDS = {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "RLIKE", "BETWEEN", "WHEN", "THEN", "ELSE", "END", "DISTINCT"}
_UNIT = re.compile(r"\d\s*\Z")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")
# What comes after a number and is no factor.
_NO_FACTOR = re.compile(r"(?i:(?:let|union|into)\b|(?:select|project|rename|add|then|iterate)\s*[\[(_])|[σπραμ]")
_FACTOR = re.compile(r"[ \t]*([^\W\d]\w*(?:\s*[\[(.])?)")


class ValueReader:
    """Reads one expression where a scanner is, and remembers why it ended there."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.start = scanner.place()
        self.error: UnexpectedInput | None = None
        self.stop = -1

    def read(self, alone: bool) -> Expression:
        """`alone`: no comma can follow, so that one between digits belongs to a number, `10,000`."""
        scanner = self.scanner
        taken: list[Token] = []
        self.stop = self.start
        while True:
            parser = _parser(scanner, taken)
            parser.lexer_thread.state.line_ctr.char_pos = self.stop
            self.error = None
            try:
                for token in parser.lexer_thread.lex(parser.parser_state):
                    parser.feed_token(token)
                    taken.append(token)
                self.stop = scanner.limit
            except UnexpectedInput as error:
                self.error = error
                self.stop = _place(error)
                if alone and self._joined(taken):
                    taken, self.stop = [], self.start
                    continue
                more = _implied(taken, error, scanner)
                if more and _fits(scanner, taken + more):
                    taken += more
                    continue
            break
        unit = taken[-1] if taken and taken[-1].type == "TIME_UNIT" else None
        if unit and not scanner.products:
            taken.pop()
            self.stop = unit.start_pos or 0
        try:
            tree = _parser(scanner, taken).feed_eof(taken[-1] if taken else None)
        except UnexpectedInput as error:
            raise self.refused(self.error or error) from None
        scanner.position = self.stop
        return self._built(tree)

    def _built(self, tree: Tree[Token]) -> Expression:
        try:
            value: Expression = ExpressionBuilder(self.scanner.text).transform(tree)
        except VisitError as error:
            if isinstance(error.orig_exc, CepheidError | RecursionError):
                raise error.orig_exc from None
            raise
        return as_elements(value)

    def _joined(self, taken: list[Token]) -> bool:
        """Write `10,000`, at which the parser stopped, as one number."""
        last = taken[-1] if taken else None
        if last is None or last.type != "INTEGER" or last.end_pos != self.stop:
            return False
        scanner, start = self.scanner, last.start_pos or 0
        thousands = _THOUSANDS.match(scanner.plain, start, scanner.limit)
        if thousands is None or thousands.end() == self.stop:
            return False
        digits = thousands[0].replace(",", "").ljust(len(thousands[0]))
        scanner.plain = scanner.plain[:start] + digits + scanner.plain[thousands.end() :]
        return True

    def refused(self, error: UnexpectedInput, expected: str | None = None) -> ParseError:
        """What is wrong where the expression ended; `expected`: what could have ended it."""
        scanner = self.scanner
        # As if it were the condition of a query: what others wrote before it has no part in the slip.
        before = "WHERE ".rjust(self.start)[-self.start :]
        wrong = syntax_error(before + scanner.plain[self.start : scanner.limit], error)
        remedy = wrong.remedy
        unit = _UNIT.search(scanner.plain, 0, max(self.stop, 0)) and _word(scanner, self.stop)
        if unit and (close := nearest(unit, NANOSECONDS)):
            remedy = f"did you mean {close}?"
        elif _of_clauses(remedy):
            remedy = f"expected {expected or 'a condition or a value'}, or an operator such as = or AND"
        elif remedy.startswith("there is no opening bracket") and scanner.is_open(self.start):
            remedy = "a value is missing: write an attribute such as S1.price, a number, or a text in quotes"
        assert wrong.span is not None
        command = re.compile(r"\\\w*").match(scanner.plain, wrong.span.start, scanner.limit)
        if command:
            place = scanner.span(*command.span())
            return ParseError(wrong.code, f"unexpected '{command[0]}'", UNKNOWN_COMMAND, place)
        return ParseError(wrong.code, wrong.message, remedy, scanner.span(wrong.span.start, wrong.span.end))


def _word(scanner: Scanner, place: int) -> str:
    word = WORD.match(scanner.plain, place, scanner.limit)
    return word[0] if word else ""


def _of_clauses(remedy: str) -> bool:
    """Whether a remedy is one for the end of a condition of a SASE+ query."""
    meant = re.fullmatch(r"did you mean (\w+)\?", remedy)
    return remedy.startswith("expected ") if meant is None else meant[1] not in _WORDS


def _parser(scanner: Scanner, taken: list[Token]) -> Any:
    parser = grammar().parse_interactive(scanner.plain[: scanner.limit], start="expression")
    for token in taken:
        parser.feed_token(token)
    return parser


def _fits(scanner: Scanner, taken: list[Token]) -> bool:
    try:
        _parser(scanner, taken)
    except UnexpectedInput:
        return False
    return True


def _place(error: UnexpectedInput) -> int:
    if isinstance(error, UnexpectedToken):
        return error.token.start_pos or 0
    assert isinstance(error, UnexpectedCharacters)
    position: Any = error.pos_in_stream  # lark declares None, and always sets it
    return int(position)


def _implied(taken: list[Token], error: UnexpectedInput, scanner: Scanner) -> list[Token]:
    """What the notation of a paper leaves out: the sign in `1.1 price`, AND and the repetition in `1 < x < 2`."""
    if not taken:
        return []
    after = scanner.plain[taken[-1].end_pos or 0 : scanner.limit]
    if scanner.products and taken[-1].type in ("INTEGER", "DECIMAL") and (factor := _FACTOR.match(after)):
        refused = _NO_FACTOR.match(factor[1]) or nearest(factor[1], NANOSECONDS, 0.75)
        return [] if refused else [Token.new_borrow_pos("STAR", "*", taken[-1])]
    if isinstance(error, UnexpectedToken) and error.token.type == "COMPARE":
        return _chained(taken)
    return []


def _chained(taken: list[Token]) -> list[Token]:
    """AND, and what stands after the comparison before."""
    depth, middle = 0, None
    for place in range(len(taken) - 1, -1, -1):
        kind = taken[place].type
        depth += (kind in _CLOSING) - (kind in _OPENING)
        if depth < 0 or (depth == 0 and kind in _ENDS):
            break
        if depth == 0 and kind in _OTHER:
            return []  # NOT 1 < x < 2 would deny the half of it
        if depth == 0 and kind == "COMPARE" and middle is None:
            middle = place
    if middle is None:
        return []
    return [Token.new_borrow_pos("_AND", "AND", taken[-1]), *taken[middle + 1 :]]
