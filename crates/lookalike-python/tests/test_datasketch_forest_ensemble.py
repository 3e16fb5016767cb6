"""Forests and ensembles of lookalike.datasketch beside datasketch's: the same parameters, the same answers."""

from __future__ import annotations

import pickle
from typing import Any

import datasketch as theirs
import numpy as np
import pytest
from datasketch.lshensemble_partition import optimal_partitions
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike.datasketch as ours
from lookalike.datasketch.lshensemble import _partitions

unhurried = settings(max_examples=80, deadline=None)
values = st.lists(st.integers(0, 2), min_size=12, max_size=12)


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


@unhurried
@given(
    st.lists(values, max_size=20),
    st.lists(values, max_size=5),
    st.lists(st.tuples(values, st.integers(0, 25)), max_size=5),
    st.integers(1, 12),
    st.sampled_from(["affine32", "affine64", "legacy", "weighted"]),
)
def test_forests_find_the_same(first: Any, more: Any, queries: Any, trees: int, kind: str) -> None:
    def sketch(module: Any, numbers: list[int]) -> Any:
        if kind == "weighted":
            return module.WeightedMinHash(1, np.array([[number, number - 1] for number in numbers]))
        return module.MinHash(hashvalues=numbers, scheme=kind)

    answers: list[Any] = []
    for module in (theirs, ours):
        forest = module.MinHashLSHForest(num_perm=12, l=trees)
        answer: list[Any] = [(forest.l, forest.k, forest.hashranges)]
        # Once a key of what was added is in a bucket, datasketch finds it before it is indexed; ours does not.
        for start, some in [(0, first), (100, more)]:
            for number, numbers in enumerate(some, start):
                forest.add(number, sketch(module, numbers))
            forest.index()
            for numbers, count in queries:
                found = outcome(lambda: forest.query(sketch(module, numbers), count))
                answer.append(set(found) if isinstance(found, list) else found)
        answer += [forest.is_empty(), 0 in forest, 7 in forest, dict(forest.keys)]
        if kind != "weighted":
            answer.append([forest.get_minhash_hashvalues(key).tolist() for key in forest.keys])
        again = pickle.loads(pickle.dumps(forest))
        answer.append([set(again.query(sketch(module, numbers), 3)) for numbers, _ in queries])
        answers.append(answer)
    assert answers[0] == answers[1]


def test_a_forest_shows_what_was_indexed() -> None:
    sketches = ours.MinHash.bulk([[b"one"], [b"two"]])
    forest = ours.MinHashLSHForest()
    forest.add("one", sketches[0])
    assert forest.is_empty() and forest.query(sketches[0], 1) == [] and "one" in forest
    forest.index()
    forest.add("two", sketches[1])
    for same in (forest, pickle.loads(pickle.dumps(forest))):
        assert same.query(sketches[0], 5) == ["one"] and same.query(sketches[1], 5) == []
    assert forest.get_minhash_hashvalues("two").tolist() == sketches[1].hashvalues.tolist()
    with pytest.raises(KeyError):
        forest.get_minhash_hashvalues("three")
    for wrong in (
        lambda: forest.add("one", sketches[0]),
        lambda: forest.add("three", ours.MinHash(num_perm=64)),
        lambda: forest.add("three", ours.MinHash(scheme="legacy")),
        lambda: forest.query(ours.MinHash(num_perm=64), 1),
        lambda: forest.query(ours.MinHash(scheme="legacy"), 1),
        lambda: forest.query(sketches[0], 0),
        lambda: ours.MinHashLSHForest(l=0),
        lambda: ours.MinHashLSHForest(num_perm=4, l=5),
    ):
        with pytest.raises(ValueError):
            wrong()


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(1, 500), st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 8))
def test_sizes_are_cut_alike(counted: dict[int, int], parts: int) -> None:
    sizes, counts = sorted(counted), [counted[size] for size in sorted(counted)]
    there = optimal_partitions(np.array(sizes), np.array(counts), parts)
    assert [tuple(map(int, bounds)) for bounds in there] == _partitions(sizes, counts, parts)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([0.3, 0.5, 0.8, 0.95]),
    st.sampled_from([(0.5, 0.5), (0.2, 0.8)]),
    st.integers(1, 5),
    st.integers(2, 6),
    st.lists(st.sets(st.integers(0, 40), min_size=1, max_size=25), min_size=1, max_size=15),
    st.booleans(),
)
def test_ensembles_find_the_same(
    threshold: float, weights: Any, parts: int, rows: int, sets: list[set[int]], in_list: bool
) -> None:
    answers: list[Any] = []
    for module in (theirs, ours):
        sketches = module.MinHash.bulk([[b"%d" % number for number in numbers] for numbers in sets], num_perm=32)
        ensemble = module.MinHashLSHEnsemble(threshold, num_perm=32, num_part=parts, m=rows, weights=weights)
        entries = [(key, sketch, len(numbers)) for key, (sketch, numbers) in enumerate(zip(sketches, sets))]
        assert ensemble.is_empty()
        ensemble.index(entries if in_list else iter(entries))
        queries = [(sketch, len(numbers)) for sketch, numbers in zip(sketches, sets)] + [(sketches[0], 90)]
        answers.append(
            [
                ensemble.params.tolist(),
                ensemble.xqs.tolist(),
                [bound and int(bound) for bound in ensemble.lowers + ensemble.uppers],
                [sorted(ensemble.query(sketch, size)) for sketch, size in queries],
                [0 in ensemble, "none" in ensemble, ensemble.is_empty()],
                [sorted(map(int, index)) for index in ensemble.indexes],
            ]
        )
        if module is ours:
            again = pickle.loads(pickle.dumps(ensemble))
            assert [sorted(again.query(sketch, size)) for sketch, size in queries] == answers[-1][3]
            with pytest.raises(ValueError):
                ensemble.index(entries)
    assert answers[0] == answers[1]


WRONG: list[dict[str, Any]] = [
    {"threshold": 1.5},
    {"num_perm": 1},
    {"num_part": 0},
    {"m": 1},
    {"m": 500},
    {"weights": (0.1, 0.2)},
    {"storage_config": {"type": "unheard of"}},
]


@pytest.mark.parametrize("arguments", WRONG, ids=str)
def test_wrong_arguments_are_refused_alike(arguments: dict[str, Any]) -> None:
    there, here = (outcome(lambda: module.MinHashLSHEnsemble(**arguments)) for module in (theirs, ours))
    assert isinstance(there, type) and there is here


def test_an_ensemble_needs_sets_with_elements() -> None:
    ensemble = ours.MinHashLSHEnsemble(num_perm=16, m=4)
    for entries in ([], iter([("key", ours.MinHash(num_perm=16), 0)])):
        with pytest.raises(ValueError):
            ensemble.index(entries)
    with pytest.raises(ValueError, match="lookalike.Index"):
        ours.MinHashLSHEnsemble(storage_config={"type": "cassandra"})
