"""The stages of a run: sketch → rank → band → verify → group. Each is written before the next begins.

Between stages a record is called by its rank, a number that ascends in keep order: records are sorted once, and everything
after that moves numbers instead of ids. Records with the same set are one class; the first of them stands for all.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from lookalike.spark import _components, _executors
from lookalike.spark._raising import raising

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookalike._native import Plan
    from lookalike.spark._input import Input
    from lookalike.spark._work import Work

#: So many records are held by a task that verifies: about 50 MB of sets.
HELD_BY_A_TASK = 20_000
#: Fewer are not worth a task of their own.
WORTH_A_TASK = 1_000
#: So many rows are grouped by a task, or as many as one component has.
GROUPED_BY_A_TASK = 1_000_000


class Run:
    """The stages on one input. A stage is done when it is first asked for."""

    def __init__(self, source: Input, plan: Plan, work: Work) -> None:
        self.source = source
        self.settings = plan.settings
        self.threshold = plan.threshold
        self.every_pair_up_to, self.first = plan.bucket_rule
        self.work = work
        self.is_within = source.within is not None

    @cached_property
    def ranked(self) -> DataFrame:
        """Every record in keep order: rank, id, what decides the order, identity, slots, keys."""
        with raising(self.work):
            records = self.source.records()
            schema = f"{_columns(records.drop('text'))}, {_executors.SKETCHED}"
            sketch = _executors.sketch(self.settings, self.is_within)
            sketched = self.work.write("sketched", records.mapInArrow(sketch, schema))
            self._refuse_repeated_ids(sketched)
            # Sorted by range, so a number made of the partition and the place in it ascends.
            ordered = sketched.orderBy(*self.source.keep_order()).withColumn("rank", F.monotonically_increasing_id())
            ranked = self.work.write("ranked", ordered)
            self.work.remove("sketched")
            return ranked

    @cached_property
    def copies(self) -> DataFrame:
        """Records whose set an earlier one has, with the first that has it: rank, first."""
        with raising(self.work):
            same = Window.partitionBy("high", "low")
            firsts = self.ranked.where("not is_empty").select("rank", F.min("rank").over(same).alias("first"))
            return self.work.write("copies", firsts.where("rank <> first"))

    @cached_property
    def edges(self) -> DataFrame:
        """Pairs of records that stand for their classes and are alike: left, right, similarity."""
        with raising(self.work):
            candidates = self.work.write("candidates", self._candidates())
            edges = self.work.write("edges", self.verified(candidates, self.threshold))
            self.work.remove("candidates", "wanted")
            return edges

    def _refuse_repeated_ids(self, sketched: DataFrame) -> None:
        repeated = sketched.groupBy("id").count().where("count > 1").head()
        if repeated is not None:
            raise _executors.repeated_id(repeated["id"], repeated["count"])

    def _candidates(self) -> DataFrame:
        """Pairs that share a key and whose sketches agree often enough: left, right."""
        stand = self.ranked.where("not is_empty").select("rank", "slots", "keys").join(self.copies, "rank", "left_anti")
        entries = stand.select("rank", F.explode("keys").alias("key"))
        # Keys of different bands are different. Most occur once; only of the others is more than a number moved.
        bucket = Window.partitionBy("key")
        counted = entries.withColumn("members", F.count("*").over(bucket)).where("members > 1")
        in_order = F.row_number().over(bucket.orderBy("rank"))
        leads = (F.col("members") <= self.every_pair_up_to) | (in_order <= self.first)
        # The buckets of each record, and those that it leads: together they tell where a pair is to be found first.
        shared = counted.select("rank", "key", leads.alias("is_led")).groupBy("rank").agg(
            F.collect_list("key").alias("keys"),
            F.collect_list(F.when(F.col("is_led"), F.col("key"))).alias("leads"),
        )
        members = shared.join(stand.select("rank", "slots"), "rank").select(
            F.explode("keys").alias("key"), "rank", "slots", "keys", "leads"
        )
        sorted_members = members.repartition("key").sortWithinPartitions("key", "rank")
        return sorted_members.mapInArrow(_executors.compare(self.settings), _executors.PAIRS)

    def verified(self, pairs: DataFrame, least: float) -> DataFrame:
        """Those of the pairs (left, right) that are at least so alike, exactly: left, right, similarity.

        The lefts of a task are held, and the rights go by. So a task needs memory for its lefts alone, however many pairs
        a record is in, and a text is moved no more than once for each task that needs it.
        """
        tasks = self._tasks(pairs.select("left").distinct().count())
        pairs = pairs.withColumn("task", F.pmod(F.xxhash64("left"), F.lit(tasks)).cast("int"))
        lefts = pairs.select("task", F.lit(0).alias("kind"), F.col("left").alias("rank"))
        rights = pairs.select("task", F.lit(1).alias("kind"), F.col("right").alias("rank"))
        named = self.ranked.select("rank", "id", "high", "low")
        wanted = self.work.write("wanted", lefts.union(rights).distinct().join(named, "rank"))
        within = F.col("within") if self.is_within else F.lit(None).cast("string").alias("within")
        records = self.source.records().select("id", within, "text")
        columns = ("task", "kind", "rank", "left", "high", "low", "within", "text")
        texts = wanted.join(records, "id").withColumn("left", F.lit(None).cast("bigint")).select(*columns)
        missing = [F.lit(None).cast(texts.schema[name].dataType).alias(name) for name in columns[4:]]
        asked = pairs.select("task", F.lit(1).alias("kind"), F.col("right").alias("rank"), "left", *missing)
        # Twice as many partitions, as two tasks may fall into one.
        rows = texts.union(asked).repartition(2 * tasks - 1, "task").sortWithinPartitions("task", "kind", "rank", "left")
        return rows.mapInArrow(_executors.verify(self.settings, least, self.is_within), _executors.VERIFIED)

    def _tasks(self, lefts: int) -> int:
        at_once = self.work.spark.sparkContext.defaultParallelism
        return max(1, ceil(lefts / HELD_BY_A_TASK), min(2 * at_once, ceil(lefts / WORTH_A_TASK)))

    @cached_property
    def anchored(self) -> DataFrame:
        """Every record that is dropped, by the greedy pass in keep order: rank, keeper, similarity."""
        with raising(self.work):
            pairs = self.edges.count()
            ends = self.edges.select(F.explode(F.array("left", "right")).alias("first")).distinct()
            alone = F.lit(None).cast("double").alias("similarity")
            stand = ends.select(F.col("first").alias("left"), F.col("first").alias("right"), alone)
            behind = self.copies.join(ends, "first").select(F.col("rank").alias("left"), F.col("first").alias("right"), alone)
            rows = self.edges.union(stand).union(behind)
            if pairs <= _components.PAIRS_IN_ONE_TASK:
                together = rows.coalesce(1)
            else:
                components = _components.label(self.edges, pairs, self.settings, self.work)
                labelled = rows.join(components.withColumnRenamed("rank", "right"), "right")
                together = labelled.repartition(ceil(pairs / GROUPED_BY_A_TASK), "component")
            grouped = together.select("left", "right", "similarity").mapInArrow(
                _executors.group(self.settings), _executors.DROPPED
            )
            unmatched = self.copies.join(ends, "first", "left_anti").select("rank", "first", F.lit(1.0))
            return self.work.write("assigned", grouped.union(unmatched))

    @cached_property
    def connected(self) -> DataFrame:
        """Every record that is dropped, its component's first one being kept: rank, keeper, similarity."""
        with raising(self.work):
            components = _components.label(self.edges, self.edges.count(), self.settings, self.work)
            members = components.where("rank <> component")
            kept_for = members.select(F.col("component").alias("left"), F.col("rank").alias("right"))
            alike = self.verified(kept_for, -1.0).select(
                F.col("right").alias("rank"), F.col("left").alias("keeper"), "similarity"
            )
            alike = self.work.write("alike", alike)
            of_class = alike.withColumnRenamed("rank", "first")
            copies = self.copies.join(of_class, "first", "left").select(
                "rank",
                F.coalesce("keeper", "first").alias("keeper"),
                F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
            )
            return self.work.write("assigned", alike.union(copies))


def _columns(frame: DataFrame) -> str:
    """The columns of a frame as Spark's DDL writes them."""
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields)
