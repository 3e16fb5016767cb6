"""Spark MLlib: MinHashLSH and its approximate similarity join, which checks every candidate exactly.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import math
import os
import sys
import time

from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

RECALL = 0.99
JOBS = 3


def find(spark, corpus, threshold, tables, partitions, output):
    """Writes the pairs of ids, and tells how many seconds that took."""
    began = time.monotonic()
    texts = spark.read.json(corpus, schema="id string, text string").repartition(partitions)
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\w+", gaps=False).transform(texts)
    cut = NGram(n=5, inputCol="words", outputCol="fives").transform(words)
    # Shorter texts are one shingle; empty ones are left out, as MLlib refuses them.
    shingled = cut.where(F.size("words") > 0).select(
        "id", F.when(F.size("words") < 5, F.array(F.concat_ws(" ", "words"))).otherwise(F.col("fives")).alias("shingles")
    )
    sets = HashingTF(numFeatures=1 << 24, binary=True, inputCol="shingles", outputCol="set").transform(shingled)
    sets = sets.select("id", "set").cache()
    model = MinHashLSH(inputCol="set", outputCol="hashes", numHashTables=tables, seed=1).fit(sets)
    # The least distance above the threshold's: a pair at the threshold counts.
    found = model.approxSimilarityJoin(sets, sets, math.nextafter(1 - threshold, 2), distCol="distance")
    pairs = found.where("datasetA.id < datasetB.id").select("datasetA.id", "datasetB.id")
    with open(output, "w", encoding="utf-8") as out:
        for left, right in pairs.toLocalIterator():
            print(left, right, sep="\t", file=out)
    sets.unpersist()
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
    # A table of MLlib has one value, so a pair at the threshold is missed by all with (1 - t) to the number of tables.
    tables = math.ceil(math.log(1 - RECALL) / math.log(1 - threshold))
    # Several times: a session that has done little yet spends its time on compiling.
    first, *again = (find(spark, corpus, threshold, tables, 8 * int(threads), output) for _ in range(JOBS))
    java = spark.sparkContext._gateway.proc
    spark.stop()
    # Java ends with its input; waited for, its time counts as ours.
    java.stdin.close()
    java.wait()
    print(
        f"{tables} hash tables, the fewest with which {RECALL:.0%} of pairs at {threshold} share one; HashingTF of 2^24; "
        f"{JOBS} jobs in one session: {first:.1f} s, and the best of the others {min(again):.1f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4])
