"""rensa: full-set R-MinHash of all shingles, its LSH index, and the check by estimate that its deduplicator does.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import json
import os
import re
import sys

# Rensa's threads are rayon's, which read this when they start.
os.environ["RAYON_NUM_THREADS"] = sys.argv[3]

from rensa import RMinHash, RMinHashLSH  # noqa: E402

WORD = re.compile(r"\w+")


def shingles(text):
    words = WORD.findall(text.lower())
    if len(words) < 5:
        return [" ".join(words)] if words else []
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:])))


def bands_for(threshold):
    """What RMinHashDeduplicator chooses for a threshold with 128 values."""
    return 4 if threshold >= 0.9 else 8 if threshold >= 0.8 else 16 if threshold >= 0.7 else 32


def read(corpus, ids):
    """The shingles of one record after the other: faster than a list of all, and they need not all be in memory."""
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if shingled := shingles(record["text"]):
                ids.append(record["id"])
                yield shingled


def main(corpus, threshold, output):
    ids = []
    sketches = RMinHash.from_token_sets(read(corpus, ids), num_perm=128, seed=42)
    bands = bands_for(threshold)
    # The deduplicator itself keeps no dropped record, so it cannot name all pairs; its index can.
    index = RMinHashLSH(threshold=threshold, num_perm=128, num_bands=bands)
    index.insert_many(sketches)
    with open(output, "w", encoding="utf-8") as out:
        for number, candidates in enumerate(index.query_all(sketches)):
            for other in candidates:
                if other > number and sketches[number].jaccard(sketches[other]) >= threshold:
                    print(ids[number], ids[other], sep="\t", file=out)
    print(f"R-MinHash of all shingles, 128 values, {bands} bands × {128 // bands} rows as RMinHashDeduplicator chooses; "
          "candidates checked by the estimate")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[4])
