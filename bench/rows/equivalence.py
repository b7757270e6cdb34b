"""Experiments 1, 2, 3, 5 and 6 of SASE (SIGMOD'06, section 5), with what the paper says beside.

The paper prints its throughputs as curves only; what its text says in numbers is in the notes. Its Experiments 1 and 2
leave the equivalence test out, and have more types instead; here the test is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from bench import plots, queries, workloads
from bench.cache import made
from bench.harness import Figure, Options, Target, race, throughput
from bench.ours import SECOND_TEST, Ours, ours, second_test
from bench.plots import Labels
from cepheid import Query

UNIT = "M events/s"
DOMAINS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
WINDOWS = (10_000, 20_000, 40_000, 60_000, 80_000, 100_000)
LENGTHS = (2, 3, 4, 5, 6)
MANY, FEW = 1_000_000, 200_000  # events; at a domain of 10 an event has twenty matches
PLANS = ("stacks", "automaton", "auto")

Curves = dict[str, list[float]]


def equivalence(options: Options) -> Iterator[Figure]:
    """SASE Fig. 8 to 12: domain, window, length, and a second equivalence test."""
    yield from _domain(options)
    yield from _window(options)
    yield from _two_tests(options)
    yield from _length(options)
    yield from _one_and_two(options)


def _domain(options: Options) -> Iterator[Figure]:
    domains = [domain for domain in DOMAINS if domain >= 100]
    curves = _curves([(queries.typed(), _typed(domain, MANY, options)) for domain in domains], options)
    paper = {100: "AIS 18 times Basic", 10_000: "AIS and Basic are close"}
    yield from _ends("1", "V1", domains, curves, paper)
    labels = Labels("Experiment 1: domain of the equivalence test", "V1", UNIT, log_x=True)
    plots.lines("sase_domain", labels, _against(domains, curves), options.plots)
    gains = [own / other for own, other in zip(curves["stacks"], curves["automaton"], strict=True)]
    labels = Labels("Experiment 1: gain by stacks", "V1", "times faster", log=True, log_x=True)
    beside = {"stacks to automaton": (domains, gains), "SASE: AIS to Basic, as its text says": ((100, 10_000), (18, 1))}
    plots.lines("sase_gain", labels, beside, options.plots)


def _window(options: Options) -> Iterator[Figure]:
    table = _typed(10_000, MANY, options)
    curves = _curves([(queries.typed(window=window), table) for window in WINDOWS], options)
    paper = dict.fromkeys((WINDOWS[0], WINDOWS[-1]), "Basic falls much faster with W than AIS")
    yield from _ends("2", "W", WINDOWS, curves, paper)
    labels = Labels("Experiment 2: window", "W, events", UNIT)
    plots.lines("sase_window", labels, _against(WINDOWS, curves), options.plots)


def _two_tests(options: Options) -> Iterator[Figure]:
    for second in (20, 5):
        curves: Curves = {name: [] for name in (*SECOND_TEST, "auto")}
        counts = []
        text = queries.typed(attributes="attr1, attr2")
        for domain in DOMAINS:
            table = _typed(domain, FEW, options, second)
            runners = {name: second_test(text, table, name) for name in SECOND_TEST}
            runners["auto"] = ours(text, table).size
            found = {name: run() for name, run in runners.items()}
            assert len(set(found.values())) == 1, f"equivalence 3, V1 = {domain}, V2 = {second}: {found} matches"
            counts.append(found.popitem()[1])
            for name, seconds in race(runners, options.times).items():
                curves[name].append(throughput(table.num_rows, seconds))
        for domain in (10, 500, 10_000):
            k = DOMAINS.index(domain)
            here = {name: curve[k] for name, curve in curves.items()}
            best, *others = sorted(SECOND_TEST, key=here.__getitem__, reverse=True)
            course = ", ".join(f"{name} {speed:.3g}" for name, speed in here.items())
            paper = "dynamic filtering first by far, Multi-PAIS last" if domain < 500 else "all three about the same"
            yield Figure(
                "equivalence",
                f"3: V1 = {domain:,}, V2 = {second}",
                best,
                here[best],
                UNIT,
                others[0],
                here[others[0]],
                here[best] / here[others[0]],
                note=f"{course} (paper: {paper}); {counts[k]:,} matches",
            )
        labels = Labels(f"Experiment 3: a second equivalence test, V2 = {second}", "V1", UNIT, log_x=True)
        plots.lines(f"sase_two_tests_{second}", labels, _against(DOMAINS, curves), options.plots)


def _length(options: Options) -> Iterator[Figure]:
    table = _typed(100, MANY, options)
    curves = _curves([(queries.typed(length), table) for length in LENGTHS], options)
    normal = {plan: [speed / curve[0] for speed in curve] for plan, curve in curves.items()}
    for plan in ("stacks", "auto"):
        course = " ".join(f"{share:.2f}" for share in normal[plan])
        yield Figure(
            "equivalence",
            f"5: L = {LENGTHS[-1]}",
            plan,
            curves[plan][-1],
            UNIT,
            f"L = {LENGTHS[0]}",
            curves[plan][0],
            normal[plan][-1],
            Target("≥", 0.5),
            f"at L = {LENGTHS}: {course} (paper: 0.5 at L = 6, TelegraphCQ less than 0.01 from L = 5 on)",
        )
    labels = Labels("Experiment 5: length of the sequence", "L", "throughput, that of L = 2 is 1")
    points = {f"ours, {plan}": (LENGTHS, shares) for plan, shares in normal.items()}
    plots.lines("sase_length", labels, points | {"SASE, as its text says": ((2, 6), (1, 0.5))}, options.plots)


def _one_and_two(options: Options) -> Iterator[Figure]:
    tables = [_typed(domain, FEW, options) for domain in DOMAINS]
    shares = {}
    for tests, attributes in (("1 test", "attr1"), ("2 tests", "attr1, attr2")):
        text = queries.typed(attributes=attributes)
        curve = _curves([(text, table) for table in tables], options, ("auto",))["auto"]
        shares[tests] = [speed / curve[-1] for speed in curve]
        course = " ".join(f"{share:.2f}" for share in shares[tests])
        yield Figure(
            "equivalence",
            f"6: V1 = 10, {tests}",
            "auto",
            curve[0],
            UNIT,
            "V1 = 10,000",
            curve[-1],
            shares[tests][0],
            note=f"at V1 = {DOMAINS}: {course} (paper: a second test helps most where V1 is small)",
        )
    labels = Labels("Experiment 6: domain, one and two tests", "V1", "throughput, that of V1 = 10,000 is 1", log_x=True)
    plots.lines("sase_one_and_two", labels, _against(DOMAINS, shares), options.plots)


def _typed(domain: int, events: int, options: Options, second: int = 20) -> pa.Table:
    name = f"typed_v{domain}" if second == 20 else f"typed_v{domain}_{second}"
    return made(name, partial(workloads.typed, domain=domain, second=second), int(events * options.scale))


def _curves(points: Sequence[tuple[str, pa.Table]], options: Options, plans: Sequence[str] = PLANS) -> Curves:
    """Of each plan the throughput end to end at each point."""
    curves: Curves = {plan: [] for plan in plans}
    for text, table in points:
        query = Query(text)
        engines = {plan: Ours(query, table, plan=plan) for plan in plans}
        found = {plan: engine.count() for plan, engine in engines.items()}
        assert len(set(found.values())) == 1, f"equivalence: {found} matches of {text}"
        for plan, seconds in race({plan: e.enumerate for plan, e in engines.items()}, options.times).items():
            curves[plan].append(throughput(table.num_rows, seconds))
    return curves


def _ends(experiment: str, what: str, xs: Sequence[int], curves: Curves, paper: dict[int, str]) -> Iterator[Figure]:
    """The first and the last point, and all of them in a note."""
    for k in (0, -1):
        own, other = curves["stacks"][k], curves["automaton"][k]
        course = "; ".join(f"{plan} {' '.join(f'{y:.3g}' for y in curve)}" for plan, curve in curves.items())
        note = f"paper: {paper[xs[k]]}" + f"; at {what} = {tuple(xs)}: {course}" * (k == 0)
        case = f"{experiment}: {what} = {xs[k]:,}"
        yield Figure("equivalence", case, "stacks", own, UNIT, "automaton", other, own / other, note=note)


def _against(xs: Sequence[int], curves: Curves) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    return {name: (xs, ys) for name, ys in curves.items()}
