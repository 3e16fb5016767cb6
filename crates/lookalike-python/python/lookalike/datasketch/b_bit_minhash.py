"""A MinHash of which only a few bits of each value are kept."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from lookalike.datasketch import _schemes

#: Seed, b, r, and how many values; below zero, a byte with the scheme follows.
_HEADER = "<qBdi"
_BLOCK_BITS = 64
_WIDTHS = (1, 2, 4, 8, 16, 32)


class bBitMinHash:
    """The lowest ``b`` bits of each hash value of a MinHash; ``r`` is how large the set is beside all there could be.

    >>> from lookalike.datasketch import MinHash
    >>> sketch = MinHash()
    >>> sketch.update_batch([b"one", b"two"])
    >>> small = bBitMinHash(sketch, b=2)
    >>> small.jaccard(small), small.bytesize()
    (1.0, 54)
    """

    __slots__ = ("b", "hashvalues", "r", "scheme", "seed")

    def __init__(self, minhash: Any, b: int = 1, r: float = 0.0) -> None:
        b, r = int(b), float(r)
        if not 0 <= b <= 32:
            raise ValueError("b must be a number of bits from 0 to 32")
        if r > 1.0:
            raise ValueError("r must be from 0.0 to 1.0")
        self.hashvalues: Any = np.bitwise_and(minhash.hashvalues, (1 << b) - 1).astype(np.uint32)
        self.seed: int = minhash.seed
        self.scheme: str = minhash.scheme
        _schemes.check_scheme(self.scheme)
        self.b = b
        self.r = r

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, bBitMinHash)
            and self.scheme == other.scheme
            and self.seed == other.seed
            and self.b == other.b
            and self.r == other.r
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]

    def jaccard(self, other: bBitMinHash) -> float:
        """Estimate the Jaccard similarity of the two sets, corrected for bits that are equal by chance."""
        for name, what in (("b", "numbers of bits"), ("scheme", "permutation schemes"), ("seed", "seeds")):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(f"cannot compare b-bit MinHash with different {what}")
        equal = float(np.count_nonzero(self.hashvalues == other.hashvalues)) / float(self.hashvalues.size)
        own, others = _chance(self.r, self.b), _chance(other.r, other.b)
        if self.r == 0.0 and other.r == 0.0:
            return (equal - own) / (1 - others)
        share = 1 / (self.r + other.r)
        by_chance = (own * other.r + others * self.r) * share
        at_best = (own * self.r + others * other.r) * share
        return (equal - by_chance) / (1 - at_best)

    def bytesize(self) -> int:
        """How many bytes the state has that is pickled."""
        return self._header_size() + self._blocks(self._width()) * (_BLOCK_BITS // 8)

    def _header_size(self) -> int:
        return struct.calcsize(_HEADER if self.scheme == "legacy" else _HEADER + "B")

    def _width(self) -> int:
        """The bits that a value takes in a block: a power of two. There is none for b = 0, but datasketch gives it 4."""
        return 4 if self.b == 0 else next(width for width in _WIDTHS if self.b <= width)

    def _blocks(self, width: int) -> int:
        return -(-int(self.hashvalues.size) * width // _BLOCK_BITS)

    def __getstate__(self) -> bytearray:
        size, width = int(self.hashvalues.size), self._width()
        slots = _BLOCK_BITS // width
        values = np.zeros(self._blocks(width) * slots, dtype=np.uint64)
        values[:size] = self.hashvalues
        shifts = np.arange(slots - 1, -1, -1, dtype=np.uint64) * np.uint64(width)
        blocks = np.bitwise_or.reduce(values.reshape(-1, slots) << shifts, axis=1)
        if self.scheme == "legacy":
            header = struct.pack(_HEADER, self.seed, self.b, self.r, size)
        else:
            header = struct.pack(_HEADER + "B", self.seed, self.b, self.r, -size, _schemes.CODES[self.scheme])
        return bytearray(header + blocks.astype("<u8").tobytes())

    def __setstate__(self, state: Any) -> None:
        self.seed, self.b, self.r, size = struct.unpack_from(_HEADER, state, 0)
        if size >= 0:
            self.scheme = "legacy"
        else:
            (code,) = struct.unpack_from("<B", state, struct.calcsize(_HEADER))
            if code not in _schemes.SCHEMES_OF_CODES:
                raise ValueError(f"the state holds a scheme with the code {code}, which is not known")
            self.scheme = _schemes.SCHEMES_OF_CODES[code]
        self.hashvalues = np.zeros(abs(size), dtype=np.uint32)
        width = self._width()
        slots, count = _BLOCK_BITS // width, self._blocks(width)
        blocks = np.array(struct.unpack_from(f"<{count}Q", state, self._header_size()), dtype=np.uint64)
        shifts = np.arange(slots - 1, -1, -1, dtype=np.uint64) * np.uint64(width)
        values = (blocks[:, None] >> shifts) & np.uint64((1 << width) - 1)
        self.hashvalues = values.reshape(-1)[: abs(size)].astype(np.uint32)


def _chance(r: float, b: int) -> float:
    """How often b bits of different values are equal; the limit for sets that are small beside all there could be."""
    if r == 0.0:
        return 1.0 / (1 << b)
    return float(r * (1 - r) ** (2**b - 1) / (1 - (1 - r) ** (2 * b)))
