"""What Spark finds is what one machine finds."""

from __future__ import annotations

import random
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import lookalike as la
import pytest
from corpora import chain, mixed
from lookalike.spark import _components, groups, pairs
from lookalike.spark._frames import annotated, paired, prepare

CASES = Path(__file__).parents[4] / "testdata"
#: So much recall that a miss is practically impossible.
CERTAIN = 0.99999


def cases() -> list[Any]:
    found = [case for path in sorted(CASES.glob("*.toml")) for case in tomllib.loads(path.read_text())["case"]]
    assert len(found) >= 40
    # Spark has neither --against nor containment; both are refused, or not there to be asked for.
    fit = [case for case in found if "old" not in case and case["settings"].get("measure", "jaccard") == "jaccard"]
    # And a column has one type: texts or sets.
    fit = [case for case in fit if len({type(record["text"]) for record in case["records"]}) < 2]
    assert len(fit) >= 40
    return [pytest.param(case, id=case["name"]) for case in fit]


def frame_of(spark: Any, case: dict[str, Any]) -> Any:
    """The records of a case. Their order is a column, as a DataFrame has none."""
    is_set = any(isinstance(record["text"], list) for record in case["records"])
    kinds = {"id": "string", "text": "array<string>" if is_set else "string", "place": "int"}
    for record in case["records"]:
        for name, value in record.items():
            if name not in kinds:
                kinds[name] = {str: "string", int: "long", float: "double"}[type(value)]
    rows = [tuple({**record, "place": at}.get(name) for name in kinds) for at, record in enumerate(case["records"])]
    random.Random(1).shuffle(rows)
    # A case is a handful of records: one partition.
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), ", ".join(f"`{name}` {kind}" for name, kind in kinds.items()))


@pytest.mark.parametrize("case", cases())
def test_every_case(spark: Any, in_small: None, case: dict[str, Any]) -> None:
    place = {record["id"]: at for at, record in enumerate(case["records"])}
    settings = {"recall": CERTAIN, **case["settings"]}
    threshold = settings.pop("threshold", 0.8)
    # Both answers out of one run, which is most of the time that a small case takes.
    run = prepare(frame_of(spark, case), "text", "id", threshold, "place", case.get("within"), None, settings)

    found = sorted(paired(run).collect(), key=lambda pair: (place[pair.left], place[pair.right]))
    expected = [(left, right, float(Fraction(how))) for left, right, how in case["pairs"]]
    assert [tuple(pair) for pair in found] == expected

    noted = annotated(run).collect()
    assert sorted((row.id for row in noted if row.role != "duplicate"), key=place.__getitem__) == case["kept"]
    members: dict[str, list[str]] = {}
    for row in sorted(noted, key=lambda row: place[row.id]):
        if row.role == "duplicate":
            members.setdefault(row.group, [row.group]).append(row.id)
    assert sorted(members.values(), key=lambda group: place[group[0]]) == case["groups"]
    assert all(row.size == len(members.get(row.group, [row.id])) for row in noted)


def check_against_one_machine(spark: Any, rows: list[tuple[Any, str]], **settings: Any) -> la.Outcome:
    """Keeps and drops by Spark, of shuffled rows, and by one machine, of sorted ones."""
    rows = sorted(rows, key=lambda row: row[0].encode() if isinstance(row[0], str) else row[0])
    ids = [row[0] for row in rows]
    expected = la.dedup([row[1] for row in rows], **settings)
    shuffled = random.Random(7).sample(rows, len(rows))
    kind = "string" if isinstance(ids[0], str) else "long"
    df = spark.createDataFrame(shuffled, f"id {kind}, text string").repartition(3)
    found = groups(df, **settings).collect()
    dropped = {row.id: (row.keeper, row.similarity) for row in found if row.id != row.keeper}
    assert dropped == {ids[record]: (ids[kept], similarity) for record, kept, similarity in expected.dropped}
    return expected


@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_what_is_kept_is_what_one_machine_keeps(spark: Any, keep: str) -> None:
    # Without leading zeros, so that bytes and numbers are in another order.
    rows = [(f"r{at}", text) for at, text in enumerate(mixed(3_000))]
    expected = check_against_one_machine(spark, rows, threshold=0.7, keep=keep)
    assert expected.summary["dropped"] > 500


def test_pairs_are_those_of_one_machine(spark: Any) -> None:
    texts = mixed(2_000, seed=2)
    df = spark.createDataFrame(list(enumerate(texts)), "id long, text string")
    expected = {(left, right): how for left, right, how in la.dedup(texts, 0.6).pairs}
    found = pairs(df, threshold=0.6).collect()
    assert len(found) == len(expected) > 500
    assert {(row.left, row.right): row.similarity for row in found} == expected


@pytest.mark.parametrize("order", ["in keep order", "shuffled"])
@pytest.mark.parametrize("group", ["anchored", "connected"])
def test_a_deep_chain(spark: Any, order: str, group: str) -> None:
    texts = chain(10_000)
    if order == "shuffled":
        random.Random(3).shuffle(texts)
    expected = check_against_one_machine(spark, list(enumerate(texts)), threshold=0.8, group=group)
    assert expected.summary["dropped"] > 3_000


def test_a_deep_chain_by_stars(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is done where the pairs are too many for one task."""
    monkeypatch.setattr(_components, "PAIRS_IN_ONE_TASK", 0)
    texts = chain(1_000)
    random.Random(4).shuffle(texts)
    check_against_one_machine(spark, list(enumerate(texts)), threshold=0.8)
    check_against_one_machine(spark, list(enumerate(texts)), threshold=0.8, group="connected")


def test_a_bucket_of_100_000(spark: Any) -> None:
    """All records share most of their words, and so their keys: the bucket rule decides who is compared with whom."""
    chance = random.Random(5)
    common = " ".join(f"common{at}" for at in range(60))
    texts = [f"{common} {chance.randrange(10**9)}" for _ in range(100_000)]
    expected = check_against_one_machine(spark, list(enumerate(texts)), threshold=0.8)
    assert expected.summary["bounded_buckets"] > 0
