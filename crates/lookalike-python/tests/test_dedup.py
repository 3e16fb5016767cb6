"""Near-duplicates among records in memory, in every shape that people keep them in."""

from __future__ import annotations

import datetime
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import datasets
import numpy
import pandas
import polars
import pyarrow
import pytest

import lookalike as la
from texts import CAT, CAT_AGAIN, LONGER_CAT, OTHER, corpus

TEXTS = [CAT, OTHER, CAT_AGAIN, LONGER_CAT, ""]


@pytest.mark.parametrize(
    "shape",
    [
        list,
        tuple,
        iter,
        lambda texts: (text for text in texts),
        numpy.array,
        lambda texts: numpy.array(texts, dtype=object),
        pandas.Series,
        lambda texts: pandas.Series(texts, dtype="string[pyarrow]"),
        lambda texts: pandas.Series(texts, dtype="category"),
        polars.Series,
        lambda texts: polars.Series(texts, dtype=polars.Categorical),
        pyarrow.array,
        lambda texts: pyarrow.array(texts, pyarrow.large_string()),
        lambda texts: pyarrow.array(texts, pyarrow.string_view()),
        lambda texts: pyarrow.array(texts).dictionary_encode(),
        lambda texts: pyarrow.chunked_array([texts[:2], texts[2:], []], pyarrow.string()),
        lambda texts: pyarrow.array(["not this", *texts])[1:],
    ],
)
def test_a_column_can_be_anything_that_holds_texts(shape: Callable[[list[str]], Any]) -> None:
    found = la.dedup(shape(TEXTS), threshold=0.8)
    assert found.kept == [0, 1, 3, 4]
    assert found.original_of(2) == (0, 1.0)
    assert found.summary["empty"] == 1


@pytest.mark.parametrize(
    "nothing",
    [
        [],
        (),
        numpy.array([]),
        pandas.Series([], dtype=object),
        polars.Series([]),
        pyarrow.array([]),
        {"text": []},
        pandas.DataFrame({"text": []}),
        polars.DataFrame({"text": []}),
        pyarrow.table({"text": []}),
    ],
)
def test_nothing_is_no_error(nothing: Any) -> None:
    assert la.dedup(nothing).kept == []
    if not isinstance(nothing, (numpy.ndarray, pandas.Series, polars.Series, pyarrow.Array)):
        assert la.dedup(nothing, text="text").kept == []
    assert la.dedup([], keep="max:score").kept == []


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike._records.find_spec", lambda name: None)
    monkeypatch.setattr(pandas.Series, "__arrow_c_stream__", lambda *_: pytest.fail("it would need pyarrow"))
    assert la.dedup(pandas.DataFrame({"text": TEXTS})).kept == [0, 1, 3, 4]


@pytest.mark.parametrize(
    "shape",
    [
        lambda columns: columns,
        lambda columns: [dict(zip(columns, row)) for row in zip(*columns.values())],
        pandas.DataFrame,
        polars.DataFrame,
        pyarrow.table,
        datasets.Dataset.from_dict,
        lambda columns: datasets.Dataset.from_dict(columns).select(range(5)),
    ],
)
def test_a_table_has_its_texts_in_a_column(shape: Callable[[dict[str, Any]], Any]) -> None:
    table = shape({"content": TEXTS, "score": [1, 2, 3, None, 5], "lang": ["en", "en", "de", "en", "en"]})
    assert la.dedup(table, text="content").kept == [0, 1, 3, 4]
    assert la.dedup(table, text="content", keep="max:score").kept == [1, 2, 3, 4]
    assert la.dedup(table, text="content", within="lang").kept == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="there is no column 'text'|has no 'text'"):
        la.dedup(table)


def test_nothing_is_a_value_of_its_own() -> None:
    table = {"text": ["a text of some words"] * 4, "lang": ["None", None, "None", None]}
    assert la.dedup(table, within="lang").groups == [[0, 2], [1, 3]]


def test_rows_of_a_shuffled_data_set_come_in_its_order() -> None:
    shuffled = datasets.Dataset.from_dict({"text": TEXTS}).select([4, 2, 3, 1, 0])
    assert la.dedup(shuffled).kept == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "sets",
    [
        [{"milk", "bread", "eggs"}, ["eggs", "bread", "milk", "milk"], ("beer",), frozenset()],
        pyarrow.array([["milk", "bread", "eggs"], ["eggs", "bread", "milk", "milk"], ["beer"], []]),
        polars.Series([["milk", "bread", "eggs"], ["eggs", "bread", "milk", "milk"], ["beer"], []]),
        [[1, 2, 3], [3, 2, 1], [numpy.int64(4)], []],
        pyarrow.array([[1, 2, 3], [3, 2, 1, 1], [4], []]),
        [[b"a", "b"], ["a", b"b"], ["c"], []],
    ],
)
def test_records_can_be_sets(sets: Any) -> None:
    assert la.dedup(sets).kept == [0, 2, 3]


