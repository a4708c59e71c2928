"""A file system that is not the session's default: viewfs, with a folder of this machine mounted on it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = "far"


def mounts(folder: Path) -> dict[str, str]:
    """Settings of Hadoop."""
    return {f"fs.viewfs.mounttable.{CLUSTER}.link./data": f"file://{folder}"}


def mounted(spark: "SparkSession", folder: Path) -> str:
    """The folder's URI, from now on, in this session: each test's is mounted under a name of its own."""
    cluster = f"far{abs(hash(folder))}"
    for key, value in mounts(folder).items():
        spark.sparkContext._jsc.hadoopConfiguration().set(key.replace(CLUSTER, cluster), value)
    return f"viewfs://{cluster}/data"
