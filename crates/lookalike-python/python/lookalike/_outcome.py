"""Near-duplicates among records in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, overload

from lookalike import _native
from lookalike._errors import SettingError
from lookalike._progress import Listener, Listening
from lookalike._records import Records
from lookalike._settings import Settings, check_threads, plan

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack


def dedup(
    records: Any,
    threshold: float = 0.8,
    *,
    text: str | None = None,
    against: Any = None,
    within: str | None = None,
    pairs: bool = True,
    threads: int | None = None,
    progress: bool | Listener = False,
    **settings: Unpack[Settings],
) -> Outcome:
    """Find the near-duplicates among records.

    ``records`` are texts, or sets as lists of items: a list, an iterator, a NumPy array, any Arrow column (polars, pandas,
    pyarrow), or a table (also a data set, a mapping of columns, a list of dictionaries), whose column ``text`` holds them.
    With ``against``, they are compared with those too, which are never dropped. ``within`` names a column: only records
    with the same value there are compared. ``progress=True`` shows a bar; a function is told ``(stage, done, total)``.

    ``pairs=False`` finds who is kept and for whom, and not every pair: where very many records are all alike, that takes a small
    part of the time and memory. :attr:`Outcome.pairs`, :meth:`~Outcome.count_pairs` and :meth:`~Outcome.at_threshold` are not to be
    had then.

    Every pair that is reported carries its exact similarity, and a record is dropped only for one that is kept.

    >>> import lookalike as la
    >>> texts = ["the cat sat on the mat today", "something else entirely, as one can see", "The cat sat on the mat today!"]
    >>> found = la.dedup(texts, threshold=0.8)
    >>> found.kept
    [0, 1]
    >>> found.groups
    [[0, 2]]
    >>> [texts[i] for i in found.kept] == texts[:2]
    True
    """
    plan_ = plan(threshold, **settings)
    new = Records(records, text)
    old = None if against is None else _old(against, text)
    keep = json.loads(plan_.settings)["keep"]
    keep_field = keep.partition(":")[2]
    check_threads(threads)
    with Listening(progress) as listener:
        found = plan_.run(
            new.column,
            keep=new.field(keep_field, of="keep") if keep_field else None,
            within=new.field(within, of="within") if within is not None else None,
            old=None if old is None else old.column,
            old_within=old.field(within, of="within") if old is not None and within is not None else None,
            pairs=pairs,
            threads=threads,
            progress=listener,
        )
    return Outcome(found, has_pairs=pairs)


def _old(against: Any, text: str | None) -> Records:
    """The old records: in the same column of a table as the new ones, or in no table."""
    if isinstance(against, Iterator):
        against = list(against)
    try:
        return Records(against, text)
    except TypeError:
        return Records(against, None)


class Table:
    """Rows of numbers: tuples by position, and an Arrow stream (``polars.DataFrame(table)``, ``pyarrow.table(table)``)."""

    def __init__(self, table: _native.Table) -> None:
        self._table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    def to_numpy(self, column: str) -> numpy.ndarray[Any, Any]:
        """One column as an array."""
        import numpy

        found = self._table.column(column)
        if found is None:
            raise KeyError(f"there is no column {column!r}; there are: {', '.join(self.columns)}")
        kind, data = found
        return numpy.frombuffer(data, dtype=kind)

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, at: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, at: int | slice) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        if isinstance(at, slice):
            return [self._table.row(row) for row in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(f"there are {len(self)} rows, so there is no {at}")
        return self._table.row(at % len(self))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self._table.row(row) for row in range(len(self)))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self, rows: int = 20) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        cells = ("".join(f"<td>{_shown(cell)}</td>" for cell in row) for row in self[:rows])
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<p>{len(self)} rows, the first {rows} of them</p>" if len(self) > rows else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(cell: Any) -> str:
    return f"{cell:.6f}" if isinstance(cell, float) else str(cell)


class Outcome:
    """What a run found. Records are called by their positions in what was given.

    With ``against``, positions in :attr:`groups` and :attr:`pairs` and of originals count the old records first:
    the new ones begin at :attr:`old`. :attr:`kept`, :attr:`mask` and ``len()`` speak of the new ones alone.

    >>> import lookalike as la
    >>> found = la.dedup(["a b c d e f g h i j", "a b c d e f g h i j k", "quite another text than those two"], 0.7)
    >>> list(found.pairs)
    [(0, 1, 0.8571428571428571)]
    >>> found.original_of(1)
    (0, 0.8571428571428571)
    >>> found.at_threshold(0.9).kept
    [0, 1, 2]
    >>> found.mask
    array([ True, False,  True])
    """

    def __init__(self, found: _native.Outcome, *, has_pairs: bool = True) -> None:
        self._found = found
        self._has_pairs = has_pairs

    def _with_pairs(self) -> _native.Outcome:
        """What was found, if that is every pair."""
        if not self._has_pairs:
            raise SettingError("not every pair was looked for; run dedup without pairs=False")
        return self._found

    def __len__(self) -> int:
        return len(self._found)

    @property
    def old(self) -> int:
        """How many old records there are (``against``)."""
        return self._found.old

    @cached_property
    def kept(self) -> list[int]:
        """The positions of the records that are kept, in order."""
        return self._found.kept()

    @property
    def mask(self) -> numpy.ndarray[Any, Any]:
        """True for each record that is kept: an array of NumPy."""
        import numpy

        return numpy.frombuffer(self._found.mask(), dtype=numpy.bool_)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The groups of two or more, each with its keeper first."""
        return self._found.groups()

    @cached_property
    def pairs(self) -> Table:
        """Every similar pair: left, right, similarity.

        There can be as many as the square of the records; :meth:`count_pairs` tells without making them. What does not fit into
        memory is a MemoryError.
        """
        return Table(self._with_pairs().pairs())

    def count_pairs(self) -> int:
        """How many similar pairs there are.

        >>> dedup(["one two three four five six"] * 1000).count_pairs()
        499500
        """
        return self._with_pairs().count_pairs()

    @cached_property
    def dropped(self) -> Table:
        """Every record that is dropped: record, the one that is kept for it, similarity."""
        return Table(self._found.dropped())

    @cached_property
    def summary(self) -> dict[str, int]:
        """What the run counted."""
        return self._found.summary()

    def original_of(self, record: int) -> tuple[int, float] | None:
        """The record that another one was dropped for, and how alike they are; None for one that is kept.

        Both count the old records first, as in :attr:`dropped`: what ``mask[i]`` speaks of is the record ``old + i``.
        """
        if record < 0:
            raise IndexError(f"records are counted from 0, so there is no {record}")
        return self._found.original_of(record)

    def at_threshold(self, threshold: float) -> Outcome:
        """What a run at a higher threshold would have found, without that run."""
        return Outcome(self._with_pairs().at_threshold(threshold))

    def __repr__(self) -> str:
        counts = self.summary
        return (
            f"<{counts['records']} records, {counts['kept']} kept, {counts['dropped']} dropped, "
            f"{counts['groups']} groups, the largest of {counts['largest']}>"
        )

    def _repr_html_(self) -> str:
        shown = ("records", "kept", "dropped", "groups", "largest", "empty", "short")
        rows = "".join(f"<tr><th>{name}</th><td>{self.summary[name]}</td></tr>" for name in shown)
        return f"<table>{rows}</table>"
