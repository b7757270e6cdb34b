"""The page for those who come from window functions: its SQL gives what its queries give, also on Spark."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "from_window_functions.md").read_text(encoding="utf-8")
START, *SECTIONS = re.split(r"^## (?=\d)", PAGE, flags=re.MULTILINE)
TABLES = ("readings", "clicks", "quotes", "logins")


def names_after(text: str) -> dict[str, Any]:
    """What the code of a page has defined."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        if " = " in example.source or example.source.startswith(("import", "def")):
            exec(example.source, names)
    return names


@pytest.mark.parametrize("number", range(1, len(SECTIONS) + 1))
def test_the_sql_of_the_page(spark: Any, number: int) -> None:
    names = names_after(START + "".join(SECTIONS[:number]))
    for table in TABLES:
        if table in names:
            spark.createDataFrame(names[table]).createOrReplaceTempView(table)
    (sql,) = re.findall(r"```sql\n(.*?)```", SECTIONS[number - 1].split("\n## ")[0], re.DOTALL)
    answer = [tuple(row) for row in spark.sql(sql).collect()]
    assert sorted(answer) == sorted(names["answer"])


def test_the_queries_of_the_page(spark: Any) -> None:
    names = names_after(START + "".join(SECTIONS))
    answer = [(row.user, row.third) for row in names["query"].match(spark.createDataFrame(names["logins"])).collect()]
    assert answer == names["answer"]
