"""A MinHash that does not grow any more: smaller, hashable, and with bytes of its own."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lookalike.datasketch import _schemes
from lookalike.datasketch.minhash import MinHash, _check_union

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How ``struct`` writes one value.
_VALUE_FORMATS = {"affine32": "I", "affine64": "Q", "legacy": "I"}
#: The seed, and how many values there are; below zero, a byte with the scheme follows.
_HEADER = "qi"


class LeanMinHash(MinHash):
    """What is left of a MinHash without its permutations and its hash function.

    Made of a MinHash, or of the ``seed``, ``hashvalues`` and ``scheme`` of one.

    >>> sketch = MinHash()
    >>> sketch.update(b"an element")
    >>> lean = LeanMinHash(sketch)
    >>> lean.jaccard(sketch)
    1.0
    >>> buffer = bytearray(lean.bytesize())
    >>> lean.serialize(buffer)
    >>> LeanMinHash.deserialize(buffer) == lean
    True
    """

    __slots__ = ()

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Iterable[int] | None = None,
        scheme: str | None = None,
    ) -> None:
        if minhash is not None:
            if scheme is not None and scheme != minhash.scheme:
                raise ValueError(f"the MinHash has the scheme {minhash.scheme!r}, not {scheme!r}; leave scheme out")
            self._fill(minhash.seed, minhash.hashvalues, minhash.scheme)
        elif hashvalues is not None and seed is not None:
            if scheme is None:
                raise ValueError(
                    "say the scheme of the MinHash that the hash values come from; "
                    "it is scheme='legacy' if they were made before datasketch 2"
                )
            self._fill(seed, hashvalues, scheme)
        else:
            raise ValueError("a LeanMinHash is made of a MinHash, or of both a seed and hash values")

    def _fill(self, seed: int, hashvalues: Any, scheme: str) -> None:
        _schemes.check_scheme(scheme)
        values = _schemes.as_hashvalues(scheme, hashvalues)
        if scheme != "legacy" and len(values) == 0:
            raise ValueError("a LeanMinHash needs at least one hash value")
        self._prepare_lean(scheme, seed, values)

    def update(self, b: Any) -> NoReturn:
        """Refused: a lean MinHash does not grow."""
        raise TypeError("a LeanMinHash cannot be updated; update a MinHash, and make it lean afterwards")

    def copy(self) -> LeanMinHash:
        """A sketch of its own with the same state."""
        return _made(self.seed, self.hashvalues, self.scheme)

    def _format(self, byteorder: str) -> str:
        code = "" if self.scheme == "legacy" else "B"
        return f"{byteorder}{_HEADER}{code}{len(self)}{_VALUE_FORMATS[self.scheme]}"

    def bytesize(self, byteorder: str = "@") -> int:
        """How many bytes :meth:`serialize` writes. ``byteorder`` is one of ``@``, ``=``, ``<``, ``>`` and ``!``, as in
        :mod:`struct`.
        """
        return struct.calcsize(self._format(byteorder))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Write the sketch to the beginning of a buffer, such as a bytearray, in the format of datasketch."""
        if len(buf) < self.bytesize(byteorder):
            raise ValueError(f"the buffer has {len(buf)} bytes, and this MinHash needs {self.bytesize(byteorder)}")
        values = self.hashvalues.tolist()
        if self.scheme == "legacy":
            struct.pack_into(self._format(byteorder), buf, 0, self.seed, len(values), *values)
        else:
            code = _schemes.CODES[self.scheme]
            struct.pack_into(self._format(byteorder), buf, 0, self.seed, -len(values), code, *values)

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """The sketch at the beginning of a buffer, written here or by datasketch of any version since 1.1.1."""
        return _made(*_read(buf, byteorder))

    def __getstate__(self) -> bytearray:
        buffer = bytearray(self.bytesize())
        self.serialize(buffer)
        return buffer

    def __setstate__(self, state: Any) -> None:
        self._fill(*_read(state, "@"))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.scheme, self.seed, tuple(self.hashvalues.tolist())))

    @classmethod
    def union(cls, *lmhs: MinHash) -> LeanMinHash:
        """The sketch of the union of the sets of two or more sketches."""
        first = _check_union(lmhs)
        return _made(first.seed, np.minimum.reduce([sketch.hashvalues for sketch in lmhs]), first.scheme)


def _made(seed: int, hashvalues: Any, scheme: str) -> LeanMinHash:
    made = LeanMinHash.__new__(LeanMinHash)
    made._fill(seed, hashvalues, scheme)
    return made


def _read(buffer: Any, byteorder: str) -> tuple[int, tuple[int, ...], str]:
    """The seed, the values and the scheme of a serialized sketch."""
    header = byteorder + _HEADER
    seed, count = struct.unpack_from(header, buffer, 0)
    if count >= 0:
        scheme, offset = "legacy", struct.calcsize(header)
    else:
        (code,) = struct.unpack_from(byteorder + "B", buffer, struct.calcsize(header))
        if code not in _schemes.SCHEMES_OF_CODES:
            raise ValueError(f"the buffer holds a scheme with the code {code}, which is not known; is it a LeanMinHash?")
        scheme = _schemes.SCHEMES_OF_CODES[code]
        # Without values, the format still tells where they begin: in the native order they are aligned.
        offset = struct.calcsize(f"{header}B0{_VALUE_FORMATS[scheme]}")
    values = struct.unpack_from(f"{byteorder}{abs(count)}{_VALUE_FORMATS[scheme]}", buffer, offset)
    return seed, values, scheme
