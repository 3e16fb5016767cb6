"""Files, through the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import lookalike as la
from lookalike import _files
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


def test_a_field_may_be_called_like_a_flag_and_a_path_be_bytes(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps({"-body": text}) + "\n" for text in (CAT, CAT_AGAIN, OTHER)))
    told = la.dedup_files(os.fsencode(file), os.fsencode(tmp_path / "out.jsonl"), text="-body", id="none")
    assert (told["kept"], (tmp_path / "out.jsonl").read_text().count("\n")) == (2, 2)
    old = tmp_path / "old.jsonl"
    old.write_bytes(file.read_bytes())
    assert la.dedup_files([os.fsencode(file)], against=os.fsencode(old), text="-body", id="none")["kept"] == 0


def test_what_lies_in_the_working_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in.jsonl", [CAT, CAT_AGAIN])
    (tmp_path / "json.py").write_text("raise SystemExit('this is not the json of Python')")
    (tmp_path / "lookalike").mkdir()
    (tmp_path / "lookalike" / "__init__.py").write_text("raise SystemExit('this is not lookalike')")
    monkeypatch.chdir(tmp_path)
    assert la.dedup_files("in.jsonl", text="body", id="name")["kept"] == 1


def test_a_program_that_ends_without_a_word_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_START", "import sys; print('it was the butler', file=sys.stderr); sys.exit(3)")
    with pytest.raises(la.FilesError, match="ended with status 3\nit was the butler"):
        la.dedup_files(tmp_path / "in.jsonl")


def test_the_formats_are_those_of_the_program() -> None:
    command = [sys.executable, "-m", "lookalike", "dedup", "--input-format=none", "absent"]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    assert "it is none of " + ", ".join(get_args(_files.InputFormat)) in said


def test_sizes_are_those_of_the_program(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [CAT, CAT_AGAIN])
    for memory in ("512MiB", "0.5 G", "500mb", 1 << 29):
        assert la.dedup_files(tmp_path / "in.jsonl", text="body", id="name", memory=memory, threads=1)["kept"] == 1
