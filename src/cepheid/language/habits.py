"""What those write who know SQL, pandas or Flink, and what to write here: data for `advice`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEQUENCE = "write the events in a sequence: PATTERN SEQ(A a, B b)"
_PARAMETER = "write a parameter by its name, a.x > low, and pass params={'low': …}"
_COMMENT = "write a comment as -- … or /* … */"
_ONE_UNIT = "write one number and one unit, WITHIN 90 minutes, or WITHIN INTERVAL '1 hour 30 minutes'"
_INTO = "write RETURN … INTO Name at the end of a query; one after it reads FROM Name"
_DISTINCT_FROM = "write a.x = b.x OR (a.x IS NULL AND b.x IS NULL)"
_LOOK_BACK = "look back: a[i] is the current event, a[i-1] the one before it, a[a.LEN] the last one"
_FROM_THE_END = "of the end only the last event has a name, a[a.LEN]; others are a[1], a[2], …, and a[i-1] before a[i]"
_MEMBER = "compare each event: ANY(a[].x = b.x)"
_OUTPUT = "write OUTPUT before it: OUTPUT LONGEST, OUTPUT NON_OVERLAP or OUTPUT ALL"
_ASSIGNED = "write the field alone: SET n = r.n + 1"
_DIGITS = "write a number with digits only: 1000"


@dataclass(frozen=True, slots=True)
class Habit:
    """Regular expressions for the end of the text before the unexpected word, and for the text from there on."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    remedy: str


def _habit(before: str, after: str, remedy: str) -> Habit:
    return Habit(re.compile(rf"(?:{before})\s*\Z", re.I), re.compile(after, re.I), remedy)


ANYWHERE = (
    _habit("", r"#|//", _COMMENT),
    _habit(r"/", r"/", _COMMENT),
    _habit("", r"after\s+match\b", "write OUTPUT LONGEST, which is SKIP PAST LAST ROW, or OUTPUT ALL"),
    _habit("", r"emit\b", "write OUTPUT ALL, OUTPUT NON_OVERLAP or OUTPUT LONGEST"),
    _habit(r"\bset\s+r", r"\.", _ASSIGNED),
    _habit("", r"cooldown\b", "COOLDOWN follows the kind of output: OUTPUT LONGEST COOLDOWN 5 minutes"),
    _habit(r"\boutput", r"non\s+overlap", "write OUTPUT NON_OVERLAP"),
    _habit("", r"(longest|non[_-]overlap)\b", _OUTPUT),
    _habit(r"\bwithin\s+[\d.]+", r"[*/:+]", _ONE_UNIT),
    _habit(r"\bwithin\s+group", r"\(", "write percentile(a[].x, 0.5)"),
    _habit(r"\bwithin\s+\w+", r"\(", "pass it as a parameter: WITHIN T, with params={'T': timedelta(minutes=5)}"),
)

AT_THE_START = (
    _habit("", r"(insert|create|with|replace)\b", _INTO),
    _habit(r";", r"(where|partition|within|having|return|output|ties)\b", "a ; ends the query: remove it"),
    _habit(r";", r"\w+\s+\w+\s*(;|\Z)", f"a ; ends a query: {_SEQUENCE}"),
)

IN_PATTERN = (
    _habit("", r"followed[\s_]*by\b|(then|next)\b|=>|~>", _SEQUENCE),
    _habit("", r"&", "write AND: PATTERN A a AND B b, in any order, or SEQ(A a, B b), one after the other"),
    _habit(r"(pattern|event|seq)", r"\[", _SEQUENCE),
    _habit(r"\bsequence", r"\(", _SEQUENCE),
    _habit(r"[(,]|\bpattern", r"\.", "write * for an event of any type: SEQ(A a, * b)"),
    _habit(r"\{\s*\d+", r"\.|-|:", "write {2,4}: at least 2 and at most 4"),
    _habit(r"\{", r",", "write {0,4}: at most 4"),
    _habit(r"[\w)`][+*}]", r"[?+]", "write A+ or A*; OUTPUT LONGEST and OUTPUT NON_OVERLAP choose between matches"),
    _habit("", r"on\b", "write the conditions in WHERE: WHERE a.id = b.id"),
    _habit("", r"using\b", "write WHERE [id]: all events of a match have the same id"),
    _habit(r"[\w+*?}]", r"\d", "a variable begins with a letter: A a1"),
)

