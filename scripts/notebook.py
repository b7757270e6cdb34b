"""Runs the notebooks of examples/ and writes their outputs: `make notebooks`. Jupyter is not needed."""

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

FOLDER = Path(__file__).parents[1] / "examples"
NAMES = ("see_it", "card_fraud")


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a kernel does: the value of its last line is what it shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "a cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "a cell", "eval"), names)


def outputs(cell: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints and shows, as a notebook keeps it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = run("".join(cell["source"]), names)
    made: list[dict[str, Any]] = []
    if printed.getvalue():
        made.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if hasattr(value, "_repr_mimebundle_"):  # a chart of Altair, whose page has another name at each call
        return cell["outputs"]
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": lines(value._repr_html_()), **data}
        count = cell["execution_count"]
        made.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return made


def lines(text: str) -> list[str]:
    """Text as notebooks have it."""
    return text.splitlines(keepends=True)


def kept(name: str) -> dict[str, Any]:
    """A notebook with the outputs that are written down."""
    notebook: dict[str, Any] = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return notebook


def executed(name: str, without: str | None = None) -> dict[str, Any]:
    """A notebook with the outputs that its cells have now, in its own folder.

    without: cells that have this text are not run.
    """
    notebook = kept(name)
    names: dict[str, Any] = {}
    width = mock.patch.dict(os.environ, COLUMNS="80")  # pandas asks the terminal how wide it is
    with contextlib.chdir(FOLDER), width:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code" and (without is None or without not in "".join(cell["source"])):
                cell["outputs"] = outputs(cell, names)
    return notebook


if __name__ == "__main__":
    for name in NAMES:
        text = json.dumps(executed(name), indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
