"""What is refused, by which exception, and what it says to do."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import lookalike as la


@pytest.mark.parametrize(
    ("records", "kind", "says"),
    [
        (["a", None], TypeError, "record 1 is None; leave it out"),
        (pyarrow.array(["a", None]), TypeError, "record 1 is None"),
        (pyarrow.chunked_array([["a"], ["b", None]]), TypeError, "record 2 is None"),
        (polars.Series(["a", None]), TypeError, "record 1 is None"),
        (["a", 7], TypeError, "record 1 is of type int; a record is a str"),
        ([{"a": 1}, "b"], KeyError, "has no 'text'"),
        ([["a", 1.5]], TypeError, "record 0 has an item of type float; items are str, int or bytes"),
        ([[True, False]], TypeError, "record 0 has an item of type bool; items are str, int or bytes"),
        (polars.Series([[True, False]]), TypeError, "record 0 has an item of type bool; items are str, int or bytes"),
        (polars.Series([[1.5]]), TypeError, "record 0 has an item of type float; items are str, int or bytes"),
        (pyarrow.array([[], [1.5]]), TypeError, "record 1 has an item of type float; items are str, int or bytes"),
        (pyarrow.array([["a"], ["b", None]]), TypeError, "record 1 has an item of type NoneType; items are str, int"),
        (pyarrow.array([[None]]), TypeError, "record 0 has an item of type NoneType; items are str, int or bytes"),
        (pyarrow.array([[["a"]]]), TypeError, "record 0 has an item of type list; items are str, int or bytes"),
        (polars.Series([None, None]), TypeError, "record 0 is None; leave it out"),
        (pyarrow.nulls(2), TypeError, "record 0 is None; leave it out"),
        ("one text", TypeError, "this is one text, not many"),
        (b"bytes", TypeError, "this is one text, not many"),
        (7, TypeError, "not iterable"),
        (None, TypeError, "not iterable"),
        (pyarrow.array([1, 2]), TypeError, "a column of Int64 holds neither texts nor sets"),
        (numpy.array([1.5, 2.5]), TypeError, "record 0 is of type float"),
        (polars.LazyFrame({"text": ["a"]}), TypeError, "call collect"),
        (["fine", "half \ud800 a pair"], ValueError, "record 1 holds half a surrogate pair"),
    ],
)
def test_records_that_are_none(records: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=re.escape(says)):
        la.dedup(records)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"recall": 1}, "for 1 use exact=True"),
        ({"threshold": 7}, "the threshold 7 is out of range; choose one above 0 and up to 1"),
        ({"threshold": float("nan")}, "threshold"),
        ({"recall": 1.0}, "the recall 1 is out of range"),
        ({"shingles": "wards:5"}, '"wards:5" is no kind of shingle'),
        ({"bands": "7"}, '"7" is no banding'),
        ({"measure": "cosine"}, "cosine"),
        ({"keep": "best"}, "best"),
        ({"exact": True, "bands": "5x5"}, "has no meaning"),
        ({"treshold": 0.8}, "treshold"),
    ],
)
def test_settings_that_are_none(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(la.SettingError, match=re.escape(says)) as refused:
        la.dedup(["a"], **settings)
    assert isinstance(refused.value, ValueError) and isinstance(refused.value, la.Error)


def test_fields_that_are_not_there() -> None:
    with pytest.raises(TypeError, match="keep reads the field 'score'; give a table"):
        la.dedup(["a"], keep="max:score")
    with pytest.raises(TypeError, match="names a column, but the records are no table"):
        la.dedup(["a"], text="body")
    with pytest.raises(KeyError, match="there is no column 'lang'; within= can name one of: text"):
        la.dedup({"text": ["a"]}, within="lang")
    with pytest.raises(ValueError, match="has 1 values, and there are 2 records"):
        la.dedup({"text": ["a", "b"], "score": [1]}, keep="max:score")
    with pytest.raises(TypeError, match="cannot be ordered by a value of type list"):
        la.dedup({"text": ["a"], "score": [[1]]}, keep="max:score")
    for threads in (0, -1, 5000, True, "2", 1.5):
        with pytest.raises(la.SettingError, match="no number of threads"):
            la.dedup(["a"], threads=threads)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a value of keep holds half a surrogate pair"):
        la.dedup({"text": ["a"], "score": ["\ud800"]}, keep="max:score")


def test_comparing_what_cannot_be() -> None:
    with pytest.raises(TypeError, match="the right text is of type int"):
        la.compare("a", 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is of type float"):
        la.similarity("a", 7.5)
    half = "half \ud800 a pair"
    with pytest.raises(ValueError, match="the left text holds half a surrogate pair, which is no text; repair it"):
        la.compare(half, "b")
    with pytest.raises(ValueError, match="the right text holds half a surrogate pair"):
        la.compare("b", half)
    with pytest.raises(ValueError, match="the record holds half a surrogate pair"):
        la.similarity(half, "b")


def test_indexes_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(la.IndexFileError):
        la.Index(tmp_path / "nothing", read_only=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("something")
    with pytest.raises(la.Error):
        la.Index(tmp_path / "full")
    index = la.Index(tmp_path / "index", threshold=0.7)
    with pytest.raises(la.LockedError):
        la.Index(tmp_path / "index")
    with pytest.raises(TypeError, match="the record is None"):
        index["a"] = None
    with pytest.raises(KeyError):
        del index["a"]
    with pytest.raises(KeyError):
        index["a"]
    with pytest.raises(la.SettingError, match="threshold"):
        index.query("a", threshold=7)
    with pytest.raises(ValueError, match="no measure"):
        index.query("a", measure="cosine")
    index.close()
    with pytest.raises(ValueError, match="closed"):
        index["a"] = "text"
    with pytest.raises(la.SettingError, match="other settings"):
        la.Index(tmp_path / "index", threshold=0.9)
    with pytest.raises(la.SettingError, match="store_text"):
        la.Index(tmp_path / "index", store_text=True)
    la.Index(tmp_path / "exact", threshold=0.5, exact=True).close()
    with pytest.raises(la.SettingError, match="other settings"):
        la.Index(tmp_path / "exact", threshold=0.9, exact=True)
    la.Index(tmp_path / "exact", exact=True).close()
    with la.Index(tmp_path / "index", threshold=0.7) as again:
        assert len(again) == 0
    with la.Index(tmp_path / "index", read_only=True) as reader, pytest.raises(ValueError, match="only for reading"):
        reader["a"] = "text"


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(la.FilesError, match="nothing.jsonl"):
        la.dedup_files(tmp_path / "nothing.jsonl", tmp_path / "out.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": 1, "text": "fine"}\n{"id": 2, "text": \n')
    with pytest.raises(la.FilesError, match="broken.jsonl"):
        la.dedup_files(broken, tmp_path / "out.jsonl")
    with pytest.raises(la.SettingError, match="threshold 7 is out of range"):
        la.dedup_files(broken, threshold=7)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("settings", [{"threshold": numpy.float32(0.5)}, {"hashes": numpy.int64(64)}, {"seed": numpy.uint8(3)}])
def test_numbers_of_numpy_are_numbers(settings: Any) -> None:
    assert la.dedup(["a b c", "a b c"], **settings).kept == [0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"threshold": "0.8"}, "threshold='0.8' is of type str; give a number"),
        ({"seed": -1}, "the seed -1 is out of range"),
        ({"verify": False}, "verify=False is of type bool; give a text"),
        ({"exact": 1}, "exact=1 is of type int; give True or False"),
        ({"keep": "foo"}, '"foo" is no keep order'),
        ({"threshold": None}, "threshold=None is of type NoneType; give a number"),
        ({"bag": None}, "bag=None is of type NoneType; give True or False"),
        ({"seed": 2**64}, "the setting seed is out of range; choose a smaller number"),
        ({"hashes": 2**32}, "the setting hashes is out of range; choose a smaller number"),
        ({"threshold": 10**400}, "the setting threshold is out of range"),
        ({"seed": 10**5000}, "the setting seed is out of range"),
    ],
)
def test_a_refused_setting_is_named(settings: Any, said: str) -> None:
    with pytest.raises(la.SettingError) as refused:
        la.dedup(["a b c"], **settings)
    assert said in str(refused.value)
    assert "line 1" not in str(refused.value)
    with pytest.raises(la.SettingError):
        la.dedup_files("absent.jsonl", **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"output": "-"}, 'output="-" is standard output, which Python does not read; name a file'),
        ({"dropped": Path("-")}, 'dropped="-" is standard output'),
        ({"threads": 0}, "threads=0 is no number of threads; choose one from 1 to 1024"),
        ({"threads": -1}, "threads=-1 is no number of threads"),
        ({"threads": True}, "threads=True is no number of threads"),
        ({"memory": "much"}, "memory='much' is no size; choose one such as \"512MiB\""),
        ({"memory": -1}, "memory=-1 is no size"),
        ({"memory": 0}, "memory=0 is no size"),
        ({"memory": True}, "memory=True is no size"),
        ({"on_error": "ignore"}, "on_error='ignore' is none of fail, skip"),
        ({"input_format": "json"}, "input_format='json' is none of jsonl, csv, tsv, txt"),
    ],
)
def test_files_are_not_looked_at_with_such_settings(settings: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("subprocess.Popen")
    with pytest.raises(la.SettingError) as refused:
        la.dedup_files("absent.jsonl", **settings)
    assert said in str(refused.value)


def test_no_files_are_no_input() -> None:
    with pytest.raises(la.FilesError, match="no inputs"):
        la.dedup_files([])


def test_records_of_several_kinds() -> None:
    for other in (None, "a text"):
        with pytest.raises(TypeError, match="record 1 is of type"):
            la.dedup([{"text": "a"}, other])


def test_a_column_can_be_called_by_a_number() -> None:
    frame = pandas.DataFrame({"text": ["a b c", "a b c"], 0: [1, 2]})
    assert la.dedup(frame).kept == [0]
    with pytest.raises(la.ColumnError, match="can name one of: text, 0"):
        la.dedup(frame, text="body")


def test_one_record_that_is_none() -> None:
    with pytest.raises(TypeError, match="the record is None"):
        la.similarity("a", None)


def test_what_an_index_refuses_is_named(tmp_path: Path) -> None:
    with la.Index(tmp_path / "i") as index:
        with pytest.raises(TypeError, match="'l': the record is None"):
            index.update([("k", "a text"), ("l", None)])
        with pytest.raises(TypeError, match="the id 7 is of type int"):
            index.update({7: "a text"})  # type: ignore[dict-item]
        with pytest.raises(TypeError, match="give a datetime"):
            index.insert("k", "a text", time="yesterday")  # type: ignore[arg-type]
        for call in (index.get, index.remove, index.__getitem__, index.__delitem__):
            with pytest.raises(TypeError, match="the id 5 is of type int; the ids of an index are str"):
                call(5)  # type: ignore[arg-type]
        for ask in (index.get, index.remove, index.__contains__, index.__delitem__, lambda id: index.insert(id, "a")):
            with pytest.raises(ValueError, match="the id holds half a surrogate pair, which is no text; repair it"):
                ask("\ud800")
        with pytest.raises(ValueError, match="'k': the record holds half a surrogate pair"):
            index["k"] = "\ud800"
        for limit in (-1, 1.5, "2"):
            with pytest.raises(la.SettingError, match="the limit .* is out of range; choose a whole number"):
                index.query("a text", limit=limit)  # type: ignore[arg-type]
        assert len(index) == 0


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("run with --verify exact and --group anchored", 'run with verify="exact" and group="anchored"'),
        ("leave --verify out, or use --exact, which", "leave verify= out, or use exact=True, which"),
        ("with --on-error skip; --input-format", 'with on_error="skip"; input_format='),
        ("in the file --text.jsonl-- or x--text or --text-like", "in the file --text.jsonl-- or x--text or --text-like"),
    ],
)
def test_advice_names_arguments(typed: str, said: str) -> None:
    for kind in (la.Error, la.SettingError, la.FilesError, la.ColumnError, la.WorkError):
        refused = kind(typed)
        assert str(refused) == said
        assert str(pickle.loads(pickle.dumps(refused))) == said


def test_an_index_is_no_collection_of_records(tmp_path: Path) -> None:
    with la.Index(str(tmp_path / "index")) as index:
        index["a"] = "one two three four five six"
        for call in (lambda: la.dedup(["a text"], against=index), lambda: la.dedup(index)):
            with pytest.raises(TypeError, match=r"an index holds sketches, not records; ask it with query\(\)"):
                call()


def test_a_field_that_no_row_has() -> None:
    rows = [{"text": "a b c d e f", "score": 1}, {"text": "a b c d e f", "score": 2}]
    with pytest.raises(la.ColumnError, match="no record has 'scroe'; keep= can name one of: text, score"):
        la.dedup(rows, keep="max:scroe")
    assert la.dedup([*rows, {"text": "a b c d e f"}], keep="max:score").kept == [1]
