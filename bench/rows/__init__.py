"""The rows of the bench: each gives its figures."""

from collections.abc import Callable, Iterable

from bench.harness import Figure, Options
from bench.rows.choice import choice
from bench.rows.correct import correct
from bench.rows.equivalence import equivalence
from bench.rows.kleene import kleene
from bench.rows.latency import latency
from bench.rows.memory import long, memory
from bench.rows.merging import merging
from bench.rows.output import output
from bench.rows.sase import experiment1, experiment2, experiment3, experiment4
from bench.rows.snapshot import snapshot
from bench.rows.switching import switching
from bench.rows.w1 import w1
from bench.rows.w2 import w2
from bench.rows.w3 import w3
from bench.rows.w4 import w4
from bench.rows.w5 import w5

ROWS: dict[str, Callable[[Options], Iterable[Figure]]] = {
    "check": correct,
    "w1": w1,
    "w2": w2,
    "w3": w3,
    "w4": w4,
    "w5": w5,
    "r": switching,
    "e": equivalence,
    "a": choice,
    "k": kleene,
    "m": merging,
    "s": snapshot,
    "c": output,
    "expt1": experiment1,
    "expt2": experiment2,
    "expt3": experiment3,
    "expt4": experiment4,
    "latency": latency,
    "memory": memory,
    "long": long,
}

LONG = {"long"}  # only when asked for

__all__ = ["LONG", "ROWS"]
