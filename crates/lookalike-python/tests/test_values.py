"""Values of columns that decide: which record is kept, and which are compared."""

from __future__ import annotations

import datetime
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import lookalike as la

TEXT = "the same text for all of them"
UTC = datetime.timezone.utc


def kept(values: Any, keep: str) -> int:
    return la.dedup({"text": [TEXT] * len(values), "value": values}, keep=f"{keep}:value").kept[0]


@pytest.mark.parametrize(
    "values",
    [
        numpy.array(["2020-01-01", "2024-01-01"], "datetime64[D]"),
        numpy.array(["2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000002"], "datetime64[ns]"),
        numpy.array(["0001-01-01", "9999-12-31"], "datetime64[s]"),
        [numpy.datetime64("2020"), numpy.datetime64("2020-01-02")],
        [numpy.datetime64("2020-01-01"), datetime.date(2020, 1, 2)],
        [datetime.datetime(1, 1, 1), datetime.datetime(1, 1, 1, 0, 0, 0, 100)],
        [datetime.datetime(2020, 1, 1, tzinfo=UTC), datetime.datetime(2020, 1, 1, 0, 0, 1)],
        [datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 0, 0, 1)],
        [pandas.Timestamp(1), pandas.Timestamp(2)],
        [pandas.Timestamp("2020-01-01 12:00", tz="Asia/Tokyo"), pandas.Timestamp("2020-01-01 04:00", tz="UTC")],
        [Fraction(1, 3), Fraction(1, 2)],
        [Decimal("0.1"), Decimal("0.2")],
        [Decimal(2**60), Decimal(2**60 + 1)],
        [numpy.float32(0.5), numpy.int8(1)],
        [numpy.bool_(False), numpy.bool_(True)],
        [2**62, 2**62 + 1],
    ],
)
def test_what_has_an_order_is_ordered(values: Any) -> None:
    assert (kept(values, "max"), kept(values, "min")) == (1, 0)
    backwards = values[::-1]
    assert (kept(backwards, "max"), kept(backwards, "min")) == (0, 1)


@pytest.mark.parametrize(
    "missing", [None, float("nan"), numpy.float32("nan"), numpy.datetime64("NaT"), pandas.NaT, pandas.NA, Decimal("nan")]
)
def test_what_is_missing_comes_last(missing: Any) -> None:
    some = datetime.datetime(2020, 1, 1) if isinstance(missing, numpy.datetime64) or missing is pandas.NaT else 1
    assert (kept([missing, some], "max"), kept([missing, some], "min")) == (1, 1)


@pytest.mark.parametrize(
    "value",
    [numpy.timedelta64(1, "s"), datetime.timedelta(1), pandas.Timedelta(1), datetime.time(1), b"1", [1], numpy.arange(3)],
)
def test_what_has_no_order_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="records cannot be ordered by a value of type .*; give numbers, texts or times"):
        kept([value], "max")


def test_the_time_zone_of_the_machine_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    # Taken for a time of New York, the second would be the later one.
    values = [datetime.datetime(2024, 11, 3, 5, 30, tzinfo=UTC), datetime.datetime(2024, 11, 3, 1, 45)]
    found = []
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        found.append(kept(values, "max"))
    monkeypatch.undo()
    time.tzset()
    assert found == [0, 0]


def test_nothing_is_the_same_value_everywhere() -> None:
    columns = {"text": [TEXT] * 5, "group": [None, None, "nan", "None", "NaT"]}
    for table in (columns, pyarrow.table(columns), polars.DataFrame(columns), pandas.DataFrame(columns)):
        assert la.dedup(table, within="group").kept == [0, 2, 3, 4], type(table)
    nothing = [None, float("nan"), pandas.NaT, pandas.NA, numpy.float32("nan"), numpy.datetime64("NaT")]
    assert la.dedup({"text": [TEXT] * len(nothing), "group": nothing}, within="group").kept == [0]


def test_a_whole_number_is_the_same_as_a_float() -> None:
    columns = {"text": [TEXT] * 4, "year": [1999, None, 1999, 2000]}
    for table in (columns, pyarrow.table(columns), polars.DataFrame(columns), pandas.DataFrame(columns)):
        assert la.dedup(table, within="year").kept == [0, 1, 3], type(table)
        against = polars.DataFrame({"text": [TEXT], "year": [1999]})
        assert la.dedup(table, against=against, within="year").kept == [1, 3], type(table)
    years = [1999, 1999.0, numpy.float32(1999), numpy.int16(1999), 1999.5]
    assert la.dedup({"text": [TEXT] * 5, "year": years}, within="year").kept == [0, 4]


SETS_OF_BYTES = [[b"\xff\xfe", b"a"], [b"\xfe\xfe", b"a"], [b"a", b"\xff\xfe"], [b"\xff"], [b"\xfe"]]


@pytest.mark.parametrize(
    "column",
    [
        SETS_OF_BYTES,
        polars.Series(SETS_OF_BYTES),
        pyarrow.array(SETS_OF_BYTES),
        pyarrow.array(SETS_OF_BYTES, pyarrow.large_list(pyarrow.large_binary())),
    ],
    ids=["list", "polars", "pyarrow", "large"],
)
def test_bytes_are_items_whatever_they_say(column: Any) -> None:
    assert la.dedup(column, against=SETS_OF_BYTES[:1]).kept == [1, 3, 4]
    assert la.dedup(column).kept == [0, 1, 3, 4]


def test_an_empty_set_has_any_type() -> None:
    for column in (pyarrow.array([[], []]), pyarrow.array([[], []], pyarrow.list_(pyarrow.float64())), polars.Series([[], []])):
        assert la.dedup(column).kept == [0, 1]
