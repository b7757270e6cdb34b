"""The examples of the documents print what they show, and links lead somewhere."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

import cepheid as cep

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "bench").glob("*.md")),
]
# These, docs/spark/ and what stands below this heading need a session of Spark: tests/spark/test_examples.py has them.
ON_SPARK = ("tutorial_spark.md",)
BELOW = {"errors.md": "\n## On Spark\n"}
EXAMPLES = [page for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if page.name not in ON_SPARK]
EXAMPLES = [page for page in EXAMPLES if ">>> " in page.read_text(encoding="utf-8")]
# CONTRIBUTING has the table of these words, with what to say instead.
OUT = re.compile(
    r"\b((go|goes|gone|went) (on|over)|let(s|ting)? go of|(take|takes|taking|taken|took) back|takes? up|tells?|told)\b"
)
CODE = re.compile(r"```.*?```|`[^`\n]*`|^    .*?$", re.DOTALL | re.MULTILINE)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its code: SELECT[c](S) is no link."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub and the site give to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*?)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    if page.name in BELOW:
        text, _ = text.split(BELOW[page.name])
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page.name, str(page), 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert tried >= 4
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", prose(page)):
        if not target.startswith("http"):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_that_the_words_are_those_of_the_field(page: Path) -> None:
    assert [word[0] for word in OUT.finditer(prose(page))] == []


def test_that_every_page_is_in_the_contents() -> None:
    listed = set()
    for page in DOCS.rglob("*.md"):
        for entries in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            names = [line.rstrip(">").split("<")[-1] for line in entries.split() if not line.startswith(":")]
            listed |= {(page.parent / name).relative_to(DOCS).as_posix() for name in names}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    assert pages - {"index"} <= listed


def test_that_the_paths_for_contributors_exist() -> None:
    source = ROOT / "src" / "cepheid"
    rooms = "|".join(path.name for path in source.iterdir() if path.is_dir())
    named = re.findall(rf"`((?:{rooms})/[\w/.]*)`", read(DOCS / "engine.md"))
    assert len(named) > 40
    assert [path for path in named if not (source / path).exists()] == []


def test_that_every_name_of_the_api_is_described() -> None:
    described = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("api.md", "api_builder.md"))
    names = {name for name in dir(cep) if not name.startswith("__")} - {"spark"}
    assert set(re.findall(r":: cepheid\.(\w+)$", described, re.MULTILINE)) == names
    assert set(
        re.findall(r"cepheid\.spark\.(\w+)$", (DOCS / "api_spark.md").read_text(encoding="utf-8"), re.MULTILINE)
    ) == {*runpy.run_path(str(ROOT / "src/cepheid/spark/__init__.py"), run_name="cepheid.spark")["__all__"]}


def test_that_errors_are_examples_of_their_codes() -> None:
    entries = re.split(r"^### (CEP\d{3})$", (DOCS / "errors.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    shown = {
        code: set(re.findall(r"^cepheid\.errors\.\w+: (?:error )?(CEP\d{3})", text, re.MULTILINE))
        for code, text in zip(entries[::2], entries[1::2], strict=True)
    }
    assert all(codes <= {code} for code, codes in shown.items())
    assert sum(map(bool, shown.values())) >= 110
    blocks = {
        code: re.findall(r"^```\w+\n(.*?)^```", text.split("\n## ")[0], re.DOTALL | re.MULTILINE)
        for code, text in zip(entries[::2], entries[1::2], strict=True)
    }
    assert [code for code, examples in blocks.items() if not any(code in example for example in examples)] == []


def test_that_the_summary_of_figures_is_in_the_figures() -> None:
    """Each number in docs/figures.md is one that the bench wrote into the page that is linked beside it."""
    pages = runpy.run_path(str(DOCS / "extensions" / "pages.py"))["SHOWN"]
    rows = re.findall(
        r"^\| [^|]+\? \| ([^|]+) \| \[[^]]+\]\((figures/\w+)\.md\) \|$", read(DOCS / "figures.md"), re.MULTILINE
    )
    assert len(rows) == 9
    for answer, page in rows:
        numbers = re.findall(r"\d+\.\d+", answer)
        assert numbers
        assert set(numbers) <= set(re.findall(r"\d+\.\d+", read(pages[page]))), page
