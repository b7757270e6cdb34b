"""What to write instead: typical slips of those who know SQL, each with a sentence of its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from cepheid.errors import nearest
from cepheid.language.habits import ANYWHERE, AT_THE_START, IN_CONDITIONS, IN_PATTERN
from cepheid.language.lexis import masked

_CLAUSE = re.compile(r"\b(pattern|event|where|partition|within|having|return|output|ties)\b", re.IGNORECASE)
_CLAUSES = {"WHERE", "PARTITION", "WITHIN", "HAVING", "RETURN", "OUTPUT", "TIES", "INTO"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_VALUE = re.compile(r"([\w\])'\"`’”]|%)\s*\Z")


@dataclass(frozen=True, slots=True)
class Advice:
    """A sentence. `message` and `place` stand in for the unexpected word where the slip is elsewhere."""

    remedy: str
    message: str | None = None
    place: tuple[int, int] | None = None


# SQL words, and what to write instead.
_HABITS = {
    "SELECT": "begin with PATTERN; list the output columns in RETURN",
    "GROUP": "use PARTITION BY, or [attr] in WHERE",
    "ORDER": "matches are ordered by their end; sort the result instead",
    "LIMIT": "limit the result instead: q.match(events, limit=10), or --limit on the command line",
    "DISTINCT": "DISTINCT comes first in an aggregate, count(DISTINCT a[].x); RETURN itself has none",
    "INTERVAL": "write the number and the unit: 5 minutes",
    "FOR": "FOR follows a negated event at the start or end of the pattern: !(B b) FOR 10 minutes",
    "JOIN": "bind both events in the pattern: SEQ(A a, B b)",
    "MATCH_RECOGNIZE": "begin with PATTERN: PATTERN SEQ(A a, B+ b[]) WHERE … WITHIN …",
    "MEASURES": "list the output columns in RETURN, after the pattern",
    "DEFINE": "write the conditions in WHERE: WHERE b.x > a.x",
    "INTO": "INTO needs RETURN: RETURN a.x AS x INTO Name",
    "->": "write the events in a sequence: PATTERN SEQ(A a, B b)",
    ":=": "write = to compare: a.x = 1",
}


def advise(token: str, text: str, start: int, allowed: Collection[str]) -> Advice | None:
    """The advice for a token that the grammar does not allow, empty at the end of the text; None if there is none."""
    before, after = text[:start], text[start:]
    bare = masked(before, lambda opaque: "'" + " " * (len(opaque[0]) - 2) + "'")
    word = token.upper()
    for advice in (
        _by_habit(bare, after),
        _in_text(token, before, after),
        _in_brackets(token, word, text, bare, allowed),
        _after(token, word, bare),
        _in_clause(token, word, before, bare, allowed),
    ):
        if advice is not None:
            return advice if isinstance(advice, Advice) else Advice(advice)
    return Advice(_HABITS[word]) if word in _HABITS else None


def _by_habit(bare: str, after: str) -> str | None:
    """The habits of the clause in which the slip is, and those of all clauses."""
    clause = _clause(bare[bare.rfind(";") + 1 :])
    of_clause = {
        "": AT_THE_START,
        "PATTERN": IN_PATTERN,
        "WHERE": IN_CONDITIONS,
        "HAVING": IN_CONDITIONS,
        "RETURN": IN_CONDITIONS,
    }
    for habit in (*ANYWHERE, *of_clause.get(clause, ())):
        if habit.before.search(bare) and habit.after.match(after):
            return habit.remedy
    return None


def _ends(before: str, pattern: str) -> re.Match[str] | None:
    return re.search(rf"(?:{pattern})\s*\Z", before, re.IGNORECASE)


def _clause(bare: str) -> str:
    clauses = _CLAUSE.findall(bare)
    return clauses[-1].upper().replace("EVENT", "PATTERN") if clauses else ""


def _in_text(token: str, before: str, after: str) -> str | None:
    """Symbols of other languages, and quotes where they do not belong."""
    for symbols in ("->", ":="):
        if after.startswith(symbols):
            return _HABITS[symbols]
    if before.endswith("=") and token[:1] in (">", "<", "!"):
        return f"write {token[0]}="
    if token == "." and _ends(before, r"\"\w+\""):
        return "double quotes make a text: write a name as it is, or in back quotes: `a`.x"
    if before[-1:] == "'" and after[:1].isalpha():
        return "write a quote inside of a text twice: 'it''s'"
    if token[:1] in ("'", '"') and _ends(before, r"\bas"):
        return "write a name as it is, or in back quotes: AS `total price`"
    if token[:1] in ("'", '"') and not re.search(r"\b(where|within|having|return)\b", before, re.IGNORECASE):
        return "write a type as it is, or in back quotes: `Shelf 1`"
    return None


def _in_brackets(token: str, word: str, text: str, bare: str, allowed: Collection[str]) -> Advice | str | None:
    """Brackets that are not closed, or not opened; commas at their end."""
    opened: list[int] = []
    for position, character in enumerate(bare):
        if character in _CLOSING:
            opened.append(position)
        elif character in _CLOSING.values() and opened:
            opened.pop()
    comma = bare.rstrip().endswith(",")
    if comma and (token in (")", "]", "}", "") or word in _CLAUSES):
        place = bare.rstrip().rindex(",")
        return Advice("remove it, or add what it should separate", "nothing follows this comma", (place, place + 1))
    if token in (")", "]", "}") and not opened:
        return f"there is no opening bracket for it: remove it, or add '{_opening(token)}'"
    if opened and (word in _CLAUSES or token in ("", ";")) and _VALUE.search(bare):
        place = opened[-1]
        closing = _CLOSING[text[place]]
        before = f" before {word}" if word else ""
        what = {"(": "parenthesis", "[": "bracket", "{": "brace"}[text[place]]
        return Advice(f"add '{closing}'{before}", f"the {what} is not closed", (place, place + 1))
    return None


def _opening(token: str) -> str:
    return next(opening for opening, closing in _CLOSING.items() if closing == token)


# What the text ends with before the slip, and what to write.
_ENDINGS = (
    (r"\bin", "write the values in parentheses: a.x IN (1, 2); or the name of a parameter: a.x IN Names"),
    (r"\bis(\s+not)?", "write IS NULL or IS NOT NULL; compare values with = and !="),
    (r"\bpartition", "write PARTITION BY and the columns: PARTITION BY user_id"),
    (r"\bwithin", "write a number and a unit without quotes: WITHIN 12 hours, WITHIN 500 events"),
    (r"\binterval\s+-?[\d.]+", "add a unit: INTERVAL 5 MINUTES"),
    (r"\bthen|\belse", "add the value: CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END"),
)


def _after(token: str, word: str, bare: str) -> Advice | str | None:
    """Words after which something else must come."""
    for ending, remedy in _ENDINGS:
        if _ends(bare, ending):
            return remedy
    if _ends(bare, r"\bwithin\s+[\d.]+\s*\w+") and token[:1].isdigit():
        return "write one number and one unit: WITHIN 90 minutes"
    if token == "," and _ends(bare, r"\bbetween\s+\S+"):
        return "write BETWEEN 1 AND 2"
    if word == "THEN" and re.search(r"\bcase\b(?!.*\bwhen\b)", bare, re.IGNORECASE | re.DOTALL):
        return "write WHEN before the condition: CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END"
    if re.search(r"\bcast\s*\([^()]*\Z", bare, re.IGNORECASE) and token[:1].isalpha():
        return f"write AS before the type: CAST(a.x AS {word})"
    if token == "*" and _ends(bare, r"\bcount\s*\("):
        return Advice("write count(a[])", "count(*) is not supported")
    if token[:1].isalpha() and (slip := _ends(bare, r"\b\w+\s*\(\s*(\w+)")) and _is_near("DISTINCT", slip[1]):
        return Advice("did you mean DISTINCT?", f"unexpected '{slip[1]}'", slip.span(1))
    if slip := _ends(bare, r"(?:\bwhere|\band|\bor|[({])\s+(and|or)"):
        remedy = f"remove it, or add a condition before {slip[1].upper()}"
        return Advice(remedy, "a condition is missing", slip.span(1))
    return None


def _is_near(word: str, written: str) -> bool:
    return written.upper() != word and nearest(written.upper(), [word]) is not None


def _in_clause(token: str, word: str, before: str, bare: str, allowed: Collection[str]) -> str | None:
    """Slips that depend on the clause."""
    clause, begins_value = _clause(bare), token[:1].isalnum() or token[:1] in "_'\"`(["
    if not clause:
        if word in _CLAUSES:
            return "begin with PATTERN; the other clauses follow it"
        if _is_near("CESAR", word):
            return "did you mean CESAR?"
        if word in ("LET", "ITERATE", "PROJECT") or token[:1] in ("σ", "π", "ρ", "α", "μ"):
            return "write CESAR before an expression of streams: CESAR SELECT[price > 10](Stock)"
        return "write PATTERN before it: PATTERN SEQ(A a, B b)" if word == "SEQ" else None
    if token == "*" and clause == "RETURN":
        return "name the columns, RETURN a.x AS x, or the events, RETURN a AS a; without RETURN, a match has all events"
    if word in ("AND", "OR") and clause not in ("WHERE", "HAVING", "PATTERN"):
        return f"conditions belong to WHERE, before {clause}: WHERE a.x = 1 AND b.x = 2 {clause} …"
    if clause == "PATTERN":
        return _in_pattern(token, bare, allowed)
    if token == "[" and re.search(r"(\[|\bby\s|,)\s*[\w.`]+\s*\Z", before, re.IGNORECASE):
        return "a key is a column or a field of a struct; compare elements of lists and maps: a.tags[0] = b.tags[0]"
    if word == "FROM":
        return "name the stream first: FROM events PATTERN …"
    if word in _HABITS or not _VALUE.search(bare):
        return None
    if clause == "RETURN" and begins_value:
        if "_AS" in allowed:
            return f"write AS before the name of a column: RETURN … AS {token}"
        return "separate the columns with a comma" if "COMMA" in allowed else None
    if clause in ("WHERE", "HAVING"):
        if token == ",":
            return "combine conditions with AND, not with a comma"
        if begins_value and "_AND" in allowed:
            return None if nearest(word, _words(allowed)) else "combine conditions with AND or OR: a.x = 1 AND b.x = 2"
    if token in ("<", "<=", ">", ">=", "=", "==", "!="):
        return "combine two comparisons with AND: a.x < b.x AND b.x < c.x"
    return None


def _in_pattern(token: str, bare: str, allowed: Collection[str]) -> str | None:
    if _ends(bare, r"\bas"):
        return "write the variable after the type, without AS: SEQ(A a, B b)"
    if token == ",":
        return "write PATTERN SEQ(A a, B b)"
    if token in ("+", "*", "?", "{") and _ends(bare, r"\w+\s+\w+"):
        return "write a comma between the components, and the sign after the type: SEQ(A a, B+ b[])"
    if token[:1].isalpha() and "COMMA" in allowed and "RPAR" in allowed and not nearest(token.upper(), ["OR", "AND"]):
        return "separate the components with a comma: SEQ(A a, B b)" if token.upper() not in _CLAUSES else None
    return None


def _words(allowed: Collection[str]) -> list[str]:
    return [name.strip("_") for name in allowed]
