"""`q.diagnose(events)`: what was found, to be read."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.diagnosis.as_html import as_html
from cepheid.diagnosis.as_text import as_text
from cepheid.diagnosis.facts import Findings


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Findings):
    """What a query does on some events. Diagnoses of parts of a stream can be added."""

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
