"""What runs on the executors: the engine's stages on Arrow batches. No Python object is made for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow  # type: ignore[import-untyped]

from lookalike import _native
from lookalike._errors import InputError

#: What ``DataFrame.mapInArrow`` wants.
Mapping = Callable[[Iterable[Any]], Iterator[Any]]

SKETCHED = "is_empty boolean, length bigint, high bigint, low bigint, slots binary, keys array<bigint>"
PAIRS = "left bigint, right bigint"
VERIFIED = "left bigint, right bigint, similarity double"
DROPPED = "rank bigint, keeper bigint, similarity double"
COMPONENTS = "rank bigint, component bigint"


def sketch(settings: str, is_within: bool) -> Mapping:
    """Records → what stands for them; everything but the text is carried along."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        sketcher = _native.RowSketcher(_native.Plan(settings))
        for batch in batches:
            _check_nulls(batch)
            within = batch.column("within") if is_within else None
            rows = pyarrow.table(sketcher.sketch(batch.column("text"), within))
            carried = batch.drop_columns(["text"])
            for name in rows.column_names:
                carried = carried.append_column(name, rows.column(name).combine_chunks())
            yield carried

    return run


def _check_nulls(batch: Any) -> None:
    if batch.column("id").null_count:
        raise InputError("a record has no id: it is null; fill it in, or leave such records out")
    texts = batch.column("text")
    if texts.null_count:
        at = texts.is_null().index(True).as_py()
        raise InputError(
            f"the record {batch.column('id')[at].as_py()!r} has no text: it is null; leave such records out, "
            "or give them an empty text, which is like nothing and kept"
        )


def compare(settings: str) -> Mapping:
    """Members of buckets, sorted by key and rank → pairs that pass the filter, each once."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        comparer = _native.BucketComparer(_native.Plan(settings))
        for batch in batches:
            key, rank, slots, keys, leads = batch.columns
            yield from _batches(comparer.push(key, rank, slots, keys, leads))

    return run


def verify(settings: str, least: float, is_within: bool) -> Mapping:
    """Records and their pairs, sorted by task, kind, rank and left → pairs that are at least so alike."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        verifier = _native.PairVerifier(_native.Plan(settings), least)
        for batch in batches:
            task, kind, rank, left, high, low, within, text = batch.columns
            yield from _batches(verifier.push(task, kind, rank, left, high, low, within if is_within else None, text))

    return run


def group(settings: str) -> Mapping:
    """Pairs of whole components, and the records of their classes → who is dropped for whom."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield from _batches(_grouper(settings, batches).dropped())

    return run


def components(settings: str) -> Mapping:
    """All pairs → the component of each record."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        yield from _batches(_grouper(settings, batches).components())

    return run


def _grouper(settings: str, batches: Iterable[Any]) -> _native.Grouper:
    grouper = _native.Grouper(_native.Plan(settings))
    for batch in batches:
        grouper.push(batch.column("left"), batch.column("right"), batch.column("similarity"))
    return grouper


def _batches(table: _native.Table) -> Iterator[Any]:
    if len(table):
        yield from pyarrow.table(table).to_batches(max_chunksize=1 << 16)
