"""Near-duplicates among the texts of a Python list: lookalike beside other packages, with recall beside the speed.

measure.py OUTPUT

Everything from the list to the pairs is measured, in one process; the packages take turns, and the best of their rounds counts. Needs an
environment with all of them.
"""

import json
import os
import platform
import re
import sys
import tempfile
import time
from collections import defaultdict
from itertools import combinations
from pathlib import Path

THREADS = 2
# The threads of gaoya and rensa are rayon's, which read this when they start.
os.environ["RAYON_NUM_THREADS"] = str(THREADS)

import datasketch  # noqa: E402
import xxhash  # noqa: E402
from gaoya.minhash import MinHashStringIndex  # noqa: E402
from rensa import RMinHash, RMinHashLSH  # noqa: E402

import lookalike as la  # noqa: E402

CORPUS = Path(__file__).parents[2] / "data" / "natural-100000-seed1.jsonl"
THRESHOLD = 0.7
WORD = re.compile(r"\w+")


def shingles(text):
    words = WORD.findall(text.lower())
    if len(words) < 5:
        return [" ".join(words)] if words else []
    return list(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:])))


def with_lookalike(texts):
    return {(left, right) for left, right, _ in la.dedup(texts, THRESHOLD, threads=THREADS).pairs}


def with_lookalike_counting(texts):
    """What most people want: which records to keep. The pairs are there, but no tuples are made of them."""
    la.dedup(texts, THRESHOLD, threads=THREADS).mask.sum()
    return None


def with_rensa(texts):
    """Its sketches of all shingles, its index with the bands that its deduplicator chooses, candidates checked by the estimate."""
    sketches = RMinHash.from_token_sets(map(shingles, texts), num_perm=128, seed=42)
    index = RMinHashLSH(threshold=THRESHOLD, num_perm=128, num_bands=16)
    index.insert_many(sketches)
    return {
        (number, other)
        for number, candidates in enumerate(index.query_all(sketches))
        for other in candidates
        if other > number and sketches[number].jaccard(sketches[other]) >= THRESHOLD
    }


def with_gaoya(texts):
    """Its own tokeniser; it chooses the bands."""
    index = MinHashStringIndex(
        hash_size=32, jaccard_threshold=THRESHOLD, num_bands=None, band_size=None, num_hashes=128, analyzer="word",
        lowercase=True, ngram_range=(5, 5), id_container="smallvec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    return {
        (number, other)
        for number, found in enumerate(index.par_bulk_query(texts))
        for other in found
        if other > number
    }


def with_datasketch(texts):
    """Candidates as its query gives them; xxhash instead of its default, which is slower."""
    encoded = ([shingle.encode() for shingle in shingles(text)] for text in texts)
    sketches = datasketch.MinHash.bulk(encoded, num_perm=128, hashfunc=xxhash.xxh32_intdigest)
    index = datasketch.MinHashLSH(threshold=THRESHOLD, num_perm=128)
    with index.insertion_session() as session:
        for number, sketch in enumerate(sketches):
            session.insert(number, sketch)
    return {
        (number, other) for number, sketch in enumerate(sketches) for other in index.query(sketch) if other > number
    }


def with_text_dedup(texts):
    """Its program, on a file that is written for it before the clock starts; all pairs inside its clusters."""
    from text_dedup import minhash

    with tempfile.TemporaryDirectory() as folder:
        minhash.main(
            [
                *("--path", "json", "--data_files", str(CORPUS), "--split", "train"),
                *("--cache_dir", f"{folder}/cache", "--output", f"{folder}/kept"),
                *("--column", "text", "--batch_size", "10000", "--num_proc", str(THREADS)),
                *("--threshold", str(THRESHOLD), "--hash_func", "xxh3"),
            ],
            standalone_mode=False,
        )
    clusters = defaultdict(list)
    for number in minhash.uf.parent:
        clusters[minhash.uf.find(number)].append(number)
    return {pair for members in clusters.values() for pair in combinations(sorted(members), 2)}


ENGINES = [
    ("`la.dedup(texts).pairs`", with_lookalike, 5),
    ("`la.dedup(texts).mask`", with_lookalike_counting, 5),
    ("gaoya 0.2.2", with_gaoya, 2),
    ("rensa 0.5.0", with_rensa, 2),
    ("datasketch 2.0.0", with_datasketch, 1),
    ("text-dedup 0.4.0", with_text_dedup, 1),
]


def cpu_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(output):
    if not CORPUS.is_file():
        sys.exit(f"{CORPUS} is not there; `cargo xtask bench natural-100k` makes it")
    texts = [json.loads(line)["text"] for line in CORPUS.open(encoding="utf-8")]
    truth = {(left, right) for left, right, _ in la.dedup(texts, THRESHOLD, exact=True).pairs}
    rounds = defaultdict(list)
    found = {}
    for turn in range(max(turns for *_, turns in ENGINES)):
        for name, engine, turns in ENGINES:
            if turn < turns:
                wall, cpu = time.perf_counter(), cpu_seconds()
                found[name] = engine(texts)
                rounds[name].append((time.perf_counter() - wall, cpu_seconds() - cpu))
                print(f"{name}: {rounds[name][-1][0]:.3f} s", file=sys.stderr, flush=True)
    ours = min(rounds[ENGINES[0][0]])
    rows = []
    for name, *_ in ENGINES:
        best = min(rounds[name])
        least_cpu = min(cpu for _, cpu in rounds[name])
        spread = f"{100 * (max(rounds[name])[0] / best[0] - 1):.0f} %" if len(rounds[name]) > 1 else "–"
        pairs = found[name]
        quality = (
            "– | –" if pairs is None else f"{len(pairs & truth) / len(truth):.4f} | {len(pairs & truth) / len(pairs):.4f}"
        )
        rows.append(
            f"| {name} | {best[0]:.3f} | {spread} | {least_cpu:.3f} | {best[0] / ours[0]:.1f} | {quality} |"
        )
    rensa = min(rounds["rensa 0.5.0"])[0] / ours[0]
    page = f"""# python-lists

Written by `cargo xtask bench python-lists`.

- {platform.processor() or platform.machine()}, {os.cpu_count()} threads, Python {platform.python_version()}
- {len(texts)} texts of about 200 words in a list; threshold {THRESHOLD}; {len(truth)} pairs are alike, says the exact comparison
- from the list to the pairs, in one process that has {THREADS} threads; the packages take turns, the best round counts, the spread is
  (worst − best) / best. text-dedup reads the file itself, and its pairs are all pairs inside its clusters
- only lookalike verifies: the others report candidates or estimates

| | wall s | spread | CPU s | times ours | recall | precision |
|---|---:|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

| | aimed at | measured | |
|---|---:|---:|---|
| rensa / `la.dedup(texts).pairs`, wall | ≥ 10 | {rensa:.1f} | {"met" if rensa >= 10 else "missed"} |
"""
    Path(output).write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main(sys.argv[1])
