"""Paths and datasets as events, for `match`, sessions and `explain`."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.api.files.read_files import read_files

EVENTS = pa.table({"ts": [1, 2, 3, 4], "type": ["A", "B", "A", "B"], "x": [1, 1, 2, 2]})
QUERY = cep.Query("PATTERN SEQ(A a, B b) WHERE [x]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for day in (1, 2):
        part = tmp_path / f"day={day}"
        part.mkdir()
        pq.write_table(EVENTS.slice(2 * day - 2, 2), part / "events.parquet")
        pacsv.write_csv(EVENTS.slice(2 * day - 2, 2), part / "events.csv")
    pq.write_table(EVENTS, tmp_path / "all.parquet")
    pacsv.write_csv(EVENTS, tmp_path / "all.csv")
    (tmp_path / "all.jsonl").write_text("".join(f'{{"ts": {t}, "type": "A"}}\n' for t in range(3)))
    return tmp_path


def pairs(found: cep.Matches) -> list[tuple[int, int]]:
    return [(match["match_start"], match["match_end"]) for match in found]


@pytest.mark.parametrize("make", [str, Path])
@pytest.mark.parametrize(
    "name", ["all.parquet", "all.csv", "day=*", "day=*/*.parquet", "**/events.csv", "day=[12]/events.*csv"]
)
def test_files(folder: Path, name: str, make: Any) -> None:
    path = make(folder / name)
    if name == "day=*":
        with pytest.raises(cep.CepheidError, match=r"CEP801: no file has a name like '.*day=\*'"):
            QUERY.match(path)
        return
    assert pairs(QUERY.match(path)) == [(1, 2), (3, 4)]
    assert QUERY.match(path).count() == 2
    assert "Plan" in str(QUERY.explain(path))
    session = QUERY.session()
    session.push(path)
    assert pairs(session.close()) == [(1, 2), (3, 4)]


def test_a_folder_of_parquet(folder: Path) -> None:
    (folder / "all.parquet").unlink()
    found = QUERY.match(folder)
    assert pairs(found) == [(1, 2), (3, 4)]
    assert [match["a"]["day"] for match in found] == [1, 2]
    found = QUERY.match(str(folder / "day=*/*.parquet"))
    assert [match["a"]["day"] for match in found] == [1, 2]


def test_json_lines(folder: Path) -> None:
    assert len(cep.Query("PATTERN A a").match(folder / "all.jsonl")) == 3


def test_the_type_column_of_a_csv_file_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,kind\n1,7\n")
    assert len(cep.Query("PATTERN A a WHERE a.kind = '7'", type=None).match(tmp_path / "a.csv")) == 1
    found = cep.Query("PATTERN A a", type="kind").match(tmp_path / "a.csv")
    assert len(found) == 0


@pytest.mark.parametrize("form", ["dataset", "scanner", "in memory"])
def test_datasets(folder: Path, form: str) -> None:
    dataset = ds.dataset(folder / "all.parquet") if form != "in memory" else ds.dataset(EVENTS)
    events = dataset.scanner(filter=ds.field("x") == 1) if form == "scanner" else dataset
    expected = [(1, 2)] if form == "scanner" else [(1, 2), (3, 4)]
    assert pairs(QUERY.match(events)) == expected
    session = QUERY.session()
    session.push(events)
    assert pairs(session.close()) == expected


def test_a_dataset_whose_file_is_gone(folder: Path) -> None:
    dataset = ds.dataset(folder / "all.parquet")
    (folder / "all.parquet").unlink()
    with pytest.raises(cep.InputError, match="CEP406: the dataset can't be read"):
        QUERY.match(dataset)


@pytest.mark.parametrize(
    ("events", "code", "message", "remedy"),
    [
        (
            "al.parquet",
            "CEP801",
            "can't read the events '.*al.parquet': No such file or directory",
            "did you mean .*all",
        ),
        ("none/at/all.csv", "CEP801", "can't read the events '.*none/at/all.csv': No such file", "check the spelling"),
        ("nothing-*.csv", "CEP801", r"no file has a name like '.*nothing-\*.csv'", "check the spelling"),
        ("empty.csv", "CEP407", "'.*empty.csv' is empty", "at least the column names"),
        ("broken.parquet", "CEP406", "'.*broken.parquet' can't be read as Parquet", "write or copy the file again"),
    ],
)
def test_a_path_that_can_not_be_read(folder: Path, events: str, code: str, message: str, remedy: str) -> None:
    (folder / "empty.csv").touch()
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    for path in (folder / events, str(folder / events)):
        with pytest.raises(cep.CepheidError, match=message) as error:
            QUERY.match(path)
        assert error.value.code == code
        assert remedy.split(".*", maxsplit=1)[0] in error.value.remedy


def test_strings_that_are_no_paths() -> None:
    with pytest.raises(cep.InputError, match="CEP401: 'events' is neither events nor the path of a file of events"):
        QUERY.match("events")
    with pytest.raises(cep.CepheidError, match="CEP801: 's3://bucket/day' is not a file of this machine") as error:
        QUERY.match("s3://bucket/day")
    assert error.value.remedy == "pass a dataset of pyarrow: pyarrow.dataset.dataset('s3://bucket/day')"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows = tmp_path_factory.mktemp("large"), 400_000
    text = pa.array([f"reader {n % 1000:040d}" for n in range(rows)])
    table = pa.table({"ts": range(rows), "type": pa.repeat("7", rows), "reader": text})
    pq.write_table(table, folder / "events.parquet", row_group_size=100_000)
    pacsv.write_csv(table, folder / "events.csv")
    late = [*("" for _ in range(rows - 2)), "1", "x"]  # what the first blocks have not shown
    pacsv.write_csv(table.append_column("late", [late]), folder / "late.csv")
    return folder


class TestTold:
    """Who asks for it is told how much of the files has been read, and gets the same events."""

    @pytest.mark.parametrize("name", ["events.csv", "late.csv", "events.parquet", "*.csv", "."])
    def test_shares_rise_to_all_of_it(self, large: Path, name: str) -> None:
        shares: list[float] = []
        found = read_files(str(large / name), "type", shares.append)
        assert found.equals(read_files(str(large / name), "type"))
        assert found.schema.field("type").type == pa.string()
        assert len(shares) > 2
        assert shares == sorted(shares)
        assert shares[-1] == 1.0

    def test_lines_of_json_are_told_as_they_are_checked(self, tmp_path: Path) -> None:
        (tmp_path / "events.jsonl").write_text('{"ts": 1, "type": "A"}\n' * 20_000)
        shares: list[float] = []
        assert read_files(str(tmp_path / "events.jsonl"), "type", shares.append).num_rows == 20_000
        assert shares == [0.2, 0.4, 0.7, 0.85, 1.0]
