"""A lasting index."""

from __future__ import annotations

import os
import pickle
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from texts import CAT, CAT_AGAIN, LONGER_CAT, OTHER, corpus


def test_it_is_a_mapping_that_finds_what_is_alike(tmp_path: Path) -> None:
    with la.Index(tmp_path / "index", threshold=0.5, store_text=True) as index:
        index["cat"] = CAT
        index["other"] = OTHER
        index["other"] = LONGER_CAT
        assert (len(index), "cat" in index, "dog" in index, sorted(index)) == (2, True, False, ["cat", "other"])
        found = index.query(CAT_AGAIN, with_text=True)
        assert [(match.id, match.similarity, match.text) for match in found] == [
            ("cat", 1.0, CAT),
            ("other", la.similarity(CAT, LONGER_CAT), LONGER_CAT),
        ]
        assert [match.id for match in index.query(CAT_AGAIN, limit=1)] == ["cat"]
        assert abs(found[0].time - datetime.now(timezone.utc)) < timedelta(minutes=5)
        assert index["cat"].text == CAT and index.get("dog") is None
        del index["cat"]
        assert [match.id for match in index.query(CAT_AGAIN)] == ["other"]
    with la.Index(tmp_path / "index") as index:
        assert (list(index), index.check(), index.info()["items"]) == (["other"], 1, 1)


def test_many_at_once_and_nothing_by_halves(tmp_path: Path) -> None:
    texts = corpus(2_000)
    with la.Index(tmp_path / "index", threshold=0.7) as index:
        index.update((str(at), text) for at, text in enumerate(texts))
        assert len(index) == 2_000
        try:
            index.update([("new", OTHER), ("bad", None)])
        except TypeError:
            pass
        assert "new" not in index
        index.insert("waiting", OTHER)
        assert "waiting" not in index
        index.rollback()
        index.commit()
        assert "waiting" not in index
        found = la.dedup(texts, threshold=0.7)
        partners: dict[int, set[str]] = {at: {str(at)} for at in range(len(texts))}
        for left, right, _ in found.pairs:
            partners[left].add(str(right))
            partners[right].add(str(left))
        asked = {at: {match.id for match in index.query(text)} for at, text in enumerate(texts)}
        assert asked == partners
        index.compact()
        assert index.info()["segments"] == 1


