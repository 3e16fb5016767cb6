"""text-dedup: its own `text_dedup.minhash` program on the file, with its own tokeniser; all pairs inside its clusters.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import itertools
import json
import sys
import tempfile
from collections import defaultdict

from text_dedup import minhash


def main(corpus, threshold, threads, output):
    # A folder of its own for every run: with an old cache, what was computed before would be taken from there.
    with tempfile.TemporaryDirectory() as folder:
        minhash.main(
            [
                *("--path", "json", "--data_files", corpus, "--split", "train"),
                *("--cache_dir", f"{folder}/cache", "--output", f"{folder}/kept"),
                *("--column", "text", "--batch_size", "10000", "--num_proc", str(threads)),
                *("--threshold", str(threshold), "--hash_func", "xxh3"),
            ],
            standalone_mode=False,
        )
    with open(corpus, encoding="utf-8") as lines:
        ids = [json.loads(line)["id"] for line in lines]
    clusters = defaultdict(list)
    for number in minhash.uf.parent:
        clusters[minhash.uf.find(number)].append(number)
    with open(output, "w", encoding="utf-8") as out:
        for members in clusters.values():
            for left, right in itertools.combinations(sorted(members), 2):
                print(ids[left], ids[right], sep="\t", file=out)
    bands, rows = minhash.optimal_param(threshold, 250, false_positive_weight=0.5, false_negative_weight=0.5)
    print(f"text_dedup.minhash as shipped, 250 values, {bands} bands × {rows} rows chosen by it, xxh3, own tokeniser; "
          "all pairs inside a cluster")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
