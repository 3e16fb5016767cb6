"""A worker is lost in mid-job, with its executor and the shuffle files that it held; the job ends with the same result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import lookalike as la
import pytest
from corpora import mixed
from spark_cluster import Cluster

JOB = """
import json, sys
from pathlib import Path
from lookalike.spark import _one_task, dedup
from spark_cluster import session

_one_task.EXPECTED = -1
master, folder = sys.argv[1], Path(sys.argv[2])
spark = session(master, folder)
df = spark.read.json(str(folder / "in.jsonl"), schema="id long, text string")
kept = dedup(df, threshold=0.7, work=str(folder / "work"))
(folder / "kept.json").write_text(json.dumps(sorted(row.id for row in kept.select("id").toLocalIterator())))
spark.stop()
"""


@pytest.mark.parametrize("stage", ["ranked", "candidates"])
def test_a_worker_is_lost_while_a_stage_is_done(tmp_path: Path, stage: str) -> None:
    texts = mixed(8_000, seed=6)
    with open(tmp_path / "in.jsonl", "w", encoding="utf-8") as lines:
        for at, text in enumerate(texts):
            print(json.dumps({"id": at, "text": text}), file=lines)
    with Cluster(tmp_path, workers=2) as cluster:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-c", JOB, cluster.master, str(tmp_path)]
        with open(tmp_path / "job.log", "wb") as log:
            job = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            # Whatever the stage has shuffled by now is partly with the worker that goes.
            wait_for(tmp_path, stage, job)
            cluster.kill(1)
            assert job.wait(timeout=400) == 0, (tmp_path / "job.log").read_text()[-3000:]
        finally:
            job.kill()
            job.wait()
    assert json.loads((tmp_path / "kept.json").read_text()) == la.dedup(texts, 0.7).kept


def wait_for(folder: Path, stage: str, job: subprocess.Popen[bytes]) -> None:
    """Waits until a stage is being done: its folder is made before the shuffles that lead to it."""
    for _ in range(6000):
        if list(folder.glob(f"work/lookalike-*/{stage}")):
            # Long enough for a shuffle to have been written, and too short for all of them.
            time.sleep(1)
            return
        assert job.poll() is None, (folder / "job.log").read_text()[-3000:]
        time.sleep(0.1)
    raise TimeoutError(f"the stage {stage} does not begin")
