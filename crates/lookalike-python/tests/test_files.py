"""Files, through the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lookalike as la
from texts import CAT, CAT_AGAIN, LONGER_CAT, OTHER, corpus


def write(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"name": str(at), "body": text}) + "\n" for at, text in enumerate(texts)))


def test_files_are_written_without_their_near_duplicates(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.jsonl", [CAT, OTHER])
    write(tmp_path / "in" / "b.jsonl", [CAT_AGAIN, LONGER_CAT])
    summary = la.dedup_files(
        str(tmp_path / "in" / "*.jsonl"), tmp_path / "out", text="body", id="none", dropped=tmp_path / "dropped.csv"
    )
    assert (summary["records"], summary["kept"], summary["dropped"]) == (4, 3, 1)
    assert [json.loads(line)["body"] for line in (tmp_path / "out" / "b.jsonl").read_text().splitlines()] == [LONGER_CAT]
    assert (tmp_path / "dropped.csv").read_text().count("\n") == 2
    files = [tmp_path / "in" / "a.jsonl", tmp_path / "in" / "b.jsonl"]
    told = la.dedup_files(files, threshold=0.5, text="body", id="none", shingles="words:2", keep="longest")
    assert (told["kept"], (tmp_path / "out" / "a.jsonl").exists()) == (2, True)


def test_settings_mean_the_same_as_in_memory(tmp_path: Path) -> None:
    texts = corpus(2_000)
    write(tmp_path / "in.jsonl", texts)
    for settings in ({}, {"exact": True}, {"keep": "last", "bag": True}, {"seed": 7, "bands": "random:40x4"}):
        found = la.dedup(texts, 0.6, **settings)
        summary = la.dedup_files(tmp_path / "in.jsonl", threshold=0.6, text="body", id="name", **settings)
        assert {name: summary[name] for name in found.summary} == found.summary


def test_progress_is_told(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", corpus(2_000))
    told: list[str] = []
    la.dedup_files(tmp_path / "in.jsonl", text="body", id="name", progress=lambda stage, done, total: told.append(stage))
    assert told[0] == "read" and "band" in told


def test_an_exception_of_the_listener_stops_the_program(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", corpus(20_000))

    def listen(stage: str, done: int, total: int | None) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        la.dedup_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", text="body", id="name", progress=listen)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_notes_are_warnings(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [CAT, OTHER])
    with pytest.warns(UserWarning, match="groups are chains"):
        la.dedup_files(tmp_path / "in.jsonl", text="body", id="name", group="connected")
