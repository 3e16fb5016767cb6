"""Weighted MinHash: sketches of vectors, to estimate weighted Jaccard similarities from."""

from __future__ import annotations

import copy
from collections.abc import Sized
from typing import Any

import numpy as np

from lookalike import _native


class WeightedMinHash:
    """The sketch of a vector of weights, made by a :class:`WeightedMinHashGenerator`."""

    def __init__(self, seed: int, hashvalues: Any) -> None:
        self.seed = seed
        self.hashvalues = hashvalues

    def jaccard(self, other: WeightedMinHash) -> float:
        """Estimate the weighted Jaccard similarity: the part of the samples that are equal."""
        if other.seed != self.seed:
            raise ValueError("cannot compare weighted MinHash with different seeds")
        if len(self) != len(other):
            raise ValueError("cannot compare weighted MinHash with different numbers of hash values")
        equal = np.all(np.asarray(self.hashvalues) == np.asarray(other.hashvalues), axis=1)
        return float(np.count_nonzero(equal)) / float(len(self))

    def digest(self) -> Any:
        """A copy of the hash values, as an array of numpy."""
        return copy.copy(self.hashvalues)

    def copy(self) -> WeightedMinHash:
        """A sketch of its own with the same state."""
        return WeightedMinHash(self.seed, self.digest())

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, WeightedMinHash)
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]


class WeightedMinHashGenerator:
    """Makes sketches of vectors with ``dim`` weights, of ``sample_size`` samples each.

    >>> generator = WeightedMinHashGenerator(3)
    >>> generator.minhash([1, 2, 3]).jaccard(generator.minhash([1, 2, 4]))
    0.84375
    """

    def __init__(self, dim: int, sample_size: int = 128, seed: int = 1) -> None:
        self.dim = dim
        self.sample_size = sample_size
        self.seed = seed
        source, shape = np.random.RandomState(seed=seed), (sample_size, dim)
        self.rs = source.gamma(2, 1, shape).astype(np.float32)
        self.ln_cs = np.log(source.gamma(2, 1, shape)).astype(np.float32)
        self.betas = source.uniform(0, 1, shape).astype(np.float32)

    def minhash(self, v: Any) -> WeightedMinHash:
        """The sketch of a vector."""
        if not isinstance(v, Sized):
            raise TypeError("the vector must have a length, as lists and arrays do")
        if len(v) != self.dim:
            raise ValueError(f"the vector must have {self.dim} weights, and has {len(v)}")
        weights = np.asarray(v, dtype=np.float32)
        dimensions = np.flatnonzero(weights)
        if len(dimensions) == 0:
            raise ValueError("all weights of the vector are zero")
        return self._sketch(dimensions, np.log(weights[dimensions]), False)

    def minhash_many(self, X: Any) -> list[WeightedMinHash | None]:
        """The sketch of each row of a matrix, an array or a sparse matrix of scipy; none for a row without weights.

        They cannot be compared with those of :meth:`minhash`, which samples by another formula. So it is in datasketch.
        """
        is_sparse = hasattr(X, "tocsr")
        if not is_sparse and not isinstance(X, np.ndarray):
            raise TypeError("the matrix must be an array of numpy or a sparse matrix of scipy")
        if X.ndim != 2:
            raise ValueError("the matrix must have two dimensions")
        if X.shape[1] != self.dim:
            raise ValueError(f"the rows of the matrix must have {self.dim} weights, and have {X.shape[1]}")
        if is_sparse:
            rows = X.tocsr().astype(np.float32, copy=True)
            rows.sum_duplicates()
            rows.eliminate_zeros()
            dimensions, weights, ends = rows.indices, rows.data, rows.indptr
        else:
            # Rows of a `numpy.matrix` are matrices again.
            matrix = np.asarray(X).astype(np.float32)
            at_rows, dimensions = np.nonzero(matrix)
            weights = matrix[at_rows, dimensions]
            ends = np.searchsorted(at_rows, np.arange(len(matrix) + 1))
        logs, dimensions = np.log(weights), np.ascontiguousarray(dimensions, dtype=np.int64)
        return [
            self._sketch(dimensions[start:end], logs[start:end], True) if start < end else None
            for start, end in zip(ends[:-1], ends[1:])
        ]

    def _sketch(self, dimensions: Any, logs: Any, is_one_of_many: bool) -> WeightedMinHash:
        samples = _native.weighted_samples(self.rs, self.ln_cs, self.betas, dimensions, logs, is_one_of_many)
        return WeightedMinHash(self.seed, samples)
