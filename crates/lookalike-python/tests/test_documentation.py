"""The examples of docs/python.md."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 15 and result.failed == 0
