"""The oracle against the paper's tables and the laws of the algebra."""

from dataclasses import replace
from random import Random

from algebra_generator import Generator, rows, scenario
from algebra_oracle import *

A = Base("Stock")


def world(events, *columns):
    types = {"name": "str", "price": "int", "vol": "int"}
    cols = {c: types[c] for c in columns}
    return World(cols, [{**dict(zip(columns, e[:-2])), "start": e[-2], "end": e[-1], "kind": "Stock"} for e in events])


def attr(n):
    return ("attr", n)


S1, S2, S3 = (Copy(f"S{i}", A) for i in (1, 2, 3))

# 2.3
w = world([("IBM", 10, 1, 1), ("Dell", 22, 2, 2), ("IBM", 19, 3, 3), ("Dell", 24, 4, 4), ("IBM", 22, 5, 5), ("Dell", 22, 6, 6)], "name", "price")
theta1 = ("=", attr("S1.name"), attr("S2.name"))
theta2 = (">", attr("S2.price"), ("last", "S2.price"))
got = evaluate(Iterate((Select(theta2, None),), theta1, S1, S2), w)
assert list(got.types) == ["S1.name", "S1.price", "S2.name", "S2.price"]
assert got.events == {
    (("IBM", 10, "IBM", 19), 1, 3), (("Dell", 22, "Dell", 24), 2, 4), (("IBM", 19, "IBM", 22), 3, 5), (("IBM", 10, "IBM", 22), 1, 5)
}, got

# Table 1, Query 7
e = [("IBM", 90, 15000, 550, 550), ("IBM", 85, 7000, 555, 555), ("Dell", 40, 11000, 557, 557), ("IBM", 81, 8000, 561, 561),
     ("MSFT", 25, 6000, 563, 563), ("IBM", 91, 9000, 564, 564)]


def query7():
    def ren(n, new):
        return Rename((("name", "company"), ("price", new)), Project(("name", "price"), n))

    s1, s2, s3 = ren(Select((">", attr("vol"), ("const", 10000)), A), "maxP"), ren(A, "minP"), ren(A, "finalP")
    same = ("=", attr("company"), ("last", "company"))
    down = ("and", same, ("<", attr("minP"), ("last", "minP")))
    mu = Iterate((Select(down, None),), same, s1, s2)
    # the outer conditions read company.last in the paper; outside of an iteration equal names need a name of their own
    s3 = Rename((("company", "c3"),), s3)
    up = (">", attr("finalP"), ("*", ("const", 1.05), attr("minP")))
    return Project(("company", "maxP", "minP", "finalP"), Select(up, Then(("=", attr("company"), attr("c3")), Select((">=", ("dur",), ("const", 10)), mu), s3)))


cols = ("name", "price", "vol")
want = {(("IBM", 90, 81, 91), 550, 564)}
assert evaluate(query7(), world(e, *cols)).events == want
assert evaluate(query7(), world([*e, ("IBM", 80, 8000, 564, 564)], *cols)).events == want  # e6'
assert evaluate(query7(), world([*e, ("IBM", 99, 8000, 557, 557)], *cols)).events == set()  # e3' ends I1

# 3.5
E = Then((">", attr("S3.price"), attr("S1.price")), S1, Then(TRUE, S2, S3))
s = [("IBM", 10, 1, 1), ("Dell", 22, 2, 2), ("IBM", 9, 3, 3), ("Dell", 24, 4, 4), ("IBM", 11, 5, 5)]
assert (("IBM", 10, "IBM", 9, "Dell", 24), 1, 4) in evaluate(E, world(s, "name", "price")).events
got = evaluate(E, world([*s, ("Dell", 23, 3, 3)], "name", "price")).events
assert (("IBM", 10, "Dell", 23, "Dell", 24), 1, 4) not in got
assert (("IBM", 10, "Dell", 22, "Dell", 23), 1, 3) in got

# 2.2 concatenation and Figure 1 (e1 .. e4: e2 overlaps, e3 starts before e4 and ends after it)
w = World({"k": "str"}, [{"k": k, "start": a, "end": b, "kind": t} for k, a, b, t in
                         [("e1", 1, 3, "P"), ("e2", 2, 5, "Q"), ("e3", 4, 9, "Q"), ("e4", 5, 7, "Q")]])
