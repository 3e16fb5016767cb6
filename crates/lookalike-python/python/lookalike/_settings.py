"""What decides an answer, by the same names as on the command line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypedDict

from lookalike._errors import SettingError
from lookalike._native import Plan

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Settings(TypedDict, total=False):
    """Settings beside the threshold. Those that are left out have the defaults of the program."""

    #: The least probability with which a pair at the threshold is found (0.99).
    recall: float
    #: What "alike" means.
    measure: Literal["jaccard", "containment"]
    #: What a text is cut into: ``"words:5"``, ``"chars:9"``, ``"lines"``; ``"words:5/5"`` has a step.
    shingles: str
    #: Whether a shingle that occurs twice counts twice.
    bag: bool
    #: What is made equal first: a list of nfc, nfkc, lower, punct, space, accents, digits; or ``"none"``.
    normalize: str
    #: How many MinHash values a record gets.
    hashes: int
    #: The banding, such as ``"16x6"`` or ``"random:125x3"``.
    bands: str
    #: How candidates are checked.
    verify: Literal["exact", "estimate", "edit", "off"]
    #: Compare through inverted lists, without sketches: nothing is missed.
    exact: bool
    #: Which shingles containment is looked for by: ``"winnow:8"``, the least of every 8 in a row, or ``"mod:16"``.
    fingerprints: str
    #: How pairs become groups.
    group: Literal["anchored", "connected"]
    #: Which record of a group is kept: ``"first"``, ``"last"``, ``"longest"``, ``"shortest"``, ``"max:FIELD"``, ``"min:FIELD"``.
    keep: str
    #: Where the randomness of the sketch starts.
    seed: int


_NUMBER = ((float, int), "a number")
_WHOLE = ((int,), "a whole number")
_TRUTH = ((bool,), "True or False")
#: What each setting is; a text, if nothing is said.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "threshold": _NUMBER,
    "recall": _NUMBER,
    "hashes": _WHOLE,
    "seed": _WHOLE,
    "bag": _TRUTH,
    "exact": _TRUTH,
}
#: Settings that None leaves to the engine.
_OPTIONAL = {"normalize", "hashes", "bands", "fingerprints"}
#: Whole numbers are below this, if nothing is said.
_BEYOND = 2**64
_BEYOND_OF = {"hashes": 2**32}


def plan(threshold: float = 0.8, **settings: Unpack[Settings]) -> Plan:
    """Check settings and decide what they leave open.

    >>> import lookalike as la
    >>> plan = la.plan(0.8, recall=0.99)
    >>> plan.finds(0.8) >= 0.99
    True
    >>> la.plan(7)
    Traceback (most recent call last):
    lookalike._errors.SettingError: the threshold 7 is out of range; choose one above 0 and up to 1, such as 0.8
    """
    return Plan(json.dumps({name: _plain(name, value) for name, value in {"threshold": threshold, **settings}.items()}))


def _plain(name: str, value: Any) -> object:
    """A setting as JSON knows it. Numbers of NumPy are numbers too."""
    if not (name in _KINDS or name in Settings.__annotations__) or (value is None and name in _OPTIONAL):
        # The engine says what there is; or nothing was set.
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    kinds, wanted = _KINDS.get(name, ((str,), "a text"))
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise SettingError(f"{name}={value!r} is of type {type(value).__name__}; give {wanted}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"the {name} {value} is out of range; choose a finite number")
    if isinstance(value, int) and value < 0:
        raise SettingError(f"the {name} {value} is out of range; choose a number above 0")
    if isinstance(value, int) and value >= _BEYOND_OF.get(name, _BEYOND):
        # Not shown: it may have any number of digits.
        raise SettingError(f"the setting {name} is out of range; choose a smaller number")
    return value


def check_threads(threads: int | None) -> None:
    """Refuses what is no number of threads; None is as many as there are cores."""
    is_whole = isinstance(threads, SupportsIndex) and not isinstance(threads, bool)
    if threads is not None and not (is_whole and 1 <= threads <= 1024):
        raise SettingError(f"threads={threads!r} is no number of threads; choose one from 1 to 1024")
