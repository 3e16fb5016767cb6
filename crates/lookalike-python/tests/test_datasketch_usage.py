"""What programs do with datasketch, done with lookalike.datasketch; whatever can be exact is checked exactly."""

from __future__ import annotations

import inspect
import multiprocessing
from typing import Any

import datasketch as theirs
import pytest

import lookalike.datasketch as ours

NEWS = {
    "ferry": "the ferry to the island was cancelled this morning because of the storm",
    "ferry again": "the ferry to the island was cancelled this evening because of the storm",
    "market": "the market in the old town opens again on saturday after two years of work",
    "chess": "a girl of nine years has won the open chess tournament of the northern towns",
}


def shingles(text: str) -> list[bytes]:
    words = text.split()
    return [" ".join(words[at : at + 2]).encode() for at in range(len(words) - 1)]


def exact(left: str, right: str) -> float:
    one, two = set(shingles(left)), set(shingles(right))
    return len(one & two) / len(one | two)


@pytest.fixture
def sketches() -> dict[str, ours.MinHash]:
    return dict(zip(NEWS, ours.MinHash.bulk(map(shingles, NEWS.values()), num_perm=256)))


def test_similarity_of_two_texts(sketches: dict[str, ours.MinHash]) -> None:
    for left in NEWS:
        for right in NEWS:
            # Four standard errors of 256 hash values.
            assert sketches[left].jaccard(sketches[right]) == pytest.approx(exact(NEWS[left], NEWS[right]), abs=0.125)


def test_size_of_a_set() -> None:
    sketch = ours.MinHash(num_perm=1024)
    sketch.update_batch(str(number).encode() for number in range(20_000))
    assert sketch.count() == pytest.approx(20_000, rel=0.125)


def test_candidates_are_filtered_by_their_estimate(sketches: dict[str, ours.MinHash]) -> None:
    lsh = ours.MinHashLSH(threshold=0.5, num_perm=256)
    with lsh.insertion_session() as session:
        for key, sketch in sketches.items():
            session.insert(key, sketch)
    asked = sketches["ferry"]
    found = [key for key in lsh.query(asked) if asked.jaccard(sketches[key]) >= 0.5]
    assert sorted(found) == ["ferry", "ferry again"]
    lsh.remove("ferry again")
    assert lsh.query(asked) == ["ferry"] and "ferry again" not in lsh


def test_groups_are_read_from_the_buckets(sketches: dict[str, ours.MinHash]) -> None:
    lsh = ours.MinHashLSH(threshold=0.5, num_perm=256)
    for key, sketch in sketches.items():
        lsh.insert(key, sketch)
    together = {frozenset(table.get(name)) for table in lsh.hashtables for name in table.keys()}
    assert {keys for keys in together if len(keys) > 1} == {frozenset({"ferry", "ferry again"})}


def test_indexes_that_were_made_in_parts_are_merged(sketches: dict[str, ours.MinHash]) -> None:
    parts = [ours.MinHashLSH(num_perm=256, threshold=0.5) for _ in range(2)]
    for number, (key, sketch) in enumerate(sketches.items()):
        parts[number % 2].insert(key, sketch)
    parts[0].merge(parts[1], check_overlap=True)
    assert set(parts[0].query(sketches["ferry"])) == {"ferry", "ferry again"}
    with pytest.raises(ValueError):
        parts[0].merge(parts[1], check_overlap=True)


def test_the_most_similar_are_ranked(sketches: dict[str, ours.MinHash]) -> None:
    forest = ours.MinHashLSHForest(num_perm=256)
    for key, sketch in sketches.items():
        forest.add(key, sketch)
    forest.index()
    found = forest.query(sketches["ferry"], 3)

    def similarity(key: str) -> float:
        stored = ours.MinHash(hashvalues=forest.get_minhash_hashvalues(key), scheme="affine32", seed=1)
        return stored.jaccard(sketches["ferry"])

    assert sorted(found, key=similarity, reverse=True)[:2] == ["ferry", "ferry again"]


def test_a_set_is_found_in_larger_ones() -> None:
    sets = {"all": range(0, 100), "half": range(0, 50), "elsewhere": range(500, 560)}
    entries = []
    for key, numbers in sets.items():
        sketch = ours.MinHash()
        sketch.update_batch(b"%d" % number for number in numbers)
        entries.append((key, sketch, len(numbers)))
    ensemble = ours.MinHashLSHEnsemble(threshold=0.7, num_part=3)
    ensemble.index(entries)
    half = next(entry for entry in entries if entry[0] == "half")
    assert set(ensemble.query(half[1], half[2])) == {"all", "half"}


def test_lean_sketches_in_one_buffer(sketches: dict[str, ours.MinHash]) -> None:
    lean = [ours.LeanMinHash(sketch) for sketch in sketches.values()]
    size = lean[0].bytesize("<")
    buffer = bytearray(size * len(lean))
    for number, sketch in enumerate(lean):
        sketch.serialize(memoryview(buffer)[number * size :], "<")
    read = [ours.LeanMinHash.deserialize(memoryview(buffer)[number * size :], "<") for number in range(len(lean))]
    assert read == lean
    grown = ours.MinHash(seed=read[0].seed, hashvalues=read[0].digest(), scheme=read[0].scheme)
    grown.update(b"more")
    assert grown.jaccard(read[0]) < 1.0


def sketch_in_a_child(text: str) -> Any:
    return ours.MinHash.bulk([shingles(text)] * 500)[7]


def test_sketches_come_back_from_other_processes() -> None:
    ours.MinHash.bulk([shingles(NEWS["ferry"])] * 500)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        made = pool.map(sketch_in_a_child, NEWS.values())
    assert made == ours.MinHash.bulk(map(shingles, NEWS.values()))


CLASSES = [
    "MinHash", "LeanMinHash", "bBitMinHash", "MinHashLSH", "MinHashLSHForest", "MinHashLSHEnsemble", "WeightedMinHash",
    "WeightedMinHashGenerator",
]  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_everything_that_is_public_there_is_here_with_the_same_arguments(name: str) -> None:
    there, here = getattr(theirs, name), getattr(ours, name)
    for member, value in inspect.getmembers(there):
        if member.startswith("_") and member not in ("__init__", "__len__", "__eq__", "__contains__"):
            continue
        assert hasattr(here, member), member
        if member in ("__eq__", "__contains__", "union") or not callable(value):
            continue
        expected = inspect.signature(value).parameters.values()
        found = inspect.signature(getattr(here, member)).parameters.values()
        assert [(one.name, one.default) for one in found] == [(one.name, one.default) for one in expected], member


def test_what_is_not_here_says_where_it_is() -> None:
    with pytest.raises(ImportError, match="import it from datasketch"):
        from lookalike.datasketch import HNSW  # noqa: F401
    assert set(theirs.__all__) - set(ours.__all__) == {
        "AsyncMinHashLSH", "HNSW", "HyperLogLog", "HyperLogLogPlusPlus", "MinHashLSHBloom",
    }  # fmt: skip
