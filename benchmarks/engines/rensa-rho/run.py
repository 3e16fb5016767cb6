"""rensa, the fast path of its README: rho sketches and duplicate flags in one shot. It tells which records have a
near-duplicate, not which.

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
    """What RMinHashDeduplicator chooses for a threshold with 128 values; at 0.8 that is the README's 8 too."""
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
    # One matrix of all records: the one-shot flags are about the rows of one matrix.
    sketches = RMinHash.digest_matrix_from_token_sets_rho(read(corpus, ids), num_perm=128, seed=42)
    bands = bands_for(threshold)
    index = RMinHashLSH(threshold=threshold, num_perm=128, num_bands=bands)
    flags = index.query_duplicate_flags_matrix_one_shot(sketches)
    with open(output, "w", encoding="utf-8") as out:
        for name, flag in zip(ids, flags):
            if flag:
                print(name, file=out)
    print(f"rho sketches, 128 values, {bands} bands, one-shot flags: which records have a near-duplicate, not which")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[4])
