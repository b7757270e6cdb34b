"""Scale on paper: what a thousand cores need for a hundred million events a second, from measured figures.

Nothing is measured here, and nothing is assumed but the size of a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bench.harness import Figure

EVENTS = 100.0  # million a second
CORES = 1000
MACHINE = 16  # cores in a machine
LOCAL = 2  # cores that the figures are from


def paper(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Cores and traffic, of those figures that were measured in this run."""
    known = {(one.row, one.case, one.clock): one for one in figures}
    for (row, case, clock), one in known.items():
        scale = {"M events/s": 1.0, "k events/s": 1e-3}.get(one.unit)
        if row in ("keyed", "direct", "stream") and scale:
            each = one.value * scale / LOCAL
            note = f"{each * 1000:,.0f} k events/s a core, so {EVENTS / each / CORES:.2f} of {CORES:,} cores"
            yield Figure("paper", case, f"cores, {row}, {clock}", EVENTS / each, "cores", note=note)
        elif row == "bytes":
            traffic = one.value * EVENTS / 1000
            note = f"{traffic / CORES * MACHINE * 1000:,.1f} MB/s on a machine of {MACHINE} cores"
            yield Figure("paper", case, clock, traffic, "GB/s", note=note)
