"""From the text of a CESAR expression to its tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from cepheid.errors import ParseError
from cepheid.language.algebra import slips
from cepheid.language.algebra.lists import ASSIGN, Entry, LetDraft, ListReader, with_lists
from cepheid.language.algebra.scanner import Scanner
from cepheid.language.algebra.values import ValueReader
from cepheid.language.algebra.words import LETTERS, OPERATOR
from cepheid.language.lexis import NAME
from cepheid.pattern.algebra.tree import (
    Algebra,
    Apply,
    Iterate,
    Named,
    Operator,
    Project,
    Select,
    Term,
    Then,
    Union,
)
from cepheid.pattern.expressions import nodes as ex
from cepheid.pattern.expressions.types import BOOL
from cepheid.pattern.tree.nodes import QueryTree

_CESAR = re.compile(r"cesar\b", re.IGNORECASE)
_LET = re.compile(r"let\b", re.IGNORECASE)
_INTO = re.compile(r"into\b", re.IGNORECASE)
_UNION = re.compile(r"union\b|∪|⋃", re.IGNORECASE)
_THEN = re.compile(r";")
_COMPOSE = re.compile(r"[∘◦○.]")
_OPEN, _CLOSE, _COMMA = re.compile(r"\("), re.compile(r"\)"), re.compile(r",")
_ID = re.compile(r"id\b(?=\s*,)", re.IGNORECASE)
# What may stand directly after `;`: a condition in brackets, or an index.
_INDEX = re.compile(r"(?P<square>\[)|_\s*(?P<brace>\{)|_(?P<index>\w+)|(?P<joined>(?![σπραμ])[α-ω]\w*)(?=\s*[\w(`])")
_A_QUERY = re.compile(r"(?:pattern|event|from|automaton|cesar)\b|\Z", re.IGNORECASE)
_A_STREAM = re.compile(r"(?!(?:let|union|into)\b)[^\W\d`]|[`(]", re.IGNORECASE)
# What can't stand after a stream's name, but after a value.
_GOES_ON = re.compile(
    r"[.=<>!+\-*/%|&∧∨∈^≤≥≠:'\"‘“\d]|\\|(?:and|or|is|in|not|between|like|rlike|regexp)\b", re.IGNORECASE
)
_A_VALUE = re.compile(r"[\d'\"‘“\-!¬~]|(?:true|false|null|not|case|match_id)\b", re.IGNORECASE)
_CALL = re.compile(r"[ \t]*\(")


@dataclass(frozen=True, slots=True)
class _Pair:
    """THEN or ITERATE before its two streams."""

    word: str
    condition: ex.Expression
    steps: tuple[Operator, ...]


def begins_algebra(text: str, position: int) -> bool:
    """Whether the query that begins here is a CESAR expression."""
    return Scanner(text, text, position).at(_CESAR) is not None


def read_algebra(text: str, plain: str, position: int) -> tuple[QueryTree, int]:
    """The query that begins with CESAR here, and where it ends. `plain`: the text without LaTeX."""
    reader = _AlgebraReader(Scanner(text, plain, position))
    return reader.query(), reader.scanner.position


class _AlgebraReader:
    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.depth = 0  # of parentheses around a stream: inside of them a ; never ends the query
        self.value: ValueReader | None = None

    # The query.

    def query(self) -> QueryTree:
        here = self.scanner
        start = here.place()
        here.take(_CESAR)
        drafts: list[LetDraft] = []
        while here.at(_LET):
            last = here.position
            drafts.append(self.let())
        if not here.at(_A_STREAM) and drafts:
            # LET x := 1 S: one value only if a stream follows.
            end, here.position, here.products = here.position, last, False
            again = self.let()
            here.products = True
            if here.at(_A_STREAM):
                drafts[-1] = again
            else:
                here.position = end
        if not here.at(_A_STREAM):
            slips.no_stream(here, bool(drafts))
        term = self.stream()
        into = None
        if here.take(_INTO):
            into = here.name()
            if into is None:
                here.unexpected("write the name of the new stream: INTO Rise")
        if here.sign() not in ("", ";"):
            slips.after_the_end(here, into is not None)
        span = here.span(start)
        lets, term = with_lists(drafts, term)
        return QueryTree(Algebra(lets, term, span=span), into=into, span=span)

    def let(self) -> LetDraft:
        here = self.scanner
        start = here.place()
        here.take(_LET)
        names: list[str] = []
        while not names or here.take(_COMMA):
            name = here.name()
            if name is None:
                slips.let_without_name(here)
            names.append(name)
        if not here.take(ASSIGN):
            slips.let_without_value(here)
        value = self.definition()
        return LetDraft(tuple(names), value, here.span(start))

    def definition(self) -> Term | ex.Expression | tuple[Entry, ...]:
        """What LET names: a list, a stream, or a value; a name alone is a stream."""
        here = self.scanner
        start = here.place()
        limit, value_end = here.limit, slips.end_of_value(here)
        if ListReader(here).begins():
            here.limit = value_end
            entries = ListReader(here).entries("")
            here.limit = limit
            return entries
        if here.at(OPERATOR):
            return self.stream()
        refused: ParseError | None = None
        if not here.at(_A_VALUE):
            try:
                term = self.stream()
                if not self.goes_on(term):
                    return term
            except ParseError as error:
                refused = error
                self.depth = 0
        here.position = start
        here.limit = value_end
        try:
            value = self.expression(alone=True)
            return Named(value.name, span=value.span) if isinstance(value, ex.Name) else value
        except ParseError as error:
            if refused and refused.span and error.span and refused.span.start > error.span.start:
                raise refused from None
            raise
        finally:
            here.limit = limit

    def goes_on(self, term: Term) -> bool:
        """Whether a name, as which a value may begin, is a part of more."""
        here = self.scanner
        if not isinstance(term, Named):
            return False
        return here.at(_GOES_ON) is not None or _CALL.match(here.plain, here.position, here.limit) is not None

    # Streams.

    def stream(self) -> Term:
        """`;` binds tighter than UNION; both go from left to right."""
        here = self.scanner
        start = here.place()
        term = self.sequence()
        while here.take(_UNION):
            right = self.sequence()
            term = Union(term, right, span=here.span(start))
        return term

    def sequence(self) -> Term:
        here = self.scanner
        start = here.place()
        term = self.factor()
        while (condition := self.wait()) is not None:
            right = self.factor()
            term = Then(term, right, condition, span=here.span(start))
        return term

    def wait(self) -> ex.Expression | None:
        """The condition of a `;` that is a sequence, and does not end the query."""
        here = self.scanner
        before = here.place()
        if not here.take(_THEN):
            return None
        adjacent = here.position
        opened = here.at(_INDEX)
        if opened and (not opened["joined"] or opened.start() == adjacent):
            return self.condition(opened, "the condition of ;")
        if self.depth or (here.at(_A_STREAM) and not here.at(_A_QUERY)):
            return ex.Literal(True, BOOL, span=here.span(before, before + 1))
        here.position = before
        return None

    def factor(self) -> Term:
        here = self.scanner
        start = here.place()
        if here.at(OPERATOR):
            return self.apply(self.chain(), start)
        if here.take(_OPEN):
            inside = here.position
            if here.at(OPERATOR):
                operators = self.chain()
                if here.take(_CLOSE):
                    return self.apply(operators, start)
                here.position = inside
            self.depth += 1
            term = self.stream()
            self.depth -= 1
            if not here.take(_CLOSE):
                slips.after_a_stream(here, start, ")")
            return replace(term, span=here.span(start))
        written = here.at(NAME)
        if written is None:
            slips.no_stream_here(here)
        name = here.name()
        assert name is not None
        slips.check_name(here, written)
        return Named(name, span=here.span(start))

    def chain(self, steps: bool = False) -> list[Operator | _Pair]:
        """Operators, the outermost first. `steps`: of ITERATE, where a name is a condition."""
        here = self.scanner
        operators = [self.operator()]
        while here.take(_COMPOSE):
            start = here.place()
            if here.at(OPERATOR):
                operators.append(self.operator())
            elif steps and (name := here.name()):
                operators.append(Select(ex.Name(name, span=here.span(start)), span=here.span(start)))
            else:
                slips.no_operator(here)
        return operators

    def apply(self, operators: list[Operator | _Pair], start: int) -> Term:
        """Operators on the streams in parentheses, the last one first."""
        here = self.scanner
        opened = here.place()
        if not here.take(_OPEN):
            slips.no_parenthesis(here)
        self.depth += 1
        operands = [self.stream()]
        while here.take(_COMMA):
            operands.append(self.stream())
        self.depth -= 1
        if not here.take(_CLOSE):
            slips.after_a_stream(here, opened, ")")
        *outer, last = operators
        if any(isinstance(operator, _Pair) for operator in outer):
            here.fail("ITERATE and THEN take two streams", "write them last in a composition", start)
        wanted = 2 if isinstance(last, _Pair) else 1
        if len(operands) != wanted:
            slips.operands(here, last.word if isinstance(last, _Pair) else "", len(operands), here.span(opened))
        span = here.span(start)
        term: Term
        if isinstance(last, _Pair):
            left, right = operands
            if last.word == "THEN":
                term = Then(left, right, last.condition, span=span)
            else:
                term = Iterate(left, right, last.condition, last.steps, span=span)
        else:
            term = Apply(last, operands[0], span=span)
        for operator in reversed(outer):
            assert isinstance(operator, Operator)
            term = Apply(operator, term, span=span)
        return term

    # Operators.

    def operator(self) -> Operator | _Pair:
        here = self.scanner
        start = here.place()
        operator = here.at(OPERATOR)
        assert operator is not None
        letter = operator["letter"] or operator["word"]
        word = LETTERS.get(letter.lower(), letter.upper())
        if word == "SELECT":
            return Select(self.condition(operator, "the condition of SELECT"), span=here.span(start))
        if word == "THEN":
            return _Pair(word, self.condition(operator, "the condition of THEN"), ())
        limit, closing = self.open(operator)
        if word == "PROJECT":
            names = ListReader(here).names(closing)
            self.close(closing, limit, operator.start())
            return Project(names, span=here.span(start))
        if word == "ITERATE":
            steps = self.steps()
            if not here.take(_COMMA):
                slips.iterate_without_condition(here, self.value)
            condition = self.expression(alone=False)
            self.close(closing, limit, operator.start())
            return _Pair(word, condition, steps)
        listed = ListReader(here).read(word)
        self.close(closing, limit, operator.start())
        return replace(listed, span=here.span(start))

    def steps(self) -> tuple[Operator, ...]:
        """F of ITERATE: ID, operators, or a condition that each step must meet."""
        here = self.scanner
        if here.take(_ID):
            return ()
        start = here.place()
        parenthesis = here.take(_OPEN)
        if not here.at(OPERATOR):
            here.position = start
            condition = self.expression(alone=False)
            return (Select(condition, span=condition.span),)
        operators = self.chain(steps=True)
        if parenthesis and not here.take(_CLOSE):
            slips.after_a_stream(here, start, ")")
        steps = [operator for operator in operators if isinstance(operator, Operator)]
        if len(steps) < len(operators):
            here.fail(
                "a step of ITERATE has no THEN or ITERATE", "use SELECT, RENAME and ADD, composed by . or ∘", start
            )
        return tuple(reversed(steps))

    def condition(self, opened: re.Match[str], what: str) -> ex.Expression:
        """One condition in brackets or as an index."""
        here = self.scanner
        limit, closing = self.open(opened)
        if here.sign() == closing:
            here.fail(f"{what} is missing", "write TRUE, or a condition such as S1.name = S2.name", opened.start())
        condition = self.expression(alone=True)
        self.close(closing, limit, opened.start())
        return condition

    def open(self, opened: re.Match[str]) -> tuple[int, str]:
        """Go into brackets, or into an index, whose end is the limit then. Gives the limit before, and what closes."""
        here = self.scanner
        limit = here.limit
        group = next(group for group in ("square", "brace", "index", "joined") if opened.groupdict().get(group))
        here.position = opened.end(group)
        if group in ("index", "joined"):
            here.position, here.limit = opened.span(group)
            return limit, ""
        return limit, "]" if group == "square" else "}"

    def close(self, closing: str, limit: int, start: int) -> None:
        here = self.scanner
        if here.sign() != closing:
            if self.value and self.value.error and self.value.stop == here.position:
                raise self.value.refused(self.value.error, f"'{closing}'")
            slips.not_closed(here, start, closing)
        here.position += len(closing)
        here.limit = limit

    def expression(self, alone: bool) -> ex.Expression:
        self.value = ValueReader(self.scanner)
        return self.value.read(alone)