def test_results_come_as_lists_arrays_and_arrow() -> None:
    found = la.dedup(TEXTS, threshold=0.5)
    assert found.groups == [[0, 2, 3]]
    assert len(found) == 5
    assert found.mask.tolist() == [True, True, False, False, True]
    assert polars.Series(TEXTS).filter(polars.Series(found.mask)).to_list() == [CAT, OTHER, ""]
    similarity = la.similarity(CAT, LONGER_CAT)
    pairs = [(0, 2, 1.0), (0, 3, similarity), (2, 3, similarity)]
    assert list(found.pairs) == pairs and found.pairs[-1] == pairs[-1] and found.pairs[:2] == pairs[:2]
    assert polars.DataFrame(found.pairs).rows() == pairs
    assert pyarrow.table(found.pairs).to_pylist()[0] == {"left": 0, "right": 2, "similarity": 1.0}
    assert found.pairs.to_numpy("similarity").tolist() == [similarity for *_, similarity in pairs]
    assert list(found.dropped) == [(2, 0, 1.0), (3, 0, similarity)]
    assert "<td>" in found._repr_html_() and "<td>" in found.pairs._repr_html_()
    assert repr(found).startswith("<5 records, 3 kept")
    assert found.at_threshold(0.9).kept == [0, 1, 3, 4]
    with pytest.raises(la.UnavailableError, match="were not looked for"):
        found.at_threshold(0.4)
    with pytest.raises(IndexError):
        found.pairs[3]
    with pytest.raises(IndexError):
        found.original_of(5)
    with pytest.raises(KeyError):
        found.pairs.to_numpy("middle")


def test_old_records_are_compared_with_and_never_dropped() -> None:
    found = la.dedup([CAT_AGAIN, OTHER, OTHER], against=[LONGER_CAT, CAT, CAT], threshold=0.9)
    assert (found.old, len(found), found.kept) == (3, 3, [1])
    assert found.original_of(3) == (1, 1.0)
    assert la.dedup({"body": [CAT]}, text="body", against=[CAT_AGAIN]).kept == []
    assert la.dedup({"body": [CAT]}, text="body", against=polars.DataFrame({"body": [CAT_AGAIN]})).kept == []


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads: int) -> None:
    texts = corpus(3_000)
    expected = la.dedup(texts, 0.6)
    found = la.dedup(texts, 0.6, threads=threads)
    assert expected.summary["dropped"] > 100
    assert list(found.pairs) == list(expected.pairs)


def test_other_threads_of_python_go_on_meanwhile() -> None:
    texts, ticks = corpus(40_000), []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    began = time.monotonic()
    la.dedup(texts, 0.5)
    seconds = time.monotonic() - began
    over.set()
    other.join()
    longest = max(after - before for before, after in zip(ticks, ticks[1:]))
    assert longest < max(0.5 * seconds, 0.1), (longest, seconds)


def test_progress_is_told_and_an_exception_in_it_ends_the_run() -> None:
    told: list[tuple[str, int, int | None]] = []
    texts = corpus(60_000)
    la.dedup(texts, 0.5, threads=1, progress=lambda *said: told.append(said))
    assert told and {stage for stage, *_ in told} <= {"read", "band", "verify", "group"}
    assert all(total is None or done <= total for _, done, total in told)

    def refuse(stage: str, done: int, total: int | None) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        la.dedup(texts, 0.5, threads=1, progress=refuse)


def test_a_bar_is_shown_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    # Enough that a fast machine has something to read when it is looked at first, after a tenth of a second.
    la.dedup(corpus(400_000), 0.5, threads=1, progress=True)
    shown = capsys.readouterr().err
    assert "read" in shown and shown.endswith("\r")


def test_a_notebook_gets_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    updates: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            updates.append(html)

    class ZMQInteractiveShell:
        pass

    display = types.ModuleType("IPython.display")
    display.HTML = lambda text: text  # type: ignore[attr-defined]
    display.display = lambda html, display_id: Handle()  # type: ignore[attr-defined]
    notebook = types.ModuleType("IPython")
    notebook.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    la.dedup(corpus(60_000), 0.5, threads=1, progress=True)
    assert "<progress" in updates[0] and updates[-1] == ""


