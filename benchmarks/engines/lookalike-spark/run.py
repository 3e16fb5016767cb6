"""lookalike.spark: the same job on the same Spark.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import os
import sys
import time

from lookalike.spark import pairs
from pyspark.sql import SparkSession

JOBS = 3


def find(spark, corpus, threshold, output):
    """Writes the pairs of ids, and tells how many seconds that took."""
    began = time.monotonic()
    found = pairs(spark.read.json(corpus, schema="id string, text string"), threshold=threshold)
    with open(output, "w", encoding="utf-8") as out:
        for left, right, _ in found.toLocalIterator():
            print(left, right, sep="\t", file=out)
    return time.monotonic() - began


def main(corpus, threshold, threads, output):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.driver.memory", "8g")
        .config("spark.sql.shuffle.partitions", str(8 * int(threads)))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    # Several times: a session that has done little yet spends its time on compiling.
    first, *again = (find(spark, corpus, threshold, output) for _ in range(JOBS))
    java = spark.sparkContext._gateway.proc
    spark.stop()
    # Java ends with its input; waited for, its time counts as ours.
    java.stdin.close()
    java.wait()
    print(f"defaults; exact; {JOBS} jobs in one session: {first:.1f} s, and the best of the others {min(again):.1f} s")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4])
