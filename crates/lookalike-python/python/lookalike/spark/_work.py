"""Where stages are written, so that none is done twice and none is lost with an executor."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import uuid
from typing import TYPE_CHECKING, Any

from lookalike._errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class Work:
    """A folder of one run, in storage that all executors share."""

    def __init__(self, spark: SparkSession, path: str | None) -> None:
        if not hasattr(spark, "_jsc"):
            raise SettingError("this session is one of Spark Connect; use one that runs beside its driver")
        self.spark = spark
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsc.hadoopConfiguration()
        self.path = f"{(path or _default_path(spark)).rstrip('/')}/lookalike-{uuid.uuid4().hex[:12]}"

    def write(self, name: str, frame: DataFrame) -> DataFrame:
        """Does a stage, and gives what it wrote."""
        frame.write.parquet(f"{self.path}/{name}")
        return self.written(name, frame.schema)

    def written(self, name: str, schema: StructType) -> DataFrame:
        """What a stage wrote."""
        return self.spark.read.schema(schema).parquet(f"{self.path}/{name}")

    def make_folder(self, name: str) -> str | None:
        """A folder for a stage to which a task can write like any program; None where storage is not a file system for all."""
        path, files = self._at(f"{self.path}/{name}")
        place = files.makeQualified(path).toUri()
        if place.getScheme() != "file":
            return None
        folder = str(place.getPath())
        os.makedirs(folder)
        return folder

    def remove(self, *names: str) -> None:
        """Removes stages that nobody reads any more."""
        for name in names:
            path, files = self._at(f"{self.path}/{name}")
            files.delete(path, True)

    def remove_all_but(self, *names: str) -> None:
        """Removes all other stages; the folder too, if nothing is left in it."""
        path, files = self._at(self.path)
        if not names:
            files.delete(path, True)
        elif files.exists(path):
            self.remove(*(name for stage in files.listStatus(path) if (name := stage.getPath().getName()) not in names))

    def _at(self, path: str) -> tuple[Any, Any]:
        """A path, and the file system that it is in, as Spark knows them."""
        found = self._jvm.org.apache.hadoop.fs.Path(path)
        return found, found.getFileSystem(self._configuration)


def _default_path(spark: SparkSession) -> str:
    """Spark's checkpoint directory; on a single machine, a temporary folder."""
    context = spark.sparkContext
    checkpoints = context.getCheckpointDir()
    if checkpoints is not None:
        return checkpoints
    if (context.master or "").startswith("local"):
        folder = tempfile.mkdtemp(prefix="lookalike-spark-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    raise SettingError(
        "stages are written to storage that all executors share, and it is not known where that is; give work=PATH, "
        "or call spark.sparkContext.setCheckpointDir(PATH)"
    )
