"""Which hint comes first: what no run can get over, then what ended the runs, then what is only worth a look."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.diagnosis.facts import Hint

_CAUSES = (
    *("CEP032", "CEP009", "CEP005", "CEP027", "CEP004", "CEP003", "CEP008", "CEP021", "CEP020", "CEP034", "CEP022"),
    *("CEP025", "CEP006", "CEP007"),
)
"""Each of them alone is a reason for no match, in the order in which they are likely to be the mistake."""

_LOOK = ("CEP028", "CEP035", "CEP026", "CEP036", "CEP023")
"""Worth a look, before the warnings that any query may have."""

_EXACT = {"CEP020", "CEP021", "CEP034", "CEP004"}
"""They say why no event passes a condition."""

_OF_RUNS = ("CEP026", "CEP029", "CEP024", "CEP023")
"""What runs show even where a cause is known: the rest of it then follows from the cause."""


def is_cause(hint: Hint) -> bool:
    """Whether a hint alone is a reason for no match."""
    return hint.code in _CAUSES


def in_order(of_columns: Sequence[Hint], of_runs: Sequence[Hint]) -> tuple[Hint, ...]:
    """The likeliest first; what runs show is in order already. What another hint says more exactly is left out."""
    hints = list({hint.code + hint.message: hint for hint in reversed(of_columns)}.values())[::-1]
    codes = {hint.code for hint in hints}
    if codes & _EXACT:
        hints = [hint for hint in hints if hint.code != "CEP022"]
    causes = sorted((hint for hint in hints if is_cause(hint)), key=lambda hint: _CAUSES.index(hint.code))
    runs = [hint for hint in of_runs if not causes or hint.code in _OF_RUNS]
    # A short window that is not the cause by what the runs show is no news.
    rest = [hint for hint in hints if not is_cause(hint) and not (hint.code == "CEP023" and runs)]
    rest.sort(key=lambda hint: _LOOK.index(hint.code) if hint.code in _LOOK else len(_LOOK))
    return (*causes, *runs, *rest)
