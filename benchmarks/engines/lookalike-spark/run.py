"""lookalike.spark: the same job on the same Spark.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import os
import sys

from lookalike.spark import pairs
from pyspark.sql import SparkSession


def main(corpus, threshold, threads, output):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.driver.memory", "8g")
        .config("spark.sql.shuffle.partitions", str(8 * int(threads)))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    texts = spark.read.json(corpus, schema="id string, text string")
    found = pairs(texts, threshold=threshold)
    with open(output, "w", encoding="utf-8") as out:
        for left, right, _ in found.toLocalIterator():
            print(left, right, sep="\t", file=out)
    spark.stop()
    print("defaults; exact; with one Spark as spark-mllib has it")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4])
