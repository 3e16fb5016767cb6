"""In the place of datasketch: the same names, arguments and numbers, and faster.

>>> from lookalike.datasketch import MinHash, MinHashLSH
>>> lsh, sketch = MinHashLSH(threshold=0.8), MinHash()
>>> sketch.update_batch([b"one", b"two", b"three"])
>>> lsh.insert("a key", sketch)
>>> lsh.query(sketch)
['a key']

Needs numpy. What differs from datasketch 2 is listed in docs/datasketch.md.
"""

from typing import TYPE_CHECKING

try:
    import numpy  # noqa: F401
except ImportError as error:
    raise ImportError("lookalike.datasketch needs numpy: pip install 'lookalike[datasketch]'") from error

from lookalike.datasketch.b_bit_minhash import bBitMinHash
from lookalike.datasketch.hashfunc import sha1_hash32, sha1_hash64, xxh3_hash32, xxh3_hash64
from lookalike.datasketch.lean_minhash import LeanMinHash
from lookalike.datasketch.lsh import MinHashLSH
from lookalike.datasketch.lshensemble import MinHashLSHEnsemble
from lookalike.datasketch.lshforest import MinHashLSHForest
from lookalike.datasketch.minhash import MinHash
from lookalike.datasketch.weighted_minhash import WeightedMinHash, WeightedMinHashGenerator

#: Both take weighted MinHash too; datasketch has these names for it.
WeightedMinHashLSH = MinHashLSH
WeightedMinHashLSHForest = MinHashLSHForest

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "WeightedMinHash",
    "WeightedMinHashGenerator",
    "WeightedMinHashLSH",
    "WeightedMinHashLSHForest",
    "bBitMinHash",
    "sha1_hash32",
    "sha1_hash64",
    "xxh3_hash32",
    "xxh3_hash64",
]

if not TYPE_CHECKING:
    _ELSEWHERE = {"AsyncMinHashLSH", "HNSW", "HyperLogLog", "HyperLogLogPlusPlus", "MinHashLSHBloom"}

    def __getattr__(name: str) -> object:
        if name in _ELSEWHERE:
            # No AttributeError: `from … import` would hide what it says.
            raise ImportError(f"lookalike.datasketch has no {name}; import it from datasketch, and the rest from here")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
