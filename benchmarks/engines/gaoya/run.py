"""gaoya: its own tokeniser, parallel insertion and parallel queries, all of it in Rust.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import json
import os
import re
import sys

# Gaoya's threads are rayon's, which read this when they start.
os.environ["RAYON_NUM_THREADS"] = sys.argv[3]

from gaoya.minhash import MinHashStringIndex  # noqa: E402


def main(corpus, threshold, output):
    ids, texts = [], []
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["text"]:
                ids.append(record["id"])
                texts.append(record["text"])
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=threshold,
        # Without bands it chooses them for the threshold and the number of values.
        num_bands=None,
        band_size=None,
        num_hashes=128,
        analyzer="word",
        lowercase=True,
        ngram_range=(5, 5),
        # What its documentation advises where few records are alike.
        id_container="smallvec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    with open(output, "w", encoding="utf-8") as out:
        for number, found in enumerate(index.par_bulk_query(texts)):
            for other in found:
                if other > number:
                    print(ids[number], ids[other], sep="\t", file=out)
    bands, rows = re.search(r"bands = (\d+), rows_per_band = (\d+)", str(index)).groups()
    print(f"128 values, {bands} bands × {rows} rows chosen by it, own tokeniser; candidates checked by its estimate")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[4])
