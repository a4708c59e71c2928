"""All stories as runs of one folder, audited once."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.core.trace import Head
from gossamer.live.keys.auditing import AuditKey, FileSealer, keys_of_files
from gossamer.pipeline import audit
from gossamer.pipeline.results import read_table
from gossamer.wire.values import Opener
from pipeline.audit_stories import COUNTED, SKEWED, STORIES
from pipeline.filter_stories import ASKED, SEALED, write_rubbish
from pipeline.recovery_stories import RECOVERIES
from pipeline.returned import RUN, live_twice
from pipeline.simulated import SPREADS, Simulated
from pipeline.stories import write_story
from pipeline.wild_stories import FILTERED, WILD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Audited:
    """The one audit of all stories."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self.traces, self.out = folder / "traces", folder / "out [1]"
        for name, (story, _) in (STORIES | RECOVERIES | ASKED).items():
            write_story(self.traces, name, story)
        for name, story in (WILD | FILTERED).items():
            write_story(self.traces, name, story)
        write_story(self.traces, "brief", STORIES["missing"][0], level="deliveries")
        ahead = {"a": -3_000_000, "b": 700_000, "c": -3_000_000}
        write_story(self.traces, "hosts", SKEWED, hosts={"p": "1", "a": "2", "b": "3", "c": "2"}, ahead_us=ahead)
        write_story(self.traces, "unknown hosts", SKEWED, level="deliveries",
                    hosts={"a": "2", "b": "2", "c": "3"}, ahead_us={"a": -3_000_000})  # fmt: skip
        write_story(self.traces, "one host", SKEWED, ahead_us={"p": 50, "a": -2_000_000},
                    offsets_us={"p": 150, "a": -1_999_900, "b": 100, "c": 100})  # fmt: skip
        self.key, another = AuditKey.new(), AuditKey.new()
        for run, key in (("sealed", self.key), ("locked", another)):
            write_story(self.traces, run, SEALED, values="sealed", sealer=partial(FileSealer, key.public))
        write_rubbish(self.traces / "rubbish", self.key)
        self.towns = {spread: Simulated(spread, self.traces / f"town {spread}") for spread in SPREADS}
        live_twice(self.traces / RUN, folder / "spool")
        shutil.copytree(self.traces / "calm", self.traces / "copy")  # of the same run: counted once
        (self.traces / "notes.txt").write_text("not a trace")
        (self.traces / "calm" / "odd.segment").write_bytes(b"PAR1")
        self.steps: list[str] = []
        self.verdict = audit.audit_folder(spark, self.traces, self.out, self.steps.append, self.unlock)

    def unlock(self, heads: Sequence[Head]) -> Opener:
        return keys_of_files([self.key], heads)

    def table(self, name: str, run: str | None = None) -> list[dict[str, Any]]:
        return [row for row in read_table(self.out, name) if run is None or row["run"] == run]

    def counts(self, run: str) -> dict[str, int]:
        rows = self.table("per_topic", run)
        totals = {name: sum(row[name] or 0 for row in rows) for name in COUNTED}
        return {name: number for name, number in totals.items() if number}
