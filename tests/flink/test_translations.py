"""The Java code of docs/from_flink.md is compiled, and Flink finds what Cepheid finds on that page.

`make test-flink` gets Flink from PyPI, some 230 MB, and runs this.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JARS = ROOT / "build" / "flink" / "pyflink" / "lib"
OPENED = ("java.lang", "java.util", "java.time")
"""Packages of Java 17 that Flink's serializers look into."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not JARS.is_dir(), reason="Flink is not here: `make test-flink` gets it and runs this"),
]

FOUND = {
    "next": [[0, 2]],
    "followedBy": [[0, 2]],
    "followedByAny": [[0, 2], [0, 3]],
    "oneOrMore": [[0, 1, 2, 3], [1, 2, 3], [2, 3]],
    "skipPastLastEvent": [[0, 1, 2, 3]],
    "between": [[1, 4]],
    "end": [[5]],
}
"""The times of the events of each match, as the page has them for our queries."""


def patterns() -> dict[str, str]:
    blocks = re.findall(r"```java\n(.*?)```", (ROOT / "docs" / "from_flink.md").read_text(), re.DOTALL)
    following, followed, repeated, skipping, absent = (re.sub(r"\s*//.*", "", block).strip() for block in blocks)
    between, end = absent.split("\n")
    return {
        "next": following,
        "followedBy": followed,
        "followedByAny": followed.replace("followedBy(", "followedByAny("),  # as the page says it in words
        "oneOrMore": repeated,
        "skipPastLastEvent": repeated.replace('Pattern.<Quote>begin("up")', skipping),  # "the rest as above"
        "between": between,
        "end": end,
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[int]]]:
    folder = tmp_path_factory.mktemp("flink")
    code = (ROOT / "tests" / "flink" / "Translations.java").read_text()
    for name, pattern in patterns().items():
        code = code.replace(f"/* PATTERN {name} */", pattern)
    (folder / "Translations.java").write_text(code)
    path = f"{JARS}/*"
    subprocess.run(["javac", "-cp", path, "Translations.java"], cwd=folder, check=True)
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    run = ["java", *opened, "-cp", f"{path}:{folder}", "Translations"]
    told = subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True, timeout=600).stdout
    lines = [line.split(" ", 2) for line in told.splitlines() if line.startswith("found ")]
    return {name: json.loads(matches) for _, name, matches in lines}


@pytest.mark.parametrize("name", FOUND)
def test_that_flink_finds_the_same(found: dict[str, list[list[int]]], name: str) -> None:
    assert found[name] == FOUND[name]
