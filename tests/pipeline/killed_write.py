"""A streaming write in a process of its own, on executors of their own, one of which is killed."""

import sys

from gossamer.pipeline import Gossamer
from gossamer.pipeline.session import spark_session


def main(address: str, rows: str, checkpoint: str, log: str) -> None:
    from pathlib import Path

    conf = {"spark.task.maxFailures": "20", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    with spark_session("local-cluster[2,1,1024]", "killed", log=Path(log), conf=conf) as spark:
        spark.dataSource.register(Gossamer)
        given = spark.readStream.schema("id bigint, payload string").option("maxFilesPerTrigger", "4").parquet(rows)
        writing = given.writeStream.format("gossamer").options(nodes=address, topic=".flow", patience="300")
        query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
