"""A streaming query in a process of its own, to be killed: reads a topic through one node into Parquet files."""

import sys

from gossamer.pipeline import Gossamer
from gossamer.pipeline.session import spark_session


def main(address: str, out: str, checkpoint: str, log: str) -> None:
    from pathlib import Path

    conf = {"spark.sql.shuffle.partitions": "2"}
    with spark_session("local[2]", "killed", log=Path(log), conf=conf) as spark:
        spark.dataSource.register(Gossamer)
        asked = {"nodes": address, "topic": ".flow", "name": "lake", "starting": "earliest", "patience": "300"}
        rows = spark.readStream.format("gossamer").options(maxRowsPerTrigger="8000", **asked).load()
        writing = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        writing.start(out).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
