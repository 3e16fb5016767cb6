"""Has something like this been seen before? A lasting index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from operator import index as whole
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsIndex

from lookalike import _native
from lookalike._errors import SettingError
from lookalike._settings import Settings, plan

if TYPE_CHECKING:
    from typing_extensions import Unpack

_1970 = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST = datetime.min.replace(tzinfo=timezone.utc)
_LAST = datetime.max.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Match:
    """An item that is alike: exactly so, unless a sketch was asked about."""

    id: str
    similarity: float
    #: The number of the write that made it, and when that was.
    sequence: int
    time: datetime
    #: Its text, if it was asked for and the index stores texts.
    text: str | None = None


@dataclass(frozen=True)
class Item:
    """An item of an index."""

    id: str
    sequence: int
    time: datetime
    #: How many different shingles or elements it has.
    shingles: int
    text: str | None = None


class Index:
    """An index in a folder, made if there is none. One program writes at a time; any number read.

    ``index[id] = text`` is on disk when it returns; for many, :meth:`update` commits once, or use :meth:`insert` and
    :meth:`commit`. A text is found by whatever is alike, and a set (a list of items) likewise.

    >>> import lookalike as la, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with la.Index(folder + "/news", threshold=0.7) as index:
    ...     index["doc-1"] = "The ferry to the island was cancelled because of the storm"
    ...     index.update({"doc-2": "Nothing of interest happened in the village today, we are told"})
    ...     [match.id for match in index.query("The ferry to the island was cancelled because of the storm!")]
    ['doc-1']
    >>> with la.Index(folder + "/news", read_only=True) as index:
    ...     len(index), "doc-2" in index
    (2, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        threshold: float | None = None,
        *,
        store_text: bool | None = None,
        read_only: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        path = os.fspath(path)
        if _native.is_index(path) or read_only:
            self._index = _native.Index.open(path, read_only)
            try:
                self._check_same(threshold, store_text, settings)
            except BaseException:
                self._index.close()
                raise
        else:
            plan_ = plan(0.8 if threshold is None else threshold, **settings)
            self._index = _native.Index.create(path, plan_, bool(store_text))

    def _check_same(self, threshold: float | None, store_text: bool | None, settings: Settings) -> None:
        """An index has the settings that it was made with; others cannot be had from it."""
        if threshold is None and settings:
            threshold = self.plan.threshold
        if threshold is not None and _decisive(plan(threshold, **settings)) != _decisive(self.plan):
            raise SettingError(
                f"the index was made with other settings, {self.plan.settings}; leave them out, or make another index"
            )
        if store_text is not None and store_text != self.info()["stores_text"]:
            raise SettingError("whether texts are stored is decided when an index is made; leave store_text out")

    @property
    def plan(self) -> _native.Plan:
        """The plan that the index was made for."""
        return self._index.plan

    def insert(self, id: str, record: Any, time: datetime | None = None) -> None:
        """Put a record into the index, in place of one with the same id; seen after :meth:`commit`."""
        self._index.insert(_checked(id), record, None if time is None else _milliseconds(time))

    def remove(self, id: str) -> bool:
        """Take a record out; seen after :meth:`commit`. Whether it was there."""
        return self._index.remove(_checked(id))

    def remove_older_than(self, age: timedelta | datetime) -> int:
        """Take out what is older than so long, or than a moment, and commit. How many."""
        moment = _ago(age) if isinstance(age, timedelta) else age
        return self._index.remove_older_than(_milliseconds(moment))

    def update(self, records: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Put many records into the index at once: all of them, or none. What was inserted before is committed with them, and
        waits on if they are refused."""
        pairs = records.items() if isinstance(records, Mapping) else records
        self._index.update([(_checked(id), record) for id, record in pairs])

    def commit(self) -> None:
        """Make what was inserted and removed durable, and show it."""
        self._index.commit()

    def rollback(self) -> None:
        """Forget what was not committed."""
        self._index.rollback()

    def compact(self) -> None:
        """Merge everything into one segment, and give back the room of what was removed."""
        self._index.compact()

    def query(
        self,
        record: Any,
        *,
        threshold: float | None = None,
        limit: int | None = None,
        measure: str | None = None,
        with_text: bool = False,
    ) -> list[Match]:
        """What in the index is like this text, set or sketch, best first.

        Without ``threshold`` and ``limit``, what is as alike as the index was made for; with ``limit`` alone, the nearest. Below
        the threshold that the index was made for, not everything is found, and less the lower it is.
        """
        if limit is not None and not (isinstance(limit, SupportsIndex) and whole(limit) >= 0):
            raise SettingError(f"the limit {limit!r} is out of range; choose a whole number, 0 or above")
        matches, _ = self._index.query(
            record, threshold=threshold, limit=limit, measure=measure, with_text=with_text
        )
        return [Match(id, similarity, sequence, _moment(time), text) for id, similarity, sequence, time, text in matches]

    def get(self, id: str) -> Item | None:
        """The item with this id."""
        item = self._index.get(_checked(id))
        return None if item is None else Item(item[0], item[1], _moment(item[2]), item[3], item[4])

    def info(self) -> dict[str, Any]:
        """What the index consists of."""
        return self._index.info()

    def check(self) -> int:
        """Look at every byte of the index. How many items are fine."""
        return self._index.check()

    def close(self) -> None:
        """Let others write. What was not committed is forgotten, and nothing can be asked of this one any more."""
        self._index.close()

    def __setitem__(self, id: str, record: Any) -> None:
        self.update([(id, record)])

    def __getitem__(self, id: str) -> Item:
        item = self.get(id)
        if item is None:
            raise KeyError(id)
        return item

    def __delitem__(self, id: str) -> None:
        if not self._index.delete(_checked(id)):
            raise KeyError(id)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._index.get(id) is not None

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.ids())

    def __enter__(self) -> Index:
        # Refuses one that is closed.
        self.plan
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<index that is closed>" if self._index.is_closed else f"<index of {len(self)} items>"


def _checked(id: str) -> str:
    if not isinstance(id, str):
        raise TypeError(f"the id {id!r} is of type {type(id).__name__}; the ids of an index are str")
    return id


def _ago(age: timedelta) -> datetime:
    """The moment that was so long ago, as far as there are dates for it."""
    try:
        return datetime.now(timezone.utc) - age
    except OverflowError:
        return _FIRST if age > timedelta(0) else _LAST


def _milliseconds(moment: datetime) -> int:
    """Since 1970, rounded down: a time is not later for being stored."""
    if not isinstance(moment, datetime):
        raise TypeError(f"the time {moment!r} is of type {type(moment).__name__}; give a datetime")
    second = moment.replace(microsecond=0)
    try:
        seconds = second.timestamp()
    except (OverflowError, ValueError):
        # Within hours of the first or the last date, in a time zone where it is past that already.
        seconds = second.replace(tzinfo=timezone.utc).timestamp()
    return max(0, int(seconds) * 1000 + moment.microsecond // 1000)


def _moment(milliseconds: int) -> datetime:
    """The time, or the last there is: others than Python can write later ones."""
    return _1970 + timedelta(milliseconds=min(milliseconds, (_LAST - _1970) // timedelta(milliseconds=1)))


def _decisive(plan: _native.Plan) -> dict[str, Any]:
    """Those settings of a plan that an index goes by."""
    settings: dict[str, Any] = json.loads(plan.settings)
    return {name: value for name, value in settings.items() if name not in ("keep", "group", "verify")}
