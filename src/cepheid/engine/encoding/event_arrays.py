"""What one parameter of a kernel asks of the events of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.masks import evaluate_mask
from cepheid.errors import CepheidError
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray, EventFact, Mask
from cepheid.pattern.bind import Bound
from cepheid.pattern.lanes import Lanes


def event_array(
    wanted: EventArray, query: Bound, lanes: Lanes, types: Sequence[str], batch: Batch, errors: dict[int, CepheidError]
) -> Any:
    """An array of the events, or of what is known of their types. `errors` gets what a mask could not compute."""
    match wanted.holds:
        case EventFact.LANE:
            return batch.lanes(lanes)
        case EventFact.TIME:
            return batch.times
        case EventFact.TYPE:
            return batch.type_codes[0]
        case EventFact.TYPES:
            return batch.type_numbers(types)
        case ColumnValues(column=column):
            return batch.values(column)
        case ColumnNulls(column=column):
            return batch.nulls(column)
        case Mask() as mask:
            return evaluate_mask(query, batch, mask, errors)
    raise TypeError(f"no array for {wanted!r}")
