"""Hunts for differences between Cepheid and the oracle: `python algebra_hunt.py FROM TO [engine,engine,…] [--session] [--keep]`."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
from algebra_generator import Printer, scenario, smaller
from algebra_oracle import NAN, World, Wrong, evaluate

import cepheid as cep


TYPES = {"int": pa.int64(), "float": pa.float64(), "str": pa.string(), "bool": pa.bool_()}
SECONDS = {"ms": 0.001, "s": 1, "min": 60}
ENGINES = ("reference", "interpreted", "plain", "compiled", "auto")


def table(rows: list[dict[str, Any]], world: World) -> pa.Table:
    fields = [("ts", "end", pa.int64())]
    if world.typed:
        fields.append(("type", "kind", pa.string()))
    if world.durations:
        fields.append(("began", "start", pa.int64()))
    fields += [(c, c, TYPES[t]) for c, t in world.columns.items()]
    data = {name: pa.array([r[key] for r in rows], None if world.fine and key in ("end", "start") else kind) for name, key, kind in fields}
    if world.fine:
        for name, key in [("ts", "end"), ("began", "start")]:
            if name == "ts" or world.durations:
                ticks = [int(r[key] * SECONDS[world.unit] * 1_000_000) for r in rows]
                data[name] = pa.array(ticks, pa.int64()).cast(pa.timestamp("us"))
    return pa.table(data)


def moment(t: Any, world: World) -> Any:
    return datetime(1970, 1, 1) + timedelta(seconds=t * SECONDS[world.unit]) if world.fine else t


def clean(v: Any, unit: str) -> Any:
    if isinstance(v, datetime):
        return (v - datetime(1970, 1, 1)).total_seconds() / SECONDS[unit]
    return NAN if isinstance(v, float) and math.isnan(v) else v


def expected(tree: Any, world: World) -> tuple[list[str], Counter]:
    s = evaluate(tree, world)
    names = ["match_start", "match_end", *(n.replace(".", "_") for n in s.types)]
    return names, Counter((a, b, *v) for v, a, b in s.events)


def collect(names: list[str], unit: str, *results: Any) -> Counter:
    return Counter(tuple(clean(r[n], unit) for n in names) for m in results for r in m.to_pylist())


def difference(names: list[str], want: Counter, first: Any, got: Counter) -> str | None:
    columns = first.to_arrow().column_names
    if set(columns) != set(names):
        return f"columns {columns} instead of {names}"
    if got != want:
        return f"missing {sorted((want - got).elements(), key=repr)}\n  too many {sorted((got - want).elements(), key=repr)}"
    if columns != names:
        return f"order of columns {columns} instead of {names}"
    return None


def query(text: str, world: World) -> Any:
    return cep.Query(text, type="type" if world.typed else None, unit=world.unit, **({"start": "began"} if world.durations else {}))


def check(tree: Any, text: str, world: World, mode: str, seed: int) -> str | None:
    """What is wrong, or None. `mode`: an engine, or `session:` and an engine, or `more:` and an engine."""
    names, want = expected(tree, world)
    kind, _, engine = mode.rpartition(":")
    rng = Random(seed)
    rows = list(world.rows)
    try:
        q = query(text, world)
        if kind == "more":
            rows += [dict(rng.choice(rows)) for _ in range(rng.randint(0, 4)) if rows]
            rng.shuffle(rows)
        if kind != "session":
            got = q.match(table(rows, world), engine=engine)
            try:
                return difference(names, want, got, collect(names, world.unit, got))
            except KeyError:
                return difference(names, want, got, Counter())
        lateness = rng.choice([0, 1, 2, 4])
        rows.sort(key=lambda r: r["end"] + rng.randint(0, lateness))
        s = q.session(engine=engine, lateness=lateness)
        outs = [s.push(table([], world))]
        i = 0
        while i < len(rows):
            j = i + rng.randint(1, 5)
            outs.append(s.push(table(rows[i:j], world)))
            i = j
            if rng.random() < 0.3:
                s = q.restore(s.snapshot())
            if rng.random() < 0.2 and i < len(rows):
                outs.append(s.advance(moment(min(r["end"] for r in rows[i:]), world)))
        outs.append(s.close())
        return difference(names, want, outs[0], collect(names, world.unit, *outs))
    except cep.CepheidError as e:
        return "error " + str(e)
    except Exception as e:  # any other is a fault by itself
        return f"exception {type(e).__name__} {e}\n" + "".join(traceback.format_tb(e.__traceback__)[-3:])


def timed(*args: Any) -> str | None:
    """`check` with a limit: an endless loop is a fault as well."""
    signal.alarm(20 if "compiled" in args[3] or "auto" in args[3] else 4)
    try:
        return check(*args)
    finally:
        signal.alarm(0)


def stop(*_: Any) -> None:
    raise TimeoutError("endless")


signal.signal(signal.SIGALRM, stop)


def kind_of(problem: str) -> str:
    return " ".join(problem.split("\n")[0].split()[: 3 if problem.startswith("error") else 2]) if problem.startswith(("error", "exception")) else problem.split()[0]


def shrink(tree: Any, world: World, mode: str, seed: int, problem: str) -> tuple[Any, str, World, str]:
    kind = kind_of(problem)
    text = Printer(Random(0)).text(tree)
    limit = time.time() + 25

    def fails(t: Any, w: World) -> str | None:
        if time.time() > limit:
            return None
        try:
            bad = timed(t, plain(t), w, mode, seed)
        except (Wrong, KeyError, TypeError, AssertionError, AttributeError, ValueError, IndexError):
            return None
        return bad if bad is not None and kind_of(bad) == kind else None

    again = True
    while again:
        again = False
        for t in smaller(tree):
            if (bad := fails(t, world)) is not None:
                tree, problem, again = t, bad, True
                break
        for i in range(len(world.rows)):
            w = replace(world, rows=world.rows[:i] + world.rows[i + 1 :])
            if (bad := fails(tree, w)) is not None:
                world, problem, again = w, bad, True
                break
    try:
        text = plain(tree)
    except AssertionError:
        pass
    return tree, text, world, problem


class Never(Random):
    def random(self) -> float:
        return 0.99


def plain(tree: Any) -> str:
    return Printer(Never(0)).text(full(tree))


def full(n: Any) -> Any:
    """With every attribute by its full name."""

    if isinstance(n, tuple):
        return n[:2] if n and n[0] == "attr" else tuple(full(a) for a in n)
    return replace(n, **{f.name: full(getattr(n, f.name)) for f in fields(n)}) if is_dataclass(n) else n


def single(n: Any) -> bool:
    """One event alone may be a result."""
    if hasattr(n, "of"):
        return single(n.of)
    return not hasattr(n, "left") or (type(n).__name__ == "Union" and (single(n.left) or single(n.right)))


def single_right(n: Any) -> bool:
    """Such a stream that is a right operand and not made of one base stream."""
    if hasattr(n, "of"):
        return single_right(n.of)
    if not hasattr(n, "left"):
        return False
    right = n.right
    while hasattr(right, "of"):
        right = right.of
    return single_right(n.left) or single_right(n.right) or (type(right).__name__ == "Union" and single(right))


def main() -> None:
    low, high = int(sys.argv[1]), int(sys.argv[2])
    modes = sys.argv[3].split(",") if len(sys.argv) > 3 else [*ENGINES, "session:auto", "more:auto"]
    do_shrink = "--raw" not in sys.argv
    passed: Counter = Counter()
    problems: Counter = Counter()
    started = time.time()
    check(*scenario(0), "interpreted", 0)  # imports take longer than the limit
    for seed in range(low, high):
        tree, text, world = scenario(seed)
        if os.environ.get("SKIPSINGLE") and (single(tree) or single_right(tree)):
            continue
        for mode in modes:
            bad = timed(tree, text, world, mode, seed)
            if bad is None:
                passed[mode] += 1
                continue
            kind = (mode, kind_of(bad))
            problems[kind] += 1
            if problems[kind] > 2 or not do_shrink:
                print(f"seed {seed} {mode}: {bad.splitlines()[0][:150]}")
                continue
            print(f"=== seed {seed} {mode}\n{text}\n  {bad}")
            _, small, w, worse = shrink(tree, world, mode, seed, bad)
            print(f"--- smaller, unit={w.unit} type={'type' if w.typed else None} start={'began' if w.durations else None}\n{small}")
            for r in table(w.rows, w).to_pylist():
                print("   ", r)
            print("  expected", sorted(expected(_, w)[1].elements(), key=repr))
            print(" ", worse, flush=True)
    print("passed", dict(passed), "problems", dict(problems), f"{time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
