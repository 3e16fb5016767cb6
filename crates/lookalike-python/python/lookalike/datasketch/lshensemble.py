"""MinHashLSHEnsemble: which sets contain most of this one?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike import _native
from lookalike.datasketch.lsh import MinHashLSH, _check_storage, _check_threshold_and_weights

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator


class MinHashLSHEnsemble:
    """An index that finds sets which are likely to contain at least the part ``threshold`` of a set.

    Sets are put into ``num_part`` partitions by their size; for each, bands and rows are chosen when a query comes, with at most
    ``m`` rows.

    >>> from lookalike.datasketch import MinHash
    >>> sets = {"small": [b"one", b"two"], "large": [b"one", b"two", b"three", b"four"], "other": [b"five", b"six", b"seven"]}
    >>> sketches = dict(zip(sets, MinHash.bulk(sets.values())))
    >>> ensemble = MinHashLSHEnsemble(threshold=0.8, num_part=2)
    >>> ensemble.index((key, sketches[key], len(sets[key])) for key in sets)
    >>> sorted(ensemble.query(sketches["small"], 2))
    ['large', 'small']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        num_part: int = 16,
        m: int = 8,
        weights: tuple[float, float] = (0.5, 0.5),
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
    ) -> None:
        if num_part < 1:
            raise ValueError(f"num_part must be at least 1, got {num_part}")
        _check_threshold_and_weights(threshold, num_perm, weights)
        if m < 2 or m > num_perm:
            raise ValueError(f"m must be from 2 to num_perm ({num_perm}), got {m}")
        _check_storage(storage_config)
        self.threshold = threshold
        self.h = num_perm
        self.m = m
        #: How large the sets of a partition are beside that of a query, in steps; and bands and rows for each.
        self.xqs = np.exp(np.linspace(-5, 5, 10))
        best = [_native.best_bands(threshold, num_perm, m, float(ratio), *weights) for ratio in self.xqs]
        self.params = np.array(best, dtype=int)
        all_rows = {int(rows) for _, rows in best}
        self.indexes = [
            {
                rows: MinHashLSH(num_perm=num_perm, params=(int(num_perm / rows), rows), prepickle=prepickle)
                for rows in all_rows
            }
            for _ in range(num_part)
        ]
        #: The least and the greatest size of each partition; none for one that is not used.
        self.lowers: list[Any] = [None] * num_part
        self.uppers: list[Any] = [None] * num_part

    def index(self, entries: Iterable[tuple[Hashable, Any, int]]) -> None:
        """Put all sets into the index, once: tuples of a key, a MinHash and the size of the set."""
        if not self.is_empty():
            raise ValueError("index can be called only once; make another index")
        if not isinstance(entries, list):
            entries = list(entries)
            for key, _, size in entries:
                if size <= 0:
                    raise ValueError(f"the size of a set must be positive, and that of {key!r} is {size}")
        if not entries:
            raise ValueError("there are no entries to index")
        counted = sorted(Counter(size for _, _, size in entries).items())
        sizes, counts = [size for size, _ in counted], [count for _, count in counted]
        for part, (lower, upper) in enumerate(_partitions(sizes, counts, len(self.indexes))):
            self.lowers[part], self.uppers[part] = lower, upper
        entries.sort(key=lambda entry: entry[2])
        part = 0
        for key, minhash, size in entries:
            while size > self.uppers[part]:
                part += 1
            for lsh in self.indexes[part].values():
                lsh.insert(key, minhash)

    def query(self, minhash: Any, size: int) -> Iterator[Any]:
        """The keys of sets that are likely to contain enough of a set with this MinHash and size."""
        for index, upper in zip(self.indexes, self.uppers):
            if upper is None:
                continue
            bands, rows = self._get_optimal_param(upper, size)
            yield from index[int(rows)]._query_b(minhash, int(bands))

    def _get_optimal_param(self, x: float, q: float) -> Any:
        at = int(np.searchsorted(self.xqs, float(x) / float(q), side="left"))
        return self.params[min(at, len(self.params) - 1)]

    def is_empty(self) -> bool:
        """Whether there is nothing in the index."""
        return all(lsh.is_empty() for index in self.indexes for lsh in index.values())

    def __contains__(self, key: Hashable) -> bool:
        return any(key in lsh for index in self.indexes for lsh in index.values())


def _partitions(sizes: list[Any], counts: list[int], parts: int) -> list[tuple[Any, Any]]:
    """The least and the greatest size of each partition, so that the fewest false positives are expected."""
    if parts < 2:
        return [(sizes[0], sizes[-1])]
    if parts >= len(sizes):
        return [(size, size) for size in sizes]
    lower, partitions = 0, []
    for upper in _native.best_partitions([int(size) for size in sizes], counts, parts):
        partitions.append((sizes[lower], sizes[upper]))
        lower = upper + 1
    return partitions
