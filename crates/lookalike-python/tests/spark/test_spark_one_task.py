"""How a small table is read, sorted and written by the one task that does everything."""

from __future__ import annotations

import math
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from lookalike import SettingError
from lookalike.spark import _one_task, pairs
from lookalike.spark._work import Work
from pyspark.sql import functions as F

TEXT = "a text that is long enough to be cut into some shingles"
#: In the order of their bytes, which is that of characters; UTF-16 has the last two the other way round.
STRINGS = ["", "-1", "10", "9", "A", "Z", "a", "ab", "b", "é", "日", "\uffff", "😀"]
INTEGERS = [-128, -2, -1, 0, 1, 9, 10, 127]


@pytest.fixture(params=["read by the task", "moved to the task", "in stages"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways from a table to its pairs."""
    monkeypatch.setattr(_one_task, "READ_BY_THE_TASK", 1 << 20 if request.param == "read by the task" else -1)
    if request.param == "in stages":
        monkeypatch.setattr(_one_task, "EXPECTED", -1)


def table(spark: Any, folder: Path, rows: list[tuple[Any, ...]], schema: str) -> Any:
    """A table of few files, whose size Spark knows."""
    path = str(folder / "table")
    spark.createDataFrame(rows, schema).repartition(2).write.parquet(path)
    return spark.read.parquet(path)


def check_order(found: Any, ids: list[Any]) -> None:
    """All texts are the same: each is a pair with each, and the left one is the first."""
    assert sorted((row.left, row.right) for row in found.collect()) == sorted(combinations(ids, 2))


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint", "string"])
def test_ids_are_in_the_order_of_numbers_or_bytes(spark: Any, in_small: None, way: None, tmp_path: Path, kind: str) -> None:
    ids: list[Any] = STRINGS if kind == "string" else INTEGERS
    df = table(spark, tmp_path, [(id, TEXT) for id in reversed(ids)], f"id {kind}, text string")
    found = pairs(df)
    assert [field.dataType.simpleString() for field in found.schema] == [kind, kind, "double"]
    check_order(found, ids)


def test_columns_decide_before_ids(spark: Any, in_small: None, way: None, tmp_path: Path) -> None:
    places = [-math.inf, -1.0, 2.0, 2.0, 10.0, math.inf, math.nan, None]
    rows = [(9 - at, TEXT, place) for at, place in enumerate(places)]
    df = table(spark, tmp_path, rows, "id int, text string, place double")
    # Two places are the same: there the lesser id is first.
    check_order(pairs(df, order_by="place"), [9, 8, 6, 7, 5, 4, 3, 2])


def test_only_plain_files_are_read_by_the_task(spark: Any, in_small: None, tmp_path: Path) -> None:
    df = table(spark, tmp_path, [(1, TEXT, 1), (2, TEXT, 2)], "id int, text string, more int")

    def is_plain(frame: Any) -> bool:
        return _one_task._is_plain_reading(frame, frame._jdf.queryExecution().optimizedPlan())

    assert is_plain(df) and is_plain(df.select("text", F.col("more").alias("id")))
    assert not is_plain(df.select("id", F.udf(str.upper)("text").alias("text")))
    assert not is_plain(df.select("id", F.upper("text").alias("text")))
    assert not is_plain(df.where("more > 1"))
    assert not is_plain(df.groupBy("id").agg(F.first("text").alias("text")))
    assert not is_plain(spark.createDataFrame([(1, TEXT)], "id int, text string"))
    for _ in range(_one_task.FILES):
        df.write.mode("append").parquet(str(tmp_path / "table"))
    assert not is_plain(spark.read.parquet(str(tmp_path / "table")))


@pytest.mark.parametrize("is_file_system", [True, False])
def test_what_is_found_is_in_the_folder_of_the_run(
    spark: Any, in_small: None, tmp_path: Path, is_file_system: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_file_system:
        monkeypatch.setattr(Work, "make_folder", lambda work, name: None)
    df = table(spark, tmp_path, [(1, TEXT), (2, TEXT)], "id int, text string")
    found = pairs(df, work=str(tmp_path / "with space"))
    assert [tuple(row) for row in found.collect()] == [(1, 2, 1.0)]
    (run,) = (tmp_path / "with space").iterdir()
    files = [path.name for path in (run / "pairs").iterdir() if not path.name.startswith((".", "_"))]
    assert len(files) == 1 and (files == ["found.parquet"]) == is_file_system


def test_a_task_that_gives_up_leaves_nothing(spark: Any, in_small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_one_task, "PAIRS", 0)
    df = table(spark, tmp_path, [(1, TEXT), (2, TEXT)], "id int, text string")
    assert pairs(df, work=str(tmp_path / "work")).count() == 1
    (run,) = (tmp_path / "work").iterdir()
    assert "pairs" not in [path.name for path in run.iterdir()]


def test_names_of_columns_in_other_letters(spark: Any, in_small: None, way: None, tmp_path: Path) -> None:
    df = table(spark, tmp_path, [(2, TEXT, "b"), (1, TEXT, "b")], "ID int, Text string, Within string")
    check_order(pairs(df), [1, 2])
    check_order(pairs(df, order_by="id", within="within"), [1, 2])


def test_a_file_that_is_not_seen_is_missed(
    spark: Any, in_small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = table(spark, tmp_path, [(1, TEXT), (2, TEXT)], "id int, text string")
    make_folder = Work.make_folder

    def make_elsewhere(work: Work, name: str) -> str | None:
        folder = make_folder(work, name)
        os.rmdir(str(folder))
        return folder

    monkeypatch.setattr(Work, "make_folder", make_elsewhere)
    with pytest.raises(SettingError, match="give work=PATH in storage that all of them share"):
        pairs(df, work=str(tmp_path / "work"))
