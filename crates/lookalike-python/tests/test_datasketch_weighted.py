"""Weighted sketches of lookalike.datasketch beside datasketch's: the same samples."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import datasketch as theirs
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lookalike.datasketch as ours

unhurried = settings(max_examples=80, deadline=None)
DIMENSIONS = 9
weights = st.one_of(st.just(0.0), st.floats(0, 1e6, width=32), st.integers(0, 50), st.just(-1.0), st.just(float("nan")))
vectors = st.lists(weights, min_size=DIMENSIONS, max_size=DIMENSIONS)
plain = st.lists(st.integers(0, 3), min_size=DIMENSIONS, max_size=DIMENSIONS)


def outcome(call: Any) -> Any:
    try:
        # Both let numpy warn about logarithms of what is below zero.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return type(error)


@unhurried
@given(vectors, vectors, st.integers(0, 1000), st.integers(1, 40), st.sampled_from([list, np.array, np.float32]))
def test_samples_are_the_same(first: Any, second: Any, seed: int, samples: int, form: Any) -> None:
    answers: list[Any] = []
    for module in (theirs, ours):
        generator = module.WeightedMinHashGenerator(DIMENSIONS, sample_size=samples, seed=seed)
        one, two = (outcome(lambda: generator.minhash(form(vector))) for vector in (first, second))
        values = [sketch if isinstance(sketch, type) else sketch.hashvalues.tolist() for sketch in (one, two)]
        similarity = outcome(lambda: one.jaccard(two))
        answers.append([values, similarity if not isinstance(similarity, type) else None])
        if not isinstance(one, type):
            assert pickle.loads(pickle.dumps(one)) == one == one.copy() and len(one) == samples
            assert one.hashvalues.dtype == np.array([1]).dtype
    assert answers[0] == answers[1]


@unhurried
@given(st.lists(plain, min_size=1, max_size=6), st.integers(0, 1000), st.booleans())
def test_samples_of_many_are_the_same(rows: list[list[int]], seed: int, is_sparse: bool) -> None:
    # If all rows are without weights, datasketch fails; here there are no sketches.
    assume(any(map(any, rows)))
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array(rows)) if is_sparse else np.array(rows)
    answers = []
    for module in (theirs, ours):
        generator = module.WeightedMinHashGenerator(DIMENSIONS, sample_size=20, seed=seed)
        made = generator.minhash_many(matrix)
        answers.append([sketch if sketch is None else sketch.hashvalues.tolist() for sketch in made])
    assert answers[0] == answers[1]


def test_rows_without_weights_have_no_sketch() -> None:
    assert ours.WeightedMinHashGenerator(2).minhash_many(np.zeros((3, 2))) == [None, None, None]


def test_refusals() -> None:
    for module in (theirs, ours):
        generator = module.WeightedMinHashGenerator(3)
        for vector in ([0, 0, 0], [1, 2]):
            with pytest.raises(ValueError):
                generator.minhash(vector)
        with pytest.raises(TypeError):
            generator.minhash(5)
        with pytest.raises(TypeError):
            generator.minhash_many([[1, 2, 3]])
        for matrix in (np.zeros(3), np.zeros((2, 4))):
            with pytest.raises(ValueError):
                generator.minhash_many(matrix)
        other = module.WeightedMinHashGenerator(3, seed=2)
        shorter = module.WeightedMinHashGenerator(3, sample_size=5)
        for another in (other, shorter):
            with pytest.raises(ValueError):
                generator.minhash([1, 2, 3]).jaccard(another.minhash([1, 2, 3]))
        with pytest.raises(TypeError):
            hash(generator.minhash([1, 2, 3]))


def test_an_index_finds_weighted_sketches() -> None:
    generator = ours.WeightedMinHashGenerator(100)
    first, second = np.arange(1, 101), np.arange(1, 101)
    second[:10] += 5
    sketches = {"first": generator.minhash(first), "second": generator.minhash(second)}
    lsh, forest = ours.WeightedMinHashLSH(threshold=0.8), ours.WeightedMinHashLSHForest()
    for key, sketch in sketches.items():
        lsh.insert(key, sketch)
        forest.add(key, sketch)
    forest.index()
    assert set(lsh.query(sketches["first"])) == {"first", "second"}
    assert set(forest.query(sketches["first"], 2)) == {"first", "second"}


def test_a_matrix_of_numpy_is_an_array() -> None:
    rows = np.matrix([[1, 2, 0], [0, 0, 0], [3, 1, 4]])
    made = [module.WeightedMinHashGenerator(3, 16).minhash_many(rows) for module in (theirs, ours)]
    found = [[None if sketch is None else sketch.hashvalues.tolist() for sketch in sketches] for sketches in made]
    assert found[0] == found[1] and found[0][1] is None
