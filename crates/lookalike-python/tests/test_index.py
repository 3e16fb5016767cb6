"""A lasting index."""

from __future__ import annotations

import os
import pickle
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

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
