"""What one parameter of a kernel asks of the events of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cepheid.engine.encoding.batch import Batch
from cepheid.engine.encoding.masks import evaluate_mask
from cepheid.engine.encoding.partitions import PartitionIndex
from cepheid.errors import CepheidError
from cepheid.front.runnable import Runnable
from cepheid.kernel.arguments import ColumnNulls, ColumnValues, EventArray, EventFact, Mask, PieceBits, PieceValues

Errors = dict[int, CepheidError]
"""What could not be computed, by the event."""
Reader = Callable[[Batch, Errors], Any]
"""Gives an array of the events of a batch, or of what is known of their types."""


def reader(wanted: EventArray, query: Runnable, partitions: PartitionIndex, types: Sequence[str]) -> Reader:
    """What reads the array of a parameter."""
    match wanted.holds:
        case PieceValues(column=column):
            return lambda batch, errors: batch.codes.pieces.values[column]
        case EventFact.PARTITION:
            return lambda batch, errors: batch.partitions(partitions)
        case EventFact.TIME:
            return lambda batch, errors: batch.times
        case EventFact.START:
            return lambda batch, errors: batch.starts
        case EventFact.SETTLES:
            return lambda batch, errors: batch.settles(partitions)
        case EventFact.TYPE:
            return lambda batch, errors: batch.type_codes[0]
        case EventFact.TYPES:
            return lambda batch, errors: batch.type_numbers(types)
        case EventFact.PIECES:
            return lambda batch, errors: batch.codes.pieces.starts
        case PieceBits(word=word):
            return lambda batch, errors: batch.codes.pieces.words[word]
        case ColumnValues(column=column):
            return lambda batch, errors: batch.values(column)
        case ColumnNulls(column=column):
            return lambda batch, errors: batch.nulls(column)
        case Mask() as mask:
            return _mask_reader(mask, query)
    raise TypeError(f"no array for {wanted!r}")


def _mask_reader(mask: Mask, query: Runnable) -> Reader:
    def read(batch: Batch, errors: Errors) -> Any:
        # Once for a batch, even if a machine goes over it in several steps.
        return batch.once_for(read, lambda: evaluate_mask(query, batch, mask, errors))

    return read
