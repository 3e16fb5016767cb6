"""A real cluster of Spark on loopback: a master and workers, each a process of its own, out of the PySpark package."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyspark


class Cluster:
    """A master and its workers, of one core and 1 GB each. They end with the ``with`` statement, whatever happens in it."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._count = workers

    def __enter__(self) -> Cluster:
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        try:
            address = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
            self._start("master", "org.apache.spark.deploy.master.Master", *address)
            self._wait_for("master", "I have been elected leader", 1)
            for number in range(self._count):
                self.workers.append(self._start_worker(number))
            self._wait_for("master", "Registering worker", self._count)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        limits = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"worker-{number}")]
        address = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
        return self._start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *limits, *address, self.master)

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
        with open(self.folder / f"{name}.log", "wb") as log:
            # A session of its own, so that an executor ends with its worker.
            process = subprocess.Popen(
                [str(spark_class), *command], stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self._processes.append(process)
        return process

    def _wait_for(self, name: str, line: str, times: int) -> None:
        log = self.folder / f"{name}.log"
        for _ in range(600):
            if log.read_text(errors="replace").count(line) >= times:
                return
            time.sleep(0.1)
        raise TimeoutError(f"{name} does not say {line!r}:\n{log.read_text(errors='replace')[-2000:]}")

    def kill(self, worker: int) -> None:
        """Kills a worker and its executor, as a power cut would."""
        _kill(self.workers[worker], signal.SIGKILL)

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            _kill(process, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ends a process and those that it started: they share a session that nobody else is in."""
    try:
        os.killpg(process.pid, how)
    except ProcessLookupError:
        pass
    process.wait(timeout=30)


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def session(master: str, folder: Path) -> Any:
    """A session on the cluster, with little of everything."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("lookalike tests")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "700m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made
