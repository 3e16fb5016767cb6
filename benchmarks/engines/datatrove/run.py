"""datatrove: the four MinHash stages of its example on the local file, with its own tokeniser; all pairs inside its
clusters.

run.py CORPUS THRESHOLD THREADS OUTPUT
"""

import itertools
import json
import os
import shutil
import struct
import sys
import tempfile
from collections import defaultdict

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter


def split(corpus, folder, parts):
    """A task reads whole files, so that there must be as many files as tasks. Gives back the ids of each file."""
    os.makedirs(folder)
    ids = [[] for _ in range(parts)]
    files = [open(f"{folder}/{part}.jsonl", "w", encoding="utf-8") for part in range(parts)]
    with open(corpus, encoding="utf-8") as lines:
        number = 0
        for line in lines:
            record = json.loads(line)
            # Its reader leaves records without text out and does not count them.
            if record["text"]:
                ids[number % parts].append(record["id"])
                files[number % parts].write(line)
                number += 1
    for file in files:
        file.close()
    return ids


def run(folder, config, tasks, threads):
    def execute(stage, pipeline, tasks):
        logs = f"{folder}/logs/{stage}"
        # Its own way to start workers, a fork server, would hide their CPU time from whoever measures this process.
        start = {"workers": threads, "start_method": "fork", "logging_dir": logs}
        LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, **start).run()

    # As many buckets as the configuration has, one task each; every other stage has a task a file.
    reader = JsonlReader(f"{folder}/in", compression=None)
    execute(1, [reader, MinhashDedupSignature(f"{folder}/signatures", config=config)], tasks)
    buckets = MinhashDedupBuckets(f"{folder}/signatures", f"{folder}/buckets", config=config)
    execute(2, [buckets], config.num_buckets)
    execute(3, [MinhashDedupCluster(f"{folder}/buckets", f"{folder}/remove", config=config, save_cluster_id=True)], 1)
    execute(4, [reader, MinhashDedupFilter(f"{folder}/remove"), JsonlWriter(f"{folder}/kept", compression=None)], tasks)


def main(corpus, threads, output):
    config = MinhashConfig()
    folder = tempfile.mkdtemp()
    try:
        ids = split(corpus, f"{folder}/in", threads)
        run(folder, config, threads, threads)
        clusters = defaultdict(list)
        for part in range(threads):
            path = f"{folder}/remove/{part:06d}.clusters"
            # There is none for a file that nothing was found in.
            if os.path.exists(path):
                with open(path, "rb") as file:
                    for number, cluster in struct.iter_unpack("<2I", file.read()):
                        clusters[cluster].append(ids[part][number])
    finally:
        shutil.rmtree(folder)
    with open(output, "w", encoding="utf-8") as out:
        for members in clusters.values():
            for left, right in itertools.combinations(members, 2):
                print(left, right, sep="\t", file=out)
    print(f"MinhashConfig() as shipped, whatever the threshold: {config.num_buckets} buckets × "
          f"{config.hashes_per_bucket} hashes, word {config.n_grams}-grams of its own tokeniser; "
          "all pairs inside a cluster")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[3]), sys.argv[4])
