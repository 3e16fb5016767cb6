"""Near-duplicates in DataFrames of Spark: DataFrame in, DataFrame out.

    from lookalike.spark import dedup, groups, pairs

    kept = dedup(spark.read.parquet("s3://…/pages"), text="text", id="url", threshold=0.8, work="s3://…/scratch")

The engine runs on the executors, on Arrow batches; Spark does the shuffles; nothing is collected to the driver. What is kept
is what ``lookalike dedup`` keeps of the same rows, sorted by ``order_by``. docs/spark.md says how to run it on a cluster.
"""

from lookalike.spark._frames import dedup, groups, pairs

__all__ = ["dedup", "groups", "pairs"]
