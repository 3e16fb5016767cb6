"""FastSketchLSH: sketches in batches, then the index is asked for all of them at once.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import json
import re
import sys

import numpy
from FastSketchLSH import LSH, FastSimilaritySketch

WORD = re.compile(r"\w+")
BATCH = 1_000
BANDS = 16


def shingles(text):
    words = WORD.findall(text.lower())
    if len(words) < 5:
        return [" ".join(words)] if words else []
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:])))


def main(corpus, threads, output):
    sketcher = FastSimilaritySketch(size=128, seed=42)
    ids, sketches, batch = [], [], []
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if shingled := shingles(record["text"]):
                ids.append(record["id"])
                batch.append(shingled)
                if len(batch) == BATCH:
                    sketches.append(sketcher.batch(batch, num_threads=threads))
                    batch = []
    if batch:
        sketches.append(sketcher.batch(batch, num_threads=threads))
    matrix = numpy.concatenate(sketches)
    index = LSH(num_perm=128, num_bands=BANDS, num_threads=threads)
    index.insert(matrix)
    flat, starts = index.query(matrix, format="csr")
    flat = flat.astype(numpy.int64)
    with open(output, "w", encoding="utf-8") as out:
        left = numpy.repeat(numpy.arange(len(ids)), numpy.diff(starts.astype(numpy.int64)))
        # A record finds itself, and every pair comes from both sides.
        once = flat > left
        for number, other in zip(left[once].tolist(), flat[once].tolist()):
            print(ids[number], ids[other], sep="\t", file=out)
    print(f"128 values, {BANDS} bands × {128 // BANDS} rows as in its README, which knows no threshold; "
          "candidates as query() gives them")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[3]), sys.argv[4])
