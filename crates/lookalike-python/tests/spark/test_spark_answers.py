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
from lookalike.spark import _components, _one_task, dedup, groups, pairs
from lookalike.spark._frames import annotated, paired, prepare

CASES = Path(__file__).parents[4] / "testdata"
#: So much recall that a miss is practically impossible.
CERTAIN = 0.99999


@pytest.fixture(autouse=True)
def in_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with large inputs, unless a test asks for :data:`ANY_SIZE` in one task."""
    monkeypatch.setattr(_one_task, "EXPECTED", -1)


#: More than Spark expects of a frame whose size it does not know.
ANY_SIZE = 1 << 100


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
            if name not in ("id", "text"):
                # A column has one type: of numbers, the wider.
                kind = {str: "string", int: "long", float: "double"}[type(value)]
                kinds[name] = "double" if "double" in (kind, kinds.get(name)) else kind
    rows = []
    for at, record in enumerate(case["records"]):
        row = {**record, "place": at}
        rows.append(tuple(row[name] * 1.0 if kinds[name] == "double" and name in row else row.get(name) for name in kinds))
    random.Random(1).shuffle(rows)
    # A case is a handful of records: one partition.
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), ", ".join(f"`{name}` {kind}" for name, kind in kinds.items()))


@pytest.mark.parametrize("expected", [-1, ANY_SIZE], ids=["stages", "task"])
@pytest.mark.parametrize("case", cases())
def test_every_case(
    spark: Any, in_small: None, case: dict[str, Any], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_one_task, "EXPECTED", expected)
    place = {record["id"]: at for at, record in enumerate(case["records"])}
    settings = {"recall": CERTAIN, **case["settings"]}
    threshold = settings.pop("threshold", 0.8)
    # Both answers out of one run, which is most of the time that a small case takes.
    run = prepare(frame_of(spark, case), "text", "id", threshold, "place", case.get("within"), None, settings)

    found = sorted(paired(run).collect(), key=lambda pair: (place[pair.left], place[pair.right]))
    assert [tuple(pair) for pair in found] == [(left, right, float(Fraction(how))) for left, right, how in case["pairs"]]

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
    """Three of four values of a sketch come from what all records share: the bucket rule decides who is compared with whom."""
    chance = random.Random(5)
    common = " ".join(f"common{at}" for at in range(30))
    texts: list[str] = []
    for at in range(140_000):
        one_more = " ".join(str(chance.randrange(10**9)) for _ in range(5))
        texts.append(f"{texts[-1]} more" if at % 10 == 9 else f"{common} {one_more}")
    expected = check_against_one_machine(spark, list(enumerate(texts)), threshold=0.9, bands="6x1", hashes=128)
    assert expected.summary["bounded_buckets"] == 6 and expected.summary["dropped"] > 4_000


@pytest.fixture
def small(spark: Any, tmp_path: Path) -> Any:
    """A table whose size Spark knows."""
    rows = [(at, text, at * 7 % 1_000 if at % 5 else None) for at, text in enumerate(mixed(2_000, seed=8))]
    spark.createDataFrame(rows, "id long, text string, score long").write.parquet(str(tmp_path / "small"))
    return spark.read.parquet(str(tmp_path / "small"))


@pytest.mark.parametrize("settings", [{"keep": "longest"}, {"keep": "max:score"}, {"keep": "last", "group": "connected"}])
def test_a_small_table_is_done_in_one_task(small: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"threshold": 0.7, "order_by": "score", **settings}
    in_stages = dedup(small, annotate=True, **asked).orderBy("id").collect()
    monkeypatch.undo()
    assert _one_task.dropped(prepare(small, "text", "id", 0.7, None, None, None, {})) is not None
    assert dedup(small, annotate=True, **asked).orderBy("id").collect() == in_stages
    rows = sorted(small.collect(), key=lambda row: (row.score is None, row.score, row.id))
    found = la.dedup([row.text for row in rows], 0.7).pairs
    expected = sorted((rows[left].id, rows[right].id, how) for left, right, how in found)
    assert sorted(map(tuple, pairs(small, **asked).collect())) == expected


@pytest.mark.parametrize("limit", ["HELD", "PAIRS"])
def test_a_task_gives_up_what_is_too_much_for_it(small: Any, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    expected = sorted(map(tuple, pairs(small, threshold=0.7).collect()))
    monkeypatch.setattr(_one_task, limit, 100)
    assert _one_task.pairs(prepare(small, "text", "id", 0.7, None, None, None, {})) is None
    assert sorted(map(tuple, pairs(small, threshold=0.7).collect())) == expected


def test_a_missing_item_of_a_set_is_none(spark: Any, in_small: None) -> None:
    df = spark.createDataFrame([(1, ["a", None, "b"]), (2, ["b", "a"]), (3, [None])], "id long, text array<string>")
    assert [tuple(row)[:2] for row in pairs(df).collect()] == [(1, 2)]
