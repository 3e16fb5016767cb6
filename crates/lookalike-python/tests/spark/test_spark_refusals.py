"""What cannot be done is refused, with what to do about it."""

from __future__ import annotations

import uuid
from typing import Any

import lookalike as la
import pytest
from lookalike.spark import _one_task, dedup, groups, pairs
from pyspark.sql import functions as F

@pytest.fixture(params=[-1, 1 << 100], ids=["stages", "task"])
def expected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways, whatever size Spark expects the input to have."""
    monkeypatch.setattr(_one_task, "EXPECTED", request.param)


TEXT = "a text that is long enough to be cut into some shingles"


@pytest.mark.parametrize("setting", ["text", "id", "order_by", "within"])
def test_a_column_that_is_not_there(spark: Any, setting: str) -> None:
    df = spark.createDataFrame([(1, TEXT)], "id long, text string")
    with pytest.raises(la.ColumnError, match=f"no column 'nothing'; {setting}= can name one of: id, text"):
        dedup(df, **{setting: "nothing"})
    with pytest.raises(KeyError, match="keep= can name"):
        groups(df, keep="max:score")


def test_ids_that_are_missing_or_repeated(spark: Any, expected: None) -> None:
    missing = spark.createDataFrame([(1, TEXT), (None, TEXT)], "id long, text string")
    with pytest.raises(la.InputError, match="has no id: it is null; fill it in"):
        dedup(missing)
    repeated = spark.createDataFrame([("x", TEXT), ("y", TEXT), ("x", "another")], "id string, text string")
    with pytest.raises(la.InputError, match="the id 'x' occurs 2 times; .* make them unique"):
        pairs(repeated)


def test_a_text_that_is_missing(spark: Any, expected: None) -> None:
    df = spark.createDataFrame([("x", TEXT), ("y", None)], "id string, text string")
    with pytest.raises(ValueError, match="the record 'y' has no text: it is null; leave such records out, or give") as error:
        dedup(df)
    assert isinstance(error.value, la.InputError)


def test_columns_of_no_use(spark: Any) -> None:
    df = spark.createDataFrame([(1.5, {"a": 1})], "id double, text map<string, int>")
    with pytest.raises(la.InputError, match="integers or of plain strings"):
        dedup(df)
    with pytest.raises(la.InputError, match="of type map<string,int>; a text is a string"):
        dedup(df.withColumn("id", df["id"].cast("long")))
    with pytest.raises(la.SettingError, match="order_by= names 'text'"):
        dedup(df.selectExpr("1 AS id", "'x' AS words", "text"), text="words", order_by="text")


@pytest.mark.parametrize("threshold", [0, 1.5, float("nan"), -1])
def test_a_threshold_out_of_range(spark: Any, threshold: float) -> None:
    df = spark.createDataFrame([(1, TEXT)], "id long, text string")
    with pytest.raises(la.SettingError, match="the threshold .* is out of range; choose"):
        dedup(df, threshold=threshold)


def test_what_only_one_machine_does(spark: Any) -> None:
    df = spark.createDataFrame([(1, TEXT)], "id long, text string")
    for settings in ({"measure": "containment"}, {"exact": True}, {"verify": "estimate"}):
        with pytest.raises(la.SettingError, match="use the program|raise recall|leave verify out"):
            dedup(df, **settings)


def test_names_that_are_taken(spark: Any) -> None:
    df = spark.createDataFrame([(1, TEXT)], "id long, text string")
    for name in ("role", "Role", "GROUP"):
        with pytest.raises(la.ColumnError, match=f"'{name}' already, which annotate=True would add; rename it"):
            dedup(df.withColumn(name, df["text"]), annotate=True)
    for annotate in (False, True):
        with pytest.raises(la.ColumnError, match="'__Lookalike_id' already, which dedup needs for itself; rename it"):
            dedup(df.withColumn("__Lookalike_id", df["text"]), annotate=annotate)


def test_columns_are_given_by_name(spark: Any) -> None:
    df = spark.createDataFrame([(1, TEXT)], "id long, text string")
    for setting in ("text", "id", "within", "order_by"):
        with pytest.raises(la.SettingError, match=f"{setting}= is given as Column; give the name of a column"):
            dedup(df, **{setting: F.col("id")})
    with pytest.raises(la.SettingError, match="order_by= is given as Column"):
        dedup(df, order_by=["id", F.col("id").desc()])
    dotted = df.withColumnRenamed("id", "a.b")
    with pytest.raises(la.ColumnError, match="put it in backticks: '`a.b`'"):
        dedup(dotted, id="a.b")
    assert dedup(dotted, id="`a.b`").count() == 1


def test_an_input_that_changes_between_readings(spark: Any) -> None:
    texts = [(at, TEXT + f" {at // 2} and {at % 2}") for at in range(200)]
    # Spark's own random numbers are the same at every reading.
    another = F.udf(lambda: str(uuid.uuid4())).asNondeterministic()
    df = spark.createDataFrame(texts, "id long, text string").select("id", F.concat_ws(" ", "text", another()).alias("text"))
    with pytest.raises(la.ChangedError, match="not what it was when it was read first; make sure"):
        dedup(df, threshold=0.5)


def test_an_empty_frame(spark: Any, expected: None) -> None:
    df = spark.createDataFrame([], "id long, text string, more int")
    assert dedup(df).collect() == [] and dedup(df).schema == df.schema
    assert pairs(df).collect() == [] and groups(df).collect() == []
    assert dedup(df, annotate=True).columns == ["id", "text", "more", "group", "role", "size", "similarity"]


def test_rows_and_schema_leave_unchanged(spark: Any, expected: None) -> None:
    rows = [(1, TEXT, None, {"x": 1}), (2, TEXT.upper(), 2.5, None), (3, "", 1.0, {}), (4, "", None, {})]
    df = spark.createDataFrame(rows, "key int NOT NULL, `te.xt` string, more double, x map<string, int>")
    kept = dedup(df, id="key", text="`te.xt`")
    assert kept.schema == df.schema
    assert [tuple(row) for row in kept.orderBy("key").collect()] == [rows[0], rows[2], rows[3]]
