"""MinHashLSHForest: the sets that are most similar, without a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike import _native

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


class MinHashLSHForest:
    """An index of ``l`` prefix trees that gives the ``k`` keys with the longest prefixes of hash values in common.

    >>> from lookalike.datasketch import MinHash
    >>> sketches = MinHash.bulk([[b"one", b"two", b"three"], [b"one", b"two", b"four"], [b"five"]])
    >>> forest = MinHashLSHForest()
    >>> for key, sketch in zip("abc", sketches):
    ...     forest.add(key, sketch)
    >>> forest.index()
    >>> sorted(forest.query(sketches[0], 2))
    ['a', 'b']
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:
        if l <= 0 or num_perm <= 0:
            raise ValueError("num_perm and l must be positive")
        if l > num_perm:
            raise ValueError(f"there cannot be more trees ({l}) than hash values ({num_perm})")
        self.l = l
        self.k = int(num_perm / l)
        self.hashranges = [(tree * self.k, (tree + 1) * self.k) for tree in range(l)]
        self._forest = _native.PrefixForest(self.l, self.k)

    @property
    def keys(self) -> Mapping[Any, list[bytes]]:
        """The keys, each with the bytes of its hash values, tree by tree."""
        return _ForestKeys(self._forest)

    def add(self, key: Hashable, minhash: Any) -> None:
        """Add a key, with the MinHash of its set. It is found after :meth:`index`."""
        self._forest.add(key, minhash)

    def index(self) -> None:
        """Make all keys that were added findable."""
        self._forest.index()

    def query(self, minhash: Any, k: int) -> list[Any]:
        """At most ``k`` keys of sets that are likely to be the most similar."""
        if k <= 0:
            raise ValueError("k must be positive")
        return self._forest.query(minhash, k)

    def get_minhash_hashvalues(self, key: Hashable) -> Any:
        """The hash values that were added under a key, as an array of numpy."""
        found = self._forest.values_of(key)
        if found is None:
            raise KeyError(f"the key {key!r} is not in this forest")
        segments, width = found
        # A number that was written turned around.
        return np.frombuffer(b"".join(segments), dtype=f">u{width}").astype(f"u{width}")

    def is_empty(self) -> bool:
        """Whether nothing can be found: keys that were added count only after :meth:`index`."""
        return self._forest.indexed == 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._forest

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_forest"}
        return {**state, "_exported": self._forest.export()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        exported = state.pop("_exported")
        self.__dict__.update(state)
        self._forest = _native.PrefixForest(self.l, self.k)
        self._forest.restore(*exported)


class _ForestKeys(Mapping[Any, "list[bytes]"]):
    """The keys of a forest, to be read."""

    def __init__(self, forest: _native.PrefixForest) -> None:
        self._forest = forest

    def __getitem__(self, key: Any) -> list[bytes]:
        found = self._forest.values_of(key)
        if found is None:
            raise KeyError(key)
        return found[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._forest.keys())

    def __len__(self) -> int:
        return len(self._forest)

    def __contains__(self, key: object) -> bool:
        return key in self._forest
