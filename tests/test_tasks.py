"""The five tasks: each query finds the incidents that were planted, and nothing else."""

import runpy
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import cepheid as cep

FOLDER = Path(__file__).parents[1] / "examples" / "tasks"
TASKS: dict[str, Any] = runpy.run_path(str(FOLDER / "make.py"))["TASKS"]
OPTIONS = {"carts": {"open": False}}


def query(name: str) -> cep.Query:
    return cep.Query((FOLDER / f"{name}.sase").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TASKS)
def test_the_incidents_are_found(name: str) -> None:
    task = TASKS[name](20)
    found = query(name).match(task.table(), **OPTIONS.get(name, {})).to_arrow()
    assert sorted(found.column(2).to_pylist()) == sorted(task.incidents)


@pytest.mark.parametrize("name", TASKS)
def test_the_files_are_those_of_the_generator(name: str, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(TASKS[name](1).table(), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (FOLDER / f"{name}.csv").read_bytes()
