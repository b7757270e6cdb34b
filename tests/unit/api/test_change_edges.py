"""How far a late event or a retraction reaches: the first and the last events that still count, and those beyond."""

from typing import Any

import pytest

import cepheid as cep
from cepheid.engine.stream import partition_replay, speculation

Call = tuple[str, str, list[str]]
"""`+` events, `-` retractions or `w` a watermark, as in `A1 B2`, and the changes: `+1-10` is a match from 1 to 10."""

EDGES: list[tuple[str, list[Call]]] = [
    # A window before a late event, and a window after it; the last event keeps it from being the last of its partition.
    (
        "PATTERN SEQ(A a, B b) WITHIN 10",
        [
            ("+", "A1 B30", []),
            ("+", "B11", []),
            ("+", "B10", ["+1-10"]),
            ("+", "A20", []),
            ("+", "A21", ["+21-30"]),
            ("-", "A21", ["-21-30"]),
            ("-", "A1", ["-1-10"]),
        ],
    ),
    # The same where what is before the watermark is let go of.
    (
        "PATTERN SEQ(A a, B b) WITHIN 10",
        [
            ("+", "A1 A2 Z30", []),
            ("w", "10", []),
            ("+", "B11", ["+2-11"]),
            ("+", "B10", ["+1-10", "+2-10"]),
            ("-", "B11", ["-2-11"]),
        ],
    ),
    # A window of events.
    (
        "PATTERN SEQ(A a, B b) WITHIN 3 events",
        [
            ("+", "A1 Z2 Z9 Z10", []),
            ("+", "B3", ["+1-3"]),
            ("+", "Z2", ["-1-3"]),
            ("-", "Z2", ["+1-3"]),
            ("+", "B11 B12", []),
            ("+", "A8", []),
            ("-", "Z10", ["+8-11"]),
            ("-", "Z9", ["+8-12"]),
            ("+", "Z9", ["-8-12"]),
        ],
    ),
    (
        "PATTERN SEQ(A a, B b) WITHIN 3 events",
        [("+", "Z0 A1 Z2 Z20", []), ("w", "3", []), ("+", "B3", ["+1-3"]), ("-", "B3", ["-1-3"])],
    ),
    # What is absent before a match is before the window.
    (
        "PATTERN SEQ(!(N n) FOR 5, A a, B b) WITHIN 10",
        [
            ("+", "N1 A5 Z30", []),
            ("+", "B14", []),
            ("-", "N1", ["+5-14"]),
            ("+", "N0", []),
            ("+", "N1", ["-5-14"]),
            ("-", "N1", ["+5-14"]),
            ("w", "14", []),
            ("-", "B14", ["-5-14"]),
            ("+", "B14", ["+5-14"]),
        ],
    ),
    (
        "PATTERN SEQ(!(N n) FOR 5, A a, B b) WITHIN 10",
        [("+", "N1 A5 Z30", []), ("w", "14", []), ("+", "B14", [])],
    ),
    (
        "PATTERN SEQ(!(N n), A a, B b) WITHIN 10",
        [("+", "N5 A6 Z30", []), ("w", "14", []), ("+", "B14", []), ("+", "B15", ["+6-15"]), ("-", "B15", ["-6-15"])],
    ),
    # Contiguity: from the event after which no run was under way, to the next one where that is so, before and now.
    (
        "PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity { }",
        [
            ("+", "Z1 A2 B3 Z5 A6 B7 C8 Z9", ["+6-8"]),
            ("+", "C4", ["+2-4"]),
            ("-", "A2", ["-2-4"]),
            ("+", "A2", ["+2-4"]),
            ("-", "B7 Z1", ["-6-8"]),
            ("-", "Z5", []),
            ("+", "B7", ["+6-8"]),
            ("-", "A6", ["-6-8"]),
        ],
    ),
    # A run that begins with the late event goes through events after which there was none.
    (
        "PATTERN SEQ(A a, Z z, Z y, B b) WHERE strict_contiguity { }",
        [("+", "Z1 Z3 Z4 B5 Z6", []), ("+", "A2", ["+2-5"]), ("-", "A2", ["-2-5"])],
    ),
    # A run that was under way is gone, one that is over now goes on for longer, and the last of its partition.
    (
        "PATTERN SEQ(A a, Z+ z[], B b) WHERE strict_contiguity { }",
        [
            ("+", "A1 Z3 Z4 Z5", []),
            ("+", "Y2", []),
            ("+", "B6", []),
            ("-", "Y2", ["+1-6"]),
            ("-", "B6", ["-1-6"]),
            ("-", "Z5", []),
            ("+", "B5", ["+1-5"]),
            ("+", "B4", ["-1-5", "+1-4"]),
        ],
    ),
    # The run that began with the last event of a partition ends with it.
    (
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { }",
        [("+", "Z1 A2", []), ("-", "A2", []), ("+", "B3", []), ("+", "A2", ["+2-3"])],
    ),
    # What is kept before the watermark: from the last event on after which no run was under way, ties included.
    (
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { }",
        [("+", "Z1 A2 Z20", []), ("w", "3", []), ("+", "B3", ["+2-3"]), ("-", "B3", ["-2-3"])],
    ),
    (
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { }",
        [("+", "01 A1 Z20", []), ("w", "2", []), ("+", "B2", ["+1-2"]), ("-", "B2", ["-1-2"])],
    ),
    # An event of the last instant, after which the state was kept.
    ("PATTERN SEQ(A a, B b)", [("+", "A1 B5", ["+1-5"]), ("+", "B5", ["+1-5"]), ("-", "B5", ["-1-5"])]),
    (
        "PATTERN SEQ(A a, B b) OUTPUT NON_OVERLAP",
        [("+", "A1 B5", ["+1-5"]), ("+", "A5", []), ("+", "B6", []), ("-", "B5", ["-1-5", "+1-6"]), ("w", "6", [])],
    ),
]


def events(text: str) -> list[dict[str, Any]]:
    return [{"ts": int(row[1:]), "type": row[0]} for row in text.split()]


@pytest.mark.parametrize("engine", ["auto", "interpreted", "reference"])
@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize(("text", "calls"), EDGES)
def test_how_far_a_change_reaches(
    text: str, calls: list[Call], few: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speculation, "FEW_EVENTS", few)
    monkeypatch.setattr(speculation, "BYTES_PER_EVENT", 64 if few else 2**30)  # however large a state is
    monkeypatch.setattr(partition_replay, "FEW", few)
    session = cep.Query(text).session(speculate="all", engine=engine)
    for op, given, expected in calls:
        if op == "w":
            found = session.advance(int(given))
        else:
            found = session.push(events(given)) if op == "+" else session.retract(events(given))
        assert [f"{row['op']}{row['match_start']}-{row['match_end']}" for row in found] == expected
