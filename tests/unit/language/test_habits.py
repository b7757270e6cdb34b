"""What those write who know SQL, pandas or Flink: it works as they mean it, or an error shows what to write."""

from datetime import UTC, datetime, timedelta

import pytest

import cepheid as cep

START = datetime(2024, 3, 1, tzinfo=UTC)
KINDS = ("view", "cart", "purchase", "view")
EVENTS = [
    {"ts": START + timedelta(seconds=k), "type": KINDS[k % 4], "user": k // 4, "x": k % 7, "s": f"u{k % 3}", "price": k}
    for k in range(12)
]


KLEENE = "PATTERN SEQ(cart+ a[], view b)"
BEFORE_LONGEST = "write OUTPUT before it: OUTPUT LONGEST, OUTPUT NON_OVERLAP or OUTPUT ALL"


def run(text: str) -> cep.Matches:
    """… stands for the pattern of most queries."""
    return cep.Query(text.replace("…", "PATTERN SEQ(cart a, view b)")).match(EVENTS)


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("… RETURN a.x x", "x", "write AS before the name of a column: RETURN … AS x"),
        (
            "PATTERN SEQ(cart+ a[], view b) WITHIN 3 seconds RETURN count(DISTINCT a.x) AS n",
            "count(DISTINCT a.x)",
            "write count(a[].x), or count(a[..i-1].x), of a Kleene variable such as Type+ a[]",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WITHIN 3 seconds RETURN count(a) AS n",
            "a",
            "add an attribute, a[i].x, or count the events: count(a[])",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WITHIN 3 seconds RETURN count(1) AS n",
            "count(1)",
            "write count(a[].price), or count(a[..i-1].price), of a Kleene variable such as Type+ a[]",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WITHIN 3 seconds RETURN sum(a.x) AS n",
            "sum(a.x)",
            "write sum(a[].x), or sum(a[..i-1].x), of a Kleene variable such as Type+ a[]",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WITHIN 3 seconds RETURN sum(x) AS n",
            "x",
            "pass params={'x': …}; or, for text, write 'x' in quotes; or, for an attribute, write a[].x",
        ),
        (
            "PATTERN SEQ(cart+ a, view b) WHERE a.x > 1 WITHIN 3 seconds",
            "a.x",
            "say which event: a[1], a[a.LEN], a[i], a[i-1], a[] for each event, or use an aggregate over a[]",
        ),
        ("… WHERE a.x IN ()", ")", "write at least one value, a.x IN (1, 2); a set that is a parameter may be empty"),
        (
            "… WHERE a.s = u1",
            "u1",
            "pass params={'u1': …}; or, for text, write 'u1' in quotes; or, for an attribute, write a.u1",
        ),
        (
            "… WHERE a.s = `u1`",
            "`u1`",
            "pass params={'u1': …}; or, for text, write 'u1' in quotes; or, for an attribute, write a.u1",
        ),
        ("… WITHIN 5m", "m", "write minutes; months have no fixed length"),
        ("… WITHIN 5 m", "m", "write minutes; months have no fixed length"),
        ("… WITHIN 1 month", "month", "months and years have no fixed length; write days"),
        ("… WITHIN 1h30m", "h30m", "write one number and one unit, 90 minutes, or INTERVAL '1 hour 30 minutes'"),
        (
            "… WITHIN 5 * 60 seconds",
            "*",
            "write one number and one unit, WITHIN 90 minutes, or WITHIN INTERVAL '1 hour 30 minutes'",
        ),
        ("… WITHIN 5 rows", "rows", "write events"),
        (
            "… WITHIN 00:05:00",
            ":",
            "write one number and one unit, WITHIN 90 minutes, or WITHIN INTERVAL '1 hour 30 minutes'",
        ),
        (
            "… WITHIN timedelta(minutes=5)",
            "(",
            "pass it as a parameter: WITHIN T, with params={'T': timedelta(minutes=5)}",
        ),
        ("… GROUP BY user", "GROUP", "use PARTITION BY, or [attr] in WHERE"),
        ("… PARTITION BY a.user", "a.user", "'a' is a variable: write the column alone"),
        ("… ORDER BY ts", "ORDER", "matches are ordered by their end; sort the result instead"),
        ("… LIMIT 10", "LIMIT", "limit the result instead: q.match(events, limit=10), or --limit on the command line"),
        ("SELECT * FROM s …", "SELECT", "begin with PATTERN; list the output columns in RETURN"),
        (
            "SELECT a.x, b.x FROM s MATCH_RECOGNIZE (PATTERN (A B+ C))",
            "SELECT",
            "begin with PATTERN; list the output columns in RETURN",
        ),
        (
            "PATTERN cart a & view b",
            "&",
            "write AND: PATTERN A a AND B b, in any order, or SEQ(A a, B b), one after the other",
        ),
        ("PATTERN cart a; view b", "view", "a ; ends a query: write the events in a sequence: PATTERN SEQ(A a, B b)"),
        ("PATTERN SEQ(cart a, view b[])", "view b[]", "write view+ b[] for a Kleene closure, or view b for one event"),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b.price.avg AS p",
            "b.price",
            "say which event: b[1], b[b.LEN], or use an aggregate over b[]",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b.price AS p",
            "b.price",
            "say which event: b[1], b[b.LEN], or use an aggregate over b[]",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b[].price AS p",
            "b[].price",
            "use b[1], b[b.LEN], or an aggregate such as max(b[].price) or collect(b[].price)",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b[-1].price AS p",
            "-",
            "look back: a[i] is the current event, a[i-1] the one before it, a[a.LEN] the last one",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b[0].price AS p",
            "[0]",
            "events are counted from 1: b[1], b[2], b[i], b[i-1], b[b.LEN] or b[]",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN b[last].price AS p",
            "[last]",
            "use b[1], b[2], b[i], b[i-1], b[i-2], b[..i-1], b[], or b[b.LEN] for the last event",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds RETURN LAST(b.price) AS p",
            "LAST(b.price)",
            "write last(b[].price), or last(b[..i-1].price), of a Kleene variable such as Type+ b[]",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds HAVING LEN(b) > 1",
            "LEN(b)",
            "write a.LEN for the number of events, length(a.s) for that of characters",
        ),
        ("PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds HAVING count(*) > 1", "*", "write count(a[])"),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds HAVING b.length > 1",
            "b.length",
            "say which event: b[1], b[b.LEN], or use an aggregate over b[]",
        ),
        (
            "PATTERN SEQ(cart a, view+ b[] )  WITHIN 3 seconds HAVING b.len() > 1",
            "(",
            "the number of events is a.LEN, and of characters length(a.s)",
        ),
        ("… WHERE a.s.lower() = 'u1'", "(", "write a function before what it is applied to: lower(a.s), avg(a[].x)"),
        ("… WHERE a.s.startswith('u')", "(", "write a function before what it is applied to: lower(a.s), avg(a[].x)"),
        ("… WHERE a.x IS NOT NAN", "NAN", "NaN equals itself: a.x = CAST('NaN' AS DOUBLE)"),
        ("… WHERE b.ts - a.ts < 300", "b.ts - a.ts < 300", "add a unit: 300 seconds"),
        (
            "… WHERE b.ts - a.ts < '5 minutes'",
            "b.ts - a.ts < '5 minutes'",
            "'5 minutes' can't be read as duration: write it without quotes, such as 5 minutes",
        ),
        (
            "… WHERE a.ts > '01.03.2024'",
            "a.ts > '01.03.2024'",
            "'01.03.2024' can't be read as timestamp: write it as '2024-12-31 23:59:59'",
        ),
        (
            "… WHERE a.ts > DATE '2024-03-01'",
            "a.ts > DATE '2024-03-01'",
            "write the constant as a TIMESTAMP '2024-12-31 00:00:00', or compare year(…), month(…) and day(…)",
        ),
        (
            "… WHERE a.ts > now() - 5 minutes",
            "now()",
            "write a.ts, the time of an event, or a parameter: a query has no present",
        ),
        ("… WHERE a.x && b.x", "a.x", "write a comparison: a condition is TRUE, FALSE or NULL"),
        ("… WHERE a.x > 1 || b.x > 1", ">", "|| joins two texts: write OR between conditions"),
        ("… WHERE 1 < a.x < 3", "<", "combine two comparisons with AND: a.x < b.x AND b.x < c.x"),
        ("… WHERE a.x > 1 WHERE b.x > 1", "WHERE b.x > 1", "keep one of them; join their conditions with AND"),
        ("… WHERE a.X > 1", "a.X", "did you mean 'x'?"),
        ("… WHERE A.x > 1", "A.x", "did you mean 'a'?"),
        ("… WHERE cart.x > 1", "cart.x", "cart is a type; its variable is a"),
        ("… WHERE a.user = b.usr", "b.usr", "did you mean 'user'?"),
        (
            "… WHERE user = 1",
            "user",
            "pass params={'user': …}; or, for text, write 'user' in quotes; or, for an attribute, write a.user",
        ),
        (
            "… WHERE a.user = user",
            "user",
            "pass params={'user': …}; or, for text, write 'user' in quotes; or, for an attribute, write a.user",
        ),
        ("… WHERE a->x = 1", ">", "write a dot: a.x"),
        ("… WHERE a:x = 1", ":", "write a dot: a.x"),
        ("… WHERE a['x'] = 1", "a", "add an attribute: a.x"),
        ("… WHERE a.x = :limit", ":", "write a parameter by its name, a.x > low, and pass params={'low': …}"),
        ("… WHERE a.x = ?", "?", "write a parameter by its name, a.x > low, and pass params={'low': …}"),
        ("… WHERE a.x = $limit", "$", "write a parameter by its name, a.x > low, and pass params={'low': …}"),
        ("… WHERE a.x = @limit", "@", "write a parameter by its name, a.x > low, and pass params={'low': …}"),
        ("… WHERE a.x = {limit}", "{", "write a parameter by its name, a.x > low, and pass params={'low': …}"),
        (
            "… WHERE EXISTS (a.x)",
            "EXISTS (a.x)",
            "write the event into the pattern: SEQ(A a, B b), or SEQ(A a, !(B b)) for none",
        ),
        (
            "… WHERE a.x = (SELECT max(x) FROM s)",
            "max",
            "a query has no queries inside: use RETURN … INTO Name and FROM Name, or an aggregate",
        ),
        ("… WHERE a.s ILIKE 'u%'", "ILIKE", "write lower(a.s) LIKE 'x%'"),
        ("… WHERE a.s ~ '^u'", "~", "write RLIKE: a.s RLIKE '^x'"),
        (
            "… WHERE a.s LIKE 'u_' ESCAPE '\\'",
            "ESCAPE",
            "LIKE has no ESCAPE: use contains(a.s, '%'), startswith, endswith or RLIKE",
        ),
        ("… WHERE a.s CONTAINS 'u'", "CONTAINS", "write it as a function: contains(a.s, 'x')"),
        ("… WHERE a.s STARTS WITH 'u'", "STARTS", "write it as a function: startswith(a.s, 'x')"),
        ("… WHERE a.x = 1 XOR b.x = 1", "XOR", "compare the conditions: (a.x = 1) != (b.x = 1)"),
        ("… WHERE a.user IS DISTINCT FROM b.user", "DISTINCT", "write a.x = b.x OR (a.x IS NULL AND b.x IS NULL)"),
        ("… WHERE a.user <=> b.user", ">", "write a.x = b.x OR (a.x IS NULL AND b.x IS NULL)"),
        ("… RETURN a.x, b.x", "b.x", "rename it with AS"),
        ("… RETURN a.x + b.x", "a.x + b.x", "add AS and a name: a.x + 1 AS total"),
        ("… RETURNS a.x AS x", "RETURNS", "did you mean RETURN?"),
        ("… SELECT a.x AS x", "SELECT", "begin with PATTERN; list the output columns in RETURN"),
        ("… WITH 5 minutes", "WITH", "did you mean WITHIN?"),
        (
            "… WHERE skip_till_next_match a.x > 1",
            "a",
            "write the conditions in braces: skip_till_next_match { a.x = 1 }",
        ),
        (
            "… WHERE skip_till_next_match(a.x > 1)",
            ".",
            "write the conditions in braces: skip_till_next_match { a.x = 1 }",
        ),
        ("… WHERE skip_till_next { a.x > 1 }", "skip_till_next", "did you mean 'skip_till_next_match'?"),
        (
            "… AFTER MATCH SKIP PAST LAST ROW",
            "AFTER",
            "write OUTPUT LONGEST, which is SKIP PAST LAST ROW, or OUTPUT ALL",
        ),
        ("… OUTPUT NON OVERLAP", "NON", "write OUTPUT NON_OVERLAP"),
        ("… EMIT LONGEST", "EMIT", "write OUTPUT ALL, OUTPUT NON_OVERLAP or OUTPUT LONGEST"),
        ("… COOLDOWN 5 minutes", "COOLDOWN", "COOLDOWN follows the kind of output: OUTPUT LONGEST COOLDOWN 5 minutes"),
        (
            "… OUTPUT COOLDOWN 5 minutes",
            "COOLDOWN",
            "COOLDOWN follows the kind of output: OUTPUT LONGEST COOLDOWN 5 minutes",
        ),
        ("PATTERN SEQ('cart' a, 'view' b)", "'cart'", "write a type as it is, or in back quotes: `Shelf 1`"),
        ("PATTERN SEQ(cart a, .* b)", ".", "write * for an event of any type: SEQ(A a, * b)"),
        ("PATTERN SEQ(cart a, cart a)", "cart a", "give each component its own variable"),
        ("PATTERN SEQ(cart 1a, view b)", "1", "a variable begins with a letter: A a1"),
        ("PATTERN SEQ(cart{2..4} a[], view b)", "..", "write {2,4}: at least 2 and at most 4"),
        ("PATTERN SEQ(cart{,4} a[], view b)", ",", "write {0,4}: at most 4"),
        (
            "PATTERN SEQ(cart+? a[], view b)",
            "?",
            "write A+ or A*; OUTPUT LONGEST and OUTPUT NON_OVERLAP choose between matches",
        ),
        ("… ON a.user = b.user", "ON", "write the conditions in WHERE: WHERE a.id = b.id"),
        ("… USING user", "USING", "write WHERE [id]: all events of a match have the same id"),
        ("INSERT INTO x …", "INSERT", "write RETURN … INTO Name at the end of a query; one after it reads FROM Name"),
        (
            "CREATE VIEW v AS …",
            "CREATE",
            "write RETURN … INTO Name at the end of a query; one after it reads FROM Name",
        ),
        (
            "WITH t AS (PATTERN cart a) …",
            "WITH",
            "write RETURN … INTO Name at the end of a query; one after it reads FROM Name",
        ),
        ("… WHERE a.x > 1_000", "_000", "write a number with digits only: 1000"),
        ("… WHERE a.x > 1,000", ",", "write a number with digits only: 1000"),
        ("… WHERE a.x > 0x10", "x10", "write a number with digits only: 1000"),
        ("… WHERE a.x = True AND b.s = None", "None", "write NULL, and test it with IS NULL"),
        (
            "… WHERE CASE a.x > 1 THEN 1 END = 1",
            "THEN",
            "write WHEN before the condition: CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END",
        ),
        ("… WHERE IF(a.x > 1, 1, 0) = 1", "IF(a.x > 1, 1, 0)", "write CASE WHEN a.x > 1 THEN 'high' ELSE 'low' END"),
        ("… WHERE a.x::varchar = '1'", "varchar", "write STRING"),
        ("… WHERE CAST(a.x AS VARCHAR(10)) = '1'", "VARCHAR(10)", "write STRING"),
        (
            "… WHERE a.price > avg(price)",
            "price",
            "pass params={'price': …}; or, for text, write 'price' in quotes; or, for an attribute, write a.price",
        ),
        (
            "… WHERE a.price > avg(a.price)",
            "avg(a.price)",
            "write avg(a[].price), or avg(a[..i-1].price), of a Kleene variable such as Type+ a[]",
        ),
        (
            "… WHERE a.price > LAG(a.price)",
            "LAG(a.price)",
            "write a[i-1].x, of the event before a[i] in a Kleene variable",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a[i].price > PREV(a.price) WITHIN 3 seconds",
            "PREV(a.price)",
            "write a[i-1].x, of the event before a[i] in a Kleene variable",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a[i+1].price > a[i].price WITHIN 3 seconds",
            "+",
            "look back: a[i] is the current event, a[i-1] the one before it, a[a.LEN] the last one",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a[n].price > a[n-1].price WITHIN 3 seconds",
            "[n]",
            "use a[1], a[2], a[i], a[i-1], a[i-2], a[..i-1], a[], or a[a.LEN] for the last event",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a[1:].price > 3 WITHIN 3 seconds",
            ":",
            "look back: a[i] is the current event, a[i-1] the one before it, a[a.LEN] the last one",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE ALL(a.price > 1) WITHIN 3 seconds",
            "ALL(a.price > 1)",
            "write ALL(a[].price > b.price)",
        ),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a.price > 3 WITHIN 3 seconds",
            "a.price",
            "say which event: a[1], a[a.LEN], a[i], a[i-1], a[] for each event, or use an aggregate over a[]",
        ),
        ("# a comment", "#", "write a comment as -- … or /* … */"),
        ("… // a comment", "/", "write a comment as -- … or /* … */"),
        ("…; WHERE a.x > 1", "WHERE", "a ; ends the query: remove it"),
        ("PATTERN cart a; PATERN cart a", "PATERN", "did you mean PATTERN?"),
        (
            f"{KLEENE} WHERE a[].price = b.price WITHIN 3 seconds",
            "a[].price",
            "use ANY(a[].price = …) or ALL(a[].price = …), a[1], a[a.LEN], "
            "or an aggregate such as max(a[].price) or collect(a[].price)",
        ),
        (
            f"{KLEENE} WITHIN 3 seconds RETURN percentile(0.9, a[].x) AS p",
            "percentile(0.9, a[].x)",
            "write percentile(a[].x, 0.9), or percentile(a[..i-1].x, 0.9), of a Kleene variable such as Type+ a[]",
        ),
        (
            f"{KLEENE} WITHIN 3 seconds RETURN percentile_cont(0.5) WITHIN GROUP (ORDER BY a[].x) AS p",
            "(",
            "write percentile(a[].x, 0.5)",
        ),
        (f"{KLEENE} WHERE b.x = ANY(a[].x) WITHIN 3 s", "a[].x", "write the comparison inside: ANY(a[].x = b.x)"),
        (f"{KLEENE} WHERE b.x IN collect(a[].x) WITHIN 3 s", "(", "compare each event: ANY(a[].x = b.x)"),
        (f"{KLEENE} WHERE b.x IN a[].x WITHIN 3 s", "[]", "compare each event: ANY(a[].x = b.x)"),
        (
            f"{KLEENE} WHERE count(a[]) FILTER (WHERE a[].x < b.x) > 1 WITHIN 3 s",
            "a[].x < b.x",
            "leave out what else it reads; ANY(a[].x < b.x) and ALL(…) may read other variables",
        ),
        (
            f"{KLEENE} WHERE a[a.LEN-1].x > 1 WITHIN 3 s",
            "-",
            "of the end only the last event has a name, a[a.LEN]; others are a[1], a[2], …, and a[i-1] before a[i]",
        ),
        (
            f"{KLEENE} WHERE a[i+1].x > a[i].x WITHIN 3 s",
            "+",
            "look back: a[i] is the current event, a[i-1] the one before it, a[a.LEN] the last one",
        ),
        ("… WITHIN 3 LONGEST", "LONGEST", BEFORE_LONGEST),
        ("… WITHIN 3 seconds LONGEST", "LONGEST", BEFORE_LONGEST),
        ("… WITHIN 3 NON_OVERLAP", "NON_OVERLAP", BEFORE_LONGEST),
        (
            "… WITHIN 3 COOLDOWN 5",
            "COOLDOWN",
            "COOLDOWN follows the kind of output: OUTPUT LONGEST COOLDOWN 5 minutes",
        ),
        ("… WITHIN 3 GROUP BY user", "GROUP", "use PARTITION BY, or [attr] in WHERE"),
        (
            "… WITHIN 3 AFTER MATCH SKIP PAST LAST ROW",
            "AFTER",
            "write OUTPUT LONGEST, which is SKIP PAST LAST ROW, or OUTPUT ALL",
        ),
        (
            "… WITHIN 3 AND a.x > 1",
            "AND",
            "conditions belong to WHERE, before WITHIN: WHERE a.x = 1 AND b.x = 2 WITHIN …",
        ),
        ("… WHERE TRY_CAST(a.s AS INT) = 1", "AS", "write CAST: it gives NULL for what can't be converted"),
        (
            "… WHERE extract('hour', a.ts) = 1",
            "extract('hour', a.ts)",
            "write date_part('hour', a.ts), or EXTRACT(HOUR FROM a.ts)",
        ),
        (
            "… WHERE { a.x = 1 }",
            "{",
            "write a strategy before the braces, WHERE skip_till_next_match {…}, or leave them out",
        ),
        ("… WHERE a.s NOTNULL", "NOTNULL", "write IS NOT NULL"),
        ("… WHERE a.s ENDSWITH 'u'", "ENDSWITH", "write it as a function: endswith(a.s, 'x')"),
        ("AUTOMATON a ARC a -> b", "ARC", "expected '->'"),
        ("AUTOMATON a -> b REGISTER n INT = 0 ARC a -> b SET r.n = 1", ".", "write the field alone: SET n = r.n + 1"),
        (
            "AUTOMATON a -> b REGISTER n INT = 0 ARC a -> b SET n = n + 1",
            "n",
            "for the field of the register, write r.n; or pass params={'n': …}",
        ),
        (
            "AUTOMATON a -> b REGISTER n INT = 0 ARC a -> b RETURN e.x AS x",
            "e.x",
            "the variables are: first, last, r",
        ),
    ],
)
def test_that_an_error_shows_what_to_write(text: str, place: str, remedy: str) -> None:
    with pytest.raises(cep.CepheidError) as caught:
        run(text)
    assert caught.value.span is not None
    assert (caught.value.span.excerpt, caught.value.remedy) == (place, remedy)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("… WHERE a.x == 1", "… WHERE a.x = 1"),
        ('… WHERE a.s == "u1"', "… WHERE a.s = 'u1'"),
        ("… WHERE a.x <> 1", "… WHERE a.x != 1"),
        ("… WITHIN interval 5 minutes", "… WITHIN 5 minutes"),
        ("… WITHIN INTERVAL '5' MINUTE", "… WITHIN 5 minutes"),
        ("… WITHIN 5min", "… WITHIN 5 minutes"),
        ("…;", "…"),
        ("PATTERN SEQ(cart a, NOT(view b), purchase c)", "PATTERN SEQ(cart a, !(view b), purchase c)"),
        ("PATTERN SEQ(cart a, NOT view b, purchase c)", "PATTERN SEQ(cart a, !(view b), purchase c)"),
        ("PATTERN cart a | view b", "PATTERN cart a OR view b"),
        ("… WHERE a.x > 1 && b.x > 1", "… WHERE a.x > 1 AND b.x > 1"),
        ("… WHERE !a.x = 1", "… WHERE NOT a.x = 1"),
        ("… WHERE a.ts > '2024-03-01'", "… WHERE a.ts > TIMESTAMP '2024-03-01 00:00:00Z'"),
        ("… WHERE a.s || b.s = 'u1u1'", "… WHERE concat(a.s, b.s) = 'u1u1'"),
        (
            "pattern seq(cart a, view b) where a.x > 1 within 5 minutes return a.x as x output longest",
            "… WHERE a.x > 1 WITHIN 5 minutes RETURN a.x AS x OUTPUT LONGEST",
        ),
        ("… RETURN a.x AS from, b.x AS select", "… RETURN a.x AS `from`, b.x AS `select`"),
        (
            "PATTERN SEQ(cart+ a[], view b) WHERE a[i].x > a[i - 1].x WITHIN 3 seconds",
            "PATTERN SEQ(cart+ a[], view b) WHERE a[i].x > a[i-1].x WITHIN 3 seconds",
        ),
    ],
)
def test_that_it_works_as_meant(text: str, meant: str) -> None:
    found = run(text).to_pylist()
    assert found
    assert found == run(meant).to_pylist()
