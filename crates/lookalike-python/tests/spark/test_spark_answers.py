"""What Spark finds is what one machine finds."""

from __future__ import annotations

import json
import random
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import lookalike as la
import pytest
from conftest import small_settings
from corpora import chain, mixed
from lookalike.spark import _components, _one_task, dedup, groups, pairs
from lookalike.spark._frames import annotated, paired, prepare

CASES = Path(__file__).parents[4] / "testdata"
#: So many small jobs are in work at a time.
AT_ONCE = 4
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
    assert len(fit) >= 40 and len({case["name"] for case in fit}) == len(fit)
    return [pytest.param(case, id=case["name"]) for case in fit]


#: What a case comes to: its pairs, and its rows with their parts in their groups.
Answer = tuple[list[Any], list[Any]]


@pytest.fixture(scope="module", params=[-1, ANY_SIZE], ids=["stages", "task"])
def answers(request: pytest.FixtureRequest, spark: Any) -> dict[str, Future[dict[str, Answer]]]:
    """What Spark answers to the cases that are tested. A small job mostly waits, so several are in work at a time, and cases
    with the same settings are one job."""
    items = [item for item in request.session.items if getattr(item, "originalname", "") == "test_every_case"]
    wanted = {item.callspec.params["case"]["name"]: item.callspec.params["case"] for item in items}  # type: ignore[attr-defined]
    together: dict[Any, list[dict[str, Any]]] = {}
    for case in wanted.values():
        alone = case["name"] if "within" in case else None
        together.setdefault((json.dumps(case["settings"], sort_keys=True), str(columns_of(case)), alone), []).append(case)
    with pytest.MonkeyPatch.context() as patch, small_settings(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        patch.setattr(_one_task, "EXPECTED", request.param)
        jobs = [(cases, pool.submit(answer, spark, cases)) for cases in together.values()]
        return {case["name"]: job for cases, job in jobs for case in cases}


def answer(spark: Any, cases: list[dict[str, Any]]) -> dict[str, Answer]:
    """The answers to cases with the same settings, out of one run, which is most of the time that a small case takes."""
    settings = {"recall": CERTAIN, **cases[0]["settings"]}
    threshold = settings.pop("threshold", 0.8)
    # Records of different cases are not compared.
    within = "case" if len(cases) > 1 else cases[0].get("within")
    run = prepare(frame_of(spark, cases), "text", "id", threshold, "place", within, None, settings)
    pairs, noted = paired(run).collect(), annotated(run).collect()
    case_of = {row.id: row.case for row in noted}
    answers: dict[str, Answer] = {case["name"]: ([], []) for case in cases}
    for pair in pairs:
        answers[case_of[pair.left]][0].append(pair)
    for row in noted:
        answers[row.case][1].append(row)
    return answers


def columns_of(case: dict[str, Any]) -> dict[str, str]:
    """The types of the columns of a case. The order of records is a column, as a DataFrame has none."""
    is_set = any(isinstance(record["text"], list) for record in case["records"])
    kinds = {"id": "string", "text": "array<string>" if is_set else "string", "place": "int", "case": "string"}
    for record in case["records"]:
        for name, value in record.items():
            if name not in ("id", "text"):
                # A column has one type: of numbers, the wider.
                kind = {str: "string", int: "long", float: "double"}[type(value)]
                kinds[name] = "double" if "double" in (kind, kinds.get(name)) else kind
    return kinds


def frame_of(spark: Any, cases: list[dict[str, Any]]) -> Any:
    """The records of cases with the same columns."""
    kinds, rows = columns_of(cases[0]), []
    for case in cases:
        for record in case["records"]:
            row = {**record, "id": called(case, record["id"]), "place": len(rows), "case": case["name"]}
            rows.append(tuple(row[name] * 1.0 if kinds[name] == "double" and name in row else row.get(name) for name in kinds))
    random.Random(1).shuffle(rows)
    # Cases are a handful of records: one partition.
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), ", ".join(f"`{name}` {kind}" for name, kind in kinds.items()))


def called(case: dict[str, Any], id: str) -> str:
    """An id that no other case has."""
    return f"{case['name']}: {id}"


@pytest.mark.parametrize("case", cases())
def test_every_case(answers: dict[str, Future[dict[str, Answer]]], case: dict[str, Any]) -> None:
    place = {called(case, record["id"]): at for at, record in enumerate(case["records"])}
    pairs, noted = answers[case["name"]].result()[case["name"]]
    found = sorted(pairs, key=lambda pair: (place[pair.left], place[pair.right]))
    assert [tuple(pair) for pair in found] == [
        (called(case, left), called(case, right), float(Fraction(how))) for left, right, how in case["pairs"]
    ]
    assert len(noted) == len(case["records"])
    kept = sorted((row.id for row in noted if row.role != "duplicate"), key=place.__getitem__)
    assert kept == [called(case, id) for id in case["kept"]]
    members: dict[str, list[str]] = {}
    for row in sorted(noted, key=lambda row: place[row.id]):
        if row.role == "duplicate":
            members.setdefault(row.group, [row.group]).append(row.id)
    expected = [[called(case, id) for id in group] for group in case["groups"]]
    assert sorted(members.values(), key=lambda group: place[group[0]]) == expected
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