assert evaluate(Then(TRUE, Copy("a", Base("P")), Copy("b", Base("Q"))), w).events == {(("e1", "e4"), 1, 7)}

# 2.4 aggregates
w = world([("IBM", 10, 1, 1), ("Dell", 5, 2, 2), ("IBM", 19, 3, 3), ("IBM", 22, 5, 5)], "name", "price")
ibm = ("=", attr("name"), ("const", "IBM"))
g2 = (("AVG", ("/", ("+", ("*", ("last", "COUNT"), ("last", "AVG")), attr("price")), ("+", ("last", "COUNT"), ("const", 1)))),
      ("COUNT", ("+", ("last", "COUNT"), ("const", 1))))
avg = Iterate((Add(g2, None),), TRUE, Add((("AVG", attr("price")), ("COUNT", ("const", 1))), Select(ibm, A)), Select(ibm, A))
got = evaluate(avg, w)
assert got.types == {"name": "str", "price": "int", "AVG": "float", "COUNT": "int"}
assert got.events == {(("IBM", 19, 14.5, 2), 1, 3), (("IBM", 22, 17.0, 3), 1, 5), (("IBM", 22, 20.5, 2), 3, 5)}, got

# Laws on generated input.
counts = dict.fromkeys(["union", "assoc", "fails", "fails typed", "mu", "push", "idem"], 0)
for seed in range(1500):
    r = Random(seed)
    columns = {"x": "int", "s": "str"}
    points = [dict(row, start=t, end=t) for t, row in enumerate(rows(r, columns, ["A", "B", "C"], False))]
    lasting = rows(r, columns, ["A", "B", "C"], True)
    a, b, c = (Copy(k.lower(), Base(k)) for k in "ABC")
    g = Generator(r, columns, ["A", "B", "C"])
    wp, wl = World(columns, points), World(columns, lasting)
    cond = g.condition(columns)
    for w in (wp, wl):
        u = Union(Base("A"), Base("B"))
        for op in (lambda n: Select(cond, n), lambda n: Project(("s",), n), lambda n: Rename((("x", "p"),), n), lambda n: Add((("m", ("+", attr("x"), ("const", 1))),), n)):
            assert evaluate(op(u), w) == evaluate(Union(op(Base("A")), op(Base("B"))), w)
            counts["union"] += 1
        for typed in (False, True):
            v = replace(w, typed=typed)
            l, m = evaluate(Then(TRUE, Then(TRUE, a, b), c), v), evaluate(Then(TRUE, a, Then(TRUE, b, c)), v)
            if w is wp and not typed:
                assert l == m
                counts["assoc"] += 1
            elif l.events != m.events:  # of B at 1, B at 2, C at 3 both Bs have the same next C
                counts["fails typed" if typed else "fails"] += 1
        theta = g.condition({"a.x": "int", "a.s": "str", "b.x": "int", "b.s": "str"})
        union, step = set(), a
        for n in range(12):
            step = Then(theta, step, b)
            union |= evaluate(step, w).events
        assert evaluate(Iterate((), theta, a, b), w).events == union
        counts["mu"] += 1
        one = evaluate(Then(("=", attr("b.x"), ("const", 1)), a, b), w).events
        two = evaluate(Then(TRUE, a, Select(("=", attr("b.x"), ("const", 1)), b)), w).events
        assert one == two  # a condition on the right alone may go in when it is in θ
        three = evaluate(Select(("=", attr("b.x"), ("const", 1)), Then(TRUE, a, b)), w).events
        counts["push"] += three != two
print(counts)

sizes, nodes, skipped = [], {}, 0
for seed in range(2000):
    tree, text, w = scenario(seed)
    sizes.append(len(evaluate(tree, w).events))
print("empty", sum(n == 0 for n in sizes), "of", len(sizes), "max", max(sizes), "mean", sum(sizes) / len(sizes))
for seed in range(12):
    print(scenario(seed)[1])
