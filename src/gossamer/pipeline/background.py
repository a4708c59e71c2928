"""Spark at work in a thread of its own, so that the one that listens to the user is free."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gossamer.core.errors import TransportDown
from gossamer.pipeline.jobs import Jobs

T = TypeVar("T")
CAUSED = re.compile(r"^Caused by: ((?:\w+[.$])*\w+(?:Error|Exception)\b.*)", re.MULTILINE)
ERROR = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception)\b.*", re.MULTILINE)


def in_background(
    spark: SparkSession,
    work: Callable[[], T],
    look: Callable[[], None],
    about: str = "gossamer",
    jobs: Jobs | None = None,
) -> T:
    """The result of `work`; `look` is called twice a second. Ctrl-C cancels its jobs, and no others of the session: in
    the midst of a call to the JVM it would leave a traceback instead."""
    jobs = jobs or Jobs(spark)
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(jobs.run, about, work)
        try:
            while not wait([doing], timeout=0.5).done:
                look()
        except KeyboardInterrupt:
            while not wait([doing], timeout=0.5).done:
                jobs.cancel()  # more than once: a job may be about to start
            raise
        try:
            return doing.result()
        except (PySparkException, Py4JError) as problem:
            raise TransportDown(f"Spark could not finish: {cause(str(problem))}") from problem


def cause(trace: str) -> str:
    """The line of what Spark says that tells most: the last that names an error of Python's, or else the last cause of
    one of Java's, or else the first line."""
    told: list[str] = [*trace.strip().splitlines()[:1], *CAUSED.findall(trace), *ERROR.findall(trace)]
    return told[-1]
