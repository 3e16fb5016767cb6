"""SetSimilaritySearch: all pairs, exactly.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import json
import re
import sys

from SetSimilaritySearch import all_pairs

WORD = re.compile(r"\w+")


def shingles(text):
    words = WORD.findall(text.lower())
    if len(words) < 5:
        return {" ".join(words)} if words else set()
    return set(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:])))


def main(corpus, threshold, output):
    ids, sets = [], []
    with open(corpus, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if shingled := shingles(record["text"]):
                ids.append(record["id"])
                sets.append(shingled)
    with open(output, "w", encoding="utf-8") as out:
        for left, right, _ in all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=threshold):
            print(ids[left], ids[right], sep="\t", file=out)
    print("exact, all_pairs on the same sets of 5-word shingles; one thread, it has no more")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[4])
