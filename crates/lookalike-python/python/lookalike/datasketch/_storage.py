"""What code that looks into an index of datasketch finds: its keys and its buckets, to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookalike import _native


class Storage:
    """Keys, each with values: the part of datasketch's storage that reads. Indexes are changed by their own methods."""

    def __init__(self, index: _native.BandIndex) -> None:
        self._index = index
        #: Has no effect: nothing is buffered in memory.
        self.buffer_size = 50000

    def keys(self) -> Any:
        """All keys."""
        raise NotImplementedError

    def get(self, key: Any) -> Any:
        """The values of a key, empty if there is no such key."""
        raise NotImplementedError

    def size(self) -> int:
        """How many keys there are."""
        raise NotImplementedError

    def has_key(self, key: Any) -> bool:
        """Whether there is such a key."""
        return bool(self.get(key))

    def getmany(self, *keys: Any) -> list[Any]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        """How many values each key has."""
        return {key: len(self.get(key)) for key in self.keys()}

    def status(self) -> dict[str, int]:
        """How many keys there are, by the name that datasketch has for it."""
        return {"keyspace_size": len(self)}

    def empty_buffer(self) -> None:
        """Has no effect: nothing is buffered in memory."""

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return self.has_key(key)


class KeyStorage(Storage):
    """The keys of an index, each with the names of its buckets, band by band."""

    def keys(self) -> list[Any]:
        """All keys of the index."""
        return self._index.keys()

    def get(self, key: Any) -> list[Any]:
        """The names of the buckets that a key is in."""
        return self._index.names_of(key) or []

    def size(self) -> int:
        """How many keys the index has."""
        return len(self._index)

    def has_key(self, key: Any) -> bool:
        """Whether a key is in the index."""
        return key in self._index


class BucketStorage(Storage):
    """The buckets of one band, each with the keys in it."""

    def __init__(self, index: _native.BandIndex, band: int) -> None:
        super().__init__(index)
        self._band = band

    def keys(self) -> list[Any]:
        """The names of all buckets: the bytes of the hash values, each number turned around."""
        return self._index.bucket_names(self._band)

    def get(self, key: Any) -> set[Any]:
        """The keys in a bucket."""
        return set(self._index.bucket(self._band, key))

    def size(self) -> int:
        """How many buckets there are."""
        return self._index.bucket_count(self._band)

    def itemcounts(self, **kwargs: Any) -> dict[Any, int]:
        """How many keys each bucket has."""
        return self._index.bucket_sizes(self._band)
