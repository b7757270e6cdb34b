"""Texts that must be refused, and how: with a CepheidError that has a code and a caret, before any event is read if possible."""

import cepheid as cep

ROWS = [{"ts": 1, "began": 0, "type": "A", "x": 1, "s": "a"}, {"ts": 2, "began": 2, "type": "B", "x": 2, "s": "b"}]
TEXTS = {
    "unknown attribute": "CESAR SELECT[z > 1](A)",
    "unknown attribute of a copy": "CESAR LET S1 := A SELECT[S1.z > 1](S1)",
    "wrong copy": "CESAR LET S1, S2 := A SELECT[S2.x > 1](S1)",
    "not unique": "CESAR LET S1, S2 := A THEN[x > 1](S1, S2)",
    "projection of nothing known": "CESAR PROJECT[z](A)",
    "projection after projection": "CESAR SELECT[x > 1](PROJECT[s](A))",
    "rename collision": "CESAR RENAME[x -> s](A)",
    "rename to one": "CESAR RENAME[x -> q, s -> q](A)",
    "rename twice": "CESAR RENAME[x -> q, x -> r](A)",
    "rename of unknown": "CESAR RENAME[z -> q](A)",
    "rename of time": "CESAR RENAME[ts -> q](A)",
    "project time": "CESAR PROJECT[ts](A)",
    "time in a condition": "CESAR SELECT[ts > 1](A)",
    "start in a condition": "CESAR SELECT[began > 1](A)",
    "type in a condition": "CESAR SELECT[type = 'A'](A)",
    "add twice": "CESAR ADD[m := 1, m := 2](A)",
    "union of unlike names": "CESAR A UNION PROJECT[x](A)",
    "union of unlike copies": "CESAR LET S1, S2 := A S1 UNION S2",
    "union of unlike types": "CESAR PROJECT[x](A) UNION RENAME[s -> x](PROJECT[s](A))",
    "last without an iteration": "CESAR SELECT[x.last > 1](A)",
    "last in THEN": "CESAR THEN[x.last > 1](A, A)",
    "last without a beginning": "CESAR ITERATE[SELECT[m.last > 1] . ADD[m := 1], TRUE](A, A)",
    "last that was projected away": "CESAR LET S1, S2 := A ITERATE[S2.x > S2.x.last, TRUE](PROJECT[S1.s](S1), S2)",
    "last with two beginnings": "CESAR LET S1, S2, S3 := A ITERATE[S3.x > S3.x.last, TRUE](THEN[TRUE](S1, S2), S3)",
    "cycle": "CESAR LET E := THEN[TRUE](A, G) LET G := SELECT[TRUE](E) E",
    "cycle of itself": "CESAR LET E := SELECT[TRUE](E) E",
    "LET twice": "CESAR LET E := A LET E := B E",
    "condition as a stream": "CESAR LET c := x > 1 THEN[TRUE](A, c)",
    "stream as a condition": "CESAR LET S := A SELECT[S](A)",
    "not a condition": "CESAR SELECT[x + 1](A)",
    "types": "CESAR SELECT[s > 1](A)",
    "DUR of text": "CESAR SELECT[DUR > 'a'](A)",
    "F renames what the next step needs": "CESAR LET S1, S2 := A ITERATE[RENAME[S1.x -> q], TRUE](S1, S2)",
    "projection in F": "CESAR LET S1, S2 := A ITERATE[PROJECT[S1.x], TRUE](S1, S2)",
    "missing bracket": "CESAR SELECT[x > 1(A)",
    "no expression": "CESAR LET S := A",
    "columns that collide": "CESAR LET S := A RENAME[S.x -> S_s](S)",
    "last that changes its type": "CESAR ITERATE[x.last > 1, TRUE](ADD[m := 1](A), RENAME[s -> m](PROJECT[s](A)))",
    "last of another type": "CESAR ITERATE[x.last > 1, TRUE](RENAME[s -> x](PROJECT[s](A)), PROJECT[x](A))",
    "two lasts": "CESAR LET S1, S2 := A ITERATE[S2.x.last.last > 1, TRUE](S1, S2)",
}
for name, text in TEXTS.items():
    stage = "Query"
    try:
        q = cep.Query(text, start="began")
        stage = "match"
        got = q.match(ROWS)
        print(f"ACCEPTED {name}: {got.to_pylist()}\n    {text}")
    except cep.CepheidError as e:
        print(f"{stage:6} {name}: {str(e).splitlines()[0]} | {str(e).splitlines()[-1]}")
    except Exception as e:
        print(f"EXCEPTION {stage} {name}: {type(e).__name__} {e}\n    {text}")
for name, rows in {
    "start after end": [{"ts": 1, "began": 2, "type": "A", "x": 1}],
    "start is NULL": [{"ts": 1, "began": None, "type": "A", "x": 1}, {"ts": 1, "began": 1, "type": "A", "x": 1}],
    "no start column": [{"ts": 1, "type": "A", "x": 1}],
    "start of another type": [{"ts": 1, "began": "1", "type": "A", "x": 1}],
}.items():
    try:
        print("ACCEPTED", name, cep.Query("CESAR A", start="began").match(rows).to_pylist())
    except cep.CepheidError as e:
        print("match ", name, ":", str(e).splitlines()[0])
    except Exception as e:
        print(f"EXCEPTION {name}: {type(e).__name__} {e}")
