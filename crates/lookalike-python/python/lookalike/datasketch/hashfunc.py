"""Hash functions for elements. What is here, and what the package ``xxhash`` has, is computed without calling Python."""

from __future__ import annotations

import hashlib
import struct
import sys
from typing import TYPE_CHECKING, Any

from lookalike import _native

if TYPE_CHECKING:
    from collections.abc import Callable

#: The functions that are known, and the modules that they may come from.
_KNOWN = {
    "sha1_hash32": ("lookalike.datasketch.hashfunc", "datasketch.hashfunc"),
    "sha1_hash64": ("lookalike.datasketch.hashfunc", "datasketch.hashfunc"),
    "xxh3_hash32": ("lookalike.datasketch.hashfunc",),
    "xxh3_hash64": ("lookalike.datasketch.hashfunc",),
    "xxh32_intdigest": ("xxhash",),
    "xxh64_intdigest": ("xxhash",),
    "xxh3_64_intdigest": ("xxhash",),
}


def sha1_hash32(data: Any) -> int:
    """The first 32 bits of SHA-1, the least byte first: what datasketch hashes by unless told otherwise.

    >>> sha1_hash32(b"a")
    937752454
    """
    return int(struct.unpack("<I", hashlib.sha1(data).digest()[:4])[0])


def sha1_hash64(data: Any) -> int:
    """The first 64 bits of SHA-1, the least byte first: the default of the scheme "affine64".

    >>> sha1_hash64(b"a") % 2**32 == sha1_hash32(b"a")
    True
    """
    return int(struct.unpack("<Q", hashlib.sha1(data).digest()[:8])[0])


def xxh3_hash32(data: Any) -> int:
    """The lower 32 bits of XXH3: much faster than SHA-1. datasketch has no such function.

    >>> from lookalike.datasketch import MinHash
    >>> sketch = MinHash(hashfunc=xxh3_hash32)
    >>> sketch.update(b"an element")
    """
    return _native.hash_known("xxh3_hash32", data if type(data) is bytes else bytes(memoryview(data)))


def xxh3_hash64(data: Any) -> int:
    """XXH3 in 64 bits, for the scheme "affine64": the same as ``xxhash.xxh3_64_intdigest``.

    >>> xxh3_hash64(b"") == 0x2D06800538D394C2
    True
    """
    return _native.hash_known("xxh3_hash64", data if type(data) is bytes else bytes(memoryview(data)))


def known_name(hashfunc: Callable[..., Any]) -> str | None:
    """The name of a hash function that is computed without calling Python; nothing for others."""
    name = getattr(hashfunc, "__name__", None)
    modules = _KNOWN.get(name) if isinstance(name, str) else None
    for module in modules or ():
        loaded = sys.modules.get(module)
        if loaded is not None and getattr(loaded, str(name), None) is hashfunc:
            return name
    return None