def test_a_forked_process_has_threads_of_its_own() -> None:
    texts = ["the cat sat on the mat today", "The cat sat on the mat today!"]
    assert la.dedup(texts).kept == [0]
    child = os.fork()
    if child == 0:
        os._exit(0 if la.dedup(texts).kept == [0] else 1)
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")
    assert status == 0


@pytest.mark.parametrize(
    "values",
    [
        [False, True],
        ["2020", "2024"],
        [datetime.date(2020, 1, 1), datetime.date(2024, 1, 1)],
        [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 1, 12, 0, 1)],
        [1, 2],
        [None, 1],
    ],
)
def test_the_same_record_is_kept_whatever_the_column_is_in(values: list[Any]) -> None:
    columns = {"text": ["the same text for both of them"] * 2, "value": values}
    tables: list[Any] = [columns, pyarrow.table(columns), polars.DataFrame(columns), pandas.DataFrame(columns)]
    for table in tables:
        assert la.dedup(table, keep="max:value").kept == [1], type(table)
        assert la.dedup(table, keep="min:value").kept == [1 if values[0] is None else 0], type(table)


def test_no_value_is_not_the_text_of_it() -> None:
    columns = {"text": ["the same text for both of them"] * 2, "group": [None, "None"]}
    for table in (columns, pyarrow.table(columns), polars.DataFrame(columns)):
        assert la.dedup(table, within="group").kept == [0, 1], type(table)


def test_rows_that_come_one_by_one_are_a_table() -> None:
    rows = [{"text": CAT, "score": 1}, {"text": OTHER, "score": 2}, {"text": CAT_AGAIN, "score": 3}]
    assert la.dedup(iter(rows)).kept == [0, 1]
    assert la.dedup((row for row in rows), keep="max:score").kept == [1, 2]
    assert la.dedup(polars.DataFrame(rows).iter_rows(named=True), keep="max:score").kept == [1, 2]
    assert la.dedup(iter([]), text="text").kept == []
    assert la.dedup(iter([CAT, CAT_AGAIN])).kept == [0]
    assert la.dedup([{"text": CAT}], text="text", against=iter([CAT_AGAIN, OTHER])).kept == []


def test_a_stream_of_arrow_is_a_table() -> None:
    table = pyarrow.table({"body": [CAT, OTHER, CAT_AGAIN], "score": [1, 2, 3]})
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert la.dedup(reader, text="body", keep="max:score").kept == [1, 2]


def test_columns_may_be_called_by_numbers() -> None:
    frame = pandas.DataFrame({0: [CAT, CAT_AGAIN], 1: ["x", "y"]})
    assert la.dedup(frame, text=0).kept == [0]  # type: ignore[arg-type]
    assert la.dedup(frame.rename(columns={0: "text", 1: 0}), within=0).kept == [0, 1]  # type: ignore[arg-type]


def test_an_array_of_numpy_is_a_set() -> None:
    sets = [numpy.array([1, 2, 3]), numpy.array([3, 2, 1]), numpy.array([4, 5, 6])]
    assert la.dedup(sets).kept == [0, 2]
    assert la.similarity(sets[0], numpy.array([1, 2])) == pytest.approx(2 / 3)


def test_pairs_are_counted_without_being_made_and_too_many_are_refused() -> None:
    found = la.dedup(["the same text every single time"] * 2_000_000)
    assert found.count_pairs() == 2_000_000 * 1_999_999 // 2
    with pytest.raises(MemoryError, match="1999999000000 pairs take .* GB, more than there is; groups and dropped"):
        found.pairs  # noqa: B018
    assert len(la.dedup([CAT, CAT_AGAIN, CAT]).pairs) == 3


def test_who_is_kept_can_be_asked_without_every_pair() -> None:
    words = [f"w{number}" for number in range(60)]
    variants = [" ".join([*words, f"x{number}", f"y{number % 7}"]) for number in range(600)]
    with_pairs = la.dedup(variants, 0.7)
    without = la.dedup(variants, 0.7, pairs=False)
    assert with_pairs.count_pairs() > 10_000 > without.summary["alike"]
    assert (without.kept, without.groups) == (with_pairs.kept, with_pairs.groups)
    assert list(without.dropped) == list(with_pairs.dropped)
    for ask in (lambda: without.pairs, without.count_pairs, lambda: without.at_threshold(0.9)):
        with pytest.raises(la.SettingError, match="without pairs=False"):
            ask()
