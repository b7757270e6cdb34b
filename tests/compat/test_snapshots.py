"""Snapshots that earlier releases wrote: each must be taken up, and go on as it would have.

A folder for each version of the format. `python tests/compat/test_snapshots.py` writes those of this version anew;
only do that while the version is not released.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from cepheid import Query, UsageError
from cepheid.engine.stream.snapshot import VERSION

HERE = Path(__file__).parent
READ = (3,)
"""The formats that this release reads. Formats 1 and 2 were never released.

They kept their runs in other arrays, and had all events that wait in one table.
"""
FILES = sorted(file for version in READ for file in HERE.glob(f"v{version}/*.json"))
REFUSED = sorted(file for file in HERE.glob("v*/*.json") if file not in FILES)
EVENTS = [
    {"ts": t, "type": "ABC"[t % 3], "id": t // 3 % 4, "x": None if t % 7 == 0 else t * 5 % 11, "s": "uvw"[t % 3]}
    for t in range(60)
]
QUERIES = {
    "slots": "PATTERN SEQ(A a, !(C c), B b) WHERE [id] AND c.x > 5 WITHIN 40",
    "lists": "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].x > b[i-1].x AND sum(b[..i-1].x) < 30 WITHIN 50",
    "absence": "PATTERN SEQ(A a, B b, !(C c)) WHERE a.s != b.s AND c.x = a.x WITHIN 9 OUTPUT NON_OVERLAP",
    "interpreted": "PATTERN SEQ(A a, B b) WHERE a.s < b.s WITHIN 12",
    "seen": "FROM stream(A, B) WHERE x > 1 PATTERN SEQ(A a, B b) WHERE partition_contiguity { [id] } WITHIN 40",
    "absent_before": "PATTERN SEQ(!(C c) FOR 5, A a, B b) WHERE [id] AND c.x > 3 WITHIN 40",
    "program": "PATTERN SEQ(A a, B b) WITHIN 3 RETURN a.x AS x INTO P; FROM P PATTERN SEQ(P p, P q) WITHIN 8",
}


@pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}-{file.stem}" for file in FILES])
def test_a_snapshot_goes_on(file: Path) -> None:
    saved = json.loads(file.read_text())
    session = Query(saved["query"]).restore(base64.b64decode(saved["snapshot"]))
    rows = session.push(saved["events"]).to_pylist() + session.close().to_pylist()
    assert rows == saved["matches"]


@pytest.mark.parametrize("file", REFUSED, ids=[f"{file.parent.name}-{file.stem}" for file in REFUSED])
def test_a_snapshot_that_is_too_old_is_refused(file: Path) -> None:
    saved = json.loads(file.read_text())
    with pytest.raises(
        UsageError, match=f"the snapshot has format {file.parent.name[1:]}, this release reads {VERSION}"
    ):
        Query(saved["query"]).restore(base64.b64decode(saved["snapshot"]))


def test_that_there_are_snapshots_of_this_version() -> None:
    assert {file.stem for file in FILES if file.parent.name == f"v{VERSION}"} == set(QUERIES)


def make(text: str) -> dict[str, Any]:
    session = Query(text).session(lateness=0)
    session.push(EVENTS[:30])
    blob = session.snapshot()
    matches = session.push(EVENTS[30:]).to_pylist() + session.close().to_pylist()
    snapshot = base64.b64encode(blob).decode()
    return {"query": text, "snapshot": snapshot, "events": EVENTS[30:], "matches": matches}


if __name__ == "__main__":
    for name, text in QUERIES.items():
        path = HERE / f"v{VERSION}" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(make(text), indent=1) + "\n")
