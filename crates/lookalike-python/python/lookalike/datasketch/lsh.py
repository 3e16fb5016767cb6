"""MinHashLSH: which sets are likely to be as similar as a threshold?"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from lookalike import _native
from lookalike.datasketch._storage import BucketStorage, KeyStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import TracebackType


def _optimal_param(
    threshold: float, num_perm: int, false_positive_weight: float, false_negative_weight: float
) -> tuple[int, int]:
    """The bands and rows with the least weighted sum of both error areas."""
    return _native.best_bands(threshold, num_perm, num_perm, None, false_positive_weight, false_negative_weight)


def _check_threshold_and_weights(threshold: float, num_perm: int, weights: tuple[float, float]) -> None:
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be from 0.0 to 1.0, got {threshold}")
    if num_perm < 2:
        raise ValueError(f"num_perm must be at least 2, got {num_perm}")
    if any(not 0.0 <= weight <= 1.0 for weight in weights):
        raise ValueError(f"weights must be from 0.0 to 1.0, got {weights}")
    if sum(weights) != 1.0:
        raise ValueError(f"weights must sum to 1.0, got {weights}")


def _check_storage(config: dict[str, Any] | None) -> None:
    kind = (config or {"type": "dict"})["type"]
    if kind in ("redis", "cassandra"):
        raise ValueError(
            f"storage of type {kind!r} is not supported; lookalike.Index keeps an index on disk, for many readers, and "
            "answers exactly"
        )
    if kind != "dict":
        raise ValueError(f"storage of type {kind!r} is not known; only 'dict' is, an index in memory")


class MinHashLSH:
    """An index that finds sets which are likely to have a Jaccard similarity of at least ``threshold``.

    The hash values are cut into ``b`` bands of ``r`` rows; a set is found if one band is equal. They are chosen for the
    threshold and for the ``weights`` of false positives and false negatives, or given as ``params``. ``hashfunc`` makes the
    names of buckets shorter; ``prepickle`` lets keys be anything that can be pickled.

    >>> from lookalike.datasketch import MinHash
    >>> sketches = MinHash.bulk([[b"one", b"two", b"three"], [b"one", b"two", b"three", b"four"], [b"five"]])
    >>> lsh = MinHashLSH(threshold=0.5)
    >>> for key, sketch in enumerate(sketches):
    ...     lsh.insert(key, sketch)
    >>> sorted(lsh.query(sketches[0]))
    [0, 1]
    >>> lsh.b, lsh.r
    (25, 5)
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], Any] | None = None,
    ) -> None:
        _check_threshold_and_weights(threshold, num_perm, weights)
        if params is not None:
            b, r = params
            if b * r > num_perm:
                raise ValueError(
                    f"params {b} × {r} need {b * r} hash values, and num_perm is {num_perm}; was num_perm left out?"
                )
        else:
            b, r = _optimal_param(threshold, num_perm, *weights)
        if b < 2:
            raise ValueError(f"there must be at least 2 bands, not {b}; lower the threshold, or raise num_perm")
        if r < 1:
            raise ValueError(f"a band must have at least 1 row, not {r}")
        _check_storage(storage_config)
        self.h = num_perm
        self.b = b
        self.r = r
        self.prepickle = bool(prepickle)
        self.hashfunc = hashfunc or None
        self.hashranges = [(band * r, (band + 1) * r) for band in range(b)]
        self._buffer_size = 50000
        self._buffered: list[set[Any]] = []
        self._start(_native.BandIndex(num_perm, b, r, self.hashfunc))

    def _start(self, index: _native.BandIndex) -> None:
        self._index = index
        self.keys = KeyStorage(index)
        self.hashtables = [BucketStorage(index, band) for band in range(self.b)]

    @property
    def _minhash_scheme(self) -> str | None:
        return self._index.scheme

    @property
    def buffer_size(self) -> int:
        """Kept for programs that set it; nothing is buffered in memory."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = self.keys.buffer_size = value
        for table in self.hashtables:
            table.buffer_size = value

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Put a key into the index, with the MinHash of its set."""
        self._index.insert(pickle.dumps(key) if self.prepickle else key, minhash, check_duplication)

    def _insert(self, key: Hashable, minhash: Any, check_duplication: bool = True, buffer: bool = False) -> None:
        self.insert(key, minhash, check_duplication)

    def query(self, minhash: Any) -> list[Any]:
        """The keys of the sets that share a band with this one, each once, in no order that can be relied on."""
        found = self._index.query(minhash)
        return [pickle.loads(key) for key in found] if self.prepickle else found

    def _query_b(self, minhash: Any, b: int) -> set[Any]:
        if b > self.b:
            raise ValueError(f"there are {self.b} bands, not {b}")
        found = self._index.query(minhash, int(b))
        return {pickle.loads(key) for key in found} if self.prepickle else set(found)

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Ask about a MinHash, and keep the answer for :meth:`collect_query_buffer`."""
        self._buffered.append(set(self._index.query(minhash)))

    def collect_query_buffer(self) -> list[Any]:
        """The keys that all MinHash have found that were asked about since the last time."""
        answers, self._buffered = self._buffered, []
        found = set.intersection(*answers) if answers else set()
        return [pickle.loads(key) for key in found] if self.prepickle else list(found)

    def remove(self, key: Hashable) -> None:
        """Take a key out of the index."""
        self._index.remove(pickle.dumps(key) if self.prepickle else key)

    def _remove(self, key: Hashable, buffer: bool = False) -> None:
        self.remove(key)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Put everything of another index into this one; refused if both have a key and ``check_overlap`` is set."""
        if type(self) is not type(other):
            raise ValueError(f"cannot merge a MinHashLSH and a {type(other).__name__}")
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("cannot merge indexes of different num_perm, bands or rows")
        if check_overlap and any(key in self.keys for key in other.keys):
            raise ValueError("cannot merge indexes that share a key")
        self._index.merge(other._index)

    def insertion_session(self, buffer_size: int = 50000) -> MinHashLSHInsertionSession:
        """A context to insert in, for programs that use one; in memory it is no faster."""
        return MinHashLSHInsertionSession(self, buffer_size=buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> MinHashLSHDeletionSession:
        """A context to remove in, for programs that use one; in memory it is no faster."""
        return MinHashLSHDeletionSession(self, buffer_size=buffer_size)

    def is_empty(self) -> bool:
        """Whether there is nothing in the index."""
        return len(self._index) == 0

    def get_counts(self) -> list[dict[Any, int]]:
        """For each band, how many keys are in each bucket."""
        return [table.itemcounts() for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[Any, int]]:
        """For each band, how many of these keys are in each bucket."""
        counts: list[dict[Any, int]] = [{} for _ in range(self.b)]
        for key in {pickle.dumps(key) for key in set(keys)} if self.prepickle else set(keys):
            for count, name in zip(counts, self.keys.get(key)):
                count[name] = count.get(name, 0) + 1
        return counts

    def __contains__(self, key: Hashable) -> bool:
        return (pickle.dumps(key) if self.prepickle else key) in self._index

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_index", "keys", "hashtables")}
        return {**state, "_exported": self._index.export()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        exported = state.pop("_exported")
        self.__dict__.update(state)
        self._start(_native.BandIndex(self.h, self.b, self.r, self.hashfunc))
        self._index.restore(*exported)


class _Session:
    """What both sessions share: a context around an index."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def close(self) -> None:
        """Nothing is left to be done: what was asked for has been done at once."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MinHashLSHInsertionSession(_Session):
    """A context to insert in."""

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Put a key into the index, with the MinHash of its set."""
        self.lsh._insert(key, minhash, check_duplication=check_duplication, buffer=True)


class MinHashLSHDeletionSession(_Session):
    """A context to remove in."""

    def __enter__(self) -> MinHashLSHDeletionSession:
        return self

    def remove(self, key: Hashable) -> None:
        """Take a key out of the index."""
        self.lsh._remove(key, buffer=True)
