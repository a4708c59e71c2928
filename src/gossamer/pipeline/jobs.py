"""Jobs of ours among those of a session: told apart by their group, seen in Spark's UI, cancelled without any other."""

import uuid
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession, is_remote
from pyspark.sql import functions as F

T = TypeVar("T")


class Jobs:
    """All that a piece of work asks of Spark, in however many threads."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark, self.group = spark, f"gossamer-{uuid.uuid4().hex[:12]}"

    def run(self, about: str, work: Callable[[], T]) -> T:
        """In a thread of its own: what is said of its jobs holds for all that this thread still asks for."""
        if is_remote():
            self.spark.addTag(self.group)
        else:
            self.spark.sparkContext.setJobGroup(self.group, about)
        return work()

    def cancel(self) -> None:
        if is_remote():
            self.spark.interruptTag(self.group)
        else:
            self.spark.sparkContext.cancelJobGroup(self.group)

    def share_done(self) -> float:
        """Of the tasks of those under way."""
        if is_remote():
            return 0.0  # a server says nothing of its tasks in between
        tracker = self.spark.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self.group)]
        stages = [tracker.getStageInfo(id) for job in jobs if job and job.status == "RUNNING" for id in job.stageIds]
        tasks = sum(stage.numTasks for stage in stages if stage)
        return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0


def cores_of(spark: SparkSession) -> int:
    """How many tasks may run at once."""
    if is_remote():
        return (
            spark.range(1 << 16).select(F.spark_partition_id()).distinct().count()
        )  # a server has no other word for it
    return spark.sparkContext.defaultParallelism
