"""The cases of testdata/, through the package."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lookalike as la

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTDATA = Path(__file__).parents[3] / "testdata"


def cases() -> list[Any]:
    files = sorted(TESTDATA.glob("*.toml"))
    assert files, "the cases are in the repository"
    read = [(file.stem, case) for file in files for case in tomllib.loads(file.read_text("utf-8"))["case"]]
    return [pytest.param(case, id=f"{stem}: {case['name']}") for stem, case in read]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("case", cases())
def test_case(case: dict[str, Any], exact: bool, tmp_path: Path) -> None:
    settings = {**case["settings"]}
    if exact:
        if any(name in settings for name in ("bands", "hashes", "verify")):
            pytest.skip("these settings are about sketches")
        settings["exact"] = True
    elif settings.get("measure") != "containment" and not settings.get("exact"):
        # So much recall that a miss is practically impossible.
        settings.setdefault("recall", 0.99999)
    old, new = case.get("old", []), case["records"]
    ids = [record["id"] for record in [*old, *new]]
    found = la.dedup(
        new if new else [], text="text" if new else None, against=old or None, within=case.get("within"), **settings
    )
    assert [ids[found.old + record] for record in found.kept] == case["kept"]
    pairs = [(ids[left], ids[right], similarity) for left, right, similarity in found.pairs]
    assert pairs == [(left, right, float(Fraction(how))) for left, right, how in case["pairs"]]
    assert [[ids[record] for record in group] for group in found.groups] == case["groups"]
    if new and not old:
        check_files(case, settings, tmp_path)


def check_files(case: dict[str, Any], settings: dict[str, Any], folder: Path) -> None:
    """The same through files."""
    (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in case["records"]), "utf-8")
    la.dedup_files(folder / "in.jsonl", folder / "out.jsonl", within=case.get("within"), **settings)
    kept = [json.loads(line)["id"] for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert kept == case["kept"]