def test_old_items_go(tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    with la.Index(tmp_path / "index") as index:
        index.insert("old", CAT, time=now - timedelta(days=40))
        index.insert("new", OTHER, time=now)
        index.commit()
        assert index.remove_older_than(timedelta(days=30)) == 1
        assert list(index) == ["new"]


def test_sketches_can_be_kept_sent_and_asked_about(tmp_path: Path) -> None:
    plan = la.plan(0.5)
    sketch, longer = plan.sketch(CAT), plan.sketch(LONGER_CAT)
    assert pickle.loads(pickle.dumps(sketch)) == sketch == la.Sketch.from_bytes(sketch.to_bytes())
    assert abs(sketch.similarity(longer) - la.similarity(CAT, LONGER_CAT)) < 0.3
    assert sketch.union(longer).similarity(longer) == 1.0
    assert len(sketch) == plan.hashes == len(sketch.values)
    assert pickle.loads(pickle.dumps(plan)) == plan
    with la.Index(tmp_path / "index", threshold=0.5) as index:
        index["cat"] = CAT
        assert [match.id for match in index.query(sketch)] == ["cat"]
        try:
            index.query(la.plan(0.9).sketch(CAT))
        except la.SettingError as refused:
            assert "another plan" in str(refused)
        else:
            raise AssertionError("sketches of other plans are refused")


def test_threads_share_an_index(tmp_path: Path) -> None:
    texts = corpus(400)
    with la.Index(tmp_path / "index", threshold=0.7) as index:
        def write(part: int) -> None:
            for at in range(part, len(texts), 4):
                index[str(at)] = texts[at]
                assert str(at) in {match.id for match in index.query(texts[at])}

        threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(index) == len(texts) == index.check()


def test_a_forked_process_does_not_write_to_its_parents_index(tmp_path: Path) -> None:
    index = la.Index(tmp_path / "i")
    index["a"] = "It was a dark and stormy night"

    def write(at: int) -> str:
        try:
            index[str(at)] = f"It was a dark and stormy night {at}"
        except la.LockedError as error:
            return str(error)
        return "written"

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = write(1)
        index.close()
        os.write(writing, said.encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert "forked" in os.read(reading, 1000).decode()
    index["b"] = "the rain fell in torrents"
    index.close()
    with la.Index(tmp_path / "i", read_only=True) as index:
        assert set(index) == {"a", "b"}


def refuse(index: la.Index, records: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        index.update(records)


def test_a_refused_update_leaves_what_waits(tmp_path: Path) -> None:
    with la.Index(tmp_path / "index") as index:
        index.insert("waiting", CAT)
        refuse(index, [("b", OTHER), ("c", None)])
        refuse(index, [("b", OTHER), (7, OTHER)])
        refuse(index, [("b", OTHER), ("\ud800", OTHER)])
        with pytest.raises(TypeError):
            index["b"] = None
        with pytest.raises(ZeroDivisionError):
            index.update((str(at), str(1 // at)) for at in (1, 0))
        with pytest.raises(KeyError):
            del index["b"]
        assert list(index) == []
        index.commit()
        assert list(index) == ["waiting"]


def test_a_refused_update_does_not_touch_other_threads(tmp_path: Path) -> None:
    written = 300
    with la.Index(tmp_path / "index", threshold=0.7) as index:
        is_over = threading.Event()
        seen: list[str] = []

        def refused_again_and_again() -> None:
            while not is_over.is_set():
                refuse(index, [("half", OTHER)] * 20 + [("bad", None)])
                seen.extend(["half"] if "half" in index else [])

        def write(part: int) -> None:
            for at in range(part, written, 2):
                if at % 3:
                    index[str(at)] = f"{CAT} {at}"
                else:
                    index.insert(str(at), f"{CAT} {at}")
                    index.commit()
                assert str(at) in index

        spoilers = [threading.Thread(target=refused_again_and_again) for _ in range(2)]
        writers = [threading.Thread(target=write, args=(part,)) for part in range(2)]
        for thread in spoilers + writers:
            thread.start()
        for thread in writers:
            thread.join()
        is_over.set()
        for thread in spoilers:
            thread.join()
        assert (len(index), seen) == (written, [])


def test_the_first_and_the_last_time_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    utc = timezone.utc
    with la.Index(tmp_path / "index") as index:
        index.insert("last", CAT, time=datetime.max.replace(tzinfo=utc))
        index.insert("first", LONGER_CAT, time=datetime.min.replace(tzinfo=utc))
        index.insert("fine", OTHER, time=datetime(2020, 1, 1, 0, 0, 0, 123_999, tzinfo=utc))
        for zone in ("Asia/Tokyo", "America/New_York"):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            index.insert(zone, CAT, time=datetime.max)
        monkeypatch.undo()
        time.tzset()
        index.commit()
        assert index["last"].time == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=utc)
        assert index["first"].time == datetime(1970, 1, 1, tzinfo=utc)
        assert index["fine"].time == datetime(2020, 1, 1, 0, 0, 0, 123_000, tzinfo=utc)
        assert {match.time.year for match in index.query(CAT)} == {9999}
        assert index.remove_older_than(timedelta(days=10**6)) == 0
        assert index.remove_older_than(timedelta(days=-(10**6))) == 2


def test_nothing_is_read_from_an_index_that_is_closed(tmp_path: Path) -> None:
    index = la.Index(tmp_path / "index", store_text=True)
    index["cat"] = CAT
    index.close()
    reads = [
        lambda: len(index),
        lambda: list(index),
        lambda: "cat" in index,
        lambda: index["cat"],
        lambda: index.get("cat"),
        lambda: index.query(CAT),
        lambda: index.info(),
        lambda: index.check(),
        lambda: index.plan,
        lambda: index.__enter__(),
        lambda: index.commit(),
    ]
    for read in reads:
        with pytest.raises(ValueError, match="the index is closed; open it again"):
            read()
    assert repr(index) == "<index that is closed>"
    index.close()
    with la.Index(tmp_path / "index", read_only=True) as reader:
        assert list(reader) == ["cat"]
    with pytest.raises(ValueError, match="closed"):
        list(reader)
