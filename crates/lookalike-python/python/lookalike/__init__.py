"""Finds what is alike: near-duplicate documents and similar sets.

>>> import lookalike as la
>>> la.dedup(["a text like no other in the world", "A text like no other in the world!"]).kept
[0]

:func:`dedup` for records in memory, :func:`dedup_files` for files, :class:`Index` for "has this been seen before?",
:func:`compare` and :func:`similarity` for two records, :func:`plan` for what settings mean. ``lookalike.datasketch`` takes the
place of datasketch, ``lookalike.spark`` works on DataFrames of Spark.
"""

from lookalike._compare import Comparison, Passage, compare, similarity
from lookalike._errors import (
    ChangedError,
    ColumnError,
    Error,
    FilesError,
    IndexFileError,
    InputError,
    LockedError,
    MemoryLimitError,
    SettingError,
    SupplyError,
    TooLargeError,
    UnavailableError,
    WorkError,
)
from lookalike._files import dedup_files
from lookalike._index import Index, Item, Match
from lookalike._native import Plan, Sketch, __version__
from lookalike._outcome import Outcome, Table, dedup
from lookalike._settings import Settings, plan

__all__ = [
    "ChangedError",
    "ColumnError",
    "Comparison",
    "Error",
    "FilesError",
    "Index",
    "IndexFileError",
    "InputError",
    "Item",
    "LockedError",
    "Match",
    "MemoryLimitError",
    "Outcome",
    "Passage",
    "Plan",
    "SettingError",
    "Settings",
    "Sketch",
    "SupplyError",
    "Table",
    "TooLargeError",
    "UnavailableError",
    "WorkError",
    "__version__",
    "compare",
    "dedup",
    "dedup_files",
    "plan",
    "similarity",
]
