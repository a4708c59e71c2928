"""Spark at work in a thread of its own, so that the one that listens to the user is free."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from pyspark.sql import SparkSession

T = TypeVar("T")


def in_background(spark: SparkSession, work: Callable[[], T], look: Callable[[], None]) -> T:
    """The result of `work`; `look` is called twice a second. Ctrl-C cancels the jobs: in the midst of a call to the JVM
    it would leave a traceback instead."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        try:
            while not wait([doing], timeout=0.5).done:
                look()
        except KeyboardInterrupt:
            spark.sparkContext.cancelAllJobs()
            wait([doing])
            raise
        return doing.result()
