"""MinHash: a sketch of a set, to estimate Jaccard similarities from."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from lookalike import _native
from lookalike.datasketch import _schemes
from lookalike.datasketch.hashfunc import known_name, sha1_hash32, sha1_hash64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: More permutations than this cannot be had.
_MOST_PERMUTATIONS = 1 << 32


class MinHash(_native.MinHashState):
    """A sketch of a set that grows by :meth:`update` and :meth:`update_batch`.

    ``num_perm`` permutations are drawn with ``seed``. Elements are hashed by ``hashfunc``, SHA-1 unless told otherwise; it must
    give 32 bits, or 64 for the scheme "affine64". The hash values are the same numbers as datasketch's.

    ``hashvalues`` and ``permutations`` take over the state of another sketch; ``scheme`` must then be said, because the numbers
    do not tell it: "affine32" (the default), "affine64" for very large sets, "legacy" for sketches that were made before
    datasketch 2.

    >>> left, right = MinHash(), MinHash()
    >>> left.update_batch([b"one", b"two", b"three", b"four"])
    >>> right.update_batch([b"one", b"two", b"three", b"five"])
    >>> left.jaccard(right)
    0.65625
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Callable[..., Any] | None = None,
        hashobj: object | None = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        if scheme is None:
            if hashvalues is not None or permutations is not None:
                raise ValueError(
                    "say the scheme of the MinHash that the hash values or permutations come from; "
                    "it is scheme='legacy' if they were made before datasketch 2"
                )
            scheme = "affine32"
        else:
            _schemes.check_scheme(scheme)
        if hashvalues is not None:
            num_perm = len(hashvalues)
        if num_perm < 1:
            raise ValueError("num_perm must be positive")
        if num_perm > _MOST_PERMUTATIONS:
            raise ValueError(f"num_perm must not be more than {_MOST_PERMUTATIONS}")
        if hashfunc is None:
            hashfunc = sha1_hash64 if scheme == "affine64" else sha1_hash32
        if not callable(hashfunc):
            raise ValueError("hashfunc must be a function, or another callable")
        if hashobj is not None:
            warnings.warn("hashobj has no effect; use hashfunc", DeprecationWarning, stacklevel=2)
        values = None if hashvalues is None else _schemes.as_hashvalues(scheme, hashvalues)
        if permutations is None:
            drawn = _schemes.permutations_for(scheme, seed, num_perm)
        else:
            drawn = _schemes.as_permutations(scheme, permutations)
        if len(drawn) != num_perm and (values is not None or permutations is not None):
            raise ValueError("there must be as many permutations as hash values")
        self._prepare(scheme, seed, num_perm, gpu_mode, hashfunc, known_name(hashfunc), values, drawn)

    def count(self) -> float:
        """Estimate how many different elements were added."""
        values = self.hashvalues / float(_schemes.GREATEST[self.scheme])
        return float(len(self)) / np.sum(values) - 1.0  # type: ignore[no-any-return]

    def digest(self) -> Any:
        """A copy of the hash values, as an array of numpy."""
        return copy.copy(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, MinHash)
            and self.scheme == other.scheme
            and self.seed == other.seed
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    # What can change is no key of a dictionary.
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The sketch of the union of the sets of two or more sketches.

        >>> one, two = MinHash(), MinHash()
        >>> one.update(b"one")
        >>> two.update(b"two")
        >>> MinHash.union(one, two).jaccard(one)
        0.40625
        """
        first = _check_union(mhs)
        return cls(
            num_perm=len(first),
            seed=first.seed,
            hashfunc=first.hashfunc,
            hashvalues=np.minimum.reduce([sketch.hashvalues for sketch in mhs]),
            permutations=first.permutations,
            gpu_mode=first._gpu_mode,
            scheme=first.scheme,
        )

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """One sketch for each set of elements, made on all cores where the hash function is known.

        >>> [round(sketch.count()) for sketch in MinHash.bulk([[b"one"], [b"one", b"two"]])]
        [1, 2]
        """
        empty = cls(**minhash_kwargs)
        if type(empty).copy is not MinHash.copy:
            return list(cls.generator(b, **minhash_kwargs))
        return _native.minhash_bulk(empty, MinHash, b)

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[MinHash]:
        """One sketch for each set of elements, made when it is asked for."""
        empty = cls(**minhash_kwargs)
        for elements in b:
            made = empty.copy()
            made.update_batch(elements)
            yield made

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # The oldest protocols know no classes that are derived from ones in Rust.
        return super().__reduce_ex__(max(2, int(protocol)))

    def __getstate__(self) -> Any:
        return {
            **self.__dict__,
            "scheme": self.scheme,
            "seed": self.seed,
            "num_perm": self.num_perm,
            "hashfunc": self.hashfunc,
            "hashvalues": self.hashvalues,
            "permutations": self.permutations,
            "_gpu_mode": self._gpu_mode,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        scheme = state.pop("scheme", "legacy")
        _schemes.check_scheme(scheme)
        hashfunc, seed, num_perm = state.pop("hashfunc"), state.pop("seed"), state.pop("num_perm")
        permutations = _schemes.as_permutations(scheme, state.pop("permutations"))
        gpu_mode, values = state.pop("_gpu_mode", "disable"), state.pop("hashvalues")
        self._prepare(scheme, seed, num_perm, gpu_mode, hashfunc, known_name(hashfunc), values, permutations)
        self.__dict__.update(state)


def _check_union(sketches: tuple[MinHash, ...]) -> MinHash:
    """The first of some sketches whose union can be taken."""
    if len(sketches) < 2:
        raise ValueError("a union needs two MinHash or more")
    first = sketches[0]
    for other in sketches:
        if first.seed != other.seed or len(first) != len(other) or first.scheme != other.scheme:
            raise ValueError("a union needs MinHash of the same seed, number of permutations and scheme")
    return first
