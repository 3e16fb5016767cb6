"""datasketch: MinHash sketches in an LSH index, then one query a record.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import json
import re
import sys

import datasketch
import xxhash

WORD = re.compile(r"\w+")


def shingles(text):
    words = WORD.findall(text.lower())
    if len(words) < 5:
        return [" ".join(words).encode()] if words else []
    return [" ".join(five).encode() for five in zip(words, words[1:], words[2:], words[3:], words[4:])]


def read(corpus, ids):
    """The shingles of one record after the other, so that they need not all be in memory."""
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if shingled := shingles(record["text"]):
                ids.append(record["id"])
                yield shingled


def main(corpus, threshold, output):
    ids = []
    # The default hash is SHA-1, called through Python; its documentation lets one choose a faster one.
    sketches = datasketch.MinHash.bulk(read(corpus, ids), num_perm=128, hashfunc=xxhash.xxh32_intdigest)
    index = datasketch.MinHashLSH(threshold=threshold, num_perm=128)
    with index.insertion_session() as session:
        for number, sketch in enumerate(sketches):
            session.insert(number, sketch)
    with open(output, "w", encoding="utf-8") as out:
        for number, sketch in enumerate(sketches):
            for other in index.query(sketch):
                if other > number:
                    print(ids[number], ids[other], sep="\t", file=out)
    print(f"MinHashLSH(threshold={threshold}, num_perm=128) chose {index.b} bands × {index.r} rows; "
          "candidates as query() gives them; xxhash; one thread, it has no more")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[4])
