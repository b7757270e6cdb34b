"""The rows of the bench: each gives its figures."""

from collections.abc import Callable, Iterable

from bench.harness import Figure, Options
from bench.rows.afa import afa
from bench.rows.arrow import arrow
from bench.rows.automata import automata
from bench.rows.cesar import cesar
from bench.rows.changing import changing
from bench.rows.choice import choice
from bench.rows.cold import cold
from bench.rows.compiling import compiling
from bench.rows.complexity import complexity
from bench.rows.correct import correct
from bench.rows.disorder import disorder
from bench.rows.double_top import double_top
from bench.rows.equivalence import equivalence
from bench.rows.instants import instants
from bench.rows.kleene import kleene
from bench.rows.many_ranges import many_ranges
from bench.rows.memory import long, memory
from bench.rows.merging import merging
from bench.rows.program import program
from bench.rows.push import push
from bench.rows.rare import rare
from bench.rows.sase import algorithms, nonoverlap, strategies, windows
from bench.rows.sequence import sequence
from bench.rows.shoplifting import shoplifting
from bench.rows.snapshot import snapshot
from bench.rows.speculation import speculation
from bench.rows.stock import stock
from bench.rows.switching import switching
from bench.rows.ties import ties
from bench.rows.vshapes import vshapes

ROWS: dict[str, Callable[[Options], Iterable[Figure]]] = {
    "check": correct,
    "stock": stock,
    "sequence": sequence,
    "rare": rare,
    "shoplifting": shoplifting,
    "vshapes": vshapes,
    "automata": automata,
    "cesar": cesar,
    "double_top": double_top,
    "changing": changing,
    "afa": afa,
    "switching": switching,
    "equivalence": equivalence,
    "choice": choice,
    "kleene": kleene,
    "merging": merging,
    "snapshot": snapshot,
    "complexity": complexity,
    "strategies": strategies,
    "windows": windows,
    "algorithms": algorithms,
    "nonoverlap": nonoverlap,
    "arrow": arrow,
    "program": program,
    "push": push,
    "ties": ties,
    "instants": instants,
    "many_ranges": many_ranges,
    "memory": memory,
    "disorder": disorder,
    "speculation": speculation,
    "cold": cold,
    "compile": compiling,
    "long": long,
}

# The workloads by the names that their streams have in the papers' comparisons.
ALIASES = {"w1": "stock", "w2": "sequence", "w3": "rare", "w4": "shoplifting", "w5": "vshapes"}

LONG = {"cold", "compile", "long"}  # only when asked for

__all__ = ["ALIASES", "LONG", "ROWS"]
