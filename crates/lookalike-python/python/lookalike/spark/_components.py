"""Which records hang together: connected components of the pairs.

Few pairs are joined in one task. For more, the edges are turned into stars, round by round ("large star, small star", Kiveris and
others, 2014): every record is linked to the least one that it or its neighbours know of, until nothing changes. A round is
two shuffles of the edges, and a chain of n records takes about log n rounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from lookalike.spark import _executors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookalike.spark._work import Work

#: Up to so many pairs are joined in one task: about 150 MB there.
PAIRS_IN_ONE_TASK = 2_000_000


def label(edges: DataFrame, pairs: int, settings: str, work: Work) -> DataFrame:
    """The component of every record of the edges (left, right, similarity), called by its least member: rank, component."""
    if pairs <= PAIRS_IN_ONE_TASK:
        found = edges.coalesce(1).mapInArrow(_executors.components(settings), _executors.COMPONENTS)
        return work.write("components", found)
    stars = _stars(edges, work)
    roots = stars.select(F.col("least").alias("rank"), F.col("least").alias("component")).distinct()
    return stars.select(F.col("node").alias("rank"), F.col("least").alias("component")).union(roots)


def _stars(edges: DataFrame, work: Work) -> DataFrame:
    """Edges (node, least) from every record to the least of its component, that one left out."""
    links = edges.select(F.greatest("left", "right").alias("node"), F.least("left", "right").alias("least")).distinct()
    before = None
    number = 0
    while True:
        links = work.write(f"stars-{number}", _small_star(_large_star(links)))
        if number:
            work.remove(f"stars-{number - 1}")
        seen = links.agg(F.count("*"), F.bit_xor(F.xxhash64("node", "least"))).head()
        if seen == before:
            return links
        before, number = seen, number + 1


def _large_star(links: DataFrame) -> DataFrame:
    """Links every greater neighbour of a node to the least of its neighbours and itself."""
    swapped = links.select(F.col("least").alias("node"), F.col("node").alias("least"))
    both = links.union(swapped).withColumnRenamed("least", "neighbour")
    leasts = both.groupBy("node").agg(F.least(F.min("neighbour"), F.first("node")).alias("least"))
    greater = both.where("neighbour > node").join(leasts, "node")
    return greater.select(F.col("neighbour").alias("node"), "least").distinct()


def _small_star(links: DataFrame) -> DataFrame:
    """Links a node and its lesser neighbours to the least of them."""
    leasts = links.groupBy("node").agg(F.min("least").alias("first"))
    neighbours = links.join(leasts, "node").where("least <> first")
    moved = neighbours.select(F.col("least").alias("node"), F.col("first").alias("least"))
    kept = leasts.select("node", F.col("first").alias("least"))
    return kept.union(moved).distinct()
