import cepheid as cep, signal, sys
def stop(*a): raise TimeoutError
signal.signal(signal.SIGALRM, stop)
rows=[{"ts":t,"type":k,"x":x,"y":float(x),"s":s} for t,k,x,s in [(1,"A",1,"a"),(2,"B",2,"b"),(3,"A",3,"a"),(4,"A",4,"c"),(5,"B",9,"b")]]
def t(text, engine="reference", **kw):
    signal.alarm(10)
    try:
        print(engine, repr(text), cep.Query(text, **kw).match(rows, engine=engine).to_pylist())
    except Exception as e: print(engine, repr(text), type(e).__name__, str(e).splitlines()[:1])
    finally: signal.alarm(0)
t("CESAR LET S1 := B\n (S1 ;[TRUE] A)")
t("CESAR LET S1 := B\n (S1 UNION S1)")
t("CESAR LET c := x > 1\n (A UNION SELECT[c](A))")
for e in ("reference","interpreted"): t("CESAR LET S2 := A ITERATE[RENAME[S2.y -> q], TRUE](B, S2)", e)
for e in ("reference","interpreted"): t("CESAR LET S2 := A ITERATE[RENAME[S2.y -> q], S2.y > S2.y.last](B, S2)", e)
t("CESAR LET S2 := A ITERATE[SELECT[x >= 1] . RENAME[S2.x -> q], TRUE](B, S2)")
t("CESAR LET S2 := A ITERATE[SELECT[S2.x >= 1] . RENAME[S2.x -> q], TRUE](B, S2)")
t("CESAR LET S1, S2 := A ITERATE[SELECT[x >= 1] . RENAME[S2.x -> q], S2.x.last > 0](S1, S2)")
for e in ("reference","interpreted","plain","compiled"): t("CESAR LET S2 := A ITERATE[SELECT[S2.x.last > 0], TRUE](A, THEN[TRUE](S2, B))", e)
t("CESAR LET S1, S2, S3 := A ITERATE[S3.x > S3.x.last, TRUE](THEN[TRUE](S1, S2), S3)")
t("CESAR LET S1 := A LET S2 := B ITERATE[S2.x > S2.x.last, TRUE](S1, S2)")
for e in ("plain",): t("CESAR A", e); t("CESAR SELECT[x > 1](A)", e); t("CESAR A UNION B", e); t("CESAR THEN[TRUE](A, A UNION B)", e)
rows = [{"ts": 0, "type": "A", "x": 2, "y": 0.5}, {"ts": 1, "type": "A", "x": 3, "y": 1.0}]
for e in ("reference", "plain"): t("CESAR ITERATE[ADD[n := y, y := 3], TRUE](A, PROJECT[x](A))", e)
