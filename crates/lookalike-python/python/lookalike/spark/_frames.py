"""DataFrame in, DataFrame out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lookalike._errors import ColumnError, SettingError
from lookalike._settings import plan
from lookalike.spark import _one_task
from lookalike.spark._input import Input
from lookalike.spark._pipeline import Run
from lookalike.spark._raising import raising
from lookalike.spark._work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Unpack

    from lookalike._settings import Settings

#: The columns that ``dedup(annotate=True)`` adds.
ANNOTATIONS = ("group", "role", "size", "similarity")
#: What the ids of decisions are called beside the columns of the input.
KEY = "__lookalike_id"


def dedup(
    df: DataFrame,
    *,
    text: str = "text",
    id: str = "id",
    threshold: float = 0.8,
    order_by: str | Sequence[str] | None = None,
    within: str | None = None,
    annotate: bool = False,
    work: str | None = None,
    **settings: Unpack[Settings],
) -> DataFrame:
    """The rows without their near-duplicates, columns and values unchanged.

    ``text`` names a column of strings, or of arrays: sets. ``id`` names a column of integers or strings, none of them null or
    repeated. A DataFrame has no order, so "first" goes by ``order_by``, ascending, nulls last, ties by id; by default by id.
    ``within`` names a column: only rows with the same value there are compared. ``work`` is a folder in storage that all
    executors share; by default Spark's checkpoint directory. Settings are those of :func:`lookalike.plan`.

    ``annotate=True`` keeps all rows and adds ``group`` (the id of the row that is kept for it), ``role`` ("unique", "keeper" or
    "duplicate"), ``size`` (of the group) and ``similarity`` (to the one that is kept).

    The work is done before this returns; only the last join is left to whoever reads the result.
    """
    _refuse_taken(df, KEY, "dedup needs for itself")
    for name in ANNOTATIONS if annotate else ():
        _refuse_taken(df, name, "annotate=True would add")
    run = prepare(df, text, id, threshold, order_by, within, work, settings)
    if annotate:
        return annotated(run)
    gone = _dropped(run).select(F.col("id").alias(KEY))
    return df.join(gone, F.col(id) == F.col(KEY), "left_anti")


def _refuse_taken(df: DataFrame, name: str, why: str) -> None:
    """Refuses a name that a column has already. Spark does not tell capitals from small letters."""
    taken = [column for column in df.columns if column.lower() == name]
    if taken:
        raise ColumnError(f"there is a column {taken[0]!r} already, which {why}; rename it first")


def annotated(run: Run) -> DataFrame:
    """All rows, each with its part in its group."""
    dropped, df, id = _dropped(run), run.source.frame, run.source.id
    kept = dropped.groupBy("keeper").agg((F.count("*") + 1).alias("size"))
    members = dropped.join(kept, "keeper").select("id", "keeper", F.lit("duplicate"), "size", "similarity")
    keepers = kept.select("keeper", "keeper", F.lit("keeper"), "size", F.lit(1.0))
    notes = members.union(keepers).toDF(KEY, *ANNOTATIONS)
    defaults = (F.col(id), F.lit("unique"), F.lit(1).cast("bigint"), F.lit(1.0))
    joined = df.alias("rows").join(notes, F.col(f"rows.{id}") == F.col(KEY), "left")
    added = [F.coalesce(F.col(name), default).alias(name) for name, default in zip(ANNOTATIONS, defaults)]
    return joined.select("rows.*", *added)


def groups(
    df: DataFrame,
    *,
    text: str = "text",
    id: str = "id",
    threshold: float = 0.8,
    order_by: str | Sequence[str] | None = None,
    within: str | None = None,
    work: str | None = None,
    **settings: Unpack[Settings],
) -> DataFrame:
    """The records of all groups of two or more: id, keeper, similarity (to the keeper), size (of the group).

    The keeper has a row too. The other arguments are those of :func:`dedup`.
    """
    dropped = _dropped(prepare(df, text, id, threshold, order_by, within, work, settings))
    sizes = dropped.groupBy("keeper").agg((F.count("*") + 1).alias("size"))
    keepers = sizes.select(F.col("keeper").alias("id"), "keeper", F.lit(1.0).alias("similarity"), "size")
    return keepers.union(dropped.join(sizes, "keeper").select("id", "keeper", "similarity", "size"))


def pairs(
    df: DataFrame,
    *,
    text: str = "text",
    id: str = "id",
    threshold: float = 0.8,
    order_by: str | Sequence[str] | None = None,
    within: str | None = None,
    work: str | None = None,
    **settings: Unpack[Settings],
) -> DataFrame:
    """Every similar pair: left, right, similarity. The left one is the first by ``order_by``.

    There can be as many as the square of the records: identical records make a pair each with each. The other arguments are
    those of :func:`dedup`.
    """
    return paired(prepare(df, text, id, threshold, order_by, within, work, settings))


def paired(run: Run) -> DataFrame:
    """Every similar pair of a run."""
    if (found := _one_task.pairs(run)) is not None:
        return found
    edges, copies = run.edges, run.copies
    ends = edges.select(F.explode(F.array("left", "right")).alias("first")).distinct()
    members = copies.join(ends, "first").select("first", "rank").union(ends.select("first", F.col("first").alias("rank")))
    across = (
        edges.join(members.toDF("left", "left_rank"), "left")
        .join(members.toDF("right", "right_rank"), "right")
        .select("left_rank", "right_rank", "similarity")
    )
    same = copies.select("first", "rank").union(copies.select("first", F.col("first").alias("rank")).distinct())
    inside = (
        same.toDF("first", "left_rank")
        .join(same.toDF("first", "right_rank"), "first")
        .where("left_rank < right_rank")
        .select("left_rank", "right_rank", F.lit(1.0))
    )
    named = run.ranked.select("rank", "id", run.source.place().alias("place"))
    found = (
        across.union(inside)
        .join(named.toDF("left_rank", "left_id", "left_place"), "left_rank")
        .join(named.toDF("right_rank", "right_id", "right_place"), "right_rank")
    )
    is_left_first = F.col("left_place") < F.col("right_place")
    return found.select(
        F.when(is_left_first, F.col("left_id")).otherwise(F.col("right_id")).alias("left"),
        F.when(is_left_first, F.col("right_id")).otherwise(F.col("left_id")).alias("right"),
        "similarity",
    )


def prepare(
    df: DataFrame,
    text: str,
    id: str,
    threshold: float,
    order_by: str | Sequence[str] | None,
    within: str | None,
    work: str | None,
    settings: Settings,
) -> Run:
    """Checks what is asked for; nothing is read yet."""
    _refuse(settings)
    plan_ = plan(threshold, **settings)
    source = Input.of(df, plan_, text=text, id=id, order_by=order_by, within=within)
    return Run(source, plan_, Work(df.sparkSession, work))


def _refuse(settings: Settings) -> None:
    """Refuses what one machine can do and Spark cannot."""
    if settings.get("measure", "jaccard") == "containment":
        raise SettingError(
            "containment is found through inverted lists of all shingles, which is not done on Spark; "
            "use the program, with --measure containment"
        )
    if settings.get("exact"):
        raise SettingError("exact=True compares without sketches, which is not done on Spark; raise recall instead")
    if settings.get("verify", "exact") != "exact":
        raise SettingError("on Spark every pair is verified exactly; leave verify out")


def _dropped(run: Run) -> DataFrame:
    """Every record that is dropped, and the one that is kept for it: id, keeper, similarity."""
    if (few := _one_task.dropped(run)) is not None:
        return few
    is_connected = json.loads(run.settings)["group"] == "connected"
    assigned = run.connected if is_connected else run.anchored
    named = run.ranked.select("rank", "id")
    found = (
        assigned.join(named, "rank")
        .join(named.toDF("keeper", "keeper_id"), "keeper")
        .select("id", F.col("keeper_id").alias("keeper"), "similarity")
    )
    with raising(run.work):
        dropped = run.work.write("dropped", found)
        run.work.remove_all_but("dropped")
        return dropped
