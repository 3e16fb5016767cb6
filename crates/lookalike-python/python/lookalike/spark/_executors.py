"""What runs on the executors: the engine's stages on Arrow batches. No Python object is made for a row."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow  # type: ignore[import-untyped]

from lookalike import _native
from lookalike._errors import InputError, SettingError

#: What ``DataFrame.mapInArrow`` wants.
Mapping = Callable[[Iterable[Any]], Iterator[Any]]

SKETCHED = "is_empty boolean, length bigint, high bigint, low bigint, slots binary, keys array<bigint>"
PAIRS = "left bigint, right bigint"
VERIFIED = "left bigint, right bigint, similarity double"
DROPPED = "rank bigint, keeper bigint, similarity double"
COMPONENTS = "rank bigint, component bigint"
#: What the file is called that a task writes by itself.
FOUND = "found.parquet"


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


@dataclass(frozen=True)
class Limits:
    """What a task that does everything may take."""

    bytes: int
    pairs: int
    threads: int


def whole(
    settings: str,
    is_within: bool,
    is_sorted: bool,
    what: Literal["pairs", "dropped"],
    names: tuple[str, str],
    limits: Limits,
    has_given_up: Any,
    folder: str | None,
    has_written: Any,
) -> Mapping:
    """All records, sorted or to be sorted by id → what is found among them; or nothing, and that it is too much.

    What is found is written to the folder, if there is one, and that it was is told.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        table = _held(batches, limits.bytes)
        if table is None:
            has_given_up.add(1)
            return
        if not len(table):
            return
        if not is_sorted:
            # Integers by value, strings by their bytes, as Spark would. What it was sorted from is gone when the engine starts.
            table = table.sort_by("id")
        ids = table.column("id")
        _check_repeated(ids)
        within = table.column("within").to_pylist() if is_within else None
        found = _native.Plan(settings).run(table.column("text"), within=within, threads=limits.threads)
        if what == "pairs" and found.count_pairs() > limits.pairs:
            has_given_up.add(1)
            return
        one, other, similarity = pyarrow.table(found.pairs() if what == "pairs" else found.dropped()).columns
        named = pyarrow.table([ids.take(one), ids.take(other), similarity], [*names, "similarity"])
        if folder is None:
            yield from named.to_batches(max_chunksize=1 << 16)
        else:
            _write(named, folder)
            has_written.add(1)

    return run


def _write(table: Any, folder: str) -> None:
    """Writes a table as the one file of a folder. Of two attempts it does not matter which is last."""
    from pyarrow import parquet

    if not os.path.isdir(folder):
        raise not_shared(folder)
    # Spark does not read what begins with an underscore.
    unfinished = f"{folder}/_{uuid.uuid4().hex}"
    try:
        parquet.write_table(table, unfinished)
        os.replace(unfinished, f"{folder}/{FOUND}")
    except BaseException:
        with suppress(OSError):
            os.remove(unfinished)
        raise


def not_shared(folder: str) -> SettingError:
    """The refusal of a folder that not all machines see."""
    return SettingError(
        f"the folder {folder!r} is not the same on the driver and on the executors; give work=PATH in storage that all of them share"
    )


def _held(batches: Iterable[Any], most: int) -> Any | None:
    """All batches as one table, or nothing if they have more bytes. Spark wants all to be taken, needed or not."""
    held: list[Any] = []
    size = 0
    for batch in batches:
        _check_nulls(batch)
        size += batch.nbytes
        if size <= most:
            held.append(batch)
        else:
            held.clear()
    if size > most:
        return None
    return pyarrow.Table.from_batches(held) if held else pyarrow.table({})


def _check_repeated(ids: Any) -> None:
    counts = ids.value_counts()
    if len(counts) < len(ids):
        repeated = next(count for count in counts if count["counts"].as_py() > 1)
        raise repeated_id(repeated["values"].as_py(), repeated["counts"].as_py())


def repeated_id(id: object, times: int) -> InputError:
    """The refusal of an id that is not the only one of its kind."""
    return InputError(
        f"the id {id!r} occurs {times} times; ids tell records apart: name another column by id=, or make them unique"
    )


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
