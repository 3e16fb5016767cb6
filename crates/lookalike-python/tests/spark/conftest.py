"""One cluster for all tests of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("pyspark")

from spark_cluster import Cluster, session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on a master and two workers, whose stages go to a folder that they share."""
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder, workers=2) as cluster:
        made = session(cluster.master, folder)
        try:
            made.sparkContext.setCheckpointDir(str(folder / "checkpoints"))
            yield made
        finally:
            made.stop()


@pytest.fixture
def in_small(spark: Any) -> Iterator[None]:
    """Settings for a handful of records."""
    with small_settings(spark):
        yield


@contextmanager
def small_settings(spark: Any) -> Iterator[None]:
    """To plan and compile a query takes longer than to run it on a handful of records."""
    small = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    before = {name: spark.conf.get(name) for name in small}
    for name, value in small.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
