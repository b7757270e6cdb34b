"""The pictures of README and the documentation are those that the code draws."""

import re
import runpy
import warnings
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cepheid import Query
from cepheid.errors import CepheidError, CepheidWarning
from cepheid.testing import read_cases

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
PICTURES: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "pictures.py"))["PICTURES"]


def drawn_by_graphviz(svg: str) -> Counter[str]:
    """What does not depend on the release of Graphviz and on the fonts of the machine: texts and kinds of parts."""
    return Counter(re.findall(r"<text[^>]*>([^<]*)</text>|<g class=\"([^\"]*)\"", svg))


@pytest.mark.parametrize("name", PICTURES)
def test_that_a_picture_is_what_the_code_draws(name: str) -> None:
    kept, made = (FOLDER / f"{name}.svg").read_text(encoding="utf-8"), PICTURES[name]()
    if "cepheid-graph" in made:
        assert drawn_by_graphviz(kept) == drawn_by_graphviz(made), "run: make pictures"
    else:
        assert kept == made, "run: make pictures"


def test_that_no_picture_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(PICTURES)


def test_that_all_cases_can_be_drawn() -> None:
    """Whatever a query is and whatever its events are; by the reference, as drawing is what is tested."""
    drawn = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CepheidWarning)
        for case in read_cases(ROOT / "tests" / "cases"):
            try:
                query = Query(case.query, **case.options)
                events = None if case.op is not None else case.events
                matches = None if events is None else query.match(events, engine="reference")
            except CepheidError:
                continue
            assert all(text.startswith(("---\ntitle: ", "flowchart LR")) for text in query.explain().pictures)
            if matches is not None:
                ElementTree.fromstring(matches.timeline().svg)
                drawn += 1
    assert drawn > 700
