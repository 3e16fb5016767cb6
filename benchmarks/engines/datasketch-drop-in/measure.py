"""lookalike.datasketch beside datasketch: the same calls in one process, and whether the answers are the same.

measure.py OUTPUT

Both take turns; of several rounds the best counts. Needs an environment with both packages.
"""

import gc
import platform
import random
import sys
import time

import datasketch
import numpy
import xxhash

import lookalike
import lookalike.datasketch as drop_in

ROUNDS = 9
SETS = 2_000
ELEMENTS_OF_A_SET = 150
# How often a batch is taken in a round: once is over before a processor has got used to it.
PASSES = 10
THRESHOLD = 0.8


def make_sets():
    """Sets of five-word shingles: half of them copies of the one before with a few words changed."""
    source = random.Random(1)
    vocabulary = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(2, 11))) for _ in range(5_000)]
    sets, words = [], []
    for number in range(SETS):
        if number % 2 == 0:
            words = source.choices(vocabulary, k=ELEMENTS_OF_A_SET + 4)
        else:
            words = [source.choice(vocabulary) if source.random() < 0.01 else word for word in words]
        sets.append([" ".join(words[at : at + 5]).encode() for at in range(ELEMENTS_OF_A_SET)])
    return sets


def xxh3_32(data):
    """What one writes for datasketch to have XXH3 in 32 bits."""
    return xxhash.xxh3_64_intdigest(data) & 0xFFFFFFFF


class Calls:
    """The calls that are measured, on one of the packages. Each gives what it came to and how many calls or elements it was."""

    def __init__(self, module, sets):
        self.module, self.sets = module, sets
        self.some = [element for elements in sets[:20] for element in elements]
        self.many = [element for elements in sets[:100] for element in elements]
        self.sketches = module.MinHash.bulk(sets)
        self.lsh = module.MinHashLSH(threshold=THRESHOLD)
        self.forest = module.MinHashLSHForest()
        for key, sketch in enumerate(self.sketches):
            self.lsh.insert(key, sketch)
            self.forest.add(key, sketch)
        self.forest.index()
        self.generator = module.WeightedMinHashGenerator(1_000)
        self.vector = numpy.arange(1_000) % 7

    def construct(self):
        for _ in range(100):
            made = self.module.MinHash()
        return [made], 100

    def update(self):
        sketch = self.module.MinHash()
        update = sketch.update
        for element in self.some:
            update(element)
        return [sketch], len(self.some)

    def batch(self, **arguments):
        empty, made = self.module.MinHash(**arguments), []
        for elements in PASSES * self.sets[:100]:
            sketch = empty.copy()
            sketch.update_batch(elements)
            made.append(sketch)
        return made, PASSES * 100 * ELEMENTS_OF_A_SET

    def large_batch(self, **arguments):
        sketch = self.module.MinHash(**arguments)
        for _ in range(PASSES):
            sketch.update_batch(self.many)
        return [sketch], PASSES * len(self.many)

    def xxh3_32(self):
        return xxh3_32 if self.module is datasketch else drop_in.xxh3_hash32

    def bulk(self):
        made = self.module.MinHash.bulk(self.sets[:500])
        return made, 500 * ELEMENTS_OF_A_SET

    def jaccard(self):
        found = [left.jaccard(right) for left, right in zip(self.sketches, self.sketches[1:])]
        return found, len(found)

    def insert(self):
        lsh = self.module.MinHashLSH(params=(self.lsh.b, self.lsh.r))
        insert = lsh.insert
        for key, sketch in enumerate(self.sketches):
            insert(key, sketch)
        return len(lsh.keys), SETS

    def query(self):
        found = [self.lsh.query(sketch) for sketch in self.sketches]
        return found, SETS

    def query_forest(self):
        found = [self.forest.query(sketch, 10) for sketch in self.sketches[:300]]
        return found, 300

    def tune(self):
        lsh = self.module.MinHashLSH(threshold=0.83)
        return (lsh.b, lsh.r), 1

    def weigh(self):
        return [self.generator.minhash(self.vector) for _ in range(3)], 3


