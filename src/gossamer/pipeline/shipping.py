"""Tables of one's own, sent to where trials run: executors need neither the folder they are in nor Hadoop."""

import shutil
from collections.abc import Iterable, Mapping

from pyspark import SparkFiles
from pyspark.sql import SparkSession, is_remote

from gossamer.lab.plan import Chunk
from gossamer.lab.studies.overlay.pairs import COPIES, copy_of, digest_of
from gossamer.lab.studies.overlay.tables import Overlays
from gossamer.pipeline.session import scratch_folder


def send_tables(spark: SparkSession, cut: Iterable[Chunk]) -> dict[str, str]:
    """The tables that these trials read, and under which name each was sent."""
    sent = dict[str, str]()
    for spec in (chunk.point.spec for chunk in cut):
        if isinstance(spec, Overlays) and (file := spec.workload.file) is not None and file not in sent:
            sent[file] = f"gossamer-table-{digest_of(file)}"
            if not (copy := scratch_folder() / sent[file]).exists():
                shutil.copyfile(copy_of(file), copy)
            if is_remote():
                spark.addArtifacts(str(copy), file=True)
            else:
                spark.sparkContext.addFile(str(copy))
    return sent


def receive_tables(sent: Mapping[str, str]) -> None:
    """In a worker."""
    COPIES.update((file, SparkFiles.get(name)) for file, name in sent.items())
