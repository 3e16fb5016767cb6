"""Small inputs: the whole run in one task.

Stages cost Spark seconds each, whatever they carry. What fits into one task is there in less than one of them. Whether it fits
is known for sure only in the task: it gives up when it was sent too much, and the stages are taken.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import types as T

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
#: Plain files of no more bytes, and no more of them, are read by the task itself: to move the records costs more than to read them.
READ_BY_THE_TASK = 64 << 20
FILES = 8


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
    query = records._jdf.queryExecution().optimizedPlan()
    expected = _expected_bytes(query)
    if expected > EXPECTED:
        return None
    with raising(run.work):
        kind = run.source.kinds[run.source.id]
        schema = T.StructType().add(names[0], kind).add(names[1], kind).add("similarity", "double")
        context = run.work.spark.sparkContext
        has_given_up, has_written = context.accumulator(0), context.accumulator(0)
        limits = _executors.Limits(HELD, PAIRS, _cores_of_an_executor(run.work.spark))
        folder = run.work.make_folder(what)
        is_read_there = expected <= READ_BY_THE_TASK and _is_plain_reading(records, query)
        # An order of one column is that of the ids. Of so little, the task sorts them sooner than Spark.
        is_sorted = not is_read_there or len(order) > 1
        # Otherwise read on all cores.
        together = records.coalesce(1) if is_read_there else records.repartition(1)
        if is_sorted:
            together = together.sortWithinPartitions(*order)
        task = _executors.whole(
            run.settings, run.is_within, is_sorted, what, names, limits, has_given_up, folder, has_written
        )
        found = together.mapInArrow(task, schema)
        if folder is None:
            run.work.write(what, found)
        else:
            # The task writes by itself, which is much quicker than a writer of Spark and its commit.
            found.write.format("noop").mode("overwrite").save()
        if has_given_up.value:
            run.work.remove(what)
            return None
        # A folder without the file would read as if nothing were alike.
        if folder is not None and has_written.value and not os.path.exists(f"{folder}/{_executors.FOUND}"):
            raise _executors.not_shared(folder)
        return run.work.written(what, schema)


def _cores_of_an_executor(spark: SparkSession) -> int:
    """How many cores wait for a task that is the only one; 1 where that is not known."""
    context = spark.sparkContext
    if (context.master or "").startswith("local"):
        return context.defaultParallelism
    return int(context.getConf().get("spark.executor.cores") or 1)


def _expected_bytes(query: Any) -> int:
    """How large Spark expects the answer to be. Where it does not know, it expects more than there is room for."""
    return int(str(query.stats().sizeInBytes()))


def _is_plain_reading(records: DataFrame, query: Any) -> bool:
    """Whether a query reads columns of a few files, and computes nothing that many cores would be better for."""
    if _kind(query) == "Project":
        columns = query.projectList()
        if not all(_is_column(columns.apply(at)) for at in range(columns.size())):
            return False
        query = query.child()
    return _kind(query) == "LogicalRelation" and 0 < len(records._jdf.inputFiles()) <= FILES


def _is_column(expression: Any) -> bool:
    """Whether an expression is a column as it is, under whatever name."""
    return _kind(expression.child() if _kind(expression) == "Alias" else expression) == "AttributeReference"


def _kind(node: Any) -> str:
    return str(node.getClass().getSimpleName())
