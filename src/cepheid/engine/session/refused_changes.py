"""Changes of a stream that a session refuses: retractions, and rows that are not what they say."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.matches.changes import Changes, Difference
from cepheid.engine.matches.shown import one_row
from cepheid.errors import InputError, UsageError


def not_counting(sequence: str, differences: Sequence[Difference]) -> InputError:
    """A match was undone that `sequence` had made certain."""
    (undone, *_) = [Changes(difference, None).removed for difference in differences if len(difference.removed)]
    row = next(iter(undone))
    message = f"an event came between others whose '{sequence}' is consecutive, in the match that ends at "
    remedy = "number the events of each partition by 1, in the order of their times, or leave out sequence="
    return InputError("CEP413", f"{message}{row['match_end']}", remedy)


def retracts_numbers() -> UsageError:
    """An event that has a number can't be taken back."""
    remedy = "leave out sequence=: a number that can be retracted says nothing about what is missing"
    return UsageError("CEP603", "sequence can't be combined with op or with retractions", remedy)


def unmet(owed: pa.Table, time: str) -> InputError:
    """Retractions whose event can't come any more."""
    first = owed.take(pc.sort_indices(owed.column(time))[:1])
    value = first.column(time)[0].as_py()
    if owed.num_rows == 1:
        what = "a retraction is of an event that has not come, and can't come any more, at"
    else:
        what = f"{owed.num_rows} retractions are of events that have not come, and can't come any more, the first at"
    message = f"{what} {value}: {one_row(first)}"
    remedy = 'push what is retracted, which cancels both, or open the session with late="drop" or late="collect"'
    return InputError("CEP408", message, remedy)
