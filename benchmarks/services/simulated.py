"""The same experiment in simulation: `camcast/services`, swept by the command, and what it left read back."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.services.counting import Row
from benchmarks.services.plan import SIZES
from benchmarks.services.running import Failed

EXPERIMENT = "camcast/services"
SERVICE = re.compile(rf"(?<![\w-])({'|'.join(SIZES)})(?![\w-])")


def sweep(out: Path, runs: int) -> Path:
    command = [sys.executable, "-m", "gossamer", "sweep", EXPERIMENT, "--runs", str(runs), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise Failed(f"{EXPERIMENT} could not be simulated: {said[-1]}")
    return out


def read(folder: Path) -> list[Row]:
    """The outcomes below a sweep's folder, as rows."""
    files = sorted((folder / "outcomes").rglob("*.parquet"))
    if not files:
        raise Failed(f"there are no outcomes below {folder}: name the folder of `gossamer sweep {EXPERIMENT} --out`")
    return [row for file in files for told in pq.read_table(file).to_pylist() if (row := row_of(told)) is not None]


def row_of(told: dict[str, Any]) -> Row | None:
    """None: of another experiment, or a trial that failed."""
    service, climb = SERVICE.search(told["point"]), told.get("climb")
    if service is None or climb is None or told["error"] is not None or not told["live"]:
        return None
    reached, useful = told["reached"], told["reached"] - told["home"]
    return Row(
        "simulated", service[1], told["trial"], climb, f"{told['trial']}-{told['event']}", told["group"],
        told["live"], reached, told["arrived"] or 0, useful, told["sent_up"], told["rounds_last"] if reached else None,
    )  # fmt: skip