MEASURES = [
    ("`MinHash()`", Calls.construct, None),
    ("`update`, SHA-1", Calls.update, 20),
    ("`update_batch` of 150, SHA-1, an element", Calls.batch, 8),
    ("… `xxhash.xxh32_intdigest`", lambda calls: calls.batch(hashfunc=xxhash.xxh32_intdigest), None),
    ("… XXH3 in 32 bits", lambda calls: calls.batch(hashfunc=calls.xxh3_32()), 30),
    (
        "… `xxhash.xxh3_64_intdigest`, affine64",
        lambda calls: calls.batch(hashfunc=xxhash.xxh3_64_intdigest, scheme="affine64"),
        30,
    ),
    ("… SHA-1, legacy", lambda calls: calls.batch(scheme="legacy"), 8),
    ("`update_batch` of 15,000, SHA-1, an element", Calls.large_batch, 8),
    ("… XXH3 in 32 bits", lambda calls: calls.large_batch(hashfunc=calls.xxh3_32()), 30),
    ("`bulk`, SHA-1, an element", Calls.bulk, 8),
    ("`jaccard`", Calls.jaccard, None),
    ("`MinHashLSH.insert`", Calls.insert, 5),
    ("`MinHashLSH.query`", Calls.query, 5),
    ("`MinHashLSHForest.query`, 10 keys", Calls.query_forest, None),
    ("`MinHashLSH(threshold=…)`", Calls.tune, None),
    ("`WeightedMinHashGenerator.minhash`, 1,000 dimensions", Calls.weigh, None),
]


def measured(call, calls):
    gc.collect()
    gc.disable()
    began = time.process_time_ns()
    answer, count = call(calls)
    taken = (time.process_time_ns() - began) / count
    gc.enable()
    return [comparable(part) for part in answer] if isinstance(answer, list) else answer, taken


def comparable(part):
    """The hash values of a sketch, keys in order, or a number as it is."""
    if isinstance(part, list):
        return sorted(part)
    return part.hashvalues.tolist() if hasattr(part, "hashvalues") else part


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as told:
            return next(line.split(":", 1)[1].strip() for line in told if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def shown(nanoseconds):
    return f"{nanoseconds:,.0f}" if nanoseconds >= 100 else f"{nanoseconds:.1f}"


def main(output):
    sets = make_sets()
    both = [Calls(datasketch, sets), Calls(drop_in, sets)]
    lines = [
        "# datasketch-drop-in",
        "",
        "Written by `cargo xtask bench datasketch-drop-in`.",
        "",
        f"- CPU: {cpu()}; Python {platform.python_version()}, numpy {numpy.__version__}, lookalike {lookalike.__version__}",
        f"- datasketch {datasketch.__version__}, in the same process; 128 permutations, one thread but for `bulk`",
        f"- {SETS} sets of {ELEMENTS_OF_A_SET} shingles of five words; threshold {THRESHOLD}, "
        f"{both[0].lsh.b} bands × {both[0].lsh.r} rows",
        f"- nanoseconds of CPU for one call or element, of all threads, so that other programs matter less; {ROUNDS} rounds in turn, "
        "the best counts, the spread is (median − best) / best",
        "",
        "| | datasketch ns | spread | lookalike ns | spread | times as fast | aimed at | same answer |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, call, aim in MEASURES:
        times, answers = [[], []], [None, None]
        for _ in range(ROUNDS):
            for side, calls in enumerate(both):
                answers[side], taken = measured(call, calls)
                times[side].append(taken)
        (there, there_spread), (here, here_spread) = (
            (min(taken), sorted(taken)[ROUNDS // 2] / min(taken) - 1) for taken in times
        )
        ratio, is_same = there / here, answers[0] == answers[1]
        aimed = "–" if aim is None else f"≥ {aim}, {'met' if ratio >= aim else 'missed'}"
        lines.append(
            f"| {name} | {shown(there)} | {there_spread:.0%} | {shown(here)} | {here_spread:.0%} "
            f"| {ratio:.1f} | {aimed} | {'yes' if is_same else 'NO'} |"
        )
        print(lines[-1], flush=True)
    with open(output, "w", encoding="utf-8") as record:
        record.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