IN_CONDITIONS = (
    _habit(r"=", r"=", "write = to compare: a.x = 1"),
    _habit(r"<=", r">", _DISTINCT_FROM),
    _habit(r"\bis(\s+not)?", r"distinct\b", _DISTINCT_FROM),
    _habit(r"\bis(\s+not)?", r"nan\b", "NaN equals itself: a.x = CAST('NaN' AS DOUBLE)"),
    _habit("", r"isnull\b", "write IS NULL"),
    _habit("", r"notnull\b", "write IS NOT NULL"),
    _habit("", r"ilike\b", "write lower(a.s) LIKE 'x%'"),
    _habit("", r"~", "write RLIKE: a.s RLIKE '^x'"),
    _habit("", r"escape\b", "LIKE has no ESCAPE: use contains(a.s, '%'), startswith, endswith or RLIKE"),
    _habit("", r"contains\b", "write it as a function: contains(a.s, 'x')"),
    _habit("", r"starts\s*with\b", "write it as a function: startswith(a.s, 'x')"),
    _habit("", r"ends\s*with\b", "write it as a function: endswith(a.s, 'x')"),
    _habit("", r"xor\b", "compare the conditions: (a.x = 1) != (b.x = 1)"),
    _habit(r"\[\s*-?\d*|\[\s*i", r"[-:+]", _LOOK_BACK),
    _habit(r"\[\s*\w+\.len", r"[-+]", _FROM_THE_END),
    _habit(r"\bin\s+\w+", r"\[\s*\]|\(\s*\w+\s*\[\s*\]", _MEMBER),
    _habit(r"\b(try|safe)_cast\s*\([^()]*", r"as\b", "write CAST: it gives NULL for what can't be converted"),
    _habit(r"\bwhere", r"\{", "write a strategy before the braces, WHERE skip_till_next_match {…}, or leave them out"),
    _habit(r"\w-", r">", "write a dot: a.x"),
    _habit(r"\b[^\W\d]\w*", r":(?!=)", "write a dot: a.x"),
    _habit(r"([=<>(,]|\b(where|and|or|between|like|then|else))", r"[:?$@{]", _PARAMETER),
    _habit(r"\bin\s*\(", r"\)", "write at least one value, a.x IN (1, 2); a set that is a parameter may be empty"),
    _habit(r"\(\s*select", "", "a query has no queries inside: use RETURN … INTO Name and FROM Name, or an aggregate"),
    _habit(r"\|\|[^|&]*", r"[<>=!]", "|| joins two texts: write OR between conditions"),
    _habit(r"\.(len|length|size|count)", r"\(", "the number of events is a.LEN, and of characters length(a.s)"),
    _habit(r"\.\w+", r"\(", "write a function before what it is applied to: lower(a.s), avg(a[].x)"),
    _habit(
        r"(skip_till_\w+_match|\w+_contiguity)",
        r"[\w(\[]",
        "write the conditions in braces: skip_till_next_match { a.x = 1 }",
    ),
    _habit(
        r"(skip_till_\w+_match|\w+_contiguity)\s*\(\s*\w+",
        r"[.<>=]",
        "write the conditions in braces: skip_till_next_match { a.x = 1 }",
    ),
    _habit(r"\d", r"_\d|,\d{3}\b|x[\da-f]", _DIGITS),
    _habit(r"\bcast\s*\([^()]*", r",", "write AS before the type: CAST(a.x AS INT)"),
    _habit(r"\bbetween\s*\[", "", "write BETWEEN 1 AND 2"),
)
