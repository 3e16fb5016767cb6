"""Small inputs: the whole run in one task.

Stages cost Spark seconds each, whatever they carry. What fits into one task is there in less than one of them. Whether it fits
is known for sure only in the task: it gives up when it was sent too much, and the stages are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lookalike.spark import _executors
from lookalike.spark._raising import raising

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from lookalike.spark._pipeline import Run

#: Inputs of which Spark expects no more bytes are tried in one task. It is the estimate by which Spark chooses what to broadcast,
#: and counts columns that are added as if they held something.
EXPECTED = 256 << 20
#: A task gives up when it was sent more bytes than this, so that it fits beside Spark's own memory, or finds more pairs.
HELD = 256 << 20
PAIRS = 10_000_000


def pairs(run: Run) -> DataFrame | None:
    """Every similar pair, in input order: left, right, similarity. None if that is too much for one task."""
    return _found(run, "pairs", run.source.input_order(), ("left", "right"))


def dropped(run: Run) -> DataFrame | None:
    """Every record that is dropped: id, keeper, similarity. None if that is too much for one task."""
    source = run.source
    # The engine knows "longest" and the like by itself; what a column says is known only here.
    order = source.keep_order() if source.keep_column else source.input_order()
    return _found(run, "dropped", order, ("id", "keeper"))


def _found(
    run: Run, what: Literal["pairs", "dropped"], order: list[Column], names: tuple[str, str]
) -> DataFrame | None:
    records = run.source.records()
    if _expected_bytes(records) > EXPECTED:
        return None
    with raising(run.work):
        kind = records.schema["id"].dataType.simpleString()
        schema = f"{names[0]} {kind}, {names[1]} {kind}, similarity double"
        has_given_up = run.work.spark.sparkContext.accumulator(0)
        limits = _executors.Limits(HELD, PAIRS, _cores_of_an_executor(run.work.spark))
        task = _executors.whole(run.settings, run.is_within, what, names, limits, has_given_up)
        # Read on all cores, sorted in one task.
        together = records.repartition(1).sortWithinPartitions(*order)
        found = run.work.write(what, together.mapInArrow(task, schema))
        if has_given_up.value:
            run.work.remove(what)
            return None
        return found


def _cores_of_an_executor(spark: SparkSession) -> int:
    """How many cores wait for a task that is the only one; 1 where that is not known."""
    context = spark.sparkContext
    if (context.master or "").startswith("local"):
        return context.defaultParallelism
    return int(context.getConf().get("spark.executor.cores") or 1)


def _expected_bytes(frame: DataFrame) -> int:
    """How large Spark expects a frame to be. Where it does not know, it expects more than there is room for."""
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
