"""Permutation schemes, and permutations that are drawn once for each seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike import _native

#: How hashes become values: see :class:`lookalike.datasketch.MinHash`.
SCHEMES = ("affine32", "affine64", "legacy")

_MERSENNE_PRIME = (1 << 61) - 1
_DTYPES: dict[str, Any] = {"affine32": np.uint32, "affine64": np.uint64, "legacy": np.uint64}
#: The value of a slot that nothing has lowered.
GREATEST = {"affine32": (1 << 32) - 1, "affine64": (1 << 64) - 1, "legacy": (1 << 32) - 1}
#: The byte that says the scheme in serialized sketches; "legacy" is told by its absence.
CODES = {"affine32": 1, "affine64": 2}
SCHEMES_OF_CODES = {code: scheme for scheme, code in CODES.items()}

_drawn: dict[tuple[str, int, int], _native.Permutations] = {}
#: Programs use one or two seeds and lengths; whoever uses more draws them again.
_MOST_DRAWN = 64


def check_scheme(scheme: object) -> None:
    """Refuse what is no scheme."""
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")


def permutations_for(scheme: str, seed: Any, num_perm: int) -> _native.Permutations:
    """The permutations that datasketch draws for this seed; shared, so they cannot be written to."""
    # Only a plain integer draws the same numbers each time.
    if type(seed) is not int:
        return _native.Permutations(scheme, _draw(scheme, seed, num_perm))
    key = (scheme, seed, num_perm)
    drawn = _drawn.get(key)
    if drawn is None:
        if len(_drawn) >= _MOST_DRAWN:
            _drawn.clear()
        drawn = _drawn[key] = _native.Permutations(scheme, _draw(scheme, seed, num_perm))
    return drawn


def _draw(scheme: str, seed: Any, num_perm: int) -> Any:
    source = np.random.RandomState(seed)
    if scheme == "legacy":
        pairs = [
            [source.randint(1, _MERSENNE_PRIME, dtype=np.uint64), source.randint(0, _MERSENNE_PRIME, dtype=np.uint64)]
            for _ in range(num_perm)
        ]
        rows = np.array(pairs, dtype=np.uint64).T
    else:
        dtype, width = _DTYPES[scheme], 32 if scheme == "affine32" else 64
        odd = source.randint(0, 1 << (width - 1), num_perm, dtype=dtype) * dtype(2) + dtype(1)
        rows = np.array([odd, source.randint(0, 1 << width, num_perm, dtype=dtype)])
    rows.setflags(write=False)
    return rows


def as_hashvalues(scheme: str, values: Any, what: str = "hash values") -> Any:
    """An array of the scheme's type with these values, which must fit."""
    dtype = _DTYPES[scheme]
    if scheme == "legacy":
        return np.array(values, dtype=dtype)
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iu" and values.size and values.dtype != dtype:
            if int(values.max()) > GREATEST[scheme] or int(values.min()) < 0:
                raise ValueError(f"{what} out of range for the scheme {scheme!r}")
        return values.astype(dtype)
    try:
        return np.array(values, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"{what} out of range for the scheme {scheme!r}: {error}") from error


def as_permutations(scheme: str, permutations: Any) -> _native.Permutations:
    """Permutations that somebody gives, checked; those that were drawn here are taken as they are."""
    if scheme == "legacy":
        return _native.Permutations(scheme, permutations)
    dtype = _DTYPES[scheme]
    is_ready = (
        isinstance(permutations, np.ndarray)
        and permutations.dtype == dtype
        and permutations.ndim == 2
        and permutations.shape[0] == 2
    )
    if not is_ready:
        what = "permutation parameters"
        rows = [as_hashvalues(scheme, permutations[0], what), as_hashvalues(scheme, permutations[1], what)]
        permutations = np.array(rows)
    if np.any(permutations[0] & dtype(1) == 0):
        raise ValueError(f"the multipliers in `permutations` must be odd for the scheme {scheme!r}")
    return _native.Permutations(scheme, permutations)
